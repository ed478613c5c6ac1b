// run: a snapshot of a few subjects, read one by one, and judged. In: the subjects that events named, the rules of the look. Out: the same as a
// pull of the fleet gives, with the open state about these subjects. Joins are read singly too. Nothing is stored.
import { readBundles } from '../../act/actions/bundle-membership.ts';
import { Exemptions } from '../../decide/exemptions.ts';
import { fieldsWritten } from '../../domain/action.ts';
import type { TrustEvent } from '../../domain/event.ts';
import { type Facts, ownText } from '../../domain/facts.ts';
import type { LookBackPass } from '../../domain/look-back.ts';
import { AUDIT_EVENT } from '../../domain/named-act.ts';
import { isNewVerdict } from '../../domain/new-verdicts.ts';
import type { SourceReading } from '../../domain/snapshot.ts';
import { type SteadyReading, throughout } from '../../domain/steady-time.ts';
import type { OpenState } from '../../domain/store.ts';
import {
  SOURCE_OF,
  SOURCES,
  type Source,
  SUBJECT_KINDS,
  type SubjectKind,
  type SubjectRef,
} from '../../domain/subjects.ts';
import { summaryOf } from '../../domain/target.ts';
import { FLIP_TRIES_MAX, FLIPS_MAX, type Joins, type Judgement } from '../../domain/verdict.ts';
import { FleetIndex } from '../../pull/fleet-index.ts';
import { skippedReading } from '../../pull/pull-source.ts';
import type { Engine } from '../engine.ts';
import { fillLookBack } from '../fill-look-back.ts';
import { readNamedActs, ServiceChanges } from '../named-acts.ts';
import { decidedVerdicts } from '../new-flips.ts';
import { type JudgeView, judgementOf, type PulledSnapshot } from '../pulled-snapshot.ts';
import { readsBundles } from '../reading-needs.ts';
import { devicesOfUsers, type Lookups, ownersOf } from '../single-reads.ts';
import { watchedSubjects } from '../watched-subjects.ts';
import type { Standing } from './standing.ts';

export interface PartAsked {
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
}

/** Errors: those of reading the API. */
export async function partSnapshot(asked: PartAsked): Promise<{ pulled: PulledSnapshot; openState: OpenState }> {
  const { engine, standing, nowMs, records } = asked;
  const { rules } = standing;
  const wholes = standing.whole.findings.snapshot.sources;
  const openState = await openStateOf(asked);
  const exemptions = new Exemptions(openState.exemptions ?? [], nowMs);
  const { joins, owners } = await readJoins(asked, exemptions.asksForOwnerRecords);
  const view: JudgeView = {
    joins,
    coverage: asked.coverage,
    unavailable: new Set(SOURCES.filter((source) => wholes[source].state === 'unavailable')),
  };
  await fillLookBack(engine, rules.evaluator, nowMs);
  const fleet = new FleetIndex(fieldsWritten(engine.actions, 'device'));
  for (const device of records.device) fleet.add(device);
  const named = rules.rules.filter(({ subject }) => records[subject].length > 0).flatMap(({ then }) => then);
  const bundles = readsBundles([...named, ...openState.claims], engine.actions)
    ? await readBundles(engine.api)
    : undefined;
  const sources = readingsOf(asked, joins);
  const steady = throughout(asked.begun, engine.steady.read());
  return {
    openState,
    pulled: {
      snapshot: { id: engine.ids.next(), nowMs, sources },
      steady,
      judgements: judge(asked, openState, view),
      fleet,
      unjudged: [],
      baselines: [],
      movements: [],
      identities: [],
      subjects: { device: wholes.devices.count, user: wholes.users.count, service: wholes.services.count },
      view,
      bundles,
      namedActs: await namedActsOf(asked, openState, steady),
      exemptOwners: owners,
      lookBacks: lookBacksOf(asked),
      accepted: [],
      ...seenOf(asked, joins, sources),
    },
  };
}

async function namedActsOf(
  { engine, fresh, records }: PartAsked,
  openState: OpenState,
  steady: SteadyReading,
): Promise<PulledSnapshot['namedActs']> {
  if (!fresh.some(({ type }) => type === AUDIT_EVENT)) return undefined;
  const services = new ServiceChanges();
  for (const record of records.service) services.accept(record);
  return readNamedActs({ engine, openState, steady, fresh, services });
}

/** Of these subjects, and of every target that a rule proposes for one of them. */
function openStateOf({ engine, standing: { rules }, nowMs, records }: PartAsked): Promise<OpenState> {
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
    targets: [...new Set([...targets, ...records.device.flatMap((device) => ownText(device, 'SerialNumber') ?? [])])],
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
  sources: Record<Source, SourceReading>,
): Pick<PulledSnapshot, 'seen' | 'read' | 'joined'> {
  const beside = { device: [...joins.devices.values()].flat(), user: [...joins.users.values()], service: [] };
  const seen = SUBJECT_KINDS.map((kind) => ({
    kind,
    reading: sources[SOURCE_OF[kind]],
    changed: [...records[kind], ...beside[kind]],
    prints: undefined,
  }));
  const refsOf = (all: Record<SubjectKind, readonly Facts[]>) =>
    SUBJECT_KINDS.flatMap((kind) => all[kind].map((record): SubjectRef => ({ kind, id: summaryOf(kind, record).id })));
  return { seen: seen.filter(({ changed }) => changed.length > 0), read: refsOf(records), joined: refsOf(beside) };
}

/** What a report of the run shows. The counts are of what was read, and no counts of the lists. */
function readingsOf(
  { records, nowMs, events, engine }: PartAsked,
  { users, devices }: Joins,
): Record<Source, SourceReading> {
  const joined = { device: [...devices.values()].flat().length, user: users.size, service: 0 };
  const sources = { events } as Record<Source, SourceReading>;
  for (const kind of SUBJECT_KINDS) {
    const count = records[kind].length + joined[kind];
    const read = { state: 'read', form: 'single', count, finishedAt: engine.clock.nowMs() } as const;
    sources[SOURCE_OF[kind]] = { ...skippedReading(SOURCE_OF[kind], nowMs), ...(count > 0 && read) };
  }
  return sources;
}
