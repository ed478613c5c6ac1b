// run: what a pass over the sources passes to the later stages.

import { DAY_MS, type SteadyReading } from '../../base/time.ts';
import { inOrder } from '../../base/turns.ts';
import { type ActionOnTarget, type Bundles, isTaken, type KnownTraits } from '../../domain/action.ts';
import { type ChangeWindow, type WindowNow, windowAt } from '../../domain/change-window.ts';
import type { TargetFacts } from '../../domain/check.ts';
import type { Episode } from '../../domain/episode.ts';
import type { Exemption, ExemptionMember } from '../../domain/exemption.ts';
import { type Facts, ownText, ownTexts } from '../../domain/facts.ts';
import { asksForDevices, type Guards, guardsOf } from '../../domain/guards.ts';
import { type IdentityChanges, type IdentityReader, nameKey } from '../../domain/identity.ts';
import type { IntentBasis } from '../../domain/intent.ts';
import type { LookBackPass } from '../../domain/look-back.ts';
import type { UsedAcceptance } from '../../domain/operator.ts';
import type { Api, Clock } from '../../domain/ports.ts';
import type { DecidedVerdicts } from '../../domain/record-part.ts';
import type { SeenSubjects } from '../../domain/recorded-history.ts';
import { leastMode, type Mode, type Rule } from '../../domain/rule.ts';
import type { Run, RunFindings } from '../../domain/run.ts';
import { type Baseline, isUsable, type Movement, type Snapshot, type SourceReading } from '../../domain/snapshot.ts';
import type { OpenState, RunRecord } from '../../domain/store.ts';
import type { ActStore, RecordReader } from '../../domain/store-ports.ts';
import { type Fleet, flagText, type Source, type SubjectRef } from '../../domain/subjects.ts';
import type { Evaluator, JudgeContext, Judgement } from '../../domain/verdict.ts';
import type { SubjectCounts } from '../act/context.ts';
import { Exemptions, type OwnerFacts, type Party, type Protection, partiesOfRecords } from '../decide/exemptions.ts';
import type { DecideInput } from '../decide/input.ts';

/** What judging needs beside the record. */
export type JudgeView = Pick<JudgeContext, 'joins' | 'given' | 'coverage' | 'unavailable'>;

export interface PulledSnapshot {
  snapshot: Snapshot;
  /** From its beginning. */
  steady: SteadyReading;
  judgements: Judgement[];
  fleet: Fleet;
  /** Rules that could not be judged because a source that they need was unreadable. */
  unjudged: string[];
  baselines: Baseline[];
  /** Of the sources that it read whole, trusted or not. */
  movements: Movement[];
  /** Of the trusted readings. */
  identities: IdentityChanges[];
  subjects: SubjectCounts;
  view: JudgeView;
  /** Which services are in which bundles, when an action of some rule or claim needs it and the server lists them. */
  bundles: Bundles | undefined;
  /** What the own records of targets show that the lists show otherwise than what was done last; undefined: no list was read. */
  ownReads?: DecideInput['ownReads'];
  /** What the event log names others to have done to subjects of open claims. */
  namedActs?: DecideInput['namedActs'];
  /** Owners that some exemption covers, by lower-case e-mail. */
  exemptOwners: OwnerFacts;
  /** Readings that rules look back on from now on, once the run is committed. */
  lookBacks: LookBackPass[];
  /** Accepted readings, and the results of the acceptances. */
  accepted: UsedAcceptance[];
  /** For the history: of each kind that was read, records that are not recorded as they are. */
  seen: SeenSubjects[];
  /** Of a look: the subjects that it read, and those that it found joined to them. */
  read?: readonly SubjectRef[];
  joined?: readonly SubjectRef[];
}

/** After the run is committed, and before it acts. */
export function takeOverLookBacks({ lookBacks }: Pick<PulledSnapshot, 'lookBacks'>): void {
  for (const pass of lookBacks) pass.takeOver();
}

