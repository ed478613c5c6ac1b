// run: a snapshot of a few subjects, read one by one, and judged. In: the subjects that events named, the rules of the look. Out: the same as a
// pull of the fleet gives, with the open state about these subjects. Joins are read singly too. Nothing is stored.

import { type SteadyReading, throughout } from '../../base/time.ts';
import { type ActionName, type ActionTraits, fieldsWritten } from '../../domain/action.ts';
import { AUDIT_EVENT, type TrustEvent } from '../../domain/event.ts';
import { packRecords } from '../../domain/fact-packs.ts';
import { type Facts, ownText, ownTexts } from '../../domain/facts.ts';
import { asksForDevices, guardsOf } from '../../domain/guards.ts';
import type { LookBackPass } from '../../domain/look-back.ts';
import { isNewVerdict } from '../../domain/record-part.ts';
import { type Rule, rulesById } from '../../domain/rule.ts';
import type { RestReason, Run, WatchRequest } from '../../domain/run.ts';
import { type Coverage, coverageOf, isUsable, type Movement, type SourceReading } from '../../domain/snapshot.ts';
import type { ObservedEvents, OpenState } from '../../domain/store.ts';
import type { PullReader } from '../../domain/store-ports.ts';
import {
  SOURCE_OF,
  SOURCES,
  type Source,
  SUBJECT_KINDS,
  type SubjectKind,
  type SubjectRef,
  summaryOf,
} from '../../domain/subjects.ts';
import {
  countedMs,
  type Evaluator,
  FLIP_TRIES_MAX,
  FLIPS_MAX,
  type Joins,
  type Judgement,
} from '../../domain/verdict.ts';
import { readBundles } from '../act/actions/bundle-membership.ts';
import { Exemptions } from '../decide/exemptions.ts';
import { FleetIndex } from '../pull/fleet-index.ts';
import { type PulledEvents, pullEvents } from '../pull/pull-events.ts';
import { skippedReading } from '../pull/pull-source.ts';
import type { Engine, PullEngine, RunRules } from './engine.ts';
import {
  decidedVerdicts,
  devicesOfUsers,
  type JudgedRun,
  type JudgeView,
  judgementOf,
  type LooksMemory,
  type Lookups,
  ownedBeside,
  ownersOf,
  type PulledSnapshot,
  watchedSubjects,
} from './pulled-snapshot.ts';
import { asksForWholeLists, fillLookBack, readNamedActs, readsBundles, ServiceChanges } from './reading-needs.ts';

// Whether to look at the event log now, and for which rules. In: the last whole run, the active rules. Out: what the
// look rests on, or why it rests. INVARIANT: what a look does rests on a whole run that was trusted and is recent. It
// asks the API nothing.

export interface Standing {
  whole: JudgedRun;
  /** The rules that this look judges, with the evaluator of all active ones: its windows are filled. */
  rules: RunRules;
  memory: LooksMemory;
}

interface Resting {
  code: RestReason;
  text: string;
}

/** Scheduled runs that may have been missed since the last whole one. */
const MISSED_MAX = 1;

/** A check asks nothing of the event log. */
export async function standing(
  engine: Engine,
  request: Pick<WatchRequest, 'missedSince'>,
  isCheck = false,
): Promise<Standing | Resting> {
  engine.feed.looks ??= {};
  const memory = engine.feed.looks;
  memory.whole = await engine.store.lastWholeRun(memory.whole);
  const { whole } = memory;
  if (whole?.findings === undefined || engine.silence?.since !== undefined)
    return rest('no_whole_run', 'no whole run has been completed yet');
  const judged: JudgedRun = { ...whole, findings: whole.findings };
  if (await hasLeftovers(engine))
    return rest('no_whole_run', 'a whole run has to resolve first what a dead process left');
  if (judged.startedAt > engine.clock.nowMs() + engine.settings.events.overlapMs)
    return rest('no_whole_run', `the clock was set back since run ${whole.seq}`);
  const active = engine.active();
  const rules = active.rules.filter((rule) => mayBeWatched(rule, judged, engine.actions));
  const trusted = rules.filter(({ sources }) =>
    sources.every((source) => isUsable(judged.findings.snapshot.sources[source])),
  );
  if (rules.length > 0 && trusted.length === 0)
    return rest('untrusted', `run ${whole.seq} could not trust what the rules read`);
  const missed = request.missedSince(judged.startedAt);
  if (missed > MISSED_MAX) return rest('runs_missed', `${missed} scheduled runs were missed since run ${whole.seq}`);
  if (!isCheck && isForbidden(judged, memory) && !(await engine.store.hasNewSignals()))
    return rest('events_forbidden', 'the server does not show the event log');
  if (trusted.length === 0) return rest('nothing_to_watch', 'no active rule can be judged between two whole runs');
  return { whole: judged, rules: { ...active, rules: trusted, active: rulesById(active.rules) }, memory };
}

