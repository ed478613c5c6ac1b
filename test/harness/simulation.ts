// harness: one simulation: a seed's world, its nemeses, and the real engine living and dying in it, until all is quiet.
// In: a seed. Out: what was found and counted, and a digest of every effect and audited byte: the same for the same seed.

import { AppError, lineOf } from '../../src/domain/errors.ts';
import { leastMode, type Mode } from '../../src/domain/mode.ts';
import type { Engine } from '../../src/run/engine.ts';
import { headOf } from '../../src/store/audit-rows.ts';
import type { Db } from '../../src/store/database.ts';
import type { SqliteStore } from '../../src/store/sqlite-store.ts';
import { Crash, Life } from '../support/crash.ts';
import { copyOf, freshDatabase } from '../support/memory-database.ts';
import type { Asking, OperationName } from './asking.ts';
import { type BesiegedView, besiege } from './besieged.ts';
import { checkAudit } from './check-audit.ts';
import { Checker, type Violation } from './checker.ts';
import { SimCheckpointFile } from './checkpoints.ts';
import { Dice } from './dice.ts';
import { SimDisk } from './disk.ts';
import { checkFinalState } from './final-state.ts';
import { RuleShelf, scheduleHappenings } from './happenings.ts';
import { digestOf, historyOf } from './history.ts';
import { Ledger } from './ledger.ts';
import { operate } from './operations.ts';
import { People } from './people.ts';
import type { PlantedBug } from './planted-bugs.ts';
import { SimPlatform } from './platform.ts';
import { openWriter, type Surroundings, startProcess } from './process.ts';
import { drawProfile, isSlow, type Profile, type Without } from './profile.ts';
import { goOnWithCopy } from './restored.ts';
import { rulesOf } from './rules.ts';
import { SimClock } from './sim-clock.ts';
import { Truth } from './truth.ts';
import { World } from './world.ts';

export interface SimulationOptions {
  bug?: PlantedBug | undefined;
  /** Ends the only crash-prone life at exactly this step, instead of where the dice say; 0: no crash at all. */
  crashAt?: number | undefined;
  without?: Without | undefined;
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
  violations: Violation[];
  /** SHA-256 over all effects and audited bytes. */
  digest: string;
}

export async function simulate(seed: number, options: SimulationOptions = {}): Promise<SimulationResult> {
  const simulation = new Simulation(drawProfile(seed, options.without), options);
  try {
    const result = await simulation.play();
    if (options.tell) historyOf(simulation).forEach(options.tell);
    return result;
  } finally {
    simulation.close();
  }
}

class Simulation {
  private readonly clock = new SimClock();
  readonly world: World;
  private readonly disk: SimDisk;
  readonly db: Db;
  private readonly ledger: Ledger;
  private readonly checker: Checker;
  readonly platform: SimPlatform;
  private readonly shelf: RuleShelf;
  private readonly schedule: Dice;
  private readonly crashes: Dice;
  private readonly peopleDice: Dice;
  private readonly machine: Dice;
  private readonly beside: Dice;
  private readonly people: People | undefined;
  private readonly checkpoints: SimCheckpointFile | undefined;
  /** The database as somebody copied it in the middle. */
  private copy: Db | undefined;
  private lastId = 0;
  private life = new Life(undefined);
  private engine: Engine | undefined;
  private daemonMode: Mode | undefined;
  /** Of the newest life; one writer at a time has the database. */
  private writer: SqliteStore | undefined;
  private crashCount = 0;
  private steps = 0;
  private isCalm = false;
  private wasBesieged = false;

  constructor(
    private readonly profile: Profile,
    private readonly options: SimulationOptions,
  ) {
    const { seed } = profile;
    this.disk = new SimDisk(options.bug);
    this.db = freshDatabase(this.disk);
    this.world = new World(this.clock, profile);
    this.ledger = new Ledger(this.db, this.clock);
    const truth = new Truth(this.world, this.clock);
    this.checker = new Checker(this.ledger, truth, this.world, this.clock, profile);
    this.platform = new SimPlatform(this.world, this.clock, profile, new Dice(seed, 'nemeses'), this.checker);
    this.shelf = new RuleShelf(rulesOf(profile), this.clock, profile);
    this.schedule = new Dice(seed, 'schedule');
    this.crashes = new Dice(seed, 'crashes');
    this.peopleDice = new Dice(seed, 'people');
    this.machine = new Dice(seed, 'machine');
    this.beside = new Dice(seed, 'beside');
    if (this.machine.chance(0.25)) this.clock.boot = '';
    if (!profile.people) return;
    this.checkpoints = new SimCheckpointFile();
    this.writer = openWriter(this.surroundings(this.db));
    this.people = new People({
      store: always(() => this.writer as SqliteStore),
      clock: this.clock,
      ids: { next: () => this.nextId() },
      dice: this.peopleDice,
      world: this.world,
      ledger: this.ledger,
      shelf: this.shelf,
      chances: profile.people,
      tends: profile.tends,
      parts: profile.parts,
    });
  }

