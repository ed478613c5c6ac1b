// explain: everything that a person asks about one subject, as it was at an earlier time. In: the history, the store, a name, a time. Out: the
// form of `why`, with the run whose record it is. INVARIANT: it asks the platform nothing, and changes nothing.

import { shellWord } from '../../base/text.ts';
import { DAY_MS, spanText, timeText } from '../../base/time.ts';
import type { Action } from '../../domain/action.ts';
import type { Decision } from '../../domain/decision.ts';
import { resolveSubject } from '../../domain/decision-filter.ts';
import { CLAIM_STATUSES, type Claim } from '../../domain/episode.ts';
import { AppError } from '../../domain/errors.ts';
import type { TrustEvent } from '../../domain/event.ts';
import { type Fact, type Facts, ownText, ownTexts } from '../../domain/facts.ts';
import { doubtAt } from '../../domain/given-table.ts';
import type { Identity, IdentityReader } from '../../domain/identity.ts';
import type { LookBack } from '../../domain/look-back.ts';
import type { Clock } from '../../domain/ports.ts';
import type { HistoryGap, HistoryReader, RecordedRun, RunFrame } from '../../domain/recorded-history.ts';
import { coverageOf } from '../../domain/snapshot.ts';
import type { RecordReader } from '../../domain/store-ports.ts';
import { flagText, givenName, type Source, type SubjectKind, type SubjectRef } from '../../domain/subjects.ts';
import type { Joins, Needs } from '../../domain/verdict.ts';
import type { AsOf, DecidedNow, Explanation, TargetState, WhyAnswer, WhyRule } from '../../domain/why.ts';
import { recordedRules } from '../../history/replay/gated-again.ts';
import { keysOf, setAt } from '../../history/replay/world-kind.ts';
import { explain } from '../../rules/explain.ts';
import type { LoadedRule } from '../../rules/language/loaded-rule.ts';
import { Exemptions, partiesOfRecords } from '../decide/exemptions.ts';
import { fillBefore } from '../run/reading-needs.ts';
import { decidedNowOf, statesOf } from './judge-subject.ts';
import { historyOfSubject, shownRecord, subjectNamed, unfinishedOn, type WhyReader } from './why.ts';

// One moment of the recorded past: the last run at or before a time, and the events that were known of a subject.

interface Moment {
  run: RecordedRun;
  /** As the record has them; older ones than those of the beginning are in it, as far as windows reached. */
  events: TrustEvent[];
  /** What was removed on somebody's behalf: of whom is not kept. */
  forgotten: readonly HistoryGap[];
}

/** A run that is older than this says nothing of a time. */
const RUN_WITHIN_MS = DAY_MS;

/** Errors: AppError `not_found`, `usage` for a time that is ahead, and those of the history. */
async function momentAt(
  history: HistoryReader,
  { atMs, nowMs, isAbout }: { atMs: number; nowMs: number; isAbout(event: TrustEvent): boolean },
): Promise<Moment> {
  const at = timeText(atMs);
  if (atMs > nowMs) throw new AppError('usage', `--at is ${at}, which is ahead: leave out --at for the present`);
  const span = await history.span();
  if (span === undefined)
    throw new AppError('not_found', 'nothing is recorded yet: the history begins with the first run that is recorded');
  if (atMs < span.fromMs)
    throw new AppError('not_found', `nothing is recorded of ${at}: the history begins at ${timeText(span.fromMs)}`);
  const found = await lastRunBefore(history, atMs, isAbout);
  const { run, gap } = found;
  if (gap !== undefined) throw new AppError('not_found', gapText(at, gap));
  if (run === undefined) {
    const text = `no run is recorded within ${spanText(RUN_WITHIN_MS)} before ${at}`;
    throw new AppError('not_found', `${text}; the last recorded one began at ${timeText(span.toMs)}`);
  }
  return { run, events: found.events, forgotten: found.forgotten };
}

