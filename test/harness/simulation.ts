// harness: one simulation: a seed's world, its nemeses, and the real engine living and dying in it, until all is quiet.
// In: a seed. Out: what was found and counted, and a digest of every effect and audited byte: the same for the same seed.

import type { Mode } from '../../src/domain/rule.ts';
import type { Engine } from '../../src/engine/run/engine.ts';
import { headOf } from '../../src/store/audit-rows.ts';
import { answered, type SqliteDb } from '../../src/store/sqlite/database.ts';
import type { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Life } from '../support/crash.ts';
import { copyOf, freshDatabase } from '../support/memory-database.ts';
import type { OperationName } from './asking.ts';
import { type BesiegedView, besiege } from './besieged.ts';
import { checkAudit } from './check-audit.ts';
import { halfOfTheTime } from './check-freeze.ts';
import { SimPost } from './check-notice.ts';
import { Checker, type Violation } from './checker.ts';
import { SimCheckpointFile } from './checkpoints.ts';
import { Dice } from './dice.ts';
import { SimDisk } from './disk.ts';
import { checkFinalState } from './final-state.ts';
import { RuleShelf, scheduleHappenings } from './happenings.ts';
import { digestOf, historyOf } from './history.ts';
import { Ledger } from './ledger.ts';
import { Lives } from './lives.ts';
import { People } from './people.ts';
import type { PlantedBug } from './planted-bugs.ts';
import { SimPlatform } from './platform.ts';
import { openWriter, startProcess } from './process.ts';
import {
  drawProfile,
  isSlow,
  type PeopleProfile,
  type Profile,
  type ReversalsProfile,
  type Without,
} from './profile.ts';
import { goOnWithCopy } from './restored.ts';
import { type ReversingParts, reverseEffects, scheduleTogether } from './reversing.ts';
import { BAN_FIELDS, rulesOf } from './rules.ts';
import { SimClock } from './sim-clock.ts';
import { Truth } from './truth.ts';
import { World } from './world.ts';

export interface SimulationOptions {
  bug?: PlantedBug | undefined;
  /** Ends the only crash-prone life at exactly this step, instead of where the dice say; 0: no crash at all. */
  crashAt?: number | undefined;
  without?: Without | undefined;
  /** With change windows; `ignored`: the engine does not know them. */
  freezes?: 'heeded' | 'ignored';
  /** Sees the record at the end, when nothing was violated. */
  ended?: ((record: { db: SqliteDb; clock: SimClock; shelf: RuleShelf }) => Promise<void>) | undefined;
  /** Receives the history, line by line. */
  tell?: ((line: string) => void) | undefined;
}

export interface SimulationResult {
  seed: number;
  crashes: number;
  /** Steps at which the process could have ended. */
  steps: number;
  requests: number;
  retries: number;
  parked: number;
  confirmed: number;
  undoneInFreeze: number;
  /** Commits while a rollout was stopped. */
  stoppedRollouts: number;
  /** Messages to people. */
  told: number;
  /** Checks that somebody asked for, and what was undone by them. */
  checks: number;
  undoneByChecks: number;
  violations: Violation[];
  /** SHA-256 over all effects and audited bytes. */
  digest: string;
}

export async function simulate(seed: number, options: SimulationOptions = {}): Promise<SimulationResult> {
  const drawn = drawProfile(seed, options.without);
  const { freezes } = options;
  const profile: Profile = {
    ...drawn,
    ...(freezes && { freeze: halfOfTheTime(), ignoresFreeze: freezes === 'ignored' }),
  };
  const simulation = new Simulation(profile, options);
  try {
    const result = await simulation.play();
    if (options.tell) historyOf(simulation).forEach(options.tell);
    if (result.violations.length === 0) await options.ended?.(simulation);
    return result;
  } finally {
    simulation.close();
  }
}

/** From one run to the next; several come within a quiet period where people reverse what was done. */
const IDLE_MS = [500, 3_000, 20_000, 60_000, 300_000];
const OFTEN_MS = [500, 3_000, 3_000, 8_000, 8_000, 20_000, 60_000, 300_000];

