// harness: the processes of one simulation, one after another: each operation goes to the one that lives, or to a fresh one, and each may
// end at any await. In: the world, and what happens to the machine. Out: operations performed, deaths counted.
import { AppError, lineOf } from '../../src/domain/errors.ts';
import { leastMode, type Mode } from '../../src/domain/rule.ts';
import type { Engine } from '../../src/engine/run/engine.ts';
import type { SqliteDb } from '../../src/store/sqlite/database.ts';
import type { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { Crash, Life } from '../support/crash.ts';
import type { Asking, OperationName } from './asking.ts';
import type { Checker } from './checker.ts';
import type { SimCheckpointFile } from './checkpoints.ts';
import { Dice } from './dice.ts';
import type { SimDisk } from './disk.ts';
import type { RuleShelf } from './happenings.ts';
import type { Ledger } from './ledger.ts';
import { operate, run } from './operations.ts';
import type { People } from './people.ts';
import type { PlantedBug } from './planted-bugs.ts';
import type { SimPlatform } from './platform.ts';
import { type Surroundings, startProcess } from './process.ts';
import type { Profile } from './profile.ts';
import type { SimClock } from './sim-clock.ts';
import { SimWatch } from './sim-watch.ts';
import type { World } from './world.ts';

export interface LivesParts {
  db: SqliteDb;
  disk: SimDisk;
  clock: SimClock;
  world: World;
  ledger: Ledger;
  checker: Checker;
  platform: SimPlatform;
  shelf: RuleShelf;
  profile: Profile;
  checkpoints: SimCheckpointFile | undefined;
  schedule: Dice;
  bug: PlantedBug | undefined;
  crashAt: number | undefined;
}

export class Lives {
  people: People | undefined;
  /** Of the newest life; one writer at a time has the database. */
  writer: SqliteStore | undefined;
  crashCount = 0;
  /** No process ends before its time any more. */
  isCalm = false;
  readonly crashes: Dice;
  private readonly machine: Dice;
  private readonly beside: Promise<void>[] = [];
  private lastId = 0;
  private life = new Life(undefined);
  private engine: Engine | undefined;
  private watch: SimWatch | undefined;
  private daemonMode: Mode | undefined;
  private stepsBefore = 0;

  constructor(private readonly parts: LivesParts) {
    const { clock, profile } = parts;
    this.crashes = new Dice(profile.seed, 'crashes');
    this.machine = new Dice(profile.seed, 'machine');
    if (this.machine.chance(0.25)) clock.boot = '';
  }

  /** Steps at which a process could have ended. */
  get steps(): number {
    return this.stepsBefore + this.life.steps;
  }

  /** The installation: people command one that has been born (test/engine/audit/birth-killed.slow.test.ts kills that). */
  async bear(): Promise<void> {
    await startProcess(this.surroundings(this.parts.db), this.life, 'dry-run');
  }

  end(): void {
    this.life.ended = true;
  }

  /** Of the process that lives, or of a fresh one of the same mode. */
  async performAsItIs(operation: OperationName): Promise<void> {
    await this.perform(operation, this.daemonMode ?? 'enforce');
  }

  /** One operation of a process that lives, or of a fresh one; it may end at any await. */
  async perform(operation: OperationName, daemonMode: Mode): Promise<void> {
    try {
      const engine = await this.living(daemonMode);
      await operate(this.asking(), engine, operation);
      await this.deliver(false);
    } catch (error) {
      this.takeError(error);
    } finally {
      this.parts.checker.operation = undefined;
    }
    await this.hear();
    if (this.life.ended) this.crashCount += 1;
  }

  /** By the process that lives, if one does. */
  async deliver(isBeside: boolean): Promise<void> {
    await this.parts.checker.post?.deliver(this.writer as SqliteStore, this.life, () => this.nextId(), isBeside);
  }

  /** Messages go out while a run is under way. */
  deliverBeside(afterMs: number): void {
    this.parts.clock.after(afterMs, () => {
      if (this.writer && !this.life.ended) this.beside.push(this.deliver(true));
    });
  }

  /** What people said is committed, or refused. */
  async hear(): Promise<void> {
    await Promise.all(this.beside.splice(0));
    await this.people?.heard();
    for (const fault of this.people?.faults.splice(0) ?? [])
      if (!this.isByIntrusion(fault)) this.parts.checker.report('broke', `a person's word: ${String(fault)}`);
  }

  private async living(daemonMode: Mode): Promise<Engine> {
    if (this.engine && !this.life.ended && this.daemonMode === daemonMode) return this.engine;
    await this.hear();
    this.stepsBefore += this.life.steps;
    this.life.ended = true; // also one that was stopped in good order writes nothing more
    this.life = new Life(this.lifeEnd());
    if (this.machine.chance(0.1)) this.parts.clock.reboot();
    this.engine = await startProcess(this.surroundings(this.parts.db), this.life, daemonMode);
    this.daemonMode = daemonMode;
    this.watch = this.watchOf(this.engine);
    const isEdited = this.parts.checker.intrusion !== undefined;
    if (this.engine.daemonMode !== (isEdited ? leastMode(daemonMode, 'dry-run') : daemonMode))
      this.parts.checker.report(
        'broken_chain',
        isEdited ? 'an edited database may be acted on' : 'the newest database is doubted',
      );
    await this.engine.store.abortStaleRuns(this.parts.clock.nowMs());
    return this.engine;
  }

  private watchOf(engine: Engine): SimWatch | undefined {
    const { looks } = this.parts.profile;
    if (!looks) return undefined;
    const asking = () => this.asking();
    const runWhole = async () => {
      await engine.store.abortStaleRuns(this.parts.clock.nowMs());
      await run(asking(), engine, 'enforce', { trigger: 'watch' });
    };
    return new SimWatch({ engine, everyMs: looks.everyMs, asking, runWhole });
  }

  /** Of a process on this database. */
  surroundings(db: SqliteDb): Surroundings {
    const { clock, profile, platform, shelf, checker, checkpoints, disk, bug } = this.parts;
    return {
      db,
      disk,
      clock,
      api: platform,
      beginMeasuring: () => platform.beginMeasuring(),
      ids: { next: () => this.nextId() },
      profile,
      checkpoints,
      bug,
      onCommit: () => checker.onCommit(),
      opened: (store) => {
        this.writer = store;
      },
      rules: () => shelf.current,
    };
  }

  private asking(): Asking {
    const { clock, checker, ledger, world, shelf, schedule: dice, bug, platform } = this.parts;
    const reads = () => platform.reads;
    return { clock, checker, ledger, world, shelf, dice, people: this.people, bug, watch: this.watch, reads };
  }

  nextId(): string {
    this.lastId += 1;
    return String(this.lastId).padStart(8, '0');
  }

  private lifeEnd(): number | undefined {
    if (this.isCalm) return undefined;
    const { crashAt, profile } = this.parts;
    if (crashAt !== undefined) return crashAt > this.stepsBefore ? crashAt - this.stepsBefore : undefined;
    return this.crashes.chance(profile.crashShare) ? this.crashes.whole(1, profile.crashWithin) : undefined;
  }

  private takeError(error: unknown): void {
    if (this.life.ended || error instanceof Crash) return;
    const expected = error instanceof AppError && EXPECTED.has(error.code);
    if (!expected && !this.isByIntrusion(error))
      this.parts.checker.report(
        'broke',
        error instanceof Error ? `${lineOf(error)} ${error.stack?.split('\n')[1]?.trim()}` : String(error),
      );
  }

  private isByIntrusion(error: unknown): boolean {
    const { kind } = this.parts.checker.intrusion ?? {};
    return error instanceof AppError && kind !== undefined && error.code === REFUSING[kind];
  }

  /** A run that another judge sees. */
  async runJudgedBy(engine: Engine, checker: Checker): Promise<void> {
    await engine.store.abortStaleRuns(this.parts.clock.nowMs());
    await operate({ ...this.asking(), checker, ledger: checker.ledger }, engine, 'enforce').catch((error) =>
      this.takeError(error),
    );
  }
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
