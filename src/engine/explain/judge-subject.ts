// explain: judges one subject by some rules as it is read now, and decides what a run over these rules and this subject would. In: the
// rules of one kind of subject, any name of one. Out: an explanation for each rule, and decisions. The same pure code as in a run; it changes
// nothing, and rebuilds no whole run.
import { type Action, type ActionTraits, fieldsWritten, type KnownTraits, kindOfTarget } from '../../domain/action.ts';
import { approversText } from '../../domain/approvals.ts';
import { windowAt } from '../../domain/change-window.ts';
import type { CheckName } from '../../domain/check.ts';
import type { Decision, ReasonCode } from '../../domain/decision.ts';
import type { Claim } from '../../domain/episode.ts';
import { AppError, unlessForbidden } from '../../domain/errors.ts';
import type { TrustEvent } from '../../domain/event.ts';
import { type Facts, ownText, ownTexts } from '../../domain/facts.ts';
import { asksForDevices, guardsOf } from '../../domain/guards.ts';
import { demandOne, type Identity, type IdentityReader, resolveName } from '../../domain/identity.ts';
import { isDone } from '../../domain/intent.ts';
import type { LookBackSource } from '../../domain/look-back.ts';
import { type Rule, rulesById } from '../../domain/rule.ts';
import { isOfLook } from '../../domain/run.ts';
import { type Coverage, coverageOf, type SourceReading } from '../../domain/snapshot.ts';
import type { OpenStateReader, PullReader, RecordReader } from '../../domain/store-ports.ts';
import { SOURCE_OF, SOURCES, type Source, type SubjectKind, summaryOf } from '../../domain/subjects.ts';
import type { Joins, Judgement, Needs } from '../../domain/verdict.ts';
import type {
  BasisReading,
  DecidedNow,
  DoneAction,
  ExplainBasis,
  ExplainedSubject,
  Explanation,
  Recorded,
  TargetState,
} from '../../domain/why.ts';
import { explain } from '../../rules/explain.ts';
import { compileRules } from '../../rules/judge/evaluator.ts';
import type { LoadedRule } from '../../rules/language/loaded-rule.ts';
import { readBundles } from '../act/actions/bundle-membership.ts';
import { weighsOthers } from '../decide/answer.ts';
import { CHECKS } from '../decide/checks/ask.ts';
import { LISTS } from '../decide/checks/stages.ts';
import { decide } from '../decide/decide.ts';
import { Exemptions } from '../decide/exemptions.ts';
import { isPlannable } from '../decide/proposal.ts';
import { FleetIndex } from '../pull/fleet-index.ts';
import { type EventPullOptions, type EventPullSettings, pullEvents } from '../pull/pull-events.ts';
import { skippedReading } from '../pull/pull-source.ts';
import { dropSecrets, type TrustSettings } from '../pull/trust-gate.ts';
import type { Engine } from '../run/engine.ts';
import { NO_GIVEN } from '../run/given.ts';
import {
  boundedLookups,
  devicesOfUsers,
  type JudgedRun,
  type Lookups,
  lastReading,
  ownedBeside,
  ownersOf,
  RECENT_RUNS_MAX,
  RECORDS_MAX,
  recentRuns,
} from '../run/pulled-snapshot.ts';
import { fillLookBack, readsBundles as needsBundles } from '../run/reading-needs.ts';

// Reads one subject now: its record, the records that its rule joins, the devices that its actions touch, its events.

type SubjectReader = Pick<RecordReader, 'decisions'> & IdentityReader;

/** `given`: any name of it. Errors: AppError `not_found`, `usage` for a name of several, and those of reading the API. */
export async function readSubject(
  api: Lookups,
  reader: SubjectReader,
  kind: SubjectKind,
  given: string,
): Promise<Facts> {
  const resolved = await resolveName(reader, given, { kinds: [kind] });
  const named = resolved.found === 'none' ? undefined : demandOne(resolved, given);
  const id = named?.by === 'serial' ? (named.target ?? given) : (named?.subjects[0].id ?? given);
  const read = {
    device: () => readDevice(api, reader, id, named?.target),
    user: () => api.user(id),
    service: () => api.service(id),
  };
  const record = await read[kind]();
  if (!record) {
    const asked = kind === 'device' ? ', by serial number or by DeviceID' : '';
    throw new AppError('not_found', `there is no ${kind} \`${id}\` at ${api.address}${asked}`);
  }
  return dropSecrets(record, new Set());
}