class Simulation {
  readonly clock = new SimClock();
  readonly world: World;
  private readonly disk: SimDisk;
  readonly db: SqliteDb;
  private readonly ledger: Ledger;
  private readonly checker: Checker;
  readonly platform: SimPlatform;
  readonly shelf: RuleShelf;
  private readonly schedule: Dice;
  private readonly peopleDice: Dice;
  private readonly beside: Dice;
  private readonly looks: Dice;
  private readonly warnings: Dice;
  private readonly reversing: ReversingParts | undefined;
  private readonly checkpoints: SimCheckpointFile | undefined;
  /** The database as somebody copied it in the middle. */
  private copy: SqliteDb | undefined;
  private readonly lives: Lives;
  private wasBesieged = false;

  constructor(
    private readonly profile: Profile,
    options: SimulationOptions,
  ) {
    const { seed } = profile;
    this.clock.isShared = profile.concurrency > 1;
    this.disk = new SimDisk(options.bug);
    this.db = freshDatabase(this.disk);
    this.world = new World(this.clock, profile);
    this.ledger = new Ledger(this.db, this.clock);
    const truth = new Truth(this.world, this.clock);
    this.checker = new Checker(this.ledger, truth, this.world, this.clock, profile);
    if (profile.notices) this.checker.post = new SimPost(this.checker, profile.notices, options.bug);
    this.platform = new SimPlatform(this.world, this.clock, profile, new Dice(seed, 'nemeses'), this.checker);
    this.shelf = new RuleShelf(rulesOf(profile), this.clock, profile);
    this.schedule = new Dice(seed, 'schedule');
    this.peopleDice = new Dice(seed, 'people');
    this.beside = new Dice(seed, 'beside');
    this.looks = new Dice(seed, 'looks');
    this.warnings = new Dice(seed, 'warnings');
    this.reversing = this.reversingBy(profile.reversals);
    this.checkpoints = profile.people && new SimCheckpointFile();
    const { clock, db, disk, world, ledger, checker, platform, shelf, schedule, checkpoints } = this;
    const { bug, crashAt } = options;
    const seen = { db, disk, clock, world, ledger, checker, platform, shelf, profile, checkpoints, schedule };
    this.lives = new Lives({ ...seen, bug, crashAt });
    if (profile.people) this.lives.people = this.peopleWith(profile.people);
  }

  private reversingBy(reversals: ReversalsProfile | undefined): ReversingParts | undefined {
    if (!reversals) return undefined;
    const { world, clock, platform } = this;
    const dice = new Dice(this.profile.seed, 'reversals');
    const parts = { world, clock, dice, reversals, isCalm: () => platform.isCalm };
    reverseEffects(parts);
    return parts;
  }

  private peopleWith(chances: PeopleProfile): People {
    const { lives, clock, peopleDice: dice, world, ledger, shelf } = this;
    const { tends, parts } = this.profile;
    lives.writer = openWriter(lives.surroundings(this.db));
    const store = always(() => lives.writer as SqliteStore);
    const ids = { next: () => lives.nextId() };
    return new People({ store, clock, ids, dice, world, ledger, shelf, chances, tends, parts });
  }

  close(): void {
    this.db.close();
    this.copy?.close();
  }

  async play(): Promise<SimulationResult> {
    if (this.checkpoints) await this.lives.bear();
    const isWhole = await this.live();
    if (isWhole && this.checker.violations.length === 0) await this.settle();
    if (isWhole && this.checker.violations.length === 0) await this.restore();
    await checkAudit(this.checker, this.db, this.checkpoints);
    const { profile, ledger, checker, platform } = this;
    return {
      seed: profile.seed,
      crashes: this.lives.crashCount,
      steps: this.lives.steps,
      requests: platform.requests.length,
      retries: checker.retries,
      parked: ledger.withOutcome('parked').length,
      confirmed: ledger.withOutcome('confirmed').length,
      undoneInFreeze: checker.undoneInFreeze,
      stoppedRollouts: checker.rollouts.stopped,
      told: checker.post?.handed.length ?? 0,
      checks: checker.again.asked,
      undoneByChecks: checker.again.undone,
      violations: checker.violations,
      digest: digestOf(this),
    };
  }

