// commands: `doctor`: the Management API: whether it answers, accepts the credential, and lets the active rules'
// sources be read. It only sends reads, one record of each source where possible; whether the credential may write is
// not tested.
import { composeClient } from '../../compose/connection.ts';
import { composeClock } from '../../compose/reader.ts';
import type { Config } from '../../config/config.ts';
import { formatDuration } from '../../domain/duration.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import type { Source } from '../../domain/subjects.ts';
import type { LoadedRule } from '../../evaluate/index.ts';
import type { ManagementClient } from '../../management/client.ts';
import { systemClock } from '../../system/clock.ts';
import { credentialName, namingApi } from '../api-fault.ts';
import { type Check, ok, problem, warning } from './check.ts';

const NAME = 'API';
/** A server's `Date` has whole seconds, and the answer takes its time. */
const SKEW_NOTED_MS = 30_000;

const READ_ONE: Record<Source, (client: ManagementClient) => Promise<number | undefined>> = {
  devices: async (client) => (await client.page('devices', 0, 1)).total,
  users: async (client) => (await client.page('users', 0, 1)).total,
  services: async (client) => (await client.listServices()).length,
  events: async (client) => {
    await client.events({ order: 'DESC', limit: 1 });
    return undefined;
  },
};

/** @param rules the active rules. */
export async function apiChecks(config: Config, rules: readonly LoadedRule[]): Promise<Check[]> {
  // Without its database, by the clock of this machine.
  const clock = await composeClock(config.database).catch(() => systemClock);
  const client = composeClient(config, clock);
  if (!client) return [ok(NAME, 'the embedded console: `serve` and `run` start it themselves')];
  const read = (['devices', 'users', 'services', 'events'] as const).filter(
    (source) => source === 'devices' || rules.some(({ sources }) => sources.includes(source)),
  );
  const counts: string[] = [];
  const faults: Check[] = [];
  try {
    for (const source of read) {
      const total = await namingApi(config, () => READ_ONE[source](client)).catch((error) => {
        if (!(error instanceof AppError) || /^api_(unreachable|refused)$/.test(error.code)) throw error;
        faults.push(faultOf(source, error, rules));
        return undefined;
      });
      if (total !== undefined) counts.push(`${total} ${source}`);
    }
    return [...answering(config, client.skewMs(), counts), ...faults];
  } catch (error) {
    return [problem(NAME, lineOf(error), adviceOn(error))];
  } finally {
    await client.close();
  }
}

function answering(config: Config, skewMs: number | undefined, counts: string[]): Check[] {
  const { timing, database } = config;
  const answers = `it answers and accepts ${credentialName(config)} (${counts.join(', ') || 'nothing counted'})`;
  if (skewMs === undefined) return [ok(NAME, `${answers}; it does not send its time`)];
  const side = skewMs > 0 ? 'behind' : 'ahead of';
  const clocks = `${database.kind === 'postgres' ? 'the clock of PostgreSQL' : 'our clock'} is ${formatDuration(Math.abs(skewMs))} ${side} the server's`;
  const correct = 'set that clock right (NTP), or the server’s';
  if (Math.abs(skewMs) > timing.clockSkewMs)
    return [problem(NAME, `${answers}; ${clocks}: no source is trusted`, correct)];
  if (Math.abs(skewMs) > SKEW_NOTED_MS) return [warning(NAME, `${answers}; ${clocks}`, correct)];
  return [ok(NAME, `${answers}; clocks agree`)];
}

function faultOf(source: Source, error: AppError, rules: readonly LoadedRule[]): Check {
  const needing = rules.filter(({ sources }) => sources.includes(source)).map(({ id }) => id);
  if (error.code !== 'api_forbidden') return problem(NAME, `${source}: ${error.message}`, adviceOn(error));
  const text = `${source} answers 403; verdicts are always unknown for ${needing.length === 0 ? 'rules that read it' : needing.join(', ')}`;
  return warning(NAME, text, `give the credential a scope that reads ${source}; an edition without them has none`);
}

function adviceOn(error: unknown): string {
  const { code } = error as { code?: unknown };
  if (code === 'api_refused') return 'make a new API key in the console of the platform, and set it';
  if (code === 'api_unreachable') return 'check the address, the name, the route and a proxy in between';
  return 'check the server: is this address the Management API?';
}
