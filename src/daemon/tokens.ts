// The daemon's half of the endpoint's tokens: who may call it, and people's changes of that. The register that is asked at each
// request is brought up to date before a change is answered, so that a revoked token is refused at the very next request.
import type { Composition } from '../compose/compose.ts';
import { TokenRegister, type TokensPort, tokenHash } from '../http/index.ts';
import { addToken, revokeToken } from '../operator/endpoint-tokens.ts';
import { newToken } from '../system/secrets.ts';

/** @param token the one of the configuration, of scope `admin`. */
export async function tokenRegister({ tokens, clock, log }: Composition, token: string): Promise<TokenRegister> {
  const configured = [{ name: 'admin', scope: 'admin' as const, hash: tokenHash(token) }];
  const register = new TokenRegister({ store: tokens, configured, clock, log });
  await register.load();
  return register;
}

export function tokensPort({ tokens, engine }: Composition, register: TokenRegister): TokensPort {
  const parts = { tokens, clock: engine.clock, ids: engine.ids, secret: newToken };
  return {
    add: async (request, by) => {
      const made = await addToken(parts, request, by);
      await register.load();
      return made;
    },
    revoke: async (name, by) => {
      const revoked = await revokeToken(parts, name, by);
      await register.load();
      return revoked;
    },
  };
}