async function lastRunBefore(
  history: HistoryReader,
  atMs: number,
  isAbout: (event: TrustEvent) => boolean,
): Promise<Omit<Moment, 'run'> & { run: RecordedRun | undefined; gap: HistoryGap | undefined }> {
  let run: RecordedRun | undefined;
  let gap: HistoryGap | undefined;
  let events: TrustEvent[] = [];
  const forgotten: HistoryGap[] = [];
  for await (const item of history.items({ fromMs: atMs - RUN_WITHIN_MS, toMs: atMs, facts: new Map() })) {
    switch (item.kind) {
      case 'state':
        events = [];
        for await (const batch of item.events) events.push(...batch.filter(isAbout));
        break;
      case 'run':
        if (item.run.frame.run.startedAt > atMs) break;
        run = item.run;
        gap = undefined;
        events.push(...run.events.filter(isAbout));
        break;
      case 'gap':
        // A removed person is no stretch of time without runs. A gap goes on until a run is recorded.
        if (item.gap.cause === 'forgotten') forgotten.push(item.gap);
        else if (item.gap.fromMs <= atMs) gap = item.gap;
    }
  }
  return { run, gap, events, forgotten };
}

function gapText(at: string, { fromMs, toMs, text }: HistoryGap): string {
  const before = `--at ${new Date(fromMs).toISOString()}`;
  return `what was so at ${at} is not recorded: ${text} (${timeText(fromMs)} to ${timeText(toMs)}); \`${before}\` asks for the time before`;
}

// Records as they were at a time: a subject's own, and those that rules join to it.

/** A user has few devices, and a device few owners. */
const JOINED_MAX = 50;

interface RecordAt {
  record: Facts;
  /** The same as the readings of a run showed it: they may lack paths. */
  shownTo(frame: Pick<RunFrame, 'shows'>): Facts;
  /** When the last run before that time began that read it. */
  seenAtMs: number;
}

/** Undefined: it was in no list. */
async function recordAt(history: HistoryReader, subject: SubjectRef, atMs: number): Promise<RecordAt | undefined> {
  const found = await history.factsAt(subject, atMs);
  if (found === undefined) return undefined;
  const facts = Object.entries(found.facts);
  return {
    record: recordOf(facts),
    shownTo: ({ shows }) => {
      const paths = shows.get(subject.kind);
      return recordOf(paths ? facts.filter(([path]) => paths.has(path)) : facts);
    },
    seenAtMs: found.seenAt,
  };
}

function recordOf(facts: readonly [string, Fact][]): Facts {
  const record: Facts = {};
  for (const [path, value] of facts) setAt(record, keysOf(path), value);
  return record;
}

/** `found`: as `recordAt` has it. Errors: AppError `not_found` in plain words. */
function demandFound(
  found: RecordAt | undefined,
  { kind, id }: SubjectRef,
  atMs: number,
  { run, forgotten }: Pick<Moment, 'run' | 'forgotten'>,
): RecordAt {
  if (found) return found;
  const text = `${kind} \`${id}\` was in no list at ${timeText(atMs)}, as recorded by run ${run.frame.run.seq}`;
  const removed = forgotten.map((gap) => gap.text).join('; ');
  throw new AppError(
    'not_found',
    removed === '' ? text : `${text}; or its records are those that were removed: ${removed}`,
  );
}

/** What rules read of other records. One that is not recorded is missing, as a user is that the API does not have. */
async function joinsAt(
  { history, reader }: { history: HistoryReader; reader: IdentityReader },
  needs: Pick<Needs, 'owners' | 'devices'>,
  { kind, record, atMs }: { kind: SubjectKind; record: Facts; atMs: number },
): Promise<Joins> {
  const users =
    kind === 'device' && needs.owners ? await ownersAt(history, record, JOINED_MAX, atMs) : new Map<string, Facts>();
  const devices = new Map<string, Facts[]>();
  if (kind === 'user' && needs.devices) {
    for (const serial of (ownTexts(record, 'SerialNumbers') ?? []).slice(0, JOINED_MAX))
      devices.set(serial, await devicesAt({ history, reader }, serial, atMs));
  }
  return { users, devices };
}

/** All devices of a serial number: identities know their ids, also of those that are gone. */
async function devicesAt(
  { history, reader }: { history: HistoryReader; reader: IdentityReader },
  serial: string,
  atMs: number,
): Promise<Facts[]> {
  const known = (await reader.identitiesNamed(serial)).filter(
    ({ identity, by }) => identity.kind === 'device' && by === 'serial',
  );
  const records: Facts[] = [];
  for (const { identity } of known.slice(0, JOINED_MAX)) {
    const device = await recordAt(history, { kind: 'device', id: identity.id }, atMs);
    if (device && ownText(device.record, 'SerialNumber') === serial) records.push(device.record);
  }
  return records;
}

