// explain: everything that a person asks about one subject, as it was at an earlier time. In: the history, the store, a name, a time. Out: the
// form of `why`, with the run whose record it is. INVARIANT: it asks the platform nothing, and changes nothing.
import { Exemptions, partiesOfRecords } from '../../decide/exemptions.ts';
import type { Action } from '../../domain/action.ts';
import { CLAIM_STATUSES, type Claim } from '../../domain/claim.ts';
import type { TrustEvent } from '../../domain/event.ts';
import { type Facts, isFacts, ownTexts } from '../../domain/facts.ts';
import type { Identity } from '../../domain/identity.ts';
import { isDone } from '../../domain/intent.ts';
import type { Clock } from '../../domain/ports.ts';
import type { RecordReader } from '../../domain/record-reader.ts';
import type { HistoryReader } from '../../domain/recorded-history.ts';
import { demandOne, resolveName } from '../../domain/resolve-name.ts';
import { resolveSubject } from '../../domain/resolve-subject.ts';
import { withoutSecrets } from '../../domain/secrets.ts';
import { shellWord } from '../../domain/shell-word.ts';
import type { SubjectRef } from '../../domain/subjects.ts';
import { flagText } from '../../domain/target.ts';
import type { AsOf, TargetState, WhyAnswer } from '../../domain/why.ts';
import { recordedRules } from '../../history/replay/rules-again.ts';
import { fillBefore } from '../../run/recorded-look-back.ts';
import { historyOfSubject, type WhyReader } from '../why.ts';
import { lastDone, takesAccess } from '../why-state.ts';
import { type Moment, momentAt } from './moment.ts';
import { demandRecordAt, devicesAt, joinsAt, type RecordAt, recordAt } from './records-at.ts';
import { judgeAt } from './rules-at.ts';

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
  const subject = await subjectOf(reader, of);
  const moment = await momentOf(deps, subject, atMs);
  const { run, events } = moment;
  const { frame, openState } = run;
  const own = await demandRecordAt(history, subject, atMs, moment);
  const { record } = own;
  const set = await history.ruleSet(frame.run.ruleSetHash);
  const again = set && recordedRules(set, actions, frame.settings.lists);
  const rules = again?.rules.rules.filter((rule) => rule.subject === subject.kind) ?? [];
  const needs = again?.rules.evaluator.needs ?? { owners: false, devices: false };
  const joins = await joinsAt(deps, needs, { kind: subject.kind, record, atMs });
  const lookBack = again?.rules.evaluator.lookBack;
  if (lookBack) await fillBefore(history, lookBack, frame.run, subject);
  const targets = new Set([subject.id, ...(subject.serial === '' ? [] : [subject.serial])]);
  const owners = await ownersAt(deps, record, atMs);
  const exemptions = new Exemptions([...(openState.exemptions ?? [])], frame.run.startedAt);
  const protection = exemptions.protecting(partiesOfRecords([record], owners), [subject]);
  const lines = await historyOfSubject({ reader, clock }, subject, HISTORY_READ_MAX);
  const faults = [
    ...(again?.problems ?? ['the rule files of that time are not recorded']),
    ...((await reader.run(frame.run.id)) ? [] : [forgottenText(frame.run.seq)]),
  ];
  return {
    subject: { ...subject, goneAt: undefined },
    devices: await devicesOf(deps, subject, record, atMs),
    at: frame.steady.nowMs,
    unread: undefined,
    record: shownRecord(record),
    states: await statesAt(deps, subject, record, atMs),
    claims: await claimsAt(deps, openState.claims, { id: subject.id, targets, atMs }),
    waiting: [],
    unfinished: openState.intents.filter(
      (intent) =>
        (targets.has(intent.target) || intent.basis.some(({ subjectId }) => subjectId === subject.id)) &&
        actions.get(intent.action)?.changesFleet !== false &&
        intent.status !== 'withdrawn' &&
        !isDone(intent),
    ),
    exemption: protection.exemption,
    joined: protection.joined?.exemption,
    stop: openState.stop,
    rules: judgeAt(rules, run, { id: subject.id, record: own.shownTo(frame), joins, events, lookBack }),
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
  const subject = await subjectOf(deps.reader, of);
  const moment = await momentOf(deps, subject, atMs);
  const own = await demandRecordAt(deps.history, subject, atMs, moment);
  return { subject, asOf: asOf(moment, own, atMs, []), record: shownRecord(own.record) ?? {} };
}