/** By serial number or DeviceID. Older servers look up only the former: what was read, or a decision about the device, has it. */
async function readDevice(
  api: Lookups,
  reader: SubjectReader,
  id: string,
  serial: string | undefined,
): Promise<Facts | undefined> {
  const ofSerial = serial === undefined || serial === id ? await api.devicesOfSerial(id) : [];
  if (ofSerial.length > 0) return ofSerial[0];
  const [decided] = serial === undefined ? await reader.decisions({ subjectId: id, limit: 1 }) : [];
  const target = serial ?? decided?.target;
  const known = target ? await api.devicesOfSerial(target) : [];
  return known.find((device) => ownText(device, 'DeviceID') === id) ?? api.device(id, RECORDS_MAX);
}

/** Records of the other kind that the rule reads. */
async function readJoins(api: Lookups, needs: Needs, record: Facts): Promise<{ joins: Joins; unavailable: Source[] }> {
  const users = await unlessForbidden(needs.owners ? ownersOf(api, [record]) : new Map());
  const devices = await unlessForbidden(needs.devices ? devicesOfUsers(api, [record]) : new Map());
  const unavailable: Source[] = [...(users ? [] : ['users' as const]), ...(devices ? [] : ['devices' as const])];
  return { joins: { users: users ?? new Map(), devices: devices ?? new Map() }, unavailable };
}

function takesDevices({ then }: LoadedRule, actions: KnownTraits): boolean {
  return then.some(({ action }) => actions.get(action)?.takesDevice);
}

/** The devices that the rule's actions touch. */
async function readTouched(
  api: Lookups,
  rule: LoadedRule,
  record: Facts,
  actions: KnownTraits,
): Promise<readonly Facts[]> {
  if (rule.subject === 'service') return [];
  if (rule.subject === 'user')
    return takesDevices(rule, actions) ? [...(await devicesOfUsers(api, [record])).values()].flat() : [];
  // An empty name filters nothing: the answer would be the whole list.
  const serial = ownText(record, 'SerialNumber') ?? '';
  const devices = serial === '' ? [] : await api.devicesOfSerial(serial);
  return devices.length > 0 ? devices : [record];
}

/** A few devices do not show all devices of their owners: what a deletion leaves an owner with is unknown for one subject. */
function fleetOf(devices: readonly Facts[], actions: KnownTraits): FleetIndex {
  const fleet = new FleetIndex(fieldsWritten(actions, 'device'));
  for (const device of devices) fleet.add(device);
  return fleet;
}

/** Stored signals, and those that nothing has taken up yet. */
async function readSignals(
  reader: Pick<PullReader, 'coverage' | 'events' | 'newSignals'>,
  fromMs: number,
): Promise<Pick<ReadEvents, 'events' | 'coverage'>> {
  const { events, coverage } = await reader.newSignals();
  const known = [...(await reader.coverage()), ...coverage].filter(({ transmitter }) => transmitter !== undefined);
  for await (const batch of reader.events(fromMs))
    events.push(...batch.filter(({ transmitter }) => transmitter !== undefined));
  return { events, coverage: known };
}

type EventsAsked = Pick<EventPullOptions, 'api' | 'clock' | 'nowMs' | 'windowMs' | 'asksForServices'> & {
  reader: Pick<PullReader, 'coverage' | 'events'>;
  settings: { events: EventPullSettings; trust: TrustSettings };
};

interface ReadEvents {
  events: TrustEvent[];
  coverage: Coverage[];
  reading: SourceReading;
  /** The end of the windows: now or, if the log is not readable now, when it was last read. Undefined: it was never read. */
  atMs: number | undefined;
}

