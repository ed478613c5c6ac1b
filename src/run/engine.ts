// run: what a run receives, and how each stage's input is built from it.
import type { ActContext, ActSettings, SubjectCounts } from '../act/context.ts';
import { countsOfRun } from '../act/counts.ts';
import { Door } from '../act/door.ts';
import { ask } from '../decide/checks/ask.ts';
import type { DecideInput, DecideSettings } from '../decide/input.ts';
import type { ActStore } from '../domain/act-store.ts';
import type { Action, ActionName } from '../domain/action.ts';
import type { AuditStore } from '../domain/audit-store.ts';
import { type ChangeWindow, windowAt } from '../domain/change-window.ts';
import type { Checkpointer } from '../domain/checkpoint.ts';
import { AppError } from '../domain/errors.ts';
import type { ExemptionSettings } from '../domain/exemption.ts';
import type { MemberReader } from '../domain/exemption-members.ts';
import type { IdentityReader } from '../domain/identity.ts';
import type { Lists } from '../domain/lists.ts';
import type { LookBackSource } from '../domain/look-back.ts';
import { leastMode, type Mode } from '../domain/mode.ts';
import type { OperatorStore, ReleaseStore, ResolveStore } from '../domain/operator-store.ts';
import type { PageReader } from '../domain/page-reader.ts';
import type { PartReaders } from '../domain/part-readers.ts';
import type { PlanStore } from '../domain/plan-store.ts';
import type { Api, Clock, Ids, Log } from '../domain/ports.ts';
import type { PrintKey } from '../domain/print-bits.ts';
import type { Progress } from '../domain/progress.ts';
import type { PullReader, PullStore } from '../domain/pull-store.ts';
import type { QuietTime } from '../domain/quiet-period.ts';
import type { RecordReader } from '../domain/record-reader.ts';
import type { EventRows, HistoryRecorder } from '../domain/recorded-history.ts';
import { type Rule, rulesById } from '../domain/rule.ts';
import type { Run, RunRequest } from '../domain/run.ts';
import type { RunStore } from '../domain/run-store.ts';
import { isUsable } from '../domain/snapshot.ts';
import type { SteadyTime } from '../domain/steady-time.ts';
import type { OpenState } from '../domain/store.ts';
import { SOURCE_OF, type Source, SUBJECT_KINDS } from '../domain/subjects.ts';
import type { Evaluator } from '../domain/verdict.ts';
import type { WatchReader } from '../domain/watch-store.ts';
import type { EventPullSettings } from '../pull/pull-events.ts';
import { dropSecrets } from '../pull/secrets.ts';
import type { TrustSettings } from '../pull/trust-gate.ts';
import { inputOf } from './decide-input.ts';
import type { EventFeed } from './event-feed.ts';
import { exemptionOf } from './exemption-of.ts';
import { freezeNow } from './freeze.ts';
import type { JudgeView, PulledSnapshot } from './pulled-snapshot.ts';
import type { Silence } from './silence.ts';

export interface EngineSettings {
  decide: DecideSettings;
  act: ActSettings;
  trust: TrustSettings;
  events: EventPullSettings;
  /** Where the API lists devices and users: absent for version 1. INVARIANT: those that the rules were compiled for. */
  lists?: Lists;
  /** The quiet period is never shorter. */
  quietMs: number;
  planTtlMs: number;
  /** Older runs that nothing depends on are removed. */
  keepRunsMs: number;
  /** A day before the end, and after 30 days without use, by default. */
  exemptions?: ExemptionSettings;
  /** Change windows: in these nothing acts. */
  freeze?: readonly ChangeWindow[];
}

/** The rule set to judge by: loaded whole, or not at all. */
export interface ActiveRules {
  /** All loaded rules except those of mode `off`. */
  rules: readonly Rule[];
  hash: string;
  evaluator: Evaluator;
  /** The texts of all files, by their path in the folder; absent where the rules are of no folder. */
  files?: ReadonlyMap<string, string>;
  /** An evaluator over some of them, for a run over chosen rules. */
  only(ids: readonly string[]): Evaluator;
}