function rest(code: RestReason, text: string): Resting {
  return { code, text };
}

async function hasLeftovers({ store }: Engine): Promise<boolean> {
  return (await store.intentsIn('planned')).length > 0 || (await store.intentsIn('sent')).length > 0;
}

/** Judged by the last whole run as it is now, and by single records: what a deletion takes, only the whole list shows. */
function mayBeWatched(rule: Rule, { findings }: JudgedRun, actions: ReadonlyMap<ActionName, ActionTraits>): boolean {
  const tally = findings.tallies.find((one) => one.rule === rule.id);
  return rule.watch && tally?.judged === true && tally.hash === rule.hash && !asksForWholeLists(rule, actions);
}

/** No whole run reads the log for rules that count no events: then a look asks again after each whole run. */
function isForbidden({ id, findings }: JudgedRun, { forbiddenAfter }: LooksMemory): boolean {
  return forbiddenAfter === id || findings.snapshot.sources.events.state === 'unavailable';
}

interface PartAsked {
  engine: Engine;
  /** Bounded. */
  lookups: Lookups;
  standing: Standing;
  nowMs: number;
  begun: SteadyReading;
  records: Record<SubjectKind, Facts[]>;
  /** New events. */
  fresh: readonly TrustEvent[];
  /** How the event log was read just now, and what is known of it. */
  events: SourceReading;
  coverage: JudgeView['coverage'];
  isCheck?: boolean;
}

/** Errors: those of reading the API. */
export async function partSnapshot(asked: PartAsked): Promise<{ pulled: PulledSnapshot; openState: OpenState }> {
  const { engine, standing, nowMs, records } = asked;
  const { rules } = standing;
  const wholes = standing.whole.findings.snapshot.sources;
  const ofSubjects = await openStateOf(asked);
  const exemptions = new Exemptions(ofSubjects.exemptions ?? [], nowMs, guardsOf(rules.rules));
  const { joins, owners } = await readJoins(asked, exemptions.asksForOwnerRecords);
  const view: JudgeView = {
    joins,
    given: await standingGiven(asked),
    coverage: asked.coverage,
    unavailable: new Set(SOURCES.filter((source) => wholes[source].state === 'unavailable')),
  };
  await fillLookBack(engine, rules.evaluator, nowMs);
  const judgements = judge(asked, ofSubjects, view);
  const owned = await readOwned(asked, joins, judgements);
  const openState = owned.length === 0 ? ofSubjects : await openStateOf(asked, owned);
  const fleet = new FleetIndex(fieldsWritten(engine.actions, 'device'));
  for (const device of devicesRead(records.device, joins, owned)) fleet.add(device);
  fleet.tellsOwners = true;
  const named = rules.rules.filter(({ subject }) => records[subject].length > 0).flatMap(({ then }) => then);
  const bundles = readsBundles([...named, ...openState.claims], engine.actions)
    ? await readBundles(engine.api)
    : undefined;
  const sources = readingsOf(asked, joins, owned);
  const steady = throughout(asked.begun, engine.steady.read());
  return {
    openState,
    pulled: {
      snapshot: { id: engine.ids.next(), nowMs, sources },
      steady,
      judgements,
      fleet,
      unjudged: [],
      baselines: [],
      movements: [],
      identities: [],
      subjects: { device: wholes.devices.count, user: wholes.users.count, service: wholes.services.count },
      view,
      bundles,
      namedActs: await namedActsOf(asked, openState, steady, fleet),
      exemptOwners: owners,
      lookBacks: lookBacksOf(asked),
      accepted: [],
      ...seenOf(asked, joins, owned, sources),
    },
  };
}