/** Stored events, and those since. Errors: AppError `api_refused`, `stopped`; all other faults are in the reading. */
async function readEvents({ reader, settings, ...asked }: EventsAsked): Promise<ReadEvents> {
  const all = await reader.coverage();
  // An explanation does not store how far back it reached.
  const pulled = await pullEvents({
    ...asked,
    triedMs: 0,
    known: coverageOf(all),
    trust: settings.trust,
    settings: settings.events,
  });
  const { reading } = pulled;
  if (reading.state === 'unavailable') return { events: [], coverage: [], reading, atMs: undefined };
  const coverage = pulled.coverage ? [...all, pulled.coverage] : all;
  const atMs = coverageOf(coverage).at(-1)?.toMs;
  const events: TrustEvent[] = [];
  for await (const batch of reader.events((atMs ?? asked.nowMs) - asked.windowMs)) events.push(...batch);
  return { events: [...events, ...pulled.events], coverage, reading, atMs };
}

// What only a whole run knows, as the last runs recorded it: whether the sources can be trusted, how many matched, and
// what was decided about this subject.

/** The part of the store that shows what the last runs read and decided. */
type LastRunsReader = Pick<RecordReader, 'runsOverLists' | 'latestRun' | 'decisions'> & Pick<PullReader, 'baseline'>;

interface LastRuns {
  basis: ExplainBasis;
  recorded: Recorded;
  /** For deciding: the readings of the last runs, and the event log as read now. */
  sources: Record<Source, SourceReading>;
}

interface Asked {
  rule: LoadedRule;
  subjectId: string;
  events: ReadEvents | undefined;
  nowMs: number;
  /** These are not the active rules: no run judged them. */
  isWhatIf: boolean;
}

const DECISIONS_MAX = 1_000;

async function readLastRuns(reader: LastRunsReader, asked: Asked): Promise<LastRuns> {
  const { rule, events, isWhatIf } = asked;
  const runs = await recentRuns(reader);
  const run = isWhatIf ? undefined : runs.find((one) => tallyOf(one, rule));
  const lists = rule.sources.filter((source) => source !== 'events');
  return {
    sources: await readingsOf(reader, runs, asked),
    recorded: run ? await recordedIn(reader, run, asked) : { decisions: [], none: await notJudged(reader, isWhatIf) },
    basis: {
      run: run && basisRun(run, rule),
      sources: lists.map((source) => {
        const last = lastReading(runs, source);
        const reading = last?.reading ?? skippedReading(source, asked.nowMs);
        return { source, seq: last?.run.seq, ...basisReading(reading, last?.reading.finishedAt) };
      }),
      events: events && basisReading(events.reading, events.atMs),
    },
  };
}

/** The same without a rule: how each source was last read. */
export async function readLastReadings(
  reader: LastRunsReader,
  asked: Pick<Asked, 'events' | 'nowMs'>,
): Promise<LastRuns['sources']> {
  return readingsOf(reader, await recentRuns(reader), asked);
}

/** Always has a count: if the last reading has none, shares are taken of the last trusted count. */
async function readingsOf(
  reader: LastRunsReader,
  runs: readonly JudgedRun[],
  { events, nowMs }: Pick<Asked, 'events' | 'nowMs'>,
): Promise<LastRuns['sources']> {
  const readings = {} as LastRuns['sources'];
  for (const source of SOURCES) {
    const last = lastReading(runs, source)?.reading ?? { ...skippedReading(source, nowMs), state: 'read' as const };
    const isCounted = last.state === 'read' && last.form !== 'none';
    readings[source] = isCounted ? last : { ...last, count: (await reader.baseline(source))?.count ?? 1 };
  }
  return events ? { ...readings, events: events.reading } : readings;
}