  /** False: it ended before its time. */
  private async live(): Promise<boolean> {
    for (let round = 0; round < this.profile.rounds && this.checker.violations.length === 0; round += 1) {
      const isBesieged = this.isBesiegedIn(round);
      if (!isBesieged) await this.round();
      else if (!(await besiege(this.besieged()))) return false;
      if (this.checkpoints && !this.copy && this.peopleDice.chance(0.02)) this.copy = copyOf(this.db, this.disk);
    }
    return true;
  }

  /** Once, and not before there is a record with which an edit could differ. */
  private isBesiegedIn(round: number): boolean {
    const { beside } = this.profile;
    if (!beside || this.wasBesieged || round < beside.round || answered(this.db, headOf).seq === 0) return false;
    this.wasBesieged = true;
    return true;
  }

  private async round(): Promise<void> {
    const { schedule: dice, clock, world, shelf, profile } = this;
    const idleMs = dice.pick(this.reversing ? OFTEN_MS : IDLE_MS);
    scheduleHappenings({ world, clock, shelf, profile, dice, looks: this.looks }, idleMs + 6_000);
    if (this.reversing) scheduleTogether(this.reversing, idleMs + 6_000);
    this.lives.people?.schedule(idleMs + 6_000);
    // Nothing else is awaited: a command of people goes as far as it did before there were looks.
    if (profile.looks) await this.idle(idleMs);
    else clock.pass(idleMs);
    await this.warn();
    const operation =
      this.releaseOrNot() ??
      dice.weighted<OperationName>({
        enforce: 58,
        'dry-run': 8,
        approve: 7,
        chosen: this.reversing ? 25 : 6,
        waiting: 6,
        apply: 12,
        reject: 3,
        release: 0,
        exempt: 0,
        resolve: 0,
        part: 0,
        continue: 0,
        'release-rule': 0,
        look: 0,
        check: 0,
        'resume-rollout': 0,
      });
    const daemonMode = dice.weighted<Mode>({ enforce: 90, approve: 5, 'dry-run': 5, off: 0 });
    await this.lives.perform(operation, daemonMode);
  }

  /** Devices get other owners, messages go out beside the next run, what a rollout did is undone, or it goes on or begins anew, and somebody mends a device and has it checked. */
  private async warn(): Promise<void> {
    const { warnings: dice, clock, world, profile, lives, checker } = this;
    const { moves = 0, checks = 0, notices, rollout } = profile;
    if (moves && dice.chance(moves)) {
      const [{ id }, { email }] = [dice.pick(world.born.devices), dice.pick(world.born.users)];
      clock.after(dice.whole(0, 6_000), () => world.give(id, email));
    }
    if (notices && dice.chance(0.4)) lives.deliverBeside(dice.whole(0, 3_000));
    if (rollout && dice.chance(0.12)) await lives.performAsItIs(dice.pick(['resume-rollout', 'release-rule']));
    if (!checks || !dice.chance(checks)) return;
    const banned = world.now.devices.filter((device) => device.banned === 'TRUE');
    const { id } = dice.pick(banned.length > 0 && dice.chance(0.8) ? banned : world.born.devices);
    if (dice.chance(0.6)) for (const field of BAN_FIELDS) world.setTrouble(id, field, 'FALSE');
    for (let press = dice.whole(1, 3); press > 0 && checker.violations.length === 0; press -= 1) {
      clock.pass(dice.pick([0, 1_000, 15_000, 61_000]));
      checker.again.device = id;
      await lives.performAsItIs('check');
    }
  }

  /** The daemon looks at the event log meanwhile. */
  private async idle(ms: number): Promise<void> {
    const { clock, looks: dice } = this;
    const until = clock.trueMs + ms;
    for (let look = dice.whole(0, 3); look > 0 && this.checker.violations.length === 0; look -= 1) {
      clock.pass(dice.whole(0, Math.max(0, until - clock.trueMs)));
      await this.lives.performAsItIs('look');
    }
    clock.pass(Math.max(0, until - clock.trueMs));
  }

  private releaseOrNot(): OperationName | undefined {
    const { profile, peopleDice } = this;
    if (profile.parts && peopleDice.chance(0.3))
      return peopleDice.pick(['part', 'part', 'part', 'continue', 'release-rule', 'resolve']);
    return profile.people && peopleDice.chance(profile.people.release)
      ? peopleDice.pick(['release', 'resolve', 'resolve', 'exempt'])
      : undefined;
  }

