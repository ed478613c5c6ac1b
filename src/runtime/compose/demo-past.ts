// A past for the demo: the runs of thirty days, done by the engine over the embedded console with a clock that is moved on. In: the configuration of
// an embedded demo without a database. Out: its files, with an incident, a bad day of device management, and people who answered. They are made in a
// folder beside and moved when they are whole; the database comes last: a start that was killed leaves no past, or one that the next start puts in place.
import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../base/time.ts';
import type { Console } from '../../console/console.ts';
import type { LivingOrganization } from '../../console/live/life.ts';
import { onPage } from '../../domain/actor.ts';
import { AppError } from '../../domain/errors.ts';
import type { Operator } from '../../domain/operator.ts';
import type { Clock } from '../../domain/ports.ts';
import { runCycle } from '../../engine/cycle.ts';
import { resumeEverything, stopEverything } from '../../engine/operate/commands.ts';
import { exempt } from '../../engine/operate/exempt.ts';
import { answerPart, applyPlan } from '../../engine/operate/plans.ts';
import type { Engine } from '../../engine/run/engine.ts';
import { takeLockAlone } from '../../store/sqlite/writer-lock.ts';
import type { Config } from '../config/config.ts';
import { consoleDatabaseOf } from '../config/name-reader.ts';
import { systemClock } from '../system/clock.ts';
import { Ending } from '../system/process.ts';
import { bindingOf, composeEngine } from './compose.ts';

/** A little less than the history is kept for, so that its first day is not removed at once. */
const SPAN_MS = 30 * DAY_MS - 2 * HOUR_MS;

/** The system's clock, set back by a time that shrinks. What waits, waits as always. */
class MovedClock implements Clock {
  readonly sleep = systemClock.sleep;
  constructor(private backMs: number) {}
  nowMs(): number {
    return systemClock.nowMs() - this.backMs;
  }
  monotonicMs(): number {
    return systemClock.monotonicMs() - this.backMs;
  }
  /** Never beyond the present. Returns whether there was so much time left. */
  pass(ms: number): boolean {
    const fits = ms <= this.backMs;
    this.backMs -= Math.min(ms, this.backMs);
    return fits;
  }
}

/** What happens once, so long before the present. */
interface Happening {
  agoMs: number;
  happens(life: LivingOrganization, engine: Engine): unknown;
}

const days = (count: number, hours = 0) => count * DAY_MS + hours * HOUR_MS;
const BY = { ana: onPage('ana'), ben: onPage('ben'), clara: onPage('clara') };

/** Of the last hours nobody has answered what waits. */
const UNANSWERED_MS = 3 * HOUR_MS;

const STORY: readonly Happening[] = [
  {
    agoMs: days(26, 6),
    happens: (_, engine) =>
      exempt(
        engine,
        {
          subject: { kind: 'service', id: 'vault' },
          unseen: true, // rules that read no services show none
          owner: 'platform@acme.example',
          reason: 'the vault is never shut down by a rule: its owners are called instead',
          until: '60d',
        },
        BY.ana,
      ),
  },
  // An incident: more devices at once than the rule may ban without a person.
  { agoMs: days(19, 10), happens: (life) => life.attack(14) },
  { agoMs: days(19, 6), happens: (life) => life.attack(9) },
  // A bad day of device management: the list is not trusted, and one of the people stops everything to be sure.
  { agoMs: days(9, 14), happens: (life) => life.confuse(true) },
  {
    agoMs: days(9, 9),
    happens: (_, engine) =>
      stopEverything(engine, {
        by: BY.clara,
        reason: 'device management reports most of the fleet as compromised: the vendor has an outage',
      }),
  },
  { agoMs: days(9, 3), happens: (life) => life.confuse(false) },
  {
    agoMs: days(8, 23),
    happens: (_, engine) =>
      resumeEverything(engine, { by: BY.clara, reason: 'the vendor has mended it, and a run trusts the list again' }),
  },
  // Another incident, which nobody has answered yet: its plan waits for whoever starts the demo.
  { agoMs: UNANSWERED_MS, happens: (life) => life.attack(14) },
];

/** Every run costs a tenth of a second: one a day, and more where something happens and in the last day. */
function stepMs(agoMs: number): number {
  const isNear = (from: number, to: number) => agoMs <= from && agoMs > to;
  const isBusy = isNear(days(20), days(18, 12)) || isNear(days(10), days(8, 18)) || isNear(days(1, 6), 0);
  return (isBusy ? 3 : 24) * HOUR_MS;
}

/** Before each run; in every so many, a service fails for as long as its rule asks about. */
const MOMENTS = 3;
const OUTAGE_EVERY = 9;
const OUTAGE_MOMENTS = 8;
const MOMENT_MS = 13_000;