async function recordedIn(reader: LastRunsReader, run: JudgedRun, { rule, subjectId }: Asked): Promise<Recorded> {
  const query = { inForceIn: run.seq, rule: rule.id, subjectId, limit: DECISIONS_MAX };
  const decisions = (await reader.decisions(query)).reverse();
  return { decisions, none: decisions.length > 0 ? undefined : notRecorded(run, rule, subjectId) };
}

async function notJudged(reader: LastRunsReader, isWhatIf: boolean): Promise<string> {
  if (isWhatIf) return 'no run has judged these rules: they are not the active ones';
  return (await reader.latestRun())
    ? `none of the last ${RECENT_RUNS_MAX} runs judged this rule`
    : 'no run has judged this rule yet';
}

/** INVARIANT: reports that the rule did not match only if that run left nothing out. */
function notRecorded(run: JudgedRun, rule: LoadedRule, subjectId: string): string {
  const { examples = [], unknown = 0, error = 0 } = tallyOf(run, rule) ?? {};
  const example = examples.find(({ subject }) => subject === subjectId);
  if (example) return `its verdict was ${example.verdict}: ${example.reason}`;
  const isTrusted = rule.sources.every((source) => run.findings.snapshot.sources[source].trusted);
  return isTrusted && examples.length === unknown + error
    ? 'the rule did not match it'
    : 'nothing is recorded: of unknown verdicts, and of matches on untrusted data, a run keeps examples only';
}

function tallyOf({ findings }: JudgedRun, rule: LoadedRule) {
  return findings.tallies.find((tally) => tally.rule === rule.id && tally.judged);
}

function basisRun(run: JudgedRun, rule: LoadedRule): ExplainBasis['run'] {
  const { id, seq, startedAt, mode, findings } = run;
  const tally = tallyOf(run, rule);
  const subjects = findings.snapshot.sources[SOURCE_OF[rule.subject]].count;
  return { id, seq, at: startedAt, mode, match: tally?.match ?? 0, subjects, wasEdited: tally?.hash !== rule.hash };
}

function basisReading({ state, trusted, reasons }: SourceReading, atMs: number | undefined): BasisReading {
  return { state, trusted, at: atMs, reasons: reasons.map(({ text }) => text) };
}

// Which checks weigh a subject among others, so that one subject cannot ask them.

/** `whole-undo` has no reason of its own: it gives that of another part. */
const REASON_OF: { readonly [check in CheckName]?: ReasonCode } = {
  conflict: 'conflict',
  'other-first': 'other_first',
  limits: 'limits',
  owners: 'owners',
  ceiling: 'ceiling',
  'undone-anyway': 'cleared',
};

function checksOfARun(
  answer: Pick<Decision, 'decision' | 'reason' | 'reasonText' | 'verdict'>,
  rule: Pick<Rule, 'owners' | 'guards'>,
  traits: ActionTraits | undefined,
): ReasonCode[] {
  const order: readonly string[] = LISTS.deciding.map(({ check }) => check);
  // An answer that no check gave comes after all of them.
  const at = answer.decision === 'act' ? order.length : order.indexOf(answer.reason.replaceAll('_', '-'));
  const isUndo = answer.verdict === 'no_match';
  const concerns: { [reason in ReasonCode]?: boolean | undefined } = {
    conflict: traits?.changesFleet,
    other_first: traits?.removesTarget,
    limits: !isUndo,
    owners: !isUndo && traits?.takesDevice && rule.owners !== 'all',
    last_device: !isUndo && traits?.takesDevice && rule.guards?.lastDevice,
    devices_of_a_day: !isUndo && traits?.takesDevice && rule.guards?.perDay !== undefined,
    ceiling: traits?.changesFleet,
    cleared: !isUndo && traits?.changesFleet,
  };
  return LISTS.deciding.flatMap(({ check }, index) => {
    const reason = REASON_OF[check];
    const mayAnswer = index < at || (CHECKS[check].unlifted && isPlannable(answer));
    return reason && weighsOthers(check) && mayAnswer && concerns[reason] ? [reason] : [];
  });
}