/** Whether the API answered at all: a mistyped address must not bind a database. */
export function wasReached({ snapshot }: PulledSnapshot): boolean {
  return Object.values(snapshot.sources).some(({ state }) => state === 'read');
}

/** Whether the run says something about what waits for a person by this rule: it was judged, and on trusted data. */
export function wasJudged(
  { id, sources }: Pick<Rule, 'id' | 'sources'>,
  { snapshot, unjudged }: PulledSnapshot,
): boolean {
  return !unjudged.includes(id) && sources.every((source) => isUsable(snapshot.sources[source]));
}

/** What it says of some of its rules. */
export function judgementOf(judgement: Judgement, isWanted: (rule: string) => boolean): Judgement {
  const kept = ({ rule }: { rule: string }) => isWanted(rule);
  const { tallies, matches, open } = judgement;
  return { ...judgement, tallies: tallies.filter(kept), matches: matches.filter(kept), open: open.filter(kept) };
}

// Reads of single records, for one subject or a few.

/** Records of a list that a lookup reads of a server that does not look up. */
export const RECORDS_MAX = 10_000;
/** Reads at a time. */
const AT_ONCE = 8;

/** The lookups of the API, each bounded. Errors: also AppError `api_answer` at the bound. */
export type Lookups = Pick<Api, 'address' | 'devicesOfSerial' | 'device' | 'user' | 'service'>;

export function boundedLookups(api: Lookups): Lookups {
  return {
    address: api.address,
    devicesOfSerial: (serial) => api.devicesOfSerial(serial, RECORDS_MAX),
    device: (id) => api.device(id, RECORDS_MAX),
    user: (email) => api.user(email, RECORDS_MAX),
    service: (id) => api.service(id, RECORDS_MAX),
  };
}

/** Several at a time; the first failure ends it. */
export async function readEach<J, T>(jobs: Iterable<J>, read: (job: J) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for await (const result of inOrder(jobs, AT_ONCE, read)) results.push(result);
  return results;
}

/** Devices of these users by serial number. */
export async function devicesOfUsers(api: Lookups, users: readonly Facts[]): Promise<Map<string, Facts[]>> {
  const serials = new Set(users.flatMap((user) => ownTexts(user, 'SerialNumbers') ?? []));
  return new Map(await readEach(serials, async (serial) => [serial, await api.devicesOfSerial(serial)] as const));
}

/**
 * The devices of these serial numbers, and those that the last trusted list shows of these owners, each read now, without those that were read. One
 * that is not known is not counted: then a guard asks sooner.
 */
export async function ownedBeside(
  store: Pick<IdentityReader, 'identitiesNamed'>,
  lookups: Lookups,
  owners: Iterable<string>,
  serials: ReadonlySet<string>,
  read: Iterable<Facts>,
): Promise<Facts[]> {
  const asked = new Set(serials);
  for (const owner of owners)
    for (const { identity, by } of await store.identitiesNamed(owner))
      if (by === 'owner' && identity.goneAt === undefined) asked.add(identity.serial);
  for (const one of read) asked.delete(ownText(one, 'SerialNumber') ?? '');
  return (await readEach(asked, (serial) => lookups.devicesOfSerial(serial))).flat();
}

/** The records of all owners of these devices, by lower-case e-mail. */
export async function ownersOf(api: Pick<Api, 'user'>, devices: readonly Facts[]): Promise<Map<string, Facts>> {
  const emails = new Set(devices.flatMap((device) => ownTexts(device, 'Emails') ?? []));
  const owners = await readEach(emails, async (email) => [email.toLowerCase(), await api.user(email)] as const);
  return new Map(owners.flatMap(([email, user]) => (user ? [[email, user] as const] : [])));
}

// Calls the one resolver of exemptions and guards for an intent whose target was just read.

interface Asking {
  api: Pick<Api, 'devicesOfSerial' | 'user'>;
  store: Pick<RecordReader, 'exemptions'> & Pick<ActStore, 'attemptedOn'>;
  clock: Clock;
  actions: KnownTraits;
  active(): { rules: readonly Pick<Rule, 'id' | 'subject' | 'guards'>[] };
}

