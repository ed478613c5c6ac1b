// How a composition reaches the Management API: at the configured address, or by the console that it starts itself. In: a configuration, a clock.
// Out: a client, and how it ends.

import type { Console } from '../../console/console.ts';
import type { Api, Clock, Log } from '../../domain/ports.ts';
import { ManagementClient } from '../../platform/client.ts';
import type { Config } from '../config/config.ts';
import { consoleDatabaseOf } from '../config/name-reader.ts';
import { systemRandom } from '../system/ids.ts';

/** Only the Management API, for checks; undefined for the embedded console, which is not started for that. */
export function composeClient({ api, lists, timing }: Config, clock: Clock): ManagementClient | undefined {
  const { requestTimeoutMs, progressTimeoutMs } = timing;
  const common = { lists, requestTimeoutMs, progressTimeoutMs, clock, random: systemRandom, retries: 1 };
  return api && new ManagementClient({ ...common, address: api.url, credential: api.credential });
}

interface Connection {
  api: Api;
  embedded: string | undefined;
  /** `config.api` has other ones. */
  replaceCredentials(): void;
  end(): Promise<void>;
}

interface ClientHooks {
  askForAnother?: (() => Promise<void>) | undefined;
  mayWrite?: (() => boolean) | undefined;
  /** The embedded console lives only when it is told to, by this. */
  lead?: ((console: Pick<Console, 'life'>) => void) | undefined;
}

/** Longer than any past is made for: whoever leads a console moves it on. */
const LED_TICK_MS = 86_400_000;

/** `askForAnother`: called when the server refuses the credential. `mayWrite`: of the lease, asked directly before a writing request. */
export async function connect(
  config: Config,
  clock: Clock,
  log: Log,
  signal: AbortSignal,
  { askForAnother, mayWrite, lead }: ClientHooks = {},
): Promise<Connection> {
  const { requestTimeoutMs, progressTimeoutMs } = config.timing;
  const { recordsMax } = config.trust;
  const { lists } = config;
  const limits = { requestTimeoutMs, progressTimeoutMs, recordsMax };
  const common = { lists, ...limits, clock, random: systemRandom, signal, mayWrite };
  if (config.api) {
    const given = config.api;
    const { url, adminToken } = given;
    const credential = given.credential.secret === '' ? ({ kind: 'unread' } as const) : given.credential;
    const api = new ManagementClient({ ...common, address: url, credential, adminToken, askForAnother });
    const replaceCredentials = () => api.replaceCredentials(given.credential, given.adminToken);
    return { api, embedded: undefined, replaceCredentials, end: () => api.close() };
  }
  // A run on a real API does without it, and begins earlier.
  const { startConsole } = await import('../../console/console.ts');
  const console = await startConsole({
    listen: { host: '127.0.0.1', port: 0 },
    dbFile: consoleDatabaseOf(config.database),
    seed: { seed: 1 },
    live: lead ? { tickMs: LED_TICK_MS } : true,
    clock,
    log,
  });
  lead?.(console);
  const secret = console.issueApiKey('embedded engine', 'Admin');
  const api = new ManagementClient({ ...common, address: console.address, credential: { kind: 'api_key', secret } });
  const end = async () => {
    await api.close();
    await console.close();
  };
  return { api, embedded: console.address, replaceCredentials: () => {}, end };
}