  close(): void {
    this.db.close();
    this.copy?.close();
  }

  async play(): Promise<SimulationResult> {
    // People command an installation that has been born: test/audit/birth-killed.test.ts kills that.
    if (this.checkpoints) await startProcess(this.surroundings(this.db), this.life, 'dry-run');
    if ((await this.live()) && this.checker.violations.length === 0) await this.settle();
    if (this.checker.violations.length === 0) await this.restore();
    await checkAudit(this.checker, this.db, this.checkpoints);
    const { profile, ledger, checker, platform } = this;
    return {
      seed: profile.seed,
      crashes: this.crashCount,
      steps: this.steps + this.life.steps,
      requests: platform.requests.length,
      retries: checker.retries,
      parked: ledger.withOutcome('parked').length,
      confirmed: ledger.withOutcome('confirmed').length,
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
    if (!beside || this.wasBesieged || round < beside.round || headOf(this.db).seq === 0) return false;
    this.wasBesieged = true;
    return true;
  }

  private async round(): Promise<void> {
    const { schedule: dice, clock, world, shelf, profile } = this;
    const idleMs = dice.pick([500, 3_000, 20_000, 60_000, 300_000]);
    scheduleHappenings({ world, clock, shelf, profile, dice }, idleMs + 6_000);
    this.people?.schedule(idleMs + 6_000);
    clock.pass(idleMs);
    const operation =
      this.releaseOrNot() ??
      dice.weighted<OperationName>({
        enforce: 58,
        'dry-run': 8,
        approve: 7,
        chosen: 6,
        waiting: 6,
        apply: 12,
        reject: 3,
        release: 0,
        exempt: 0,
        resolve: 0,
        part: 0,
        continue: 0,
        'release-rule': 0,
      });
    const daemonMode = dice.weighted<Mode>({ enforce: 90, approve: 5, 'dry-run': 5, off: 0 });
    await this.perform(operation, daemonMode);
  }

  private releaseOrNot(): OperationName | undefined {
    const { profile, peopleDice } = this;
    if (profile.parts && peopleDice.chance(0.3))
      return peopleDice.pick(['part', 'part', 'part', 'continue', 'release-rule', 'resolve']);
    return profile.people && peopleDice.chance(profile.people.release)
      ? peopleDice.pick(['release', 'resolve', 'resolve', 'exempt'])
      : undefined;
  }

  /** One operation of a process that lives, or of a fresh one; it may end at any await. */
  private async perform(operation: OperationName, daemonMode: Mode): Promise<void> {
    try {
      const engine = await this.living(daemonMode);
      await operate(this.asking(), engine, operation);
    } catch (error) {
      this.takeError(error);
    } finally {
      this.checker.operation = undefined;
    }
    await this.hear();
    if (this.life.ended) this.crashCount += 1;
  }

  private async hear(): Promise<void> {
    await this.people?.heard();
    for (const fault of this.people?.faults.splice(0) ?? [])
      if (!this.isByIntrusion(fault)) this.checker.report('broke', `a person's word: ${String(fault)}`);
  }

  private async living(daemonMode: Mode): Promise<Engine> {
    if (this.engine && !this.life.ended && this.daemonMode === daemonMode) return this.engine;
    await this.hear();
    this.steps += this.life.steps;
    this.life.ended = true; // also one that was stopped in good order writes nothing more
    this.life = new Life(this.lifeEnd());
    if (this.machine.chance(0.1)) this.clock.reboot();
    this.engine = await startProcess(this.surroundings(this.db), this.life, daemonMode);
    this.daemonMode = daemonMode;
    const isEdited = this.checker.intrusion !== undefined;
    if (this.engine.daemonMode !== (isEdited ? leastMode(daemonMode, 'dry-run') : daemonMode))
      this.checker.report(
        'broken_chain',
        isEdited ? 'an edited database may be acted on' : 'the newest database is doubted',
      );
    await this.engine.store.abortStaleRuns(this.clock.nowMs());
    return this.engine;
  }

  private surroundings(db: Db): Surroundings {
    const { clock, profile, platform, shelf, checker, checkpoints, disk } = this;
    return {
      db,
      disk,
      clock,
      api: platform,
      beginMeasuring: () => platform.beginMeasuring(),
      ids: { next: () => this.nextId() },
      profile,
      checkpoints,
      bug: this.options.bug,
      onCommit: () => checker.onCommit(),
      opened: (store) => {
        this.writer = store;
      },
      rules: () => shelf.current,
    };
  }

  private asking(): Asking {
    const { clock, checker, ledger, world, shelf, schedule: dice, people } = this;
    return { clock, checker, ledger, world, shelf, dice, people, bug: this.options.bug };
  }

  private nextId(): string {
    this.lastId += 1;
    return String(this.lastId).padStart(8, '0');
  }

  private lifeEnd(): number | undefined {
    if (this.isCalm) return undefined;
    const { crashAt } = this.options;
    if (crashAt !== undefined) return crashAt > this.steps ? crashAt - this.steps : undefined;
    return this.crashes.chance(this.profile.crashShare) ? this.crashes.whole(1, this.profile.crashWithin) : undefined;
  }

  private takeError(error: unknown): void {
    if (this.life.ended || error instanceof Crash) return;
    const expected = error instanceof AppError && EXPECTED.has(error.code);
    if (!expected && !this.isByIntrusion(error))
      this.checker.report(
        'broke',
        error instanceof Error ? `${lineOf(error)} ${error.stack?.split('\n')[1]?.trim()}` : String(error),
      );
  }

  private isByIntrusion(error: unknown): boolean {
    const { kind } = this.checker.intrusion ?? {};
    return error instanceof AppError && kind !== undefined && error.code === REFUSING[kind];
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
      perform: (operation) => this.perform(operation, 'enforce'),
      end: () => {
        this.life.ended = true;
      },
      start: (life, judge = this.checker) =>
        startProcess(
          { ...this.surroundings(db), onCommit: () => judge === this.checker && judge.onCommit() },
          life,
          'enforce',
        ),
      run: (engine, judge) => this.runJudgedBy(engine, judge),
    };
  }