async function standingGiven({ engine, standing: { rules }, nowMs }: PartAsked): Promise<JudgeView['given']> {
  const sources = guardsOf(rules.rules)?.sources ?? [];
  const asked = { sources, evaluator: rules.evaluator, reader: engine.store, trust: engine.settings.trust, nowMs };
  return sources.length === 0 ? undefined : engine.given?.standing(asked);
}

/** The subjects, the devices of users, and what owners have beside them: each once. */
function devicesRead(subjects: readonly Facts[], { devices }: Joins, owned: readonly Facts[]): Iterable<Facts> {
  const beside = [...owned, ...[...devices.values()].flat()];
  return new Map([...beside, ...subjects].map((device) => [ownText(device, 'DeviceID'), device])).values();
}

async function namedActsOf(
  { engine, fresh, records }: PartAsked,
  openState: OpenState,
  steady: SteadyReading,
  fleet: PulledSnapshot['fleet'],
): Promise<PulledSnapshot['namedActs']> {
  if (!fresh.some(({ type }) => type === AUDIT_EVENT)) return undefined;
  const services = new ServiceChanges();
  for (const record of records.service) services.accept(record);
  return readNamedActs({ engine, openState, steady, fresh, services, fleet });
}

/** Where guards count what a person owns, and a rule would take a device of theirs: the devices that they own beside it. A check takes nothing. */
async function readOwned(
  { engine, lookups, standing: { rules }, records, isCheck }: PartAsked,
  joins: Joins,
  judgements: readonly Judgement[],
): Promise<Facts[]> {
  const guards = guardsOf(rules.rules);
  if (isCheck || !guards || !asksForDevices(guards)) return [];
  const taking = new Set(
    rules.rules
      .filter(({ then }) => then.some(({ action }) => engine.actions.get(action)?.takesDevice))
      .map(({ id }) => id),
  );
  const taken = judgements.flatMap(({ matches }) => matches.filter(({ rule }) => taking.has(rule)));
  const ids = new Set(taken.map(({ summary }) => summary.id));
  const serials = new Set(taken.flatMap(({ summary }) => summary.serials ?? []));
  const owners = new Set([
    ...taken.flatMap(({ summary }) => (summary.kind === 'user' ? summary.id : [])),
    ...records.device
      .filter((one) => ids.has(ownText(one, 'DeviceID') ?? ''))
      .flatMap((one) => ownTexts(one, 'Emails') ?? []),
  ]);
  return ownedBeside(engine.store, lookups, owners, serials, devicesRead(records.device, joins, []));
}

/** Of these subjects, of every target that a rule proposes for one of them, and of what their owners have beside. */
function openStateOf(
  { engine, standing: { rules }, nowMs, records }: PartAsked,
  owned: readonly Facts[] = [],
): Promise<OpenState> {
  const summaries = SUBJECT_KINDS.flatMap((kind) => records[kind].map((record) => summaryOf(kind, record)));
  const targets = rules.rules.flatMap(({ subject, then }) =>
    then.flatMap(({ action, with: settings }) =>
      summaries
        .filter(({ kind }) => kind === subject)
        .flatMap((summary) => engine.actions.get(action)?.target.of(summary, settings) ?? []),
    ),
  );
  return engine.store.openStateOf(nowMs, {
    kinds: SUBJECT_KINDS.filter((kind) => records[kind].length > 0),
    subjects: [...new Set(summaries.map(({ id }) => id))],
    targets: [
      ...new Set([
        ...targets,
        ...[...records.device, ...owned].flatMap((device) => ownText(device, 'SerialNumber') ?? []),
      ]),
    ],
  });
}

async function readJoins(
  { lookups, standing: { rules }, records }: PartAsked,
  asksForOwners: boolean,
): Promise<{ joins: Joins; owners: Map<string, Facts> }> {
  const joins = (subject: SubjectKind, source: Source) =>
    rules.rules.some((rule) => rule.subject === subject && rule.sources.includes(source));
  const needsOwners = asksForOwners || joins('device', 'users');
  const owners = needsOwners ? await ownersOf(lookups, records.device) : new Map<string, Facts>();
  const devices = joins('user', 'devices') ? await devicesOfUsers(lookups, records.user) : new Map<string, Facts[]>();
  return { joins: { users: owners, devices }, owners: asksForOwners ? owners : new Map() };
}