  private besieged(): BesiegedView {
    const { db, disk, world, checker, platform, clock, profile, beside: dice } = this;
    return {
      ...{
        db,
        disk,
        world,
        checker,
        platform,
        clock,
        profile,
        dice,
        checkpoints: this.checkpoints as SimCheckpointFile,
      },
      round: () => this.round(),
      perform: (operation) => this.lives.perform(operation, 'enforce'),
      end: () => this.lives.end(),
      start: (life, judge = this.checker) =>
        startProcess(
          { ...this.lives.surroundings(db), onCommit: () => judge === this.checker && judge.onCommit() },
          life,
          'enforce',
        ),
      run: (engine, judge) => this.lives.runJudgedBy(engine, judge),
    };
  }

  /** No nemesis comes any more, the world stands still: the engine runs and people approve until nothing changes. */
  private async settle(): Promise<void> {
    this.profile.freeze?.splice(0);
    this.clock.pass(this.lives.people || isSlow(this.profile) ? 500_000 : 60_000);
    await this.lives.people?.heard();
    this.lives.isCalm = true;
    this.platform.isCalm = true;
    if (this.checker.post) this.checker.post.isCalm = true;
    this.clock.jump(0);
    this.shelf.restore();
    this.world.enroll();
    await this.lives.people?.leave();
    this.lives.end();
    if (this.checker.rollouts.isBraked) await this.lives.perform('resume-rollout', 'enforce');
    // Of four rounds two are whole runs: an undo rests on a second reading. A new plan is answered in the next round.
    const plans = () => this.checker.ledger.db.get<{ n: number }>('SELECT count(*) AS n FROM plans')?.n ?? 0;
    let unchanged = 0;
    for (let round = 0; round < 40 && unchanged < 4; round += 1) {
      const before = this.platform.requests.length + plans();
      this.clock.pass([20_000, 120_000, 3_600_000][round % 3] as number);
      if (this.profile.tends) await this.lives.people?.acceptAll();
      if (this.profile.looks) await this.lives.performAsItIs('look');
      await this.lives.perform(round % 2 === 0 ? 'enforce' : 'apply', 'enforce');
      if (round % 2 === 1) await this.lives.perform('continue', 'enforce');
      const isQuiet =
        round >= 5 &&
        this.platform.requests.length + plans() === before &&
        !this.isWarning() &&
        !this.checker.rollouts.isRolling;
      unchanged = isQuiet ? unchanged + 1 : 0;
      if (this.checker.violations.length > 0) return;
    }
    const { checker, ledger, world, clock, profile } = this;
    checkFinalState({ checker, ledger, world, clock, profile });
  }

  /** Somebody was warned, or is to be, whose time is not over. */
  private isWarning(): boolean {
    const sql = `SELECT 1 FROM notices WHERE open = 1 AND ahead_ms = 0
      AND (status IN ('waiting', 'sending') OR status = 'delivered' AND due_at > ?)`;
    return this.db.get(sql, this.clock.nowMs() - 60_000) !== undefined;
  }

  /** At last somebody puts the old copy in the place of the database. */
  private async restore(): Promise<void> {
    const { copy, checkpoints, db, world, checker, platform, clock, profile } = this;
    if (!copy || !checkpoints) return;
    const start = (life: Life) =>
      startProcess({ ...this.lives.surroundings(copy), onCommit: () => {}, opened: () => {} }, life, 'enforce');
    const run = (engine: Engine, judge: Checker) => this.lives.runJudgedBy(engine, judge);
    await goOnWithCopy({
      copy,
      db,
      checkpoints,
      world,
      checker,
      platform,
      clock,
      profile,
      dice: this.lives.crashes,
      start,
      run,
    });
  }
}

/** The newest store whenever one of its methods is called: a command goes through the daemon that lives then. */
function always(newest: () => SqliteStore): SqliteStore {
  const methodOf =
    (_: object, name: string | symbol) =>
    (...given: unknown[]) =>
      (Reflect.get(newest(), name) as (...given: unknown[]) => unknown).apply(newest(), given);
  return new Proxy<SqliteStore>(newest(), { get: methodOf });
}