export async function exemptionOf(
  asking: Asking,
  intent: ActionOnTarget & { basis: readonly Pick<IntentBasis, 'rule' | 'subjectId'>[]; approved?: boolean },
  records: readonly Facts[],
  among?: readonly Exemption[],
): Promise<Protected> {
  const { api, store, clock, actions, active } = asking;
  const nowMs = clock.nowMs();
  // A person's yes answers a guard: nothing is read for it.
  const guards = intent.approved === true || among ? undefined : guardsOf(active().rules);
  const exemptions = new Exemptions(among ?? (await store.exemptions(nowMs)), nowMs, guards);
  const counted = guards && asksForDevices(guards) && actions.get(intent.action)?.takesDevice ? guards : undefined;
  if (exemptions.isEmpty && !counted) return {};
  const kinds = new Map(active().rules.map((rule) => [rule.id, rule.subject]));
  const subjects = intent.basis.flatMap(({ rule, subjectId }): Party[] => {
    const kind = kinds.get(rule);
    return kind === undefined ? [] : [{ kind, id: subjectId, fields: {} }];
  });
  const all = [...records, ...(await devicesHit(api, intent, actions, records))];
  const owners = exemptions.asksForOwnerRecords ? await ownersOf(api, all) : new Map<string, Facts>();
  const parties = [...partiesOfRecords(all, owners), ...subjects];
  const hit = serialHit(intent, actions);
  // A subject that was just read has its own serial number: servers may find one in another case.
  const members = intent.basis.flatMap(({ subjectId }): ExemptionMember[] => {
    const party = parties.find(({ id }) => id === subjectId);
    const serial = party?.fields.SerialNumber?.[0] ?? hit ?? '';
    return party ? [{ kind: party.kind, id: party.id, serial }] : [];
  });
  const guard = exemptions.guarding(parties) ?? (areOwnersUnread(all) ? exemptions.guardingUnread : undefined);
  const ofOwners = counted && (await factsOfOwners(asking, counted, hit ?? '', all));
  return { ...exemptions.protecting(parties, members), ...(guard && { guard }), ...ofOwners };
}

type Protected = Protection & Pick<TargetFacts, 'guard' | 'lastDevice' | 'devicesOfDay'>;

function areOwnersUnread(records: readonly Facts[]): boolean {
  return records.some((record) => Object.hasOwn(record, 'DeviceID') && ownTexts(record, 'Emails') === undefined);
}

/** What the owners of the devices have beside them, read one by one, and which of it was attempted within 24 hours. Errors: those of reading the API. */
async function factsOfOwners(
  { api, store, clock, actions }: Asking,
  { lastDevice, perDay }: Guards,
  serial: string,
  devices: readonly Facts[],
): Promise<Pick<TargetFacts, 'lastDevice' | 'devicesOfDay'>> {
  const unread = {
    ...(lastDevice && { lastDevice: 'unread' as const }),
    ...(perDay && { devicesOfDay: 'unread' as const }),
  };
  if (areOwnersUnread(devices)) return unread;
  const isFree = (device: Facts) => !isTaken(actions, (field) => flagText(device, field));
  const found: Pick<TargetFacts, 'lastDevice' | 'devicesOfDay'> = {};
  for (const owner of new Set(devices.flatMap((device) => ownTexts(device, 'Emails') ?? []))) {
    const user = await api.user(owner);
    const serials = user && ownTexts(user, 'SerialNumbers');
    if (serials === undefined) return unread;
    const others = serials.filter((one) => nameKey(one) !== nameKey(serial));
    const isOwn = (device: Facts) => (ownTexts(device, 'Emails') ?? []).some((one) => nameKey(one) === nameKey(owner));
    if (lastDevice && devices.some((device) => isOwn(device) && isFree(device))) {
      const beside = (await readEach(others, (one) => api.devicesOfSerial(one))).flat();
      if (!beside.some((device) => isOwn(device) && isFree(device))) found.lastDevice = { owner };
    }
    if (perDay === undefined) continue;
    const since = clock.nowMs() - DAY_MS;
    const taken = await readEach(others, async (one) =>
      (await store.attemptedOn(one)).some(
        ({ action, undo, sentAt }) => !undo && actions.get(action)?.takesDevice && (sentAt ?? 0) > since,
      ),
    );
    const count = taken.filter((one) => one).length + 1;
    if (count > perDay) found.devicesOfDay = { owner, devices: count, allowed: perDay };
  }
  return found;
}

