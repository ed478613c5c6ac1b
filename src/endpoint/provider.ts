// endpoint: the tokens that open every organization: those of their table, and that of the configuration where there are several organizations. In: a
// server. Out: a register that is asked at each request, and follows what other processes change.
import type { PostgresServer } from '../compose/postgres.ts';
import { SecretFiles } from '../compose/secret-files.ts';
import { isToken } from '../config/secret-text.ts';
import { configured } from '../daemon/tokens.ts';
import { lineOf } from '../domain/errors.ts';
import type { Clock, Log } from '../domain/ports.ts';
import { TokenRegister } from '../http/index.ts';
import type { AuditListener } from '../store/postgres/listener.ts';
import { ALL, TokensOfAll } from '../store/postgres/tokens-of-all.ts';
import { Latest } from './latest.ts';

export interface ProviderParts {
  server: PostgresServer;
  audits: Pick<AuditListener, 'on'>;
  clock: Clock;
  log: Log;
  /** Of the configuration, and the file that it came from. */
  token: { text: string; file: string | undefined } | undefined;
  signal: AbortSignal;
}

/** Errors: AppError `store_failed`. */
export async function openProvider({ server, audits, clock, log, token, signal }: ProviderParts) {
  const store = new TokensOfAll(server.pool);
  const register = new TokenRegister({ store, configured: configured(token?.text), clock, log });
  await register.load();
  const again = new Latest(
    () => register.load(),
    (error) => log.warn({}, `tokens of all organizations could not be read again: ${lineOf(error)}`),
  );
  audits.on(ALL, () => again.ask());
  return { register, ended: followFile(register, { clock, log, token, signal }) };
}

/** The token of no organization: no audit has its changes, and the log has them. */
async function followFile(
  register: TokenRegister,
  { clock, log, token, signal }: Pick<ProviderParts, 'clock' | 'log' | 'token' | 'signal'>,
): Promise<void> {
  if (token?.file === undefined) return;
  let current = token.text;
  const file = {
    name: 'TRUSTWARD_TOKEN_FILE',
    file: token.file,
    current: () => current,
    fault: (secret: string) => (isToken(secret) ? undefined : 'is not a valid token'),
    take: (secret: string) => {
      current = secret;
      register.configure(configured(secret));
    },
  };
  await new SecretFiles({ files: [file], append: async () => {}, clock, log }).untilEnding(signal);
}