async function subjectOf(reader: WhyReader, of: string | SubjectRef): Promise<Identity> {
  if (typeof of !== 'string') return resolveSubject(reader, of);
  return demandOne(await resolveName(reader, of), of).subjects[0];
}

function momentOf(
  { history, clock }: Pick<AsOfDeps, 'history' | 'clock'>,
  subject: Identity,
  atMs: number,
): Promise<Moment> {
  return momentAt(history, { atMs, nowMs: clock.nowMs(), isAbout: (event) => isAbout(event, subject) });
}

function isAbout({ deviceId, serialNumber, email, serviceId, serviceName }: TrustEvent, of: Identity): boolean {
  switch (of.kind) {
    case 'device':
      return deviceId === of.id || (of.serial !== '' && serialNumber === of.serial);
    case 'user':
      return email?.toLowerCase() === of.id.toLowerCase();
    case 'service':
      return serviceId === of.id || serviceName === of.name;
  }
}

/** For people: also without what looks like a secret. */
function shownRecord(record: Facts): Facts | undefined {
  const { value } = withoutSecrets(record);
  return isFacts(value) ? value : undefined;
}

function asOf({ run: { frame } }: Moment, { seenAtMs }: RecordAt, atMs: number, faults: readonly string[]): AsOf {
  const { seq, startedAt } = frame.run;
  const untrusted = Object.values(frame.decidedOn ?? frame.sources).flatMap(({ source, state, trusted }) =>
    state === 'failed' || (state === 'read' && !trusted)
      ? [`run ${seq} could not use its reading of the ${source}`]
      : [],
  );
  const notes = [...faults, ...untrusted, 'plans that waited then are not recorded'];
  return { askedAt: atMs, run: seq, runAt: startedAt, seenAt: seenAtMs, notes };
}

async function ownersAt({ history }: AsOfDeps, record: Facts, atMs: number): Promise<Map<string, Facts>> {
  const owners = new Map<string, Facts>();
  for (const email of (ownTexts(record, 'Emails') ?? []).slice(0, DEVICES_MAX)) {
    const user = await recordAt(history, { kind: 'user', id: email }, atMs);
    if (user) owners.set(email.toLowerCase(), user.record);
  }
  return owners;
}

async function devicesOf(
  deps: AsOfDeps,
  subject: Identity,
  record: Facts,
  atMs: number,
): Promise<WhyAnswer['devices']> {
  const { kind, id, serial } = subject;
  const serials = kind === 'user' ? (ownTexts(record, 'SerialNumbers') ?? []) : serial === '' ? [] : [serial];
  const devices: WhyAnswer['devices'] = [];
  for (const each of serials.slice(0, DEVICES_MAX)) {
    for (const device of await devicesAt(deps, each, atMs)) {
      if (device.DeviceID === id) continue;
      const identity = await resolveSubject(deps.reader, { kind: 'device', id: String(device.DeviceID) });
      devices.push({ identity, states: kind === 'user' ? await statesAt(deps, identity, device, atMs) : [] });
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

/** By the field that the action writes. */
async function statesAt(deps: AsOfDeps, subject: Identity, record: Facts, atMs: number): Promise<TargetState[]> {
  const target = subject.kind === 'device' ? subject.serial : subject.id;
  if (target === '') return [];
  const states: TargetState[] = [];
  for (const action of deps.actions.values()) {
    if (!takesAccess(action) || !action.subjects.includes(subject.kind)) continue;
    const flag = action.fieldWritten === undefined ? undefined : flagText(record, action.fieldWritten);
    const isSo = flag === undefined ? undefined : flag === action.valueWritten;
    const last = await lastDone(deps, action, target, atMs);
    const isOwn = isSo !== undefined && last !== undefined && isSo === (last.intent.action === action.name);
    states.push({ action: action.name, text: action.stateText, target, isSo, last, isOwn });
  }
  return states;
}
