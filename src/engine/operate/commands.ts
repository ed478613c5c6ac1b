// operate: commands that change what may be done: exemptions, the stop switch, an accepted reading.
// In: who, what and why. Out: what is in force now. Each is one transaction with its audit entry; nothing is called from here.

import { timeText } from '../../base/time.ts';
import type { AuditNote } from '../../domain/audit-entry.ts';
import { AppError } from '../../domain/errors.ts';
import {
  aboutText,
  type Exemption,
  ExemptionMembers,
  FORGEABLE_FIELDS,
  isInForce,
  type MemberReader,
  SELECTOR_FIELDS,
} from '../../domain/exemption.ts';
import { givenTime } from '../../domain/given-time.ts';
import {
  demandOneToChange,
  type IdentityReader,
  isChosenName,
  type Named,
  nothingKnown,
  type Resolved,
  resolveName,
} from '../../domain/identity.ts';
import {
  type Acceptance,
  GIVEN_TEXT_MAX,
  isAcceptable,
  type Operator,
  type Stop,
  saidIn,
  saidText,
} from '../../domain/operator.ts';
import type { SourceReading } from '../../domain/snapshot.ts';
import type { RunRecord } from '../../domain/store.ts';
import type { OperatorStore } from '../../domain/store-ports.ts';
import {
  givenName,
  isSource,
  type ReadingName,
  SOURCES,
  SUBJECT_KINDS,
  type SubjectKind,
} from '../../domain/subjects.ts';
import type { Engine } from '../run/engine.ts';

/** Errors: AppError `usage` for an empty one, with the advice, and for one of more than 1,000 characters. */
export function filled(text: string, name: string, advice: string): string {
  const trimmed = text.trim();
  if (trimmed === '') throw new AppError('usage', `the ${name} is empty: ${advice}`);
  if (trimmed.length <= GIVEN_TEXT_MAX) return trimmed;
  throw new AppError('usage', `the ${name} has ${trimmed.length} characters: at most ${GIVEN_TEXT_MAX} are taken`);
}

/** What is said need not be; but if it is, it says something. Errors: as `filled`. */
export function said(operator: Operator): Operator {
  return operator.reason === undefined ? operator : checked(operator);
}

// What an exemption is about. In: a name, or a selector, as a person gave it. Out: the subject or the selector that an
// exemption keeps. INVARIANT: it keeps the identifier that was given: who names a serial number protects it through
// every new registration.

export interface AboutRequest {
  /** Exactly one of the two. `id`: any name of it; an id, a serial number or an e-mail address unless it is a service. */
  subject?: { kind?: string | undefined; id: string } | undefined;
  selector?: { field: string; value: string } | undefined;
  /** The subject is meant, though nothing is known of it: `id` is then its id. */
  unseen?: boolean | undefined;
  /** With a selector of `FORGEABLE_FIELDS`: a person accepts that devices report it themselves. */
  acceptForgeable?: boolean | undefined;
}

type About = Pick<Exemption, 'subject' | 'selector'>;

/** Errors: AppError `usage`; `not_found` for a subject that nothing is known of. */
async function aboutOf(reader: IdentityReader, { subject, selector, unseen }: AboutRequest): Promise<About> {
  if ((subject === undefined) === (selector === undefined))
    throw new AppError('usage', 'an exemption is about one subject (kind and id) or one selector (field and value)');
  if (selector) return ofSelector(selector);
  const { kind: given, id } = subject as { kind?: string; id: string };
  const kind = SUBJECT_KINDS.find((known) => known === given);
  if (given !== undefined && !kind)
    throw new AppError('usage', `\`${given}\` is no kind of subject: ${SUBJECT_KINDS.join(', ')}`);
  const name = filled(id, 'id', `name the ${kind ?? 'subject'}`);
  const resolved = await resolveName(reader, name, kind ? { kinds: [kind] } : {});
  // A device that is called like it does not stand in the way of what is meant.
  if (resolved.found === 'none' || (unseen && isOnlyCalled(resolved)))
    return ofUnseen(kind, name, unseen ?? false, resolved);
  return ofNamed(demandOneToChange(resolved, name));
}

function isOnlyCalled(resolved: Exclude<Resolved, { found: 'none' }>): boolean {
  return resolved.found === 'one' ? isChosenName(resolved.named) : resolved.among.every(isChosenName);
}

function ofNamed({ kind, by, subjects: [first], target }: Named): About {
  if (kind === 'device' && by !== 'id' && target !== undefined)
    return { subject: undefined, selector: { kind, field: 'SerialNumber', value: target } };
  return { subject: { kind, id: first.id }, selector: undefined };
}

