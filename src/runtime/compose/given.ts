// Facts from elsewhere: the sources of the rules in force, read beside runs. In: a configuration, the rules. Out: what reads those that are due, and
// their last good tables, which lie beside the database. A SQLite daemon reads them in a loop, workers by a job, a single run before it begins.
import type { Database } from '../../domain/database.ts';
import type { GivenFacts, GivenReading, GivenSource } from '../../domain/given-facts.ts';
import { guardsOf } from '../../domain/guards.ts';
import type { Alert } from '../../domain/notification.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import { GivenGate } from '../../engine/run/given.ts';
import type { LoadedRule } from '../../rules/language/loaded-rule.ts';
import { GivenReader } from '../../sources/given-reader.ts';
import { GivenTables } from '../../sources/given-tables.ts';
import type { Config } from '../config/config.ts';
import { publicAddressesOf } from '../notify/settings.ts';

export interface Given {
  facts: GivenFacts;
  /** What runs join to their records. */
  gate: GivenGate;
  /** Reads those that are due, for who comes again. Never rejects. */
  readDue(signal: AbortSignal): Promise<unknown>;
  /** The same before a single run: files that are being written are waited for. Never rejects. */
  readSettled(signal: AbortSignal): Promise<void>;
  /** The same until `signal` aborts. */
  untilEnding(signal: AbortSignal): Promise<void>;
  alerts(): Promise<Alert[]>;
}

export function composeGiven(
  { database, sources: settings }: Pick<Config, 'database' | 'sources'>,
  rules: () => readonly LoadedRule[],
  parts: { clock: Clock; log: Log },
): Given {
  const tables = tablesOf(database);
  const reader = new GivenReader({ tables, access: { ...settings, addressesOf: publicAddressesOf }, ...parts });
  const sources = () => sourcesOf(rules());
  return {
    facts: tables,
    gate: new GivenGate(tables),
    readDue: (signal) => reader.readDue(sources(), signal),
    readSettled: (signal) => reader.readSettled(sources(), signal),
    untilEnding: (signal) => reader.untilEnding(sources, signal),
    alerts: () => reader.alerts(sources()),
  };
}

/** As the last readings left them. */
export async function givenReadings(
  database: Database,
  rules: readonly LoadedRule[],
): Promise<readonly GivenReading[]> {
  return [...(await tablesOf(database).readings(sourcesOf(rules))).values()];
}

const NONE: readonly GivenSource[] = [];

function sourcesOf(rules: readonly LoadedRule[]): readonly GivenSource[] {
  return guardsOf(rules)?.sources ?? NONE;
}

function tablesOf({ beside }: Pick<Database, 'beside'>): GivenTables {
  return new GivenTables(beside === ':memory:' ? undefined : `${beside}.sources`);
}