// What the rules of a recorded run say of a record of that time.

interface JudgedAt {
  id: string;
  /** As the readings of that run showed it. */
  record: Facts;
  joins: Joins;
  events: readonly TrustEvent[];
  /** What rules knew of the past when that run began; undefined: none looks back. */
  lookBack: LookBack | undefined;
}

/** As that run judged, by its clock. */
function judgeAt(rules: readonly LoadedRule[], run: RecordedRun, { id, ...seen }: JudgedAt): WhyRule[] {
  const { frame } = run;
  const nowMs = frame.steady.nowMs;
  const context = {
    nowMs,
    windowsAtMs: coverageOf(frame.coverage).at(-1)?.toMs,
    given: frame.given,
    coverage: frame.coverage,
    unavailable: new Set(frame.unavailable),
    joins: seen.joins,
    events: seen.events,
    lookBack: seen.lookBack,
    readAtMs: readAtMs(run),
    lists: frame.settings.lists,
  };
  const decided = decidedAt(run, id);
  return rules.map((rule): WhyRule => {
    const head = { rule: rule.id, title: rule.title, mode: rule.mode, revert: rule.revert };
    const decisions = decided.filter((one) => one.rule === rule.id);
    const { verdict, reason, flips, tree }: Explanation = explain(rule, seen.record, context);
    return { ...head, verdict, reason, flip: flips[0], tree, decisions };
  });
}

/** Of a device: what rules about its owners had decided about it. */
function aboutOwners(
  rules: readonly LoadedRule[],
  run: RecordedRun,
  { kind, targets }: { kind: SubjectKind; targets: ReadonlySet<string> },
): WhyRule[] {
  return rules.flatMap(({ id, title, mode, revert, subject }) => {
    if (kind !== 'device' || subject !== 'user') return [];
    const own = inForceAt(run).filter((one) => one.rule === id && targets.has(one.target));
    return own.map((one): WhyRule => {
      const head = { rule: id, of: one.subject.id, title, mode, revert };
      return { ...head, verdict: one.verdict, reason: undefined, flip: one.flip, decisions: [decidedNowOf(one, [])] };
    });
  });
}

function decidedAt(run: RecordedRun, id: string): DecidedNow[] {
  const own = inForceAt(run).filter(({ subject }) => subject.id === id);
  return own.map((one) => decidedNowOf(one, []));
}

/** What was in force after the run: unchanged ones of earlier runs, and those that it wrote. */
function inForceAt({ openState, written, ended }: RecordedRun): Decision[] {
  const gone = new Set([...ended, ...written.map((one) => one.id)]);
  return [...openState.decisions.filter((one) => !gone.has(one.id)), ...written];
}

/** Of a look: as deciding was handed them. */
function readAtMs({ frame }: RecordedRun): Partial<Record<Source, number>> {
  const readings = Object.values(frame.decidedOn ?? frame.sources);
  return Object.fromEntries(
    readings.flatMap(({ source, state, finishedAt }) => (state === 'read' ? [[source, finishedAt]] : [])),
  );
}

export interface AsOfDeps {
  history: HistoryReader;
  reader: WhyReader & Pick<RecordReader, 'claims'>;
  actions: ReadonlyMap<string, Action>;
  clock: Clock;
}

const HISTORY_MAX = 50;
/** As many of the newest as are looked through for those that are old enough. */
const HISTORY_READ_MAX = 1_000;
const DEVICES_MAX = 10;