function ofUnseen(kind: SubjectKind | undefined, id: string, isMeant: boolean, resolved: Resolved): About {
  if (!isMeant) {
    const { code, message } = nothingKnown(id, resolved.found === 'none' ? resolved.near : []);
    throw new AppError(code, `${message}; \`--unseen\` (\`"unseen": true\`) exempts it all the same`);
  }
  const meant = kind ?? (id.includes('@') ? 'user' : undefined);
  if (meant === undefined)
    throw new AppError('usage', `nothing is known as \`${id}\`: give its kind too (${SUBJECT_KINDS.join(', ')})`);
  return { subject: { kind: meant, id }, selector: undefined };
}

function ofSelector({ field, value }: { field: string; value: string }): About {
  const kind = Object.hasOwn(SELECTOR_FIELDS, field) ? SELECTOR_FIELDS[field] : undefined;
  if (!kind) {
    const fields = Object.keys(SELECTOR_FIELDS).join(', ');
    throw new AppError('usage', `\`${field}\` is no field of a selector: expected one of ${fields}`);
  }
  return {
    subject: undefined,
    selector: { kind, field, value: filled(value, 'value', 'an empty value covers nobody') },
  };
}

export type OperatorEngine = Pick<Engine, 'clock' | 'checkpointer'> & { store: OperatorStore };

/** Stops every call from the next one on. If a stop is already in force, the first one stays; both are in the audit. */
export async function stopEverything({ store, clock }: OperatorEngine, operator: Operator): Promise<Stop> {
  const who = checked(operator);
  const current = await store.stop();
  const stop = current ?? { at: clock.nowMs(), by: who.by, reason: saidText(who) };
  await store.setStop(stop, [{ kind: 'stop.set', body: { ...who, since: stop.at } }]);
  return stop;
}

/** Returns the stop that was lifted. Errors: AppError `conflict` when nothing is stopped, and in a restored database. */
export async function resumeEverything({ store, checkpointer }: OperatorEngine, operator: Operator): Promise<Stop> {
  const who = checked(operator);
  if (checkpointer?.restored() !== undefined) {
    const text =
      'this is a restored database: `trustward audit accept-restore --reason …` comes first, without a daemon';
    throw new AppError('conflict', text);
  }
  const stop = await store.stop();
  if (!stop) throw new AppError('conflict', 'nothing is stopped: there is nothing to resume');
  const was = { at: stop.at, by: stop.by, reason: stop.reason };
  await store.setStop(undefined, [{ kind: 'stop.lifted', body: { ...who, stop: was } }]);
  return stop;
}

export interface ExemptionAsked extends AboutRequest {
  owner: string;
  reason: string;
  /** A duration from now, or a date; a time needs its zone. */
  until: string;
}

/** Errors: AppError `usage` that names the fault in the request, `not_found` for a subject that nothing is known of. */
export async function addExemption(
  engine: Pick<Engine, 'clock' | 'ids'> & { store: OperatorStore },
  request: ExemptionAsked,
  by: string,
): Promise<Exemption> {
  const { exemption, note } = await newExemption(engine, request, by);
  await engine.store.saveExemption(exemption, [note]);
  return exemption;
}

/** To be saved with its entry of the audit. Errors: as `addExemption`. */
export async function newExemption(
  { store, clock, ids }: Pick<Engine, 'clock' | 'ids'> & { store: IdentityReader & MemberReader },
  request: ExemptionAsked,
  by: string,
): Promise<{ exemption: Exemption; note: AuditNote }> {
  const who = checked({ ...saidIn(request), by });
  const nowMs = clock.nowMs();
  const about = await aboutOf(store, request);
  const acceptForgeable = acceptedForgeable(about, request);
  const id = ids.next();
  const members = await store.membersNow(about);
  const exemption: Exemption = {
    id,
    owner: filled(request.owner, 'owner', 'name who answers for it'),
    reason: saidText(who),
    expiresAt: futureTimeOf(request.until, 'until', nowMs),
    ...about,
    createdAt: nowMs,
    createdBy: by,
    endedAt: undefined,
    endedBy: undefined,
    endedReason: undefined,
    usedAt: undefined,
    warnedAt: undefined,
    acceptForgeable,
    ...(members && { members: ExemptionMembers.of(id).with(members).packed() }),
  };
  const { owner, expiresAt } = exemption;
  const covered = members?.length;
  const body = { exemption: id, about: aboutText(exemption), owner, ...who, expiresAt, acceptForgeable, covered };
  return { exemption, note: { kind: 'exemption.added', body } };
}