/** The evaluator of all active rules, since its windows are filled; only the rules of the look count. */
function judge(
  { engine, standing: { rules }, nowMs, records }: PartAsked,
  openState: OpenState,
  view: JudgeView,
): Judgement[] {
  const judged = new Set(rules.rules.map(({ id }) => id));
  const watched = watchedSubjects(openState);
  const decided = decidedVerdicts(openState, rules.rules, nowMs);
  const budget = { flips: FLIPS_MAX, tries: FLIP_TRIES_MAX };
  rules.evaluator.advance(nowMs);
  return SUBJECT_KINDS.filter((kind) => records[kind].length > 0).map((kind) => {
    const one = rules.evaluator.judge(kind, {
      ...view,
      fieldsWritten: fieldsWritten(engine.actions, kind),
      nowMs,
      isOpen: (rule, subjectId) => watched.get(subjectId)?.has(rule) ?? false,
      hasOpen: (subjectId) => watched.has(subjectId),
      flips: { isNew: (rule, ...about) => judged.has(rule) && isNewVerdict(decided, rule, ...about), budget },
    });
    for (const record of records[kind]) one.accept(record);
    return judgementOf(one.finish(), (rule) => judged.has(rule));
  });
}

/** Of every kind that some rule looks back on. */
function lookBacksOf({ standing, nowMs, records }: PartAsked): LookBackPass[] {
  const { lookBack } = standing.rules.evaluator;
  return SUBJECT_KINDS.filter((kind) => lookBack?.paths.has(kind)).flatMap((kind) => {
    const pass = lookBack?.pass(kind, nowMs, 'single');
    for (const record of records[kind]) pass?.accept(record);
    return pass ?? [];
  });
}

/** For the history: the subjects, and those that rules see beside them. Owners of devices are among the latter. */
function seenOf(
  { records }: PartAsked,
  joins: Joins,
  owned: readonly Facts[],
  sources: Record<Source, SourceReading>,
): Pick<PulledSnapshot, 'seen' | 'read' | 'joined'> {
  const beside = {
    device: [...owned, ...[...joins.devices.values()].flat()],
    user: [...joins.users.values()],
    service: [],
  };
  const seen = SUBJECT_KINDS.flatMap((kind) => {
    const changed = [...records[kind], ...beside[kind]];
    if (changed.length === 0) return [];
    return { kind, reading: sources[SOURCE_OF[kind]], changed: [packRecords(changed)], prints: undefined };
  });
  const refsOf = (all: Record<SubjectKind, readonly Facts[]>) =>
    SUBJECT_KINDS.flatMap((kind) => all[kind].map((record): SubjectRef => ({ kind, id: summaryOf(kind, record).id })));
  return { seen, read: refsOf(records), joined: refsOf(beside) };
}

/** What a report of the run shows. The counts are of what was read, and no counts of the lists. */
function readingsOf(
  { records, nowMs, events, engine }: PartAsked,
  { users, devices }: Joins,
  owned: readonly Facts[],
): Record<Source, SourceReading> {
  const joined = { device: owned.length + [...devices.values()].flat().length, user: users.size, service: 0 };
  const sources = { events } as Record<Source, SourceReading>;
  for (const kind of SUBJECT_KINDS) {
    const count = records[kind].length + joined[kind];
    const read = { state: 'read', form: 'single', count, finishedAt: engine.clock.nowMs() } as const;
    sources[SOURCE_OF[kind]] = { ...skippedReading(SOURCE_OF[kind], nowMs), ...(count > 0 && read) };
  }
  return sources;
}

/** Once in a process: from then on, what is read is observed as it comes. */
export async function fillWindows(
  { feed, store }: Pick<PullEngine, 'feed'> & { store: Pick<PullReader, 'events'> },
  evaluator: Evaluator,
  fromMs: number,
): Promise<void> {
  for await (const batch of store.events(fromMs)) evaluator.observe(batch);
  feed.primed.add(evaluator);
}

// The new events of a run: read, stored, and in the windows of its rules; a fresh process fills these from the store
// first.

interface NewEvents {
  reading: SourceReading;
  /** Of a log that could not be read: nothing. */
  coverage: readonly Coverage[];
  movement: Movement | undefined;
  /** The longest window of the active rules, over events or signals. */
  windowMs: number;
}

