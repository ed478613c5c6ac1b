// harness: an old copy in the place of the database: nothing is done by it until an operator has accepted it and
// resumed; and then only current proposals. In: the copy, and how to start a process on it. Out: violations, reported
// to the checker of the newer one.
import type { FileCheckpointer } from '../../src/engine/audit/checkpointer.ts';
import { resumeEverything } from '../../src/engine/operate/commands.ts';
import type { Engine } from '../../src/engine/run/engine.ts';
import type { SqliteDb } from '../../src/store/sqlite/database.ts';
import { Crash, Life } from '../support/crash.ts';
import { type AcceptedView, goOnAfter, judgeAnew } from './afterwards.ts';
import type { SimCheckpointFile } from './checkpoints.ts';
import type { Dice } from './dice.ts';
import { PERSON } from './people.ts';

/** Its `db` is the newer one. */
export interface RestoredView extends AcceptedView {
  copy: SqliteDb;
  checkpoints: SimCheckpointFile;
  dice: Dice;
  start(life: Life): Promise<Engine>;
}

/** On this machine a copy without a newer checkpoint outside is not older than what is known; on a new one there is no file outside. */
export async function goOnWithCopy(view: RestoredView): Promise<void> {
  const { copy, db, checkpoints, world, checker, platform, profile, dice } = view;
  const isElsewhere = dice.chance(0.4);
  if (isElsewhere ? sealedSize(copy) === 0 : sealedSize(copy) >= sealedSize(db)) return;
  const kept = checkpoints.keep();
  if (isElsewhere) checkpoints.lose();
  for (const { id } of world.now.devices) world.setTrouble(id, 'CompromisedStatus', 'TRUE');
  const before = platform.requests.length;
  await view.run(await view.start(new Life(undefined)), checker);
  if (platform.requests.length > before)
    checker.report('beyond_mode', 'a restored database acts before anybody has accepted it');
  else if (profile.tends) await accept(view);
  kept();
}

function sealedSize(db: SqliteDb): number {
  return Number(db.get<{ n: number }>('SELECT coalesce(max(size), 0) AS n FROM checkpoints')?.n);
}

/**
 * An operator continues with it, perhaps at the second attempt: the process may end in the middle. It cannot know what
 * people reversed after the copy; the acceptance shows them that.
 */
async function accept(view: RestoredView): Promise<void> {
  const { copy, checker, clock, platform, dice } = view;
  const now = { ...view, db: copy };
  const judge = judgeAnew(now);
  const engine = await accepted(view, dice.chance(0.5) ? dice.whole(1, 12) : undefined);
  const open = copy.get<{ n: number }>(
    "SELECT count(*) AS n FROM plans WHERE status IN ('pending', 'approved', 'applying') OR status = 'interrupted' AND expires_at > ?",
    clock.nowMs(),
  );
  if (Number(open?.n) > 0) checker.report('unapproved', 'a plan of a restored database still waits or is approved');
  const before = platform.requests.length;
  await view.run(engine, judge);
  if (platform.requests.length > before)
    checker.report('while_stopped', 'an accepted restored database acts before anybody has resumed');
  if (await engine.store.stop()) await resumeEverything(engine, PERSON);
  await goOnAfter(now, engine, judge, 'a restored backup', ['against_a_person']);
}

async function accepted(view: RestoredView, endAt: number | undefined): Promise<Engine> {
  const life = new Life(endAt);
  try {
    const engine = await view.start(life);
    await fileOf(engine).acceptRestore(PERSON);
  } catch (error) {
    if (!(error instanceof Crash)) throw error;
  }
  const engine = await view.start(new Life(undefined));
  // Accepted before the end, or not: what was not is accepted now.
  await fileOf(engine).acceptRestore(PERSON);
  return view.start(new Life(undefined));
}

function fileOf(engine: Engine): FileCheckpointer {
  return engine.checkpointer as FileCheckpointer;
}
