// bench: what a year of runs leaves in the database. The real engine on a fleet in memory, a run every five minutes of a clock that does not
// wait. It simulates 3,000 runs over 20,000 devices (`--short`: 300), not a year: retention is set so short that it begins in the first
// third, and what grows afterwards would grow for ever. Usage: npm run bench -- year; alone: [-- RUNS DEVICES].
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Db, openDatabase } from '../src/store/database.ts';
import { migrate } from '../src/store/migrate.ts';
import { type OnPlatform, startOnPlatform } from '../test/support/engine-on-platform.ts';
import { isShort, report } from './figures.ts';
import { LivelyFleet } from './year/fleet.ts';
import { yearRules } from './year/rules.ts';

const [runsGiven, devicesGiven] = process.argv.slice(2).filter((arg) => !arg.startsWith('--'));
const RUNS = Number(runsGiven ?? (isShort ? 300 : 3_000));
const DEVICES = Number(devicesGiven ?? (isShort ? 2_000 : 20_000));
const EVERY_MS = 300_000;
/** The newest 1,000 runs are always kept: this begins soon after them. */
const KEEP_RUNS_MS = 100 * EVERY_MS;
/** Windows of an hour and lives of five runs are full by then: what a run adds from here on is what it keeps. */
const FROM_RUN = 50;
const MEASURED = Math.min(RUNS - FROM_RUN, 500);
const KB = 1_000;

const folder = mkdtempSync(join(tmpdir(), 'trustward-year-'));
const file = join(folder, 'year.db');
const db = openDatabase(file);
migrate(db);
const writes = cpuOfTransactions(db);
const most = { max: 1_000_000, percent: 100 };
const on = startOnPlatform({
  db,
  rules: yearRules(),
  settings: (given) => ({
    ...given,
    act: { ...given.act, ceilings: { run: most, day: most } },
    decide: { ...given.decide, ceilings: { run: most, day: most } },
    keepRunsMs: KEEP_RUNS_MS,
  }),
});
const fleet = new LivelyFleet(on.clock, DEVICES);
on.engine.api = fleet;

const cpuMs: number[] = [];
const sizes: { bytes: number; audit: number }[] = [];
let before = new Map<string, number>();
let after = new Map<string, number>();
for (let run = 1; run <= RUNS; run += 1) {
  on.clock.pass(EVERY_MS);
  if (run > 1) fleet.live(EVERY_MS);
  writes.ms = 0;
  await oneRun(on);
  cpuMs.push(writes.ms);
  sizes.push({ bytes: usedBytes(db), audit: 0 });
  if (run === FROM_RUN) before = bytesByTable(db);
  if (run === FROM_RUN + MEASURED) after = bytesByTable(db);
  if (run % 250 === 0) process.stderr.write(`year: run ${run} of ${RUNS}\n`);
}

const grown = [...after].map(([table, bytes]) => [table, (bytes - (before.get(table) ?? 0)) / MEASURED / KB] as const);
const bench = 'year';
const total = grown.reduce((sum, [, each]) => sum + each, 0);
report({ bench, what: 'the database grows by, a run (before retention begins)', value: total, unit: 'KB', atMost: 60 });
for (const [table, each] of grown.filter(([, each]) => each >= 0.05).sort((a, b) => b[1] - a[1])) {
  report({ bench, what: `  of that: ${table}`, value: each, unit: 'KB' });
}
// A quarter of the runs each, beginning after the first ones, which write the fleet.
const quarter = Math.floor((RUNS - FROM_RUN) / 4);
const [first, last] = [median(cpuMs.slice(FROM_RUN, FROM_RUN + quarter)), median(cpuMs.slice(-quarter))];
report({ bench, what: "a run's writes, processor time, in the last quarter", value: last, unit: 'ms' });
report({ bench, what: 'the same ÷ that of the first quarter', value: last / first, unit: '×', atMost: 1.2 });
const all = bytesByTable(db);
report({
  bench,
  what: 'the database at the end',
  value: [...all.values()].reduce((a, b) => a + b) / KB / KB,
  unit: 'MB',
});
await on.close();
rmSync(folder, { recursive: true });

async function oneRun({ engine, run }: OnPlatform): Promise<void> {
  void engine;
  await run();
}

/** The processor time of all transactions, in the main thread and wherever SQLite works. */
function cpuOfTransactions(connection: Db): { ms: number } {
  const spent = { ms: 0 };
  const transaction = connection.transaction.bind(connection);
  connection.transaction = (work) => {
    const from = process.cpuUsage();
    try {
      return transaction(work);
    } finally {
      const { user, system } = process.cpuUsage(from);
      spent.ms += (user + system) / 1_000;
    }
  };
  return spent;
}

function usedBytes(connection: Db): number {
  const read = (name: string) => Number(Object.values(connection.get(`PRAGMA ${name}`) ?? {})[0]);
  return (read('page_count') - read('freelist_count')) * read('page_size');
}

/** A table with its indexes. */
function bytesByTable(connection: Db): Map<string, number> {
  const sql = `SELECT tbl_name AS name, sum(pgsize) AS bytes FROM dbstat JOIN sqlite_schema ON sqlite_schema.name = dbstat.name
    WHERE aggregate = 1 GROUP BY 1`;
  return new Map(connection.all<{ name: string; bytes: number }>(sql).map(({ name, bytes }) => [name, bytes]));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] as number;
}