export async function readNewEvents(engine: PullEngine, run: Run, rules: RunRules): Promise<NewEvents> {
  engine.progress?.({ phase: 'reading', what: 'events' });
  // Stored events serve every later run: a run over chosen rules also reads what the whole active set needs.
  const active = engine.active();
  const windowMs = Math.max(rules.evaluator.needs.windowMs, active.evaluator.needs.windowMs);
  const keptMs = keptWindowMs(engine, windowMs);
  const ofBothMs = Math.max(countedMs(rules.evaluator.needs), countedMs(active.evaluator.needs));
  const pulled = await pullEvents({
    api: engine.api,
    clock: engine.clock,
    nowMs: run.startedAt,
    windowMs: keptMs,
    triedMs: engine.feed.triedMs,
    known: coverageOf(await engine.store.coverage()),
    moved: { source: 'events', form: 'paged', before: await engine.store.movement('events', 'paged') },
    asksForServices:
      engine.history?.lists?.has('events') ||
      active.rules.some(({ subject, sources }) => subject === 'service' && sources.includes('events')),
    trust: engine.settings.trust,
    settings: engine.settings.events,
  });
  const signals = await engine.store.newSignals();
  await engine.store.observeEvents({ ...observedEvents(engine, pulled, run.startedAt, ofBothMs), signals });
  if (engine.feed.primed.has(rules.evaluator)) rules.evaluator.observe([...pulled.events, ...signals.events]);
  else await fillWindows(engine, rules.evaluator, run.startedAt - ofBothMs);
  // Beyond this window events were forgotten just now: for a longer one they are read again.
  if (pulled.coverage) engine.feed.triedMs = keptMs;
  const isRead = pulled.reading.state === 'read';
  const { reading, movement } = pulled;
  const coverage = await engine.store.coverage();
  return { reading, movement, coverage: isRead ? coverage : ofTransmitters(coverage), windowMs: ofBothMs };
}

/**
 * Of a run that reads no log: the signals alone. A whole one reads every subject, so no look has to read those of the signals until now; one over chosen
 * rules takes them up if these count signals.
 */
export async function takeUpSignals(
  engine: PullEngine,
  run: Run,
  { evaluator }: RunRules,
): Promise<Pick<NewEvents, 'coverage' | 'windowMs'>> {
  const { store, feed } = engine;
  const countsSignals = evaluator.needs.signalWindowMs > 0;
  const windowMs = Math.max(countedMs(evaluator.needs), countedMs(engine.active().evaluator.needs));
  if (run.scoped !== undefined && !countsSignals) return { coverage: [], windowMs };
  const signals = await store.newSignals();
  if (signals.events.length > 0 || countsSignals) {
    const none = { events: [], coverage: undefined };
    await store.observeEvents({ ...observedEvents(engine, none, run.startedAt, windowMs), signals });
  }
  if (feed.primed.has(evaluator)) evaluator.observe(signals.events);
  else if (countsSignals) await fillWindows(engine, evaluator, run.startedAt - windowMs);
  return { coverage: ofTransmitters(await store.coverage()), windowMs };
}

/** What is known of a log that could not be read now is of no use: its events until now are missing. */
function ofTransmitters(coverage: readonly Coverage[]): Coverage[] {
  return coverage.filter(({ transmitter }) => transmitter !== undefined);
}

/** An event log that no active rule reads is recorded for rules that look back as far. */
const RECORDED_WINDOW_MS = 24 * 3_600_000;

/** How far back the log is to be known: for rules, whose longest window is given, and for the history. */
function keptWindowMs({ history }: Pick<PullEngine, 'history'>, windowMs: number): number {
  return Math.max(windowMs, history?.lists?.has('events') ? RECORDED_WINDOW_MS : 0);
}

/** What no window has any more is forgotten, and not before the history has read it. */
export function observedEvents(
  engine: Pick<PullEngine, 'history' | 'settings'>,
  { events, coverage }: Pick<PulledEvents, 'events' | 'coverage'>,
  nowMs: number,
  windowMs: number,
): ObservedEvents {
  const forgetBeforeMs = nowMs - keptWindowMs(engine, windowMs) - engine.settings.events.overlapMs;
  return { events, coverage, forgetBeforeMs, unreadAfterNo: engine.history?.unreadAfterNo };
}
