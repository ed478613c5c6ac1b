// run: what a run receives, and how each stage's input is built from it.

import type { PrintKey } from '../../base/print-bits.ts';
import { DAY_MS, formatDuration, type SteadyTime } from '../../base/time.ts';
import { drainedInTurns, giveWay } from '../../base/turns.ts';
import type { Action, ActionName } from '../../domain/action.ts';
import type { AuditNote } from '../../domain/audit-entry.ts';
import { type ChangeWindow, windowAt } from '../../domain/change-window.ts';
import type { Checkpointer } from '../../domain/checkpoint.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import { aboutText, type Exemption, type ExemptionSettings, type MemberReader } from '../../domain/exemption.ts';
import { ownText } from '../../domain/facts.ts';
import { guardsOf } from '../../domain/guards.ts';
import type { IdentityReader } from '../../domain/identity.ts';
import { type Intent, timesRefused } from '../../domain/intent.ts';
import type { Lists } from '../../domain/lists.ts';
import type { LookBackSource } from '../../domain/look-back.ts';
import type { NewNotice } from '../../domain/notice.ts';
import { groundsOf, type PlannedIntent } from '../../domain/plan.ts';
import type { Api, Clock, Ids, Log, QuietTime } from '../../domain/ports.ts';
import type { PartReaders } from '../../domain/record-part.ts';
import type { EventRows, HistoryRecorder } from '../../domain/recorded-history.ts';
import type { Progress } from '../../domain/replay.ts';
import { leastMode, type Mode, type Rule, rulesById, rulesThatWarn } from '../../domain/rule.ts';
import type { Run, RunRequest, WatchRequest } from '../../domain/run.ts';
import { isUsable } from '../../domain/snapshot.ts';
import type { OpenState } from '../../domain/store.ts';
import type {
  ActStore,
  AuditStore,
  OperatorStore,
  PageReader,
  PlanStore,
  PullReader,
  PullStore,
  RecordReader,
  ReleaseStore,
  RequestStore,
  ResolveStore,
  RunStore,
  WatchReader,
  WorkReader,
} from '../../domain/store-ports.ts';
import { SOURCE_OF, type Source, SUBJECT_KINDS } from '../../domain/subjects.ts';
import type { Evaluator } from '../../domain/verdict.ts';
import type { ActContext, ActSettings, SubjectCounts } from '../act/context.ts';
import { countsOfRun, Door } from '../act/door.ts';
import { isToBeCarriedOut, openAgain, openIntent, reopened } from '../act/gate.ts';
import { carryOut } from '../act/resolve.ts';
import { type Beside, type Sealed, type SealInput, sealing } from '../approve/plans.ts';
import { ask } from '../decide/checks/ask.ts';
import { deciding } from '../decide/decide.ts';
import { isAbout, partyOfRecord } from '../decide/exemptions.ts';
import type { Decided, DecideInput, DecideSettings, NoticeToBegin } from '../decide/input.ts';
import type { EventPullSettings } from '../pull/pull-events.ts';
import { dropSecrets, type TrustSettings } from '../pull/trust-gate.ts';
import { missingYesOf } from './approvers.ts';
import type { GivenGate } from './given.ts';
import {
  type EventFeed,
  exemptionOf,
  freezeNow,
  inputOf,
  type JudgeView,
  modeAfter,
  type PulledSnapshot,
  type Silence,
} from './pulled-snapshot.ts';

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
  RequestStore &
  ResolveStore &
  ReleaseStore &
  AuditStore &
  RecordReader &
  PageReader &
  IdentityReader &
  MemberReader &
  EventRows &
  WatchReader &
  WorkReader;

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
  /** Facts from elsewhere; absent: none are read. */
  given?: GivenGate | undefined;
  /** Reads the parts of large lists in other threads; absent: the main thread reads everything. */
  readers?: PartReaders | undefined;
  /** Records what runs see; absent: nothing is recorded. */
  history?: HistoryRecorder | undefined;
  /** Scheduled times that passed since this time, epoch ms; absent without a schedule. */
  missedSince?: WatchRequest['missedSince'];
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
  | 'given'
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
    missingYesOf: missingYesOf(engine),
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

// A run's beginning and end in the store and in the audit.

/** A run that is not stored yet. */
type NewRun = Omit<Run, 'seq'>;