/** Where the records just read are not the devices themselves: a user's deletion hits those of one serial number. */
async function devicesHit(
  api: Pick<Api, 'devicesOfSerial'>,
  intent: ActionOnTarget,
  actions: KnownTraits,
  records: readonly Facts[],
): Promise<Facts[]> {
  if (records.length === 0 || records.some((record) => Object.hasOwn(record, 'DeviceID'))) return [];
  const serial = serialHit(intent, actions);
  return serial === undefined ? [] : api.devicesOfSerial(serial);
}

function serialHit({ action, target, settings = {} }: ActionOnTarget, actions: KnownTraits): string | undefined {
  return actions.get(action)?.target.serialOf?.(target, settings);
}

// The one way from what a run saw to the input of deciding, for live runs and for replays of recorded ones.

/** What deciding reads of a pass over the sources. */
type SeenSnapshot = Pick<
  PulledSnapshot,
  'unjudged' | 'steady' | 'judgements' | 'fleet' | 'bundles' | 'ownReads' | 'namedActs' | 'exemptOwners'
> & { snapshot: Pick<Snapshot, 'sources'> };

/** Of the moment, beside the snapshot. */
type AtTheTime = Pick<DecideInput, 'traits' | 'ids' | 'freeze' | 'quietMs' | 'settings'>;

export function inputOf(
  { traits, ids, freeze, quietMs, settings }: AtTheTime,
  run: Pick<Run, 'mode' | 'daemonMode' | 'startedAt'>,
  own: { rules: readonly Rule[]; active: DecideInput['activeRules'] },
  seen: SeenSnapshot,
  openState: OpenState,
): DecideInput {
  const unjudged = new Set(seen.unjudged);
  return {
    runMode: run.mode,
    daemonMode: run.daemonMode,
    nowMs: run.startedAt,
    freeze,
    steady: seen.steady,
    quietMs,
    judged: own.rules.filter((rule) => !unjudged.has(rule.id)),
    unjudged: own.rules.filter((rule) => unjudged.has(rule.id)),
    activeRules: own.active,
    traits,
    judgements: seen.judgements,
    sources: seen.snapshot.sources,
    fleet: seen.fleet,
    bundles: seen.bundles,
    openState,
    ownReads: seen.ownReads,
    namedActs: seen.namedActs,
    exemptOwners: seen.exemptOwners,
    ids,
    settings,
  };
}

const SILENCE_MS = 24 * 3_600_000;

/** Of one process. */
export interface Silence {
  /** When the last run before this process was completed, epoch ms, while the first run after it is due. */
  since: number | undefined;
}

/** A new database has no run to be behind of. */
export function silenceBefore(lastCompletedMs: number | undefined, nowMs: number): Silence {
  return { since: lastCompletedMs !== undefined && nowMs - lastCompletedMs > SILENCE_MS ? lastCompletedMs : undefined };
}

/** The mode of the next run, and why it is lower than requested. */
export function modeAfter(silence: Silence | undefined, mode: Mode): { mode: Mode; silentSince: number | undefined } {
  const capped = silence?.since === undefined ? mode : leastMode(mode, 'dry-run');
  return { mode: capped, silentSince: capped === mode ? undefined : silence?.since };
}

/** Earlier runs than these are not looked up. */
export const RECENT_RUNS_MAX = 20;

export type JudgedRun = RunRecord & { findings: RunFindings };

interface LastReading {
  run: JudgedRun;
  reading: SourceReading;
}

