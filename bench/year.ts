// bench: what a year of runs leaves in the database. The real engine on a fleet in memory, a run every five minutes of a clock that does not
// wait. It simulates 3,000 runs (10 days; `--short`: 300), not a year: retention is so short that removal begins after 1,300 of them, and what
// still grows in the last quarter would grow for ever. 100 verdicts change in each run, whatever the size of the fleet: by default 5,000 devices,
// since only the first run stores each of them. Usage: npm run bench -- year; alone: node --import tsx bench/year.ts [RUNS DEVICES].
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate, openDatabase, type SqliteDb } from '../src/store/sqlite/database.ts';
import { startOnPlatform } from '../test/support/engine-on-platform.ts';
import { isShort, report } from './figures.ts';
import { LivelyFleet } from './year/fleet.ts';
import { yearRules } from './year/rules.ts';

const [runsGiven, devicesGiven] = process.argv.slice(2).filter((arg) => !arg.startsWith('--'));
const RUNS = Number(runsGiven ?? (isShort ? 300 : 3_000));
const DEVICES = Number(devicesGiven ?? (isShort ? 2_000 : 5_000));
const EVERY_MS = 300_000;
/** Besides the newest, which are always kept. */
const KEEP_RUNS_MS = 300 * EVERY_MS;
const NEWEST_KEPT = 1_000;
/** Windows of an hour, and plans that keep their intents for 100 runs, are full by then: what a run adds from here on is what it keeps. */
const FROM_RUN = 150;
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
const active = on.engine.active();
on.engine.active = () => ({ ...active, hash: 'e'.repeat(64) }); // as long as that of a rules folder

const cpuMs: number[] = [];
/** After these runs. */
const tables = new Map<number, Map<string, number>>();
const from = Math.min(FROM_RUN, Math.floor(RUNS / 3));
const quarter = Math.floor((RUNS - from) / 4);
const measured = [from, Math.min(RUNS, NEWEST_KEPT), RUNS - quarter, RUNS];
for (let run = 1; run <= RUNS; run += 1) {
  on.clock.pass(EVERY_MS);
  if (run > 1) fleet.live(EVERY_MS);
  writes.ms = 0;
  await on.run();
  cpuMs.push(writes.ms);
  if (measured.includes(run)) tables.set(run, bytesByTable(db));
  if (run % 250 === 0) process.stderr.write(`year: run ${run} of ${RUNS}\n`);
}

const bench = 'year';
const kept = Math.min(RUNS, NEWEST_KEPT);
report({ bench, what: 'simulated runs', value: RUNS, unit: '' });
const grown = grownBy(from, kept);
report({ bench, what: 'grows by, a run, before retention begins', value: sumOf(grown), unit: 'KB' });
for (const [table, each] of grown)
  if (each >= 0.05) report({ bench, what: `  of that: ${table}`, value: each, unit: 'KB' });
if (RUNS > NEWEST_KEPT * 2) {
  const last = grownBy(RUNS - quarter, RUNS);
  report({ bench, what: 'grows by, a run, under retention', value: sumOf(last), unit: 'KB', atMost: 60 });
  const audit = last.filter(([table]) => table === 'audit');
  report({
    bench,
    what: '  of that: the audit, which is archived and not removed',
    value: sumOf(audit),
    unit: 'KB',
  });
  const rest = 100 * (bytesWithoutAudit(RUNS) / bytesWithoutAudit(RUNS - quarter) - 1);
  report({ bench, what: 'all else grew in the last quarter of the runs by', value: rest, unit: '%', atMost: 2 });
}
const [first, last] = [median(cpuMs.slice(from, from + quarter)), median(cpuMs.slice(-quarter))];
report({ bench, what: "a run's writes, processor time, in the last quarter", value: last, unit: 'ms' });
report({ bench, what: 'the same ÷ that of the first quarter', value: last / first, unit: '×', atMost: 1.2 });
report({
  bench,
  what: 'the database at the end',
  value: bytesWithoutAudit(RUNS) / KB / KB,
  unit: 'MB besides the audit',
});
await on.close();
rmSync(folder, { recursive: true });

/** KB a run by table with its indexes, the largest first. */
function grownBy(fromRun: number, toRun: number): [string, number][] {
  const before = tables.get(fromRun) as Map<string, number>;
  const after = [...(tables.get(toRun) as Map<string, number>)];
  const each = after.map(([table, bytes]): [string, number] => [
    table,
    (bytes - (before.get(table) ?? 0)) / (toRun - fromRun) / KB,
  ]);
  return each.sort((one, other) => other[1] - one[1]);
}

function sumOf(all: readonly [string, number][]): number {
  return all.reduce((sum, [, each]) => sum + each, 0);
}

function bytesWithoutAudit(run: number): number {
  return [...(tables.get(run) ?? [])].reduce((sum, [table, bytes]) => sum + (table === 'audit' ? 0 : bytes), 0);
}

/** The processor time of all transactions, in the main thread and wherever SQLite works. */
function cpuOfTransactions(connection: SqliteDb): { ms: number } {
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

/** A table with its indexes. */
function bytesByTable(connection: SqliteDb): Map<string, number> {
  const sql = `SELECT tbl_name AS name, sum(pgsize) AS bytes FROM dbstat JOIN sqlite_schema ON sqlite_schema.name = dbstat.name
    WHERE aggregate = 1 GROUP BY 1`;
  return new Map(connection.all<{ name: string; bytes: number }>(sql).map(({ name, bytes }) => [name, bytes]));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] as number;
}