/** Errors: AppError `not_found`, `usage` for a name of several, and those of the store and of the history. */
export async function whyAt(deps: AsOfDeps, of: string | SubjectRef, atMs: number): Promise<WhyAnswer> {
  const { history, reader, actions, clock } = deps;
  const subject = await subjectNamed(reader, of);
  const found = await recordAt(history, subject, atMs);
  const moment = await momentOf(deps, [subject, ...(await joinedTo(deps, subject, found?.record ?? {}, atMs))], atMs);
  const { run, events } = moment;
  const { frame, openState } = run;
  const then = { atMs, readAtMs: frame.run.startedAt };
  const own = demandFound(found, subject, atMs, moment);
  const { record } = own;
  const set = await history.ruleSet(frame.run.ruleSetHash);
  const again = set && recordedRules(set, actions, frame.settings.lists);
  const rules = again?.rules.rules.filter((rule) => rule.subject === subject.kind) ?? [];
  const needs = again?.rules.evaluator.needs ?? { owners: false, devices: false };
  const joins = await joinsAt(deps, needs, { kind: subject.kind, record, atMs });
  const lookBack = again?.rules.evaluator.lookBack;
  if (lookBack) await fillBefore(history, lookBack, frame.run, subject);
  const targets = new Set([subject.id, ...(subject.serial === '' ? [] : [subject.serial])]);
  const owners = await ownersAt(history, record, DEVICES_MAX, atMs);
  const exemptions = new Exemptions([...(openState.exemptions ?? [])], frame.run.startedAt);
  const protection = exemptions.protecting(partiesOfRecords([record], owners), [subject]);
  const lines = await historyOfSubject({ reader, clock }, subject, HISTORY_READ_MAX);
  const faults = [
    ...(again?.problems ?? ['the rule files of that time are not recorded']),
    ...((await reader.run(frame.run.id)) ? [] : [forgottenText(frame.run.seq)]),
  ];
  return {
    subject: { ...subject, goneAt: undefined },
    devices: await devicesOf(deps, subject, record, then),
    at: frame.steady.nowMs,
    unread: undefined,
    record: shownRecord(record),
    states: await statesAt(deps, subject, record, then),
    claims: await claimsAt(deps, openState.claims, { id: subject.id, targets, atMs }),
    waiting: [],
    unfinished: unfinishedOn(deps, openState, targets, subject.id),
    exemption: protection.exemption,
    joined: protection.joined?.exemption,
    stop: openState.stop,
    rules: [
      ...judgeAt(rules, run, { id: subject.id, record: own.shownTo(frame), joins, events, lookBack }),
      ...aboutOwners(again?.rules.rules ?? [], run, { kind: subject.kind, targets }),
    ],
    history: lines.filter(({ at }) => at <= atMs).slice(0, HISTORY_MAX),
    next: [],
    commands: [{ purpose: 'the present', command: `trustward why ${shellWord(subject.serial || subject.id)}` }],
    asOf: asOf(moment, own, atMs, faults),
  };
}

/** The history has it, and the database, from which decisions, calls and commands are, does not. */
function forgottenText(seq: number): string {
  return `the database has no such run ${seq}: it was restored to an earlier state, or keeps such old runs no longer; decisions, calls and commands of that time may be missing here`;
}

export interface FactsAt {
  subject: Identity;
  asOf: AsOf;
  record: Facts;
}

/** Its record as it was. Errors: as whyAt. */
export async function factsAt(
  deps: Omit<AsOfDeps, 'actions'>,
  of: string | SubjectRef,
  atMs: number,
): Promise<FactsAt> {
  const subject = await subjectNamed(deps.reader, of);
  const moment = await momentOf(deps, [subject], atMs);
  const own = demandFound(await recordAt(deps.history, subject, atMs), subject, atMs, moment);
  return { subject, asOf: asOf(moment, own, atMs, []), record: shownRecord(own.record) ?? {} };
}

/** `all`: whose events are read. */
function momentOf(
  { history, clock }: Pick<AsOfDeps, 'history' | 'clock'>,
  all: readonly Known[],
  atMs: number,
): Promise<Moment> {
  return momentAt(history, { atMs, nowMs: clock.nowMs(), isAbout: (event) => all.some((of) => isAbout(event, of)) });
}

type Known = Pick<Identity, 'kind' | 'id' | 'serial' | 'name'>;

/** Whose events rules may count beside its own: the owners of a device, the devices of a user. */
async function joinedTo(
  { history, reader }: { history: HistoryReader; reader: IdentityReader },
  { kind }: SubjectRef,
  record: Facts,
  atMs: number,
): Promise<Known[]> {
  if (kind === 'device') {
    const emails = ownTexts(record, 'Emails') ?? [];
    return emails.map((email) => ({ kind: 'user', id: email, serial: '', name: '' }));
  }
  const devices: Known[] = [];
  for (const serial of kind === 'user' ? (ownTexts(record, 'SerialNumbers') ?? []).slice(0, JOINED_MAX) : []) {
    const known = await devicesAt({ history, reader }, serial, atMs);
    for (const device of known)
      devices.push({ kind: 'device', id: ownText(device, 'DeviceID') ?? '', serial, name: '' });
  }
  return devices;
}

