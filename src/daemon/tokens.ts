// The daemon's part of the endpoint's tokens: who may call it, and changes of that. The register that each request asks
// is updated before a change is answered, so a revoked token is refused from the next request on.
import type { Composition } from '../compose/compose.ts';
import { type KnownToken, SignedInMemory, SignIn, TokenRegister, type TokensPort, tokenHash } from '../http/index.ts';
import { addToken, revokeToken } from '../operator/endpoint-tokens.ts';
import { newSecret, newToken } from '../system/secrets.ts';

/** @param token the token of the configuration, of scope `admin`; undefined: it is not one of this organization. */
export async function tokenRegister(
  { tokens, clock, log, onToken }: Composition,
  token: string | undefined,
): Promise<TokenRegister> {
  const register = new TokenRegister({ store: tokens, configured: configured(token), clock, log });
  await register.load();
  onToken((changed) => register.configure(configured(changed)));
  return register;
}

export function configured(token: string | undefined): KnownToken[] {
  return token === undefined ? [] : [{ name: 'admin', scope: 'admin', hash: tokenHash(token) }];
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

/** @param address where the endpoint listens. */
export function signInOf({ config, clock }: Composition, register: TokenRegister, address: () => string): SignIn {
  const verifyHash = (hash: string) => register.verifyHash(hash);
  const store = new SignedInMemory(clock);
  return new SignIn({ store, verifyHash, secret: newSecret, clock, address, publicUrl: config.notify.publicUrl });
}