/** The runs over lists with findings among the last 20 of these, the newest first. */
export async function recentRuns(reader: Pick<RecordReader, 'runsOverLists'>): Promise<JudgedRun[]> {
  const runs = await reader.runsOverLists(RECENT_RUNS_MAX);
  return runs.filter((run): run is JudgedRun => run.findings !== undefined);
}

export function lastReading(runs: readonly JudgedRun[], source: Source): LastReading | undefined {
  for (const run of runs) {
    const reading = run.findings.snapshot.sources[source];
    if (reading.state !== 'skipped') return { run, reading };
  }
  return undefined;
}

/**
 * By subject id, the rules whose verdict is needed even when it is no match: they have an open episode or claim there.
 */
export function watchedSubjects(openState: OpenState): ReadonlyMap<string, ReadonlySet<string>> {
  const watched = new Map<string, Set<string>>();
  const watch = (subjectId: string, rule: string) => {
    const rules = watched.get(subjectId);
    if (rules) rules.add(rule);
    else watched.set(subjectId, new Set([rule]));
  };
  for (const episode of openState.episodes) watch(episode.subject.id, episode.rule);
  for (const claim of openState.claims) watch(claim.subjectId, claim.rule);
  return watched;
}

// For which verdicts of a run a flip is looked for: those of decisions that will be new.

export function decidedVerdicts(openState: OpenState, rules: readonly Rule[], nowMs: number): DecidedVerdicts {
  const hashes = new Map(rules.map(({ id, hash }) => [id, hash]));
  const decided = { match: new SubjectsByRule(), no_match: new SubjectsByRule() };
  for (const { rule, ruleHash, subject, verdict } of openState.decisions) {
    // An edited rule has other flips.
    if (hashes.get(rule) !== ruleHash || (verdict !== 'match' && verdict !== 'no_match')) continue;
    decided[verdict].add(rule, subject.id);
  }
  const due = undosDue(openState, rules, nowMs);
  return { match: decided.match.byRule, no_match: decided.no_match.byRule, due: due.byRule };
}

/** Where `no_match` leads to a decision: an open claim may be undone. */
function undosDue({ claims, episodes }: OpenState, rules: readonly Rule[], nowMs: number): SubjectsByRule {
  const due = new SubjectsByRule();
  const byId = new Map(rules.map((rule) => [rule.id, rule]));
  const episodeOf = new Map(episodes.map((episode) => [episode.id, episode]));
  for (const { rule: id, subjectId, episodeId } of claims) {
    const rule = byId.get(id);
    if (rule?.revert && isOverIfClear(episodeOf.get(episodeId), rule, nowMs)) due.add(id, subjectId);
  }
  return due;
}

function isOverIfClear(episode: Episode | undefined, { clearForMs }: Rule, nowMs: number): boolean {
  if (!episode || episode.state === 'closed' || clearForMs === 0) return true;
  return episode.state === 'clearing' && nowMs - episode.stateSince >= clearForMs;
}

class SubjectsByRule {
  readonly byRule = new Map<string, Set<string>>();

  add(rule: string, subjectId: string): void {
    const subjects = this.byRule.get(rule);
    if (subjects) subjects.add(subjectId);
    else this.byRule.set(rule, new Set([subjectId]));
  }
}

/** What an engine has of it. */
export interface Freezing {
  settings: { freeze?: readonly ChangeWindow[] };
  clock: Pick<Clock, 'nowMs'>;
}

export function freezeNow({ settings, clock }: Freezing): WindowNow | undefined {
  return windowAt(settings.freeze ?? [], clock.nowMs());
}

export interface EventFeed {
  primed: WeakSet<Evaluator>;
  triedMs: number;
  /** What looks between two whole runs remember; undefined before the first. */
  looks?: LooksMemory;
}

export interface LooksMemory {
  /** The last whole run, as it was read from the store. */
  whole?: RunRecord | undefined;
  /** The id of the last whole run before the server refused to show the event log. */
  forbiddenAfter?: string;
}