/** Errors: AppError `usage` for a selector over what devices report themselves, unless a person accepts that. */
function acceptedForgeable({ selector }: Pick<Exemption, 'selector'>, { acceptForgeable }: ExemptionAsked): boolean {
  const isForgeable = selector !== undefined && FORGEABLE_FIELDS.includes(selector.field);
  if (isForgeable && !acceptForgeable) {
    const text = `devices report \`${selector.field}\` themselves, so that whoever controls one chooses the value: name the device or its owner, or accept it with \`--accept-forgeable\` (\`"acceptForgeable": true\`)`;
    throw new AppError('usage', text);
  }
  return isForgeable;
}

/** Errors: AppError `not_found`, `usage` for an ambiguous beginning, `conflict` when it is already over. */
export async function endExemption(
  { store, clock }: OperatorEngine,
  idOrPrefix: string,
  operator: Operator,
): Promise<Exemption> {
  const who = checked(operator);
  const nowMs = clock.nowMs();
  const found = await demandInForce(store, idOrPrefix, nowMs);
  const ended: Exemption = { ...found, endedAt: nowMs, endedBy: who.by, endedReason: saidText(who) };
  const body = { exemption: found.id, about: aboutText(found), ...who };
  await store.saveExemption(ended, [{ kind: 'exemption.ended', body }]);
  return ended;
}

/** Errors: as endExemption. */
export async function demandInForce(
  store: Pick<OperatorStore, 'exemption'>,
  idOrPrefix: string,
  nowMs: number,
): Promise<Exemption> {
  const found = await store.exemption(idOrPrefix);
  if (!found) throw new AppError('not_found', `there is no exemption \`${idOrPrefix}\``);
  if (isInForce(found, nowMs)) return found;
  throw new AppError('conflict', `exemption ${found.id} ended at ${timeText(found.endedAt ?? found.expiresAt)}`);
}

const RUNS_LOOKED_AT = 50;

/**
 * Accepts the next reading of the source, if it is not worse than the last run's reading.
 * Errors: AppError `usage`, `not_found` (no run read it), `conflict` (it is trusted, or its fault cannot be accepted).
 */
export async function acceptSnapshot(
  { store, clock }: OperatorEngine,
  source: string,
  operator: Operator,
): Promise<Acceptance> {
  const who = checked(operator);
  const latest = await store.runsOverLists(RUNS_LOOKED_AT);
  const given = latest.flatMap(({ findings }) => findings?.snapshot.given ?? []).map((one) => one.source);
  const known = [...SOURCES, ...new Set(given)];
  const chosen = known.find((name) => name === source) ?? known.find((name) => name === givenName(source));
  if (!chosen) throw new AppError('usage', `\`${source}\` has no reading to accept: expected ${known.join(', ')}`);
  const run = latest.find((each) => (readingIn(each, chosen)?.state ?? 'skipped') !== 'skipped');
  if (!run) throw new AppError('not_found', `no run has read ${chosen} yet: there is nothing to accept`);
  const asked = { source: chosen, at: clock.nowMs(), by: who.by, reason: saidText(who), run: run.id };
  const acceptance: Acceptance = { ...asked, ...seenIn(run, chosen) };
  const { causes, count } = acceptance;
  const body = { source, ...who, run: run.id, causes, count };
  await store.saveAcceptance(acceptance, [{ kind: 'snapshot.accepted', body }]);
  return acceptance;
}

function readingIn({ findings }: Pick<RunRecord, 'findings'>, name: ReadingName): SourceReading | undefined {
  const { sources, given = [] } = findings?.snapshot ?? { sources: undefined };
  return isSource(name) ? sources?.[name] : given.find(({ source }) => source === name);
}

function seenIn(run: RunRecord, source: ReadingName): Pick<Acceptance, 'causes' | 'count'> {
  const reading = readingIn(run, source);
  if (!reading || reading.trusted)
    throw new AppError('conflict', `run ${run.seq} trusted ${source}: there is nothing to accept`);
  const hard = reading.reasons.find(({ code }) => !isAcceptable(code));
  if (hard) {
    const text = `such a list is not what the server has, and the next run reads it again`;
    throw new AppError('conflict', `this cannot be accepted (${hard.code}): ${hard.text}; ${text}`);
  }
  return { causes: reading.reasons.map(({ code }) => code), count: reading.count };
}

/** Errors: AppError `usage` for an empty reason. */
export function checked(operator: Operator): Operator & { reason: string } {
  return { ...operator, reason: filled(operator.reason ?? '', 'reason', 'say why, for the audit') };
}

/** Epoch ms, as `givenTime`. Errors: AppError `usage`, also for a time that is over. */
export function futureTimeOf(given: string, name: string, nowMs: number): number {
  const time = givenTime(given, name, nowMs, 'after');
  if (time <= nowMs) throw new AppError('usage', `${name} \`${given}\` is in the past: give a time in the future`);
  return time;
}
