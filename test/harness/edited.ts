// harness: after somebody edited the database beside the engine: nothing is called and the difference is named, however often the process
// starts anew, until people accept the tables and resume. In: the edited database, and how to use it. Out: violations, to the checker.

import { differencesText } from '../../src/domain/audit-entry.ts';
import { type AcceptingStore, acceptTables } from '../../src/engine/audit/archive.ts';
import { judgeEndBy } from '../../src/engine/audit/signing-key.ts';
import { resumeEverything } from '../../src/engine/operate/commands.ts';
import type { Engine } from '../../src/engine/run/engine.ts';
import { SqlReader } from '../../src/store/reader.ts';
import { type SqliteDb, SqliteWork } from '../../src/store/sqlite/database.ts';
import { Crash, Life, mortal } from '../support/crash.ts';
import type { OperationName } from './asking.ts';
import { verdictOn } from './check-audit.ts';
import type { Checker } from './checker.ts';
import { PUBLIC_KEYS, type SimCheckpointFile } from './checkpoints.ts';
import type { Dice } from './dice.ts';
import { PERSON } from './people.ts';
import type { SimClock } from './sim-clock.ts';
import type { World } from './world.ts';

export interface EditedView {
  db: SqliteDb;
  table: string;
  checkpoints: SimCheckpointFile;
  world: World;
  checker: Checker;
  clock: SimClock;
  dice: Dice;
  /** One operation of the process that lives, or of a fresh one; it may end in the middle. */
  perform(operation: OperationName): Promise<void>;
  /** Ends the process. */
  end(): void;
  /** `judge`: who sees the commits, when it is not the checker. */
  start(life: Life, judge?: Checker): Promise<Engine>;
}

const RUNS_EDITED = 4;

export async function goOnEdited(view: EditedView): Promise<void> {
  const { dice, world, clock, checker } = view;
  await demandNamed(view);
  for (let run = 0; run < RUNS_EDITED; run += 1) {
    world.setTrouble(dice.pick(world.born.devices).id, 'CompromisedStatus', 'TRUE');
    if (dice.chance(0.5)) view.end();
    clock.pass(dice.pick([3_000, 60_000, 300_000]));
    await view.perform(dice.pick(['enforce', 'enforce', 'apply', 'release', 'resolve']));
    await demandNamed(view);
    if (checker.violations.length > 0) return;
  }
  view.end();
  await accept(view);
}

async function demandNamed({ db, table, checker }: EditedView): Promise<void> {
  const reader = new SqlReader(new SqliteWork(db), checker.clock);
  const tables = await reader.tableDifferences(judgeEndBy(PUBLIC_KEYS));
  if (!tables.some((difference) => difference.table === table))
    checker.report('on_edited', `the edited table \`${table}\` is not named: ${differencesText(tables)}`);
}

/** People accept, perhaps at the second attempt: the process may end in the middle. They look at what is in force, and resume. */
async function accept(view: EditedView): Promise<void> {
  const { db, checker, dice, checkpoints, clock } = view;
  const edited = await view.start(new Life(undefined));
  const before = await verdictOn(db, clock, checkpoints);
  if (before.ok || before.bad) checker.report('on_edited', `the audit is found ${before.bad?.reason ?? 'intact'}`);
  await acceptBy(edited, clock, new Life(dice.chance(0.5) ? dice.whole(1, 6) : undefined));
  const engine = await view.start(new Life(undefined));
  await acceptTables({ store: storeOf(engine), clock }, PERSON);
  checker.intrusion = undefined;
  const after = await verdictOn(db, clock, checkpoints);
  if (!after.ok) checker.report('broken_chain', `after accepted tables: ${JSON.stringify(after)}`);
  const sql = "SELECT count(*) AS n FROM plans WHERE status IN ('pending', 'approved', 'applying')";
  if (Number(db.get<{ n: number }>(sql)?.n) > 0)
    checker.report('unapproved', 'a plan of accepted tables still waits or is approved');
  if (checker.ledger.stoppedAtMs === undefined) checker.report('while_stopped', 'accepted tables stop nothing');
  view.end();
  await view.perform('enforce'); // it calls nothing: everything is stopped
  view.end();
  const resuming = await view.start(new Life(undefined));
  if (await resuming.store.stop()) await resumeEverything(resuming, PERSON);
}

async function acceptBy(engine: Engine, clock: SimClock, life: Life): Promise<void> {
  try {
    await acceptTables({ store: mortal(storeOf(engine), life), clock }, PERSON);
  } catch (error) {
    if (!(error instanceof Crash)) throw error;
  }
}

function storeOf({ store }: Engine): AcceptingStore {
  return store as unknown as AcceptingStore;
}
