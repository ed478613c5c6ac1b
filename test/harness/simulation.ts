// harness: one simulation: a seed's world, its nemeses, and the real engine living and dying in it, until all is quiet.
// In: a seed. Out: what was found and counted, and a digest of every effect and audited byte: the same for the same seed.
import { createHash } from 'node:crypto';
import { verifyChain } from '../../src/audit/chain.ts';
import { answerPlan } from '../../src/cycle/answer-plan.ts';
import { applyPlan } from '../../src/cycle/apply-plan.ts';
import type { Engine } from '../../src/cycle/engine.ts';
import { runCycle } from '../../src/cycle.ts';
import { AppError, lineOf } from '../../src/domain/errors.ts';
import type { Mode } from '../../src/domain/mode.ts';
import type { Plan } from '../../src/domain/plan.ts';
import type { Db } from '../../src/store/database.ts';
import { SqliteReader } from '../../src/store/reader.ts';
import { Checker, type Violation } from './checker.ts';
import { Crash, Life } from './crash.ts';
import { freshDatabase } from './database.ts';
import { Dice } from './dice.ts';
import { checkFinalState } from './final-state.ts';
import { RuleShelf, scheduleHappenings } from './happenings.ts';
import { Ledger } from './ledger.ts';
import type { PlantedBug } from './planted-bugs.ts';
import { SimPlatform } from './platform.ts';
import { startProcess } from './process.ts';
import { drawProfile, type Profile } from './profile.ts';
import { rulesOf } from './rules.ts';
import { SimClock, START_MS } from './sim-clock.ts';
import { Truth } from './truth.ts';
import { World } from './world.ts';

export interface SimulationOptions {
  bug?: PlantedBug | undefined;
  /** Ends the only crash-prone life at exactly this step, instead of where the dice say; 0: no crash at all. */
  crashAt?: number | undefined;
  /** Told the history, line by line. */
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
  const simulation = new Simulation(drawProfile(seed), options);
  try {
    const result = await simulation.play();
    if (options.tell) simulation.history().forEach(options.tell);
    return result;
  } finally {
    simulation.close();
  }
}

type Operation = 'enforce' | 'dry-run' | 'approve' | 'chosen' | 'waiting' | 'apply' | 'reject';

class Simulation {
  private readonly clock = new SimClock();
  private readonly world: World;
  private readonly db: Db = freshDatabase();
  private readonly ledger: Ledger;
  private readonly checker: Checker;
  private readonly platform: SimPlatform;
  private readonly shelf: RuleShelf;
  private readonly schedule: Dice;
  private readonly crashes: Dice;
  private lastId = 0;
  private life = new Life(undefined);
  private engine: Engine | undefined;
  private crashCount = 0;
  private steps = 0;
  private isCalm = false;

  constructor(
    private readonly profile: Profile,
    private readonly options: SimulationOptions,
  ) {
    const { seed } = profile;
    this.world = new World(this.clock, profile);
    this.ledger = new Ledger(this.db, this.clock);
    const truth = new Truth(this.world, this.clock);
    this.checker = new Checker(this.ledger, truth, this.world, this.clock, profile);
    this.platform = new SimPlatform(this.world, this.clock, profile, new Dice(seed, 'nemeses'), this.checker);
    this.shelf = new RuleShelf(rulesOf(profile));
    this.schedule = new Dice(seed, 'schedule');
    this.crashes = new Dice(seed, 'crashes');
  }

  close(): void {
    this.db.close();
  }

