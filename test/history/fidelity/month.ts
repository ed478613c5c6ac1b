// fidelity: one random month: the real engine over a changing fleet, with faults, people, edits and deaths; and what it recorded meanwhile. In: a
// seed, and who records. Out: a digest of every effect and audited byte, the same with and without recording, and what the harness knows.
import { createHash } from 'node:crypto';
import { parseWindows } from '../../../src/domain/change-window.ts';
import { AppError } from '../../../src/domain/errors.ts';
import type { EventRows, HistoryReader, HistoryRecorder } from '../../../src/domain/recorded-history.ts';
import type { Source } from '../../../src/domain/subjects.ts';
import { linkEntry } from '../../../src/engine/audit/signing-key.ts';
import { runCycle, watchCycle } from '../../../src/engine/cycle.ts';
import type { Engine } from '../../../src/engine/run/engine.ts';
import type { SqliteDb } from '../../../src/store/sqlite/database.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { Dice } from '../../harness/dice.ts';
import { SimClock, START_MS } from '../../harness/sim-clock.ts';
import { Crash, Life } from '../../support/crash.ts';
import { freshDatabase } from '../../support/memory-database.ts';
import { MonthElsewhere } from './month-elsewhere.ts';
import { personActs } from './month-people.ts';
import { MonthPlatform, type Mood } from './month-platform.ts';
import { type MonthSettings, startMonthProcess } from './month-process.ts';
import { MonthRules } from './month-rules.ts';
import { MonthWorld } from './month-world.ts';
import type { Made } from './what-was-made.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const MONTH_MS = 30 * 24 * HOUR_MS;
/** A process starts with some of these steps before it ends early. */
const STEPS_MAX = 400;
/** Why a run or a look may break off. */
const EXPECTED: ReadonlySet<string> = new Set(['api_refused', 'api_unreachable', 'api_answer', 'conflict']);

/** Records one month; a new recorder for each process, which the end of the process leaves behind. */
export interface MonthRecording {
  /** `store`: where events have their numbers. */
  begin(store: EventRows, clock: SimClock): HistoryRecorder;
  reader(): HistoryReader;
  /** `isKilled`: nothing that was not written yet is written any more. */
  end(isKilled: boolean): Promise<void>;
}

export interface PlayedMonth {
  seed: number;
  db: SqliteDb;
  endMs: number;
  digest: string;
  runs: number;
  looks: number;
  deaths: number;
  decisions: number;
  /** Other rule sets that came into force. */
  edits: number;
  made: Made;
  /** The last runs that were committed before a death: they may have died before they were recorded. */
  diedAfter: ReadonlySet<string>;
  /** Whether the wall clock was ever set otherwise. */
  hasJumped: boolean;
}

export interface MonthOptions {
  /** No faults of the platform, no people, no deaths. */
  isCalm?: boolean;
  /** Rules that look back are among its rules: what they know is what was recorded. */
  looksBack?: boolean;
  /** Shorter than a month. */
  days?: number;
}

export async function playMonth(
  seed: number,
  recording: MonthRecording | undefined,
  options: MonthOptions = {},
): Promise<PlayedMonth> {
  const month = new Month(seed, recording, options);
  await month.play();
  return month.played();
}

class Month {
  private readonly clock = new SimClock();
  private readonly db = freshDatabase();
  private readonly world: MonthWorld;
  private readonly platform: MonthPlatform;
  private readonly elsewhere: MonthElsewhere;
  private readonly rules: MonthRules;
  private readonly schedule: Dice;
  private readonly people: Dice;
  private readonly machine: Dice;
  private readonly moods: Dice;
  private settings: MonthSettings;
  private life: Life | undefined;
  private engine: Engine | undefined;
  private lastId = 0;
  private readonly made: Made = new Map();
  private readonly diedAfter = new Set<string>();
  private looks = 0;
  private deaths = 0;
  /** How bad things are. */
  private readonly faults: number;
  private readonly endMs: number;