export function newRun(
  engine: Engine,
  request: Pick<RunRequest, 'mode' | 'trigger' | 'rules'>,
  rules: RunRules,
  startedAt = engine.clock.nowMs(),
): NewRun {
  const { mode, silentSince } = modeAfter(engine.silence, request.mode);
  return {
    id: engine.ids.next(),
    mode,
    silentSince,
    daemonMode: engine.daemonMode,
    trigger: request.trigger,
    rules: rules.rules.map((rule) => rule.id),
    ...(request.rules && { scoped: true }),
    ruleSetHash: rules.hash,
    rulesDir: engine.rulesDir,
    startedAt,
    finishedAt: undefined,
    status: 'running',
    error: undefined,
    demo: engine.demo,
  };
}

export async function beginRun(
  { store, active }: Pick<Engine, 'store' | 'active'>,
  run: NewRun,
  { by, onceId }: Pick<RunRequest, 'by' | 'onceId'> = {},
): Promise<Run> {
  const { id, mode, silentSince, daemonMode, trigger, rules, ruleSetHash: ruleSet } = run;
  const body = {
    run: id,
    mode,
    silentSince,
    daemonMode,
    trigger,
    by,
    rules,
    ruleSet,
    signedBy: guardsOf(active().rules)?.signedBy,
  };
  const returned = body.signedBy && (await earlierRunOver(store, ruleSet));
  const note = { run: id, ruleSet, seq: returned?.seq, at: returned?.startedAt, signedBy: body.signedBy };
  const came: AuditNote[] = returned ? [{ kind: 'rules.returned', body: note }] : [];
  return store.beginRun(run, [{ kind: 'run.started', body }, ...came], onceId);
}

const RUNS_LOOKED_AT = 1_000;

/** The last run over this set, if another one was in force since: somebody has put it back. */
async function earlierRunOver(store: Pick<EngineStore, 'latestRun' | 'runs'>, hash: string): Promise<Run | undefined> {
  const last = await store.latestRun();
  if (!last || last.ruleSetHash === hash) return undefined;
  return (await store.runs(RUNS_LOOKED_AT)).find(({ ruleSetHash }) => ruleSetHash === hash);
}

/** Errors: AppError `api_unreachable` when every rule lacks a source: then nothing was judged. */
export function demandJudged(run: Pick<Run, 'rules'>, pulled: PulledSnapshot): void {
  if (run.rules.length > 0 && pulled.unjudged.length === run.rules.length) throw nothingJudged(pulled);
}

/** Errors: as demandJudged. */
export async function completeRun(engine: Engine, run: Run, pulled: PulledSnapshot): Promise<Run> {
  demandJudged(run, pulled);
  const finished = { ...run, status: 'completed', finishedAt: engine.clock.nowMs() } as const;
  await engine.store.finishRun(finished, [{ kind: 'run.finished', body: { run: run.id, status: 'completed' } }]);
  // A look between two whole runs is no sign that whole runs go on, and leaves the tidying to them.
  if (run.countsWith === undefined) {
    if (engine.silence) engine.silence.since = undefined;
    await removeOld(engine);
  }
  await sealAudit(engine, run);
  await engine.afterwards?.();
  return finished;
}

/**
 * Removes a few at a time, so that no run takes long for it. The run is over: a failure is logged, and the next run tries again.
 */
async function removeOld(engine: Engine): Promise<void> {
  const { store, log } = engine;
  try {
    await store.dropPlanIntents();
    // It is irreversible: no clock counts here unless the server agrees with it.
    if (!isClockRight(engine)) return;
    const olderByMs = keptMs(engine);
    const removed = await store.removeOldRuns(olderByMs);
    if (removed === undefined || removed.runs === 0) return;
    const { runs, decisions } = removed;
    const age = formatDuration(olderByMs);
    log.info({ runs, decisions }, `${runs} runs older than ${age} were removed; the audit keeps their entries`);
  } catch (error) {
    log.error({}, `old runs could not be removed: ${lineOf(error)}`);
  }
}

/** No shorter than what acting looks back for: attempts of a day, of a cooldown, and plans that wait. */
function keptMs({ settings: { keepRunsMs, planTtlMs }, active }: Engine): number {
  return Math.max(keepRunsMs, planTtlMs, DAY_MS, ...active().rules.map(({ cooldownMs }) => cooldownMs));
}