export interface ExplainDeps
  extends Pick<Engine, 'api' | 'clock' | 'ids' | 'actions' | 'daemonMode' | 'quiet' | 'given'> {
  reader: LastRunsReader &
    OpenStateReader &
    IdentityReader &
    Pick<PullReader, 'coverage' | 'events' | 'newSignals' | 'baseline' | 'movement' | 'acceptances'>;
  rules: readonly LoadedRule[];
  /** These are not the active rules. */
  isWhatIf: boolean;
  /** What rules that look back read; absent: their past is unknown. */
  lookBack?: LookBackSource | undefined;
  settings: Pick<Engine['settings'], 'decide' | 'trust' | 'events' | 'lists' | 'freeze'>;
}

/** One subject as read now, and what each of the rules says of it. */
export interface JudgedSubject {
  id: string;
  nowMs: number;
  record: Facts;
  /** Undefined when none of the rules counts events. */
  events: ReadEvents | undefined;
  /** In the order of the rules. */
  explanations: Explanation[];
  judgement: Judgement;
}

/** `rules`: at least one, all of this kind. Errors: AppError `not_found` for an unknown subject, and those of reading the API. */
export async function judgeSubject(
  deps: ExplainDeps,
  rules: readonly LoadedRule[],
  kind: SubjectKind,
  id: string,
): Promise<JudgedSubject> {
  const lookups = boundedLookups(deps.api);
  const record = await readSubject(lookups, deps.reader, kind, id);
  const nowMs = deps.clock.nowMs();
  const { lists } = deps.settings;
  const evaluator = compileRules([...rules], lists);
  const subject = { kind, id: summaryOf(kind, record).id };
  await fillLookBack(deps, evaluator, nowMs, subject);
  const { sources, windowMs, signalWindowMs } = evaluator.needs;
  const asksForServices = kind === 'service';
  const events = sources.has('events') ? await readEvents({ ...deps, nowMs, windowMs, asksForServices }) : undefined;
  const signals =
    signalWindowMs > 0 ? await readSignals(deps.reader, nowMs - signalWindowMs) : { events: [], coverage: [] };
  const counted = [...(events?.events ?? []), ...signals.events];
  const { joins, unavailable } = await readJoins(lookups, evaluator.needs, record);
  const isForbidden = events?.reading.state === 'unavailable';
  const asked = { sources: guardsOf(deps.rules)?.sources ?? [], evaluator, reader: deps.reader, nowMs };
  const given = await (deps.given ?? NO_GIVEN).read({ ...asked, trust: deps.settings.trust }, false);
  const view = {
    nowMs,
    joins,
    given: given.tables,
    coverage: [...(events?.coverage ?? []), ...signals.coverage],
    windowsAtMs: events?.atMs,
    unavailable: new Set([...unavailable, ...(isForbidden ? ['events' as const] : [])]),
  };
  const readAtMs = { devices: nowMs, users: nowMs, services: nowMs, events: events?.atMs };
  const context = { ...view, events: counted, readAtMs, lists, lookBack: evaluator.lookBack };
  const explanations = rules.map((rule) => explain(rule, record, context));
  evaluator.observe(counted);
  const written = fieldsWritten(deps.actions, kind);
  const judge = evaluator.judge(kind, { ...view, fieldsWritten: written, isOpen: () => true });
  judge.accept(record);
  return { id: subject.id, nowMs, record, events, explanations, judgement: judge.finish() };
}

/**
 * What a run over these rules and this one subject would decide now, and the open claims of the rules on it. None of the stored
 * decisions is reconciled, so that every proposal is answered. `sources`: how the lists were last read.
 */