function isAbout({ deviceId, serialNumber, email, serviceId, serviceName }: TrustEvent, of: Known): boolean {
  switch (of.kind) {
    case 'device':
      return deviceId === of.id || (of.serial !== '' && serialNumber === of.serial);
    case 'user':
      return email?.toLowerCase() === of.id.toLowerCase();
    case 'service':
      return serviceId === of.id || serviceName === of.name;
  }
}

function asOf({ run: { frame } }: Moment, { seenAtMs }: RecordAt, atMs: number, faults: readonly string[]): AsOf {
  const { seq, startedAt } = frame.run;
  const lists = Object.values(frame.decidedOn ?? frame.sources).flatMap(({ source, state, trusted }) =>
    state === 'failed' || (state === 'read' && !trusted) ? [`the ${source}`] : [],
  );
  const given = [...(frame.given?.values() ?? [])].flatMap((table) =>
    doubtAt(table, startedAt) ? [givenName(table.source)] : [],
  );
  const untrusted = [...lists, ...given].map((source) => `run ${seq} could not use its reading of ${source}`);
  const notes = [...faults, ...untrusted, 'plans that waited then are not recorded'];
  return { askedAt: atMs, run: seq, runAt: startedAt, seenAt: seenAtMs, notes };
}

/** By e-mail address in lower case. */
async function ownersAt(history: HistoryReader, record: Facts, max: number, atMs: number): Promise<Map<string, Facts>> {
  const owners = new Map<string, Facts>();
  for (const email of (ownTexts(record, 'Emails') ?? []).slice(0, max)) {
    const user = await recordAt(history, { kind: 'user', id: email }, atMs);
    if (user) owners.set(email.toLowerCase(), user.record);
  }
  return owners;
}

async function devicesOf(
  deps: AsOfDeps,
  subject: Identity,
  record: Facts,
  then: { atMs: number; readAtMs: number },
): Promise<WhyAnswer['devices']> {
  const { kind, id, serial } = subject;
  const serials = kind === 'user' ? (ownTexts(record, 'SerialNumbers') ?? []) : serial === '' ? [] : [serial];
  const devices: WhyAnswer['devices'] = [];
  for (const each of serials.slice(0, DEVICES_MAX)) {
    for (const device of await devicesAt(deps, each, then.atMs)) {
      if (device.DeviceID === id) continue;
      const identity = await resolveSubject(deps.reader, { kind: 'device', id: String(device.DeviceID) });
      devices.push({ identity, states: kind === 'user' ? await statesAt(deps, identity, device, then) : [] });
    }
  }
  return devices.slice(0, DEVICES_MAX);
}

/** Those that were open then: also of the acts of that very run, which are not in what it was handed. */
async function claimsAt(
  { reader }: AsOfDeps,
  handed: readonly Claim[],
  { id, targets, atMs }: { id: string; targets: ReadonlySet<string>; atMs: number },
): Promise<Claim[]> {
  const claims = new Map(
    handed.filter(({ target, subjectId }) => targets.has(target) || subjectId === id).map((claim) => [claim.id, claim]),
  );
  for (const status of CLAIM_STATUSES) {
    for (const claim of await reader.claims({ status, subjectId: id })) {
      if (claim.openedAt > atMs || (claim.endedAt !== undefined && claim.endedAt <= atMs)) claims.delete(claim.id);
      else if (!claims.has(claim.id)) claims.set(claim.id, { ...claim, status: 'standing', endedAt: undefined });
    }
  }
  return [...claims.values()];
}

/** By the field that the action writes. `readAtMs`: when the record was read. */
function statesAt(
  deps: AsOfDeps,
  subject: Identity,
  record: Facts,
  then: { atMs: number; readAtMs: number },
): Promise<TargetState[]> {
  const isSo = ({ fieldWritten, valueWritten }: Action) => {
    const flag = fieldWritten === undefined ? undefined : flagText(record, fieldWritten);
    return flag === undefined ? undefined : flag === valueWritten;
  };
  return statesOf(deps, subject, isSo, then);
}
