// bench: deciding and undoing 250, 1,000 and 4,000 targets, in memory, with 10,000 other claims standing in the store.
// In: nothing. Out: time per target at each size, and the ratio of the largest to the smallest, which stays below 1.3 as long
// as nothing that is done for one target reads what is stored about the others. Usage: npm run bench:undo [-- ROUNDS].
import { loadavg } from 'node:os';
import Database from 'better-sqlite3';
import type { Facts } from '../src/domain/facts.ts';
import { migrate, SqliteDb } from '../src/store/sqlite/database.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../test/support/engine-on-platform.ts';
import { FoundAtOnce } from './found-at-once.ts';

const OTHERS = 10_000;
const SIZES = [250, 1_000, 4_000];
const RATIO_MAX = 1.3;
const rounds = Number(process.argv[2] ?? 5);

function start(db: SqliteDb): OnPlatform {
  const most = { max: 1_000_000, percent: 100 };
  const ceilings = { run: most, day: most };
  const on = startOnPlatform({
    db,
    rules: [{ ...banRule(), limits: most }],
    settings: (given) => ({
      ...given,
      act: { ...given.act, ceilings },
      decide: { ...given.decide, ceilings },
    }),
  });
  on.engine.api = new FoundAtOnce(on.clock);
  return on;
}

function fleetOf(on: OnPlatform): FoundAtOnce {
  return on.engine.api as FoundAtOnce;
}

function addCompromised(on: OnPlatform, kind: string, count: number, fields: Facts = {}): void {
  for (let number = 0; number < count; number += 1) {
    fleetOf(on).addDevice(`${kind}${number}`, { ...fields, MdmData: { CompromisedStatus: 'TRUE' } });
  }
}

/** A database in which so many bans stand, as bytes: the same for each measurement. */
async function databaseWithOthers(): Promise<Buffer> {
  const connection = new Database(':memory:');
  const db = new SqliteDb(connection, ':memory:');
  migrate(db);
  const on = start(db);
  addCompromised(on, 'other', OTHERS);
  await on.run();
  const bytes = connection.serialize();
  await on.close();
  return bytes;
}

interface Measured {
  /** The whole run: reading the fleet and the open state, judging, deciding, committing, undoing. */
  wholeMs: number;
  /** From the commit of what was decided to the end of the run. */
  actingMs: number;
}

async function undoing(bytes: Buffer, targets: number): Promise<Measured> {
  const on = start(new SqliteDb(new Database(bytes), ':memory:'));
  on.clock.pass(QUIET_MS);
  // Ids and times go on after those of the stored run.
  const later = on.engine.ids.next;
  on.engine.ids = { next: () => `0later${later()}` };
  addCompromised(on, 'other', OTHERS, { Banned: 'TRUE' });
  addCompromised(on, 'target', targets);
  await on.run();
  on.clock.pass(QUIET_MS);
  for (let number = 0; number < targets; number += 1) fleetOf(on).compromised(`target${number}`, 'FALSE');
  let committedAt = 0;
  const commit = on.store.commitRun.bind(on.store);
  on.store.commitRun = async (given) => {
    await commit(given);
    committedAt = performance.now();
  };
  global.gc?.();
  const startedAt = performance.now();
  await on.run();
  const endedAt = performance.now();
  const open = await on.store.claims({ status: 'standing' });
  if (open.length !== OTHERS) throw new Error(`${open.length} claims are left, not ${OTHERS}`);
  await on.close();
  return { wholeMs: endedAt - startedAt, actingMs: endedAt - committedAt };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] as number;
const out = (text: string) => process.stdout.write(`${text}\n`);

const bytes = await databaseWithOthers();
await undoing(bytes, SIZES[1] as number);
const sizes = [0, ...SIZES];
const measured = new Map<number, Measured[]>(sizes.map((size) => [size, []]));
for (let round = 0; round < rounds; round += 1) {
  for (const size of sizes) measured.get(size)?.push(await undoing(bytes, size));
}
const msOf = (size: number, what: keyof Measured) => median((measured.get(size) ?? []).map((one) => one[what]));
const fixedMs = msOf(0, 'wholeMs');

out(`${OTHERS} other claims standing, ${rounds} rounds, medians; load ${loadavg()[0]?.toFixed(1)}`);
out(`a run that undoes nothing: ${fixedMs.toFixed(0)} ms (it reads, judges and decides about the others)`);
out('targets  whole run  per target  per target beyond a run that undoes nothing  of that acting');
const beyond = (size: number) => (msOf(size, 'wholeMs') - fixedMs) / size;
const acting = (size: number) => msOf(size, 'actingMs') / size;
for (const size of SIZES) {
  const whole = msOf(size, 'wholeMs');
  const cells = [`${whole.toFixed(0)} ms`, `${(whole / size).toFixed(3)} ms`, `${beyond(size).toFixed(3)} ms`];
  out(`${String(size).padStart(7)}  ${cells.map((cell) => cell.padEnd(9)).join('  ')}  ${acting(size).toFixed(3)} ms`);
}
const [least, most] = [SIZES[0] as number, SIZES.at(-1) as number];
const ratios = {
  'whole run': msOf(most, 'wholeMs') / most / (msOf(least, 'wholeMs') / least),
  'beyond a run that undoes nothing': beyond(most) / beyond(least),
  acting: acting(most) / acting(least),
};
for (const [name, ratio] of Object.entries(ratios)) {
  out(`ratio of ${most} to ${least}, ${name}: ${ratio.toFixed(2)} (at most ${RATIO_MAX})`);
}
if (Object.values(ratios).some((ratio) => ratio > RATIO_MAX)) process.exitCode = 1;