/** Handed on as the narrow port that each of its users names. */
export type EngineStore = RunStore &
  PullStore &
  ActStore &
  PlanStore &
  OperatorStore &
  ResolveStore &
  ReleaseStore &
  AuditStore &
  RecordReader &
  PageReader &
  IdentityReader &
  MemberReader &
  EventRows &
  WatchReader;

export interface Engine {
  api: Api;
  store: EngineStore;
  /** Seals the audit at the end of every run; absent for a database in memory, which has nothing outside. */
  checkpointer?: Checkpointer;
  clock: Clock;
  steady: SteadyTime;
  quiet: QuietTime;
  ids: Ids;
  log: Log;
  actions: ReadonlyMap<ActionName, Action>;
  active(): ActiveRules;
  /** The real path of the folder of active rules. */
  rulesDir?: string | undefined;
  /** The highest mode at this moment: it is lowered when the database turns out to be doubtful. */
  daemonMode: Mode;
  settings: EngineSettings;
  demo: boolean;
  /** What makes the next run a dry one; absent where nothing outlives a process. */
  silence?: Silence;
  /** Of the fingerprints of what it reads: a secret of its database. */
  printKey: PrintKey;
  /** What the database is bound to, once a run has read from it. */
  bindTo: string;
  /** Aborted when the process is to end: nothing new begins. */
  signal: AbortSignal;
  /** Event windows that this process has filled, and how far back they reach. */
  feed: EventFeed;
  /** What rules that look back read; absent where no history is kept: the past is unknown. */
  lookBack?: LookBackSource | undefined;
  /** Reads the parts of large lists in other threads; absent: the main thread reads everything. */
  readers?: PartReaders | undefined;
  /** Records what runs see; absent: nothing is recorded. */
  history?: HistoryRecorder | undefined;
  /** Shows how far a run or an applied plan is; absent where nobody looks. */
  progress?: Progress | undefined;
  /** Called when a run or a plan is over: sends alerts. Never throws; nothing waits for it. */
  afterwards?(): Promise<void>;
}

/** What pulling a snapshot needs: what it reads from the store, and where it stores the events that it read. */
export type PullEngine = Pick<
  Engine,
  | 'api'
  | 'clock'
  | 'steady'
  | 'quiet'
  | 'ids'
  | 'log'
  | 'printKey'
  | 'actions'
  | 'active'
  | 'settings'
  | 'signal'
  | 'feed'
  | 'progress'
  | 'readers'
  | 'lookBack'
  | 'history'
> & { store: PullStore };

/** The rules of one run with their evaluator. */
export interface RunRules {
  rules: readonly Rule[];
  evaluator: Evaluator;
  hash: string;
  /** All active ones, by id. */
  active: ReadonlyMap<string, Rule>;
  files?: ActiveRules['files'];
}

/** Errors: AppError `usage` for a rule that is not active. */
export async function rulesOfRun(
  engine: Pick<Engine, 'active'>,
  request: Pick<RunRequest, 'rules'>,
): Promise<RunRules> {
  const active = engine.active();
  const all = rulesById(active.rules);
  if (!request.rules) return { ...active, active: all };
  demandActive(active, request.rules);
  const rules = active.rules.filter((rule) => request.rules?.includes(rule.id));
  return { ...active, rules, evaluator: active.only(rules.map((rule) => rule.id)), active: all };
}

/** Errors: AppError `usage` that names the first rule that is not active. */
export function demandActive(active: ActiveRules, ids: readonly string[]): void {
  const known = active.rules.map((rule) => rule.id);
  const unknown = ids.find((id) => !known.includes(id));
  if (unknown === undefined) return;
  throw new AppError(
    'usage',
    `there is no active rule \`${unknown}\`: active are ${known.sort().join(', ') || 'none'}`,
  );
}

