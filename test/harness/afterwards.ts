// harness: how life goes on with a database that people accepted, though it does not tell what was done: a new judge knows its present state
// only. In: an accepted database and an engine on it. Out: violations, reported to the checker of the life before.
import type { Engine } from '../../src/engine/run/engine.ts';
import type { SqliteDb } from '../../src/store/sqlite/database.ts';
import { Checker, type ViolationKind } from './checker.ts';
import { Ledger } from './ledger.ts';
import type { SimPlatform } from './platform.ts';
import type { Profile } from './profile.ts';
import type { SimClock } from './sim-clock.ts';
import type { World } from './world.ts';

export interface AcceptedView {
  /** The accepted one. */
  db: SqliteDb;
  world: World;
  checker: Checker;
  platform: SimPlatform;
  clock: SimClock;
  profile: Profile;
  run(engine: Engine, judge: Checker): Promise<void>;
}

const RUNS = 4;

export function judgeAnew({ db, world, checker, platform, clock, profile }: AcceptedView): Checker {
  const judge = new Checker(new Ledger(db, clock), checker.truth, world, clock, profile);
  judge.post = checker.post;
  for (const plan of checker.approvedPlans) judge.approvedPlans.add(plan);
  judge.ledger.follow();
  platform.witness = judge;
  return judge;
}

/** `excused`: what follows from what people accepted, and not from how the engine obeys it. */
export async function goOnAfter(
  { clock, checker, run }: AcceptedView,
  engine: Engine,
  judge: Checker,
  what: string,
  excused: readonly ViolationKind[],
): Promise<void> {
  for (let count = 0; count < RUNS; count += 1) {
    clock.pass(60_000);
    await run(engine, judge);
  }
  for (const { kind, text } of judge.violations)
    if (!excused.includes(kind)) checker.report(kind, `after ${what}: ${text}`);
}