/** The run is over and recorded: a failed checkpoint does not undo it, and the next one covers it. */
async function sealAudit(engine: Engine, run: Run): Promise<void> {
  try {
    await engine.checkpointer?.seal();
  } catch (error) {
    engine.log.error({ run: run.id }, `the audit could not be sealed: ${lineOf(error)}`);
  }
}

/** A fault that several sources share is reported once, for all of them, and without the path of each. */
function nothingJudged(pulled: PulledSnapshot): AppError {
  const byCause = new Map<string, { source: string; text: string }[]>();
  for (const { source, state, reasons } of Object.values(pulled.snapshot.sources)) {
    if (state !== 'failed') continue;
    for (const { text } of reasons) {
      const ownText = text.startsWith(`${source}: `) ? text.slice(source.length + 2) : text;
      const cause = ownText.replace(/^`[A-Z]+ [^`]*`: /, '');
      byCause.set(cause, [...(byCause.get(cause) ?? []), { source, text }]);
    }
  }
  const causes = [...byCause].map(([cause, those]) =>
    those.length === 1 ? those[0]?.text : `${those.map(({ source }) => source).join(', ')}: ${cause}`,
  );
  return new AppError('api_unreachable', `nothing was judged: ${causes.join('; ')}`);
}

/** Records why a run broke off. When the store itself failed, the rethrown error reports it. */
export async function abortRun(engine: Engine, run: Run, error: unknown): Promise<void> {
  const line = lineOf(error);
  const aborted: Run = { ...run, status: 'aborted', finishedAt: engine.clock.nowMs(), error: line };
  try {
    await engine.store.finishRun(aborted, [{ kind: 'run.aborted', body: { run: run.id, error: line } }]);
    await sealAudit(engine, run);
  } catch (second) {
    engine.log.error({ run: run.id }, `the end of a run could not be recorded: ${lineOf(second)}`);
  }
  await engine.afterwards?.();
}

// What a run decided, as it is committed: decisions, the sealed plan, the intents that it opens.

export interface DecidedRun {
  decided: Decided;
  sealed: Sealed;
  /** New ones. */
  intents: Intent[];
  notices: NewNotice[];
}

type PlansBeside = Pick<SealInput, 'beside' | 'pending' | 'approved'>;

export async function decideRun(
  { ids, settings }: Pick<Engine, 'ids' | 'settings'>,
  run: Pick<NewRun, 'id' | 'mode' | 'daemonMode' | 'startedAt'>,
  input: DecideInput,
  plansBeside: () => Promise<PlansBeside>,
): Promise<DecidedRun> {
  // Deciding, sealing and committing take long for thousands of targets: a stop is answered between them.
  await giveWay();
  const decided = await drainedInTurns(deciding(input));
  const beside = await plansBeside();
  const plans = sealing({
    id: ids.next(),
    runId: run.id,
    mode: leastMode(run.mode, run.daemonMode),
    nowMs: run.startedAt,
    ttlMs: settings.planTtlMs,
    planned: decided.planned,
    ...beside,
    whyLeft: whyLeft(decided),
  });
  const sealed = await drainedInTurns(plans);
  const intents = decided.acts
    .filter((act) => !act.isUnchanged && act.retryOf === undefined)
    .map((act) => openIntent(act.draft, act.mode, { id: ids.next(), runId: run.id, nowMs: run.startedAt }));
  await giveWay();
  const approved = new Set(beside.approved.flatMap((plan) => plan.intents.flatMap(groundsOf)));
  const isWanted = ({ isNow, grounds }: NoticeToBegin) => isNow || grounds.some((ground) => approved.has(ground));
  const notices = decided.notices.begin.filter(isWanted).map(({ notice }) => notice);
  return { decided, sealed, intents, notices };
}

/** In the words of the decision in its place, or of the end of its match. */
function whyLeft({ decisions, episodes }: Decided): (intent: PlannedIntent) => string | undefined {
  const key = (rule: string, subject: string, action: string, target: string) =>
    [rule, subject, action, target].join(' ');
  const made = new Map(decisions.map((one) => [key(one.rule, one.subject.id, one.action, one.target), one]));
  const closed = new Map(
    episodes.flatMap(({ id, closeReason }) => (closeReason === undefined ? [] : [[id, closeReason]])),
  );
  return ({ basis, action, target }) => {
    for (const { rule, subjectId, episodeId } of basis) {
      const now = made.get(key(rule, subjectId, action, target));
      if (now) return now.reasonText || now.reason;
      const end = closed.get(episodeId);
      if (end !== undefined) return end === 'gone' ? `${subjectId} is gone` : `rule ${rule} has ceased to match`;
    }
    return undefined;
  };
}

const PLANS_MAX = 100;

/** Only a run that judged everything takes out of a waiting plan what it does not plan; one over chosen rules leaves all of them alone. */
export async function plansBeside(
  { store, active }: Pick<Engine, 'store' | 'active'>,
  beside: Beside,
): Promise<PlansBeside> {
  const pending = await store.plans({ status: 'pending' }, PLANS_MAX);
  const approved = await store.plans({ status: 'approved' }, PLANS_MAX);
  const warning = rulesThatWarn(active().rules);
  if (warning.size === 0) return { beside, pending, approved };
  // What people are warned of first waits on in a plan whose other actions are done.
  const isWarned = ({ basis }: PlannedIntent) => basis.some(({ rule }) => warning.has(rule));
  const begun = await store.plans({ status: 'interrupted' }, PLANS_MAX);
  const waiting = begun.map((plan) => ({ ...plan, intents: plan.intents.filter(isWarned) }));
  return { beside, pending, approved: [...approved, ...waiting.filter(({ intents }) => intents.length > 0)] };
}

/** Whether a look has anything to record. */
export function isAnything({ decided, sealed, intents, notices }: DecidedRun): boolean {
  const { episodes, claims, decisions, ended, acts, notes } = decided;
  const changes = [episodes, claims, decisions, ended, notes, intents, notices];
  return sealed.notes.length > 0 || changes.some(({ length }) => length > 0) || acts.some(({ retryOf }) => retryOf);
}

export async function actOn(
  { store }: Pick<Engine, 'store'>,
  acting: ActContext,
  openState: Pick<OpenState, 'intents'>,
  { decided, intents }: DecidedRun,
): Promise<void> {
  // Based on the rules that propose it now: a rule that was removed or set to dry-run since gains no claim.
  const known = new Map(openState.intents.map((intent) => [intent.id, intent]));
  const retries = decided.acts.flatMap(({ retryOf, mode, draft: { basis } }) => {
    const failed = retryOf === undefined ? undefined : known.get(retryOf);
    return failed ? [openAgain({ ...failed, basis }, mode)] : [];
  });
  // A refusal (401) ends the run: what was refused before keeps nothing else waiting.
  retries.sort((a, b) => timesRefused(a) - timesRefused(b));
  await store.reopen(reopened(acting.runId, retries.filter(isToBeCarriedOut)));
  await carryOut(acting, [...intents, ...retries]);
}

type Seen = Pick<PulledSnapshot, 'exemptOwners' | 'snapshot'>;

/** INVARIANT: identities are saved: they have what the trusted readings of this run show, and nothing of the others. */
export async function takeMembers(
  { store, settings }: Pick<Engine, 'store' | 'settings'>,
  run: { id: string },
  { exemptions = [] }: Pick<OpenState, 'exemptions'>,
  seen: Seen,
): Promise<void> {
  for (const exemption of exemptions) {
    if (exemption.members !== undefined) continue;
    const members = await store.membersNow(exemption, settings.lists === 'v2' ? undefined : usersOf(exemption, seen));
    if (members === undefined) continue;
    const body = { exemption: exemption.id, about: aboutText(exemption), run: run.id, covered: members.length };
    await store.addExemptionMembers(exemption.id, members, [{ kind: 'exemption.covered', body }]);
  }
}

/** Groups are in no identity. Undefined: no trusted list of users was read. */
function usersOf(exemption: Exemption, { exemptOwners, snapshot }: Seen): string[] | undefined {
  if (exemption.selector?.field !== 'Groups' || !isUsable(snapshot.sources.users)) return undefined;
  const users = [...exemptOwners.values()].filter((record) => isAbout(exemption, partyOfRecord('user', record)));
  return users.flatMap((record) => ownText(record, 'Email') ?? []);
}