  constructor(
    private readonly seed: number,
    private readonly recording: MonthRecording | undefined,
    private readonly options: MonthOptions,
  ) {
    const traits = new Dice(seed, 'traits of the month');
    this.faults = options.isCalm || traits.chance(0.2) ? 0 : traits.share();
    this.schedule = new Dice(seed, 'schedule of the month');
    this.people = new Dice(seed, 'people of the month');
    this.machine = new Dice(seed, 'machine of the month');
    this.moods = new Dice(seed, 'moods of the month');
    this.world = new MonthWorld(this.clock, new Dice(seed, 'world of the month'), traits.whole(6, 18));
    this.platform = new MonthPlatform(this.world, this.clock, new Dice(seed, 'platform of the month'), {
      writes: {
        done: 8,
        failed: this.faults,
        lost_request: this.faults,
        lost_reply: this.faults,
        late: this.faults,
        lying: this.faults / 2,
        unauthorized: this.faults / 4,
      },
      broken: 0.03 * this.faults,
      listsBundles: traits.chance(0.5),
      hasDate: traits.chance(0.7),
    });
    const past = options.looksBack ? new Dice(seed, 'rules that look back') : undefined;
    const others = new Dice(seed, 'rules over signals and facts');
    this.rules = new MonthRules(new Dice(seed, 'rules of the month'), others, past);
    const elsewhere = new Dice(seed, 'signals of the month');
    const inbox = new SqliteStore(this.db, linkEntry, this.clock);
    this.elsewhere = new MonthElsewhere(this.clock, this.world, elsewhere, this.faults, inbox);
    this.platform.meanwhile = () => this.elsewhere.go();
    this.settings = drawSettings(traits);
    this.endMs = START_MS + (options.days ?? 30) * (MONTH_MS / 30);
  }

  async play(): Promise<void> {
    while (this.clock.trueMs < this.endMs) {
      const ms = this.interval();
      this.plan(ms);
      await this.pass(ms);
      this.drawMoods();
      await this.perform((engine) => this.run(engine));
      if (!this.options.isCalm && this.people.chance(0.25))
        await this.perform((engine) => personActs(engine, this.world, this.people));
    }
    await this.end(false);
  }

  played(): PlayedMonth {
    const { seed, db, clock, looks, deaths, made, diedAfter } = this;
    const hash = createHash('sha256').update(JSON.stringify(this.platform.effects));
    for (const { bytes } of db.all<{ bytes: string }>('SELECT bytes FROM audit ORDER BY seq')) hash.update(bytes);
    const count = (table: string) => Number(db.get<{ n: number }>(`SELECT count(*) AS n FROM ${table}`)?.n);
    const counts = { runs: count('runs'), decisions: count('decisions'), looks, deaths, edits: this.rules.edits, made };
    return {
      seed,
      db,
      endMs: clock.nowMs(),
      digest: hash.digest('hex'),
      ...counts,
      diedAfter,
      hasJumped: clock.jumps.length > 0,
    };
  }

  private interval(): number {
    const { schedule } = this;
    return schedule.pick([
      5 * MINUTE_MS,
      30 * MINUTE_MS,
      HOUR_MS,
      4 * HOUR_MS,
      8 * HOUR_MS,
      12 * HOUR_MS,
      23 * HOUR_MS,
    ]);
  }

  /** What happens within so many ms. */
  private plan(ms: number): void {
    const { schedule, clock, world, rules, options } = this;
    const at = (happen: () => void) => clock.after(schedule.whole(0, ms), happen);
    for (let count = schedule.whole(0, 1 + Math.ceil(ms / (2 * HOUR_MS))); count > 0; count -= 1)
      at(() => world.happen());
    this.elsewhere.plan(ms);
    if (schedule.chance(0.08)) at(() => rules.edit());
    if (options.isCalm || this.faults === 0) return;
    if (!schedule.chance(0.02)) return;
    const [jumpMs, lastsMs] = [schedule.pick(JUMPS), schedule.whole(MINUTE_MS, 24 * HOUR_MS)];
    at(() => {
      clock.jump(jumpMs);
      clock.after(lastsMs, () => clock.jump(0));
    });
  }