export function decideInput(
  engine: Pick<Engine, 'actions' | 'ids' | 'quiet' | 'settings'>,
  run: Pick<Run, 'mode' | 'daemonMode' | 'startedAt'>,
  own: RunRules,
  pulled: PulledSnapshot,
  openState: OpenState,
): DecideInput {
  const { actions: traits, ids, quiet, settings } = engine;
  const freeze = windowAt(settings.freeze ?? [], run.startedAt);
  return inputOf(
    { traits, ids, freeze, quietMs: quiet.read().ms, settings: settings.decide },
    run,
    own,
    pulled,
    openState,
  );
}

/** For acting outside of a run, and in a run before its pull. `mode`: the highest mode at this moment. */
export async function actContext(
  engine: Engine,
  run: Pick<Run, 'id' | 'countsWith'>,
  own: RunRules,
  mode: Mode,
): Promise<ActContext> {
  const { api, store, clock, steady, quiet, ids, log, actions, settings, signal, progress } = engine;
  const view: JudgeView = {
    joins: { users: new Map(), devices: new Map() },
    coverage: await store.coverage(),
    unavailable: new Set(),
  };
  // Read anew each time: rules may be reloaded while a run acts.
  const ruleNow = (id: string) => engine.active().rules.find((rule) => rule.id === id);
  const judged = new Set(own.rules.map((rule) => rule.id));
  return {
    runId: run.id,
    mode: leastMode(mode, engine.daemonMode),
    ask,
    freezeNow: () => freezeNow(engine),
    ruleNow,
    canJudge: (rule) => judged.has(rule) || ruleNow(rule) === undefined,
    api,
    store,
    clock,
    steady,
    quiet,
    ids,
    log,
    actions,
    settings: settings.act,
    signal,
    progress,
    door: new Door(() => store.demandIntact()),
    counts: await countsOfRun(store, run.countsWith ?? run.id),
    subjects: await countsOfBaselines(store),
    recheck: recheckWith(engine, own, view),
    withoutSecrets: (record) => dropSecrets(record, new Set()),
    exemptionOf: (intent, records) => exemptionOf(engine, intent, records),
  };
}

/** The same, with this run's snapshot. */
export function afterPull(acting: ActContext, engine: Engine, own: RunRules, pulled: PulledSnapshot): ActContext {
  const sources = new Map(own.rules.map((rule) => [rule.id, rule.sources]));
  const canRead = (source: Source) => isUsable(pulled.snapshot.sources[source]);
  return {
    ...acting,
    subjects: pulled.subjects,
    recheck: recheckWith(engine, own, pulled.view),
    // INVARIANT: on another boot the quiet period is over only as far as the wall clock is right, whatever the rule
    // reads.
    canJudge: (rule) => isClockRight(engine) && acting.canJudge(rule) && (sources.get(rule)?.every(canRead) ?? true),
  };
}

/** Whether the clock agrees with the server's, if the server sends its time. */
export function isClockRight({ api, settings }: Pick<Engine, 'api' | 'settings'>): boolean {
  return Math.abs(api.skewMs() ?? 0) <= settings.trust.skewMs;
}

async function countsOfBaselines(store: Pick<PullReader, 'baseline'>): Promise<SubjectCounts> {
  const counts = { device: 0, user: 0, service: 0 };
  for (const kind of SUBJECT_KINDS) counts[kind] = (await store.baseline(SOURCE_OF[kind]))?.count ?? 0;
  return counts;
}

/** Judges one fresh record by one rule, with the current windows, coverage and joined records. */
function recheckWith(engine: Engine, own: RunRules, view: JudgeView): ActContext['recheck'] {
  const rules = new Map(own.rules.map((rule) => [rule.id, rule]));
  return (ruleId, record) => {
    const rule = rules.get(ruleId);
    if (!rule) return undefined;
    const isOpen = (id: string) => id === ruleId;
    const judge = own.evaluator.judge(rule.subject, { ...view, nowMs: engine.clock.nowMs(), isOpen });
    judge.accept(record);
    const judgement = judge.finish();
    if (judgement.matches.some((match) => match.rule === ruleId)) return 'match';
    return judgement.open.find((verdict) => verdict.rule === ruleId)?.verdict;
  };
}