  async play(): Promise<SimulationResult> {
    for (let round = 0; round < this.profile.rounds && this.checker.violations.length === 0; round += 1)
      await this.round();
    if (this.checker.violations.length === 0) await this.settle();
    await this.checkChain();
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
      digest: this.digest(),
    };
  }

  private async round(): Promise<void> {
    const { schedule: dice, clock, world, shelf, profile } = this;
    const idleMs = dice.pick([500, 3_000, 20_000, 60_000, 300_000]);
    scheduleHappenings({ world, clock, shelf, profile, dice }, idleMs + 6_000);
    clock.pass(idleMs);
    const operation = dice.weighted<Operation>({
      enforce: 58,
      'dry-run': 8,
      approve: 7,
      chosen: 6,
      waiting: 6,
      apply: 12,
      reject: 3,
    });
    const daemonMode = dice.weighted<Mode>({ enforce: 90, approve: 5, 'dry-run': 5, off: 0 });
    await this.perform(operation, daemonMode);
  }

  /** One operation of a process that lives, or of a fresh one; it may end at any await. */
  private async perform(operation: Operation, daemonMode: Mode): Promise<void> {
    try {
      const engine = await this.living(daemonMode);
      await this.operate(engine, operation);
    } catch (error) {
      this.takeError(error);
    } finally {
      this.checker.operation = undefined;
    }
    if (this.life.ended) this.crashCount += 1;
  }

  private async living(daemonMode: Mode): Promise<Engine> {
    if (this.engine && !this.life.ended && this.engine.daemonMode === daemonMode) return this.engine;
    this.steps += this.life.steps;
    this.life = new Life(this.lifeEnd());
    const { db, clock, profile, platform, shelf, checker } = this;
    const ids = { next: () => this.nextId() };
    const around = {
      db,
      clock,
      api: platform,
      ids,
      profile,
      bug: this.options.bug,
      onCommit: () => checker.onCommit(),
      rules: () => shelf.current,
    };
    this.engine = startProcess(around, this.life, daemonMode);
    await this.engine.store.abortStaleRuns(clock.nowMs());
    return this.engine;
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

  private async operate(engine: Engine, operation: Operation): Promise<void> {
    switch (operation) {
      case 'apply':
        return this.answer(engine, 'approve');
      case 'reject':
        return this.answer(engine, 'reject');
      case 'dry-run':
      case 'approve':
        return this.run(engine, operation);
      case 'enforce':
        return this.run(engine, 'enforce');
      case 'waiting':
        return this.run(engine, 'enforce', { waitForDoubts: true });
      case 'chosen': {
        const chosen = this.shelf.current.filter(() => this.schedule.chance(0.5)).map(({ id }) => id);
        return this.run(engine, 'enforce', { rules: chosen.length > 0 ? chosen : undefined });
      }
    }
  }

  private async run(
    engine: Engine,
    mode: Mode,
    more: { rules?: string[] | undefined; waitForDoubts?: boolean } = {},
  ): Promise<void> {
    const startMs = this.clock.trueMs;
    this.begin(engine, 'run', mode);
    // The daemon's own runs ask for no more than the daemon's mode.
    await this.bugged(mode, (asked) =>
      runCycle(engine, {
        mode: asked,
        trigger: 'schedule',
        rules: more.rules,
        waitForDoubts: more.waitForDoubts ?? false,
      }),
    );
    if (!more.rules && this.shelf.isWhole) this.checker.lookedFrom(startMs);
    this.checkNothingUnderWay();
  }

  private async bugged(mode: Mode, run: (mode: Mode) => Promise<unknown>): Promise<void> {
    await run(this.options.bug === 'dry_run_acts' && mode === 'dry-run' ? 'enforce' : mode);
  }

  /** A person answers the newest plan that waits; an approved one is applied at once, as the daemon does. */
  private async answer(engine: Engine, answer: 'approve' | 'reject'): Promise<void> {
    const plan = await this.newestPlan(engine, ['pending', 'approved']);
    if (!plan || engine.daemonMode !== 'enforce') return;
    const decided = plan.status === 'pending' ? await answerPlan(engine, plan.id, answer, 'a person', undefined) : plan;
    if (decided.status !== 'approved') return;
    this.checker.approvedPlans.add(plan.id);
    this.begin(engine, 'apply', 'enforce');
    await applyPlan(engine, plan.id, 'ana');
  }

  private async newestPlan(engine: Engine, statuses: readonly Plan['status'][]): Promise<Plan | undefined> {
    for (const status of statuses) {
      const [plan] = await engine.store.plans({ status }, 1);
      if (plan) return plan;
    }
    return undefined;
  }

  private begin(engine: Engine, name: 'run' | 'apply', mode: Mode): void {
    const rules = new Map(this.shelf.current.map((rule) => [rule.id, rule.mode]));
    const modeNow = (id: string) => this.shelf.current.find((rule) => rule.id === id)?.mode ?? 'off';
    const { trueMs: startMs } = this.clock;
    const { daemonMode } = engine;
    this.checker.operation = { name, mode, startMs, daemonMode, rules, modeNow, lists: new Map(), requests: new Map() };
  }

  /** What came to its end without a crash leaves nothing half-done. */
  private checkNothingUnderWay(): void {
    for (const intent of this.ledger.unsettled()) {
      this.checker.report(
        'unresolved',
        `intent ${intent.id} (${intent.action} ${intent.target}) is ${intent.status} after a whole run`,
      );
    }
  }

  private takeError(error: unknown): void {
    if (this.life.ended || error instanceof Crash) return;
    const expected =
      error instanceof AppError && ['api_refused', 'api_unreachable', 'api_answer', 'conflict'].includes(error.code);
    if (!expected)
      this.checker.report(
        'broke',
        error instanceof Error ? `${lineOf(error)} ${error.stack?.split('\n')[1]?.trim()}` : String(error),
      );
  }

  /** No nemesis comes any more, the world stands still: the engine runs and people approve until nothing changes. */
  private async settle(): Promise<void> {
    this.clock.pass(60_000);
    this.isCalm = true;
    this.platform.isCalm = true;
    this.clock.jump(0);
    this.shelf.restore();
    this.life.ended = true;
    let unchanged = 0;
    for (let round = 0; round < 40 && unchanged < 3; round += 1) {
      const before = this.platform.requests.length;
      this.clock.pass([20_000, 120_000, 3_600_000][round % 3] as number);
      await this.perform(round % 2 === 0 ? 'enforce' : 'apply', 'enforce');
      unchanged = round < 6 || this.platform.requests.length > before ? 0 : unchanged + 1;
      if (this.checker.violations.length > 0) return;
    }
    const { checker, ledger, world, clock, profile } = this;
    checkFinalState({ checker, ledger, world, clock, profile });
  }

  private async checkChain(): Promise<void> {
    const { ok, bad } = await verifyChain(new SqliteReader(this.db, this.clock).auditFrom(1));
    if (!ok) this.checker.report('broken_chain', `entry ${bad?.seq}: ${bad?.reason}`);
  }

  /** What happened, in order, for a person who looks into a failing seed. */
  history(): string[] {
    const entries = this.db.all<{ at: number; kind: string; bytes: string }>('SELECT * FROM audit ORDER BY seq');
    const effects = this.world.effects.map(
      ({ atMs, ...effect }) => `${atMs - START_MS} effect ${JSON.stringify(effect)}`,
    );
    const requests = this.platform.requests.map(
      ({ atMs, ...request }) => `${atMs - START_MS} request ${JSON.stringify(request)}`,
    );
    return [...entries.map(({ at, bytes }) => `${at - START_MS} ${bytes}`), ...effects, ...requests];
  }

  private digest(): string {
    const hash = createHash('sha256');
    hash.update(JSON.stringify(this.world.effects));
    for (const { bytes } of this.db.all<{ bytes: string }>('SELECT bytes FROM audit ORDER BY seq')) hash.update(bytes);
    return hash.digest('hex');
  }
}