export async function decideNow(
  deps: ExplainDeps,
  rules: readonly LoadedRule[],
  { id, nowMs, record, events, judgement }: JudgedSubject,
  sources: Record<Source, SourceReading>,
): Promise<{ decisions: DecidedNow[]; claims: Claim[] }> {
  const { api, reader, actions, daemonMode, ids, quiet, settings, isWhatIf } = deps;
  const kind = (rules[0] as LoadedRule).subject;
  const setBackMs = (await reader.clockAgreement())?.setBackMs ?? nowMs;
  const lookups = boundedLookups(api);
  const touching = rules.find((rule) => takesDevices(rule, actions)) ?? (rules[0] as LoadedRule);
  const touched = await readTouched(lookups, touching, record, actions);
  const guards = guardsOf(rules);
  const owners = new Set([
    ...(kind === 'user' ? [id] : []),
    ...touched.flatMap((one) => ownTexts(one, 'Emails') ?? []),
  ]);
  const asksOwned = guards && asksForDevices(guards) && takesDevices(touching, actions);
  const owned = asksOwned ? await ownedBeside(reader, lookups, owners, new Set(), touched) : [];
  const named = new Set([record, ...touched, ...owned].flatMap((one) => ownText(one, 'SerialNumber') ?? []));
  const { decisions: said, ...openState } = await reader.openStateOf(nowMs, {
    kinds: [kind],
    subjects: [id],
    targets: [id, ...named],
  });
  // A ban may be on a device that the user's record no longer names.
  const claimed = openState.claims.flatMap(({ subjectId, action, target }) =>
    kind === 'user' && subjectId === id && actions.get(action)?.takesDevice ? target : [],
  );
  const beside = await devicesOfUsers(lookups, [{ SerialNumbers: claimed.filter((serial) => !named.has(serial)) }]);
  const exemptions = new Exemptions(openState.exemptions ?? [], nowMs, guards);
  // A run does not judge by events that it could not read.
  const unjudged = rules.filter(({ sources: read }) => events?.reading.state === 'failed' && read.includes('events'));
  const decided = decide({
    runMode: daemonMode,
    daemonMode,
    nowMs,
    freeze: windowAt(settings.freeze ?? [], nowMs),
    // No steady clock has measured it: the wall clock is enough to explain.
    steady: { nowMs, sinceMs: Number.NEGATIVE_INFINITY, forMs: 0, jumpedMs: nowMs, setBackMs },
    quietMs: quiet.read().ms,
    judged: rules.filter((rule) => rule.mode !== 'off' && !unjudged.includes(rule)),
    unjudged,
    activeRules: rulesById(deps.rules.filter(({ mode }) => mode !== 'off')),
    traits: actions,
    judgements: [judgement],
    sources,
    fleet: Object.assign(fleetOf([...touched, ...owned, ...[...beside.values()].flat()], actions), {
      tellsOwners: asksOwned === true,
    }),
    bundles: needsBundles(
      rules.flatMap(({ then }) => then),
      actions,
    )
      ? await readBundles(api)
      : undefined,
    openState: { ...openState, decisions: [] },
    said: isWhatIf ? [] : said,
    exemptOwners: exemptions.asksForOwnerRecords ? await ownersOf(lookups, touched) : new Map(),
    ids,
    settings: settings.decide,
  });
  const byId = new Map(rules.map((rule) => [rule.id, rule]));
  return {
    decisions: decided.decisions.flatMap((one) => {
      const rule = byId.get(one.rule);
      if (one.subject.id !== id || rule === undefined) return [];
      return [decidedNowOf(one, checksOfARun(one, rule, actions.get(one.action)))];
    }),
    claims: openState.claims.filter(({ rule, subjectId }) => byId.has(rule) && subjectId === id),
  };
}

export function decidedNowOf(decided: Decision, notAsked: DecidedNow['notAsked']): DecidedNow {
  const { rule, action, target, decision, reason, reasonText, verdict, mode, facts, effect } = decided;
  return { rule, action, target, decision, reason, reasonText, verdict, mode, facts, effect, notAsked };
}