async function live(life: LivingOrganization, clock: MovedClock, engine: Engine): Promise<void> {
  const endMs = clock.nowMs() + SPAN_MS;
  const story = [...STORY];
  for (let step = 1; clock.pass(stepMs(endMs - clock.nowMs())); step += 1) {
    if (engine.signal.aborted) throw new AppError('stopped', 'stopped while the past of the demo was made');
    const agoMs = endMs - clock.nowMs();
    while (story[0] && story[0].agoMs >= agoMs) await story.shift()?.happens(life, engine);
    for (let left = step % OUTAGE_EVERY === 0 ? OUTAGE_MOMENTS : MOMENTS; left > 0; left -= 1) {
      clock.pass(MOMENT_MS);
      life.tick();
    }
    const run = { mode: 'enforce', trigger: 'schedule', rules: undefined, waitForDoubts: false } as const;
    await runCycle(engine, run);
    if (agoMs > UNANSWERED_MS) await answer(engine, clock, step);
  }
}

const ANSWERS: readonly (Operator & { says: 'approve' | 'reject' })[] = [
  { by: BY.ben, says: 'approve', reason: 'looked at each of them; their owners know' },
  { by: BY.clara, says: 'approve', reason: 'agreed with the service owners on the phone' },
  { by: BY.ana, says: 'approve', reason: 'matches what the service desk has seen' },
  { by: BY.ana, says: 'reject', reason: 'a planned maintenance, announced last week' },
];

/** Somebody answers what waits, some minutes later; while everything is stopped, nobody does. */
async function answer(engine: Engine, clock: MovedClock, step: number): Promise<void> {
  if ((await engine.store.stop()) !== undefined) return;
  const plans = await engine.store.plans({ status: 'pending' }, 10);
  for (const [index, { id, digest }] of plans.entries()) {
    clock.pass((3 + ((step + index) % 11)) * MINUTE_MS);
    const { says, ...who } = ANSWERS[(step + index) % ANSWERS.length] as (typeof ANSWERS)[number];
    const { plan } = await answerPart(engine, id, says, { rules: [], only: [], except: [], digest }, who);
    if (says === 'approve') await applyPlan(engine, plan.id, { by: who.by });
  }
}

/**
 * Makes the past of an embedded demo that has no database yet, or puts one in place whose making ended with a kill; otherwise does nothing. Asked to
 * end, it leaves none. `beginning`: called before it takes its time. Errors: those of a composition.
 */
export async function giveDemoAPast(
  config: Config,
  ending: Ending = new Ending(),
  beginning: () => void = () => {},
): Promise<void> {
  const { database } = config;
  if (config.api !== undefined || database.kind !== 'sqlite' || config.historyMs < SPAN_MS) return;
  const files = [database.file, consoleDatabaseOf(database)];
  if (database.file === ':memory:' || existsSync(database.file)) return;
  const [made, whole] = [`${database.file}.past-unfinished`, `${database.file}.past`];
  if (!existsSync(whole) && files.some((file) => existsSync(file))) return;
  mkdirSync(dirname(database.file), { recursive: true });
  const lock = takeLockAlone(database.file);
  try {
    if (!existsSync(whole)) {
      beginning();
      rmSync(made, { recursive: true, force: true }); // of a start that was killed
      mkdirSync(made, { mode: 0o700 });
      const file = join(made, basename(database.file));
      if (!(await isMade(config, file, ending))) return;
      rmSync(`${file}.lock`);
      renameSync(made, whole);
    }
    put(whole, database.file);
  } finally {
    rmSync(made, { recursive: true, force: true });
    lock.release();
  }
}

/** False: it was asked to end. */
async function isMade(config: Config, file: string, ending: Ending): Promise<boolean> {
  const clock = new MovedClock(SPAN_MS);
  const led: { life?: LivingOrganization | undefined } = {};
  const past = {
    clock,
    binding: bindingOf(config),
    lead: ({ life }: Pick<Console, 'life'>) => {
      led.life = life;
    },
  };
  const quiet: Config = {
    ...config,
    database: { kind: 'sqlite', file, beside: file },
    db: file,
    mode: 'enforce',
    log: { ...config.log, level: 'silent' },
  };
  if (ending.asked.aborted) return false;
  const inner = new Ending();
  ending.asked.addEventListener('abort', () => inner.begin(), { once: true });
  const composition = await composeEngine(quiet, 'enforce', [], inner, undefined, { part: 'actor', past });
  try {
    if (led.life) await live(led.life, clock, composition.engine);
    return true;
  } catch (error) {
    if (ending.asked.aborted) return false;
    throw error;
  } finally {
    await composition.close();
  }
}

/** INVARIANT: the database comes last: without it the next start goes on here. */
function put(whole: string, file: string): void {
  const last = basename(file);
  const names = readdirSync(whole).filter((name) => name !== last);
  for (const name of [...names, last]) renameSync(join(whole, name), join(dirname(file), name));
  rmdirSync(whole);
}