  private async runJudgedBy(engine: Engine, checker: Checker): Promise<void> {
    await engine.store.abortStaleRuns(this.clock.nowMs());
    await operate({ ...this.asking(), checker }, engine, 'enforce').catch((error) => this.takeError(error));
  }

  /** No nemesis comes any more, the world stands still: the engine runs and people approve until nothing changes. */
  private async settle(): Promise<void> {
    this.clock.pass(this.people || isSlow(this.profile) ? 500_000 : 60_000);
    await this.people?.heard();
    this.isCalm = true;
    this.platform.isCalm = true;
    this.clock.jump(0);
    this.shelf.restore();
    this.world.enroll();
    await this.people?.leave();
    this.life.ended = true;
    let unchanged = 0;
    for (let round = 0; round < 40 && unchanged < 3; round += 1) {
      const before = this.platform.requests.length;
      this.clock.pass([20_000, 120_000, 3_600_000][round % 3] as number);
      if (this.profile.tends) await this.people?.acceptAll();
      await this.perform(round % 2 === 0 ? 'enforce' : 'apply', 'enforce');
      if (round % 2 === 1) await this.perform('continue', 'enforce');
      unchanged = round < 5 || this.platform.requests.length > before ? 0 : unchanged + 1;
      if (this.checker.violations.length > 0) return;
    }
    const { checker, ledger, world, clock, profile } = this;
    checkFinalState({ checker, ledger, world, clock, profile });
  }

  /** At last somebody puts the old copy in the place of the database. */
  private async restore(): Promise<void> {
    const { copy, checkpoints, db, world, checker, platform, clock, profile, crashes } = this;
    if (!copy || !checkpoints) return;
    const start = (life: Life) =>
      startProcess({ ...this.surroundings(copy), onCommit: () => {}, opened: () => {} }, life, 'enforce');
    const run = (engine: Engine, judge: Checker) => this.runJudgedBy(engine, judge);
    await goOnWithCopy({ copy, db, checkpoints, world, checker, platform, clock, profile, dice: crashes, start, run });
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

/** How everything is refused after an edit, or on a replaced file. */
const REFUSING = { on_edited: 'store_edited', on_replaced: 'store_failed' } as const;

/** Why a run or an operator command may be refused. */
const EXPECTED: ReadonlySet<string> = new Set([
  'api_refused',
  'api_unreachable',
  'api_answer',
  'conflict',
  'not_found',
]);