/** Errors: AppError `not_found` for an unknown rule or subject, and those of reading the API. */
export async function explainSubject(deps: ExplainDeps, ruleId: string, id: string): Promise<ExplainedSubject> {
  const { reader, isWhatIf } = deps;
  const rule = deps.rules.find((loaded) => loaded.id === ruleId);
  if (!rule) {
    const known = deps.rules.map((loaded) => loaded.id).join(', ');
    throw new AppError('not_found', `there is no rule \`${ruleId}\`: loaded are ${known}`);
  }
  const judged = await judgeSubject(deps, [rule], rule.subject, id);
  const { events, nowMs } = judged;
  const last = await readLastRuns(reader, { rule, subjectId: judged.id, events, nowMs, isWhatIf });
  const now = await decideNow(deps, [rule], judged, last.sources);
  const recorded = { ...last.recorded, differs: last.basis.run !== undefined && isOther(now, last.recorded) };
  const [explanation] = judged.explanations as [Explanation];
  return { explanation, mode: rule.mode, ...now, recorded, basis: last.basis };
}

function isOther(now: Pick<ExplainedSubject, 'decisions'>, recorded: Recorded): boolean {
  const answers = (decisions: readonly Pick<Decision, 'action' | 'target' | 'decision' | 'reason'>[]) =>
    decisions.map(({ action, target, decision, reason }) => [action, target, decision, reason].join('\u0000')).sort();
  return answers(now.decisions).join('\n') !== answers(recorded.decisions).join('\n');
}

// Whether a subject is banned or disabled now, and whether Trustward made it so.

interface StateDeps {
  actions: ReadonlyMap<string, Action>;
  reader: Pick<RecordReader, 'intents' | 'plan' | 'run'>;
}

export function readStates(deps: StateDeps & Pick<ExplainDeps, 'api'>, subject: Identity): Promise<TargetState[]> {
  return statesOf(deps, subject, (action, target) => readState(deps, action, target));
}

/** `untilMs`: as it was then. */
export async function statesOf(
  deps: StateDeps,
  subject: Identity,
  isSoNow: (action: Action, target: string) => Promise<boolean | undefined> | boolean | undefined,
  then?: { atMs: number; readAtMs: number },
): Promise<TargetState[]> {
  const states: TargetState[] = [];
  const target = subject.kind === 'device' ? subject.serial : subject.id;
  if (target === '') return states;
  for (const action of deps.actions.values()) {
    if (action.stateText === undefined || kindOfTarget(action) !== subject.kind) continue;
    const last = await lastDone(deps, action, target, then?.atMs);
    // What was done after a reading is not in it.
    const isAfter = then !== undefined && last !== undefined && (last.intent.settledAt ?? 0) >= then.readAtMs;
    const isSo = isAfter ? last.intent.action === action.name : await isSoNow(action, target);
    const isOwn = isSo !== undefined && last !== undefined && isSo === (last.intent.action === action.name);
    states.push({ action: action.name, text: action.stateText, target, isSo, last, isOwn });
  }
  return states;
}

async function readState(
  { api }: Pick<ExplainDeps, 'api'>,
  action: Action,
  target: string,
): Promise<boolean | undefined> {
  try {
    const { state } = await action.readBack(api, target, {});
    return state === 'as_intended' ? true : state === 'otherwise' ? false : undefined;
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

async function lastDone(
  { reader }: StateDeps,
  action: Action,
  target: string,
  untilMs = Number.POSITIVE_INFINITY,
): Promise<DoneAction | undefined> {
  const intents = (await reader.intents({ target })).filter(({ settledAt }) => (settledAt ?? 0) <= untilMs);
  // Without an attempt it was found so: somebody else had done it.
  const done = intents.filter(
    (intent) =>
      isDone(intent) && intent.attempts > 0 && (intent.action === action.name || intent.action === action.inverse),
  );
  const last = done.sort((a, b) => (b.settledAt ?? 0) - (a.settledAt ?? 0))[0];
  if (!last) return undefined;
  const plan = last.approved && last.planId !== undefined ? await reader.plan(last.planId) : undefined;
  const run = await reader.run(last.runId);
  const isLook = run !== undefined && isOfLook(run);
  return {
    intent: last,
    runSeq: run?.seq,
    isOfLook: isLook,
    approvedBy: plan && approversText(plan),
    breakGlass: plan?.breakGlass,
  };
}
