// commands: `facts`: the records in which missing facts are counted: at most 1,000 of each kind, read now, without their
// secrets. In: the configuration, kinds. Out: records, or why there are none. It stores nothing, and a source that
// cannot be read is no failure: the list of facts does not depend on it.
import { composeClient } from '../compose/connection.ts';
import type { Config } from '../config/config.ts';
import { AppError } from '../domain/errors.ts';
import { type Facts, isFacts } from '../domain/facts.ts';
import { eventWithoutSecrets } from '../domain/secrets.ts';
import type { FactKind } from '../evaluate/index.ts';
import type { ManagementClient } from '../management/client.ts';
import { dropSecrets } from '../pull/secrets.ts';
import { systemClock } from '../system/clock.ts';
import { namingApi } from './api-fault.ts';

const RECORDS_MAX = 1_000;

/** `none`: why there is none. */
export type Sample = { records: Facts[] } | { none: string; isLasting?: boolean };

/** Of every kind. Errors: only those that are not faults of the API. */
export async function sampleOf(config: Config, kinds: readonly FactKind[]): Promise<Map<FactKind, Sample>> {
  const client = composeClient(config, systemClock);
  const none = 'TRUSTWARD_API_URL is not set; the embedded console is not started for this';
  if (!client) return new Map(kinds.map((kind) => [kind, { none }]));
  try {
    const samples = new Map<FactKind, Sample>();
    let lasting: string | undefined;
    for (const kind of kinds) {
      const sample: Sample = lasting === undefined ? await readSample(config, client, kind) : { none: lasting };
      if ('none' in sample && sample.isLasting) lasting = sample.none;
      samples.set(kind, sample);
    }
    return samples;
  } finally {
    await client.close();
  }
}

async function readSample(config: Config, client: ManagementClient, kind: FactKind): Promise<Sample> {
  try {
    const records = (await namingApi(config, () => READ[kind](client))).filter(isFacts).slice(0, RECORDS_MAX);
    return { records: records.map((record) => withoutSecrets(kind, record)) };
  } catch (error) {
    if (!(error instanceof AppError) || !/^api_/.test(error.code)) throw error;
    // Without an answer, or with a credential that is refused, the other lists cannot be read either.
    return { none: error.message, isLasting: /^api_(unreachable|refused)$/.test(error.code) };
  }
}

const READ: Record<FactKind, (client: ManagementClient) => Promise<readonly unknown[]>> = {
  device: async (client) => (await client.page('devices', 0, RECORDS_MAX)).records,
  user: async (client) => (await client.page('users', 0, RECORDS_MAX)).records,
  service: firstServices,
  event: (client) => client.events({ order: 'DESC', limit: RECORDS_MAX }),
};

/** Services have no pages: reading ends when there are enough. */
async function firstServices(client: ManagementClient): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const batch of client.stream('services')) {
    found.push(...batch);
    if (found.length >= RECORDS_MAX) break;
  }
  return found;
}

function withoutSecrets(kind: FactKind, record: Facts): Facts {
  if (kind !== 'event') return dropSecrets(record, new Set());
  const { value } = eventWithoutSecrets(record);
  return isFacts(value) ? value : {};
}