  private async pass(ms: number): Promise<void> {
    const { schedule, clock } = this;
    const until = clock.trueMs + ms;
    for (let look = schedule.whole(0, 2); look > 0; look -= 1) {
      clock.pass(schedule.whole(0, Math.max(0, Math.floor((until - clock.trueMs) / 2))));
      await this.elsewhere.go();
      await this.perform((engine) => this.look(engine));
    }
    clock.pass(Math.max(0, until - clock.trueMs));
    await this.elsewhere.go();
  }

  private async look(engine: Engine): Promise<void> {
    this.looks += 1;
    await watchCycle(engine, { mode: 'enforce', missedSince: () => 0, mayStartWhole: false });
  }

  private async run(engine: Engine): Promise<void> {
    const { schedule, rules, options } = this;
    const how = options.isCalm ? 'whole' : schedule.weighted({ whole: 80, chosen: 8, dry: 5, waiting: 7 });
    const chosen = rules.current.filter(() => schedule.chance(0.5)).map(({ id }) => id);
    await runCycle(engine, {
      mode: how === 'dry' ? 'dry-run' : 'enforce',
      trigger: 'schedule',
      rules: how === 'chosen' && chosen.length > 0 ? chosen : undefined,
      waitForDoubts: how === 'waiting',
    });
  }

  private drawMoods(): void {
    const { moods, faults, platform } = this;
    const bad: Mood[] = ['broken', 'forbidden', 'emptied', 'short', 'repeated', 'shifted', 'unreadable'];
    for (const source of ['devices', 'users', 'services', 'events'] satisfies Source[])
      platform.mood[source] = moods.chance(0.12 * faults) ? moods.pick(bad) : 'well';
  }

  private async perform(operation: (engine: Engine) => Promise<void>): Promise<void> {
    try {
      await operation(await this.living());
    } catch (error) {
      if (!(error instanceof Crash) && !(error instanceof AppError && EXPECTED.has(error.code))) throw error;
    }
    if (this.life?.ended) await this.end(true);
  }

  /** The process that lives, or a fresh one: the last one died, or somebody starts it anew. */
  private async living(): Promise<Engine> {
    if (this.engine && !this.machine.chance(0.04)) return this.engine;
    await this.end(false);
    const { machine, db, clock, platform, elsewhere, rules, made } = this;
    if (this.faults > 0 && machine.chance(0.1)) clock.reboot();
    if (machine.chance(0.3)) this.settings = drawSettings(machine);
    const diesAt = this.faults > 0 && machine.chance(0.5) ? machine.whole(1, STEPS_MAX) : undefined;
    this.life = new Life(diesAt);
    const ids = { next: () => this.nextId() };
    const { settings } = this;
    const record = (store: EventRows) => this.recording?.begin(store, clock);
    const recorded = () => this.recording?.reader();
    const parts = { db, clock, platform, elsewhere, ids, settings, rules: () => rules.current, record, recorded, made };
    this.engine = await startMonthProcess(parts, this.life);
    return this.engine;
  }

  private async end(isKilled: boolean): Promise<void> {
    if (!this.engine) return;
    this.engine = undefined;
    if (this.life) this.life.ended = true;
    if (isKilled) {
      this.deaths += 1;
      this.diedAfter.add([...this.made.keys()].at(-1) ?? '');
    }
    await this.recording?.end(isKilled);
  }

  private nextId(): string {
    this.lastId += 1;
    return String(this.lastId).padStart(8, '0');
  }
}

const JUMPS = [-HOUR_MS, HOUR_MS, 3 * HOUR_MS, -20_000, 30 * HOUR_MS];

function drawSettings(dice: Dice): MonthSettings {
  return {
    runCeiling: dice.chance(0.3) ? dice.whole(1, 3) : 50,
    dayCeiling: dice.chance(0.3) ? dice.whole(2, 8) : 1_000,
    goneAfterMs: dice.pick([12 * HOUR_MS, 72 * HOUR_MS, MONTH_MS]),
    serialDevicesMax: dice.pick([1, 2, 5]),
    credential: dice.chance(0.3) ? undefined : dice.pick(['a', 'b']),
    freeze: dice.chance(0.2) ? parseWindows('02:00-06:00; 14:00-15:30', 'Asia/Kolkata').windows : [],
  };
}
