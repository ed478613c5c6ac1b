// approve: the life of a plan until it is applied: pending and carried on, approved, rejected, superseded, expired. Pure: plans in, plans and
// notes out. Its content is addressed by its digest, which covers rule hashes, intents and the facts behind them: that is what a person answers.

import { formatDuration, timeText } from '../../base/time.ts';
import { drained } from '../../base/turns.ts';
import type { EffectDevice } from '../../domain/action.ts';
import type { AuditNote } from '../../domain/audit-entry.ts';
import { digesting, digestOf, planDigest } from '../../domain/digest.ts';
import { AppError } from '../../domain/errors.ts';
import { type Operator, saidText } from '../../domain/operator.ts';
import {
  anewOf,
  type CarriedPlan,
  contentOf,
  groundsOf,
  isSameContent,
  type LeftIntent,
  type Plan,
  type PlanAuditKind,
  type PlanChange,
  type PlannedIntent,
  type PlanSelection,
  releasedRule,
  SELECTION_MAX,
  statusAt,
} from '../../domain/plan.ts';
import type { Mode } from '../../domain/rule.ts';

export interface SealInput {
  id: string;
  runId: string;
  mode: Mode;
  nowMs: number;
  ttlMs: number;
  planned: readonly PlannedIntent[];
  beside: Beside;
  /** Pending plans. */
  pending: readonly Plan[];
  /** Approved plans: what such a plan has, with the same content, waits for nobody and is in no other plan of its kind. */
  approved: readonly Plan[];
  /** Why one that waited is no longer planned. */
  whyLeft?: (intent: PlannedIntent) => string | undefined;
}

/**
 * What becomes of the plans that wait. `whole`: they are carried on, and what is no longer planned leaves them. `more`: they are carried on, and
 * nothing leaves, since not everything was judged, or on untrusted data. `apart`: they stay, and this is a plan of its own. `instead`: it is in their place.
 */
export type Beside = 'whole' | 'more' | 'apart' | 'instead';

export interface Sealed {
  /** The run's plan: a pending one with the same digest is kept, one with another content is carried on; undefined when nothing is planned. */
  plan: Plan | undefined;
  /** The digest of the plan, also when nothing is planned. */
  digest: string;
  /** Waiting plans with another content than before. */
  carried: CarriedPlan[];
  superseded: string[];
  notes: AuditNote[];
}

/** Seals what a run or a person planned. What waits stays in its plan while it is planned: INVARIANT: with its own content, or as a change that shows. */
export function sealPlan(input: SealInput): Sealed {
  return drained(sealing(input));
}

/** The same in steps of a few milliseconds. */
export function* sealing(input: SealInput): Generator<void, Sealed> {
  const kind = kindOf({ mode: input.mode, intents: input.planned });
  const isRival = (plan: Plan) => kindOf(plan) === kind && plan.expiresAt > input.nowMs;
  // What one of several people has said yes to stays as they read it.
  const agreed = input.pending.filter((plan) => plan.agreed !== undefined);
  const approved = [...input.approved, ...agreed].filter(isRival);
  const planned = withoutThoseOf(approved, input.planned);
  const digest = yield* digesting(planned);
  const rivals = input.pending.filter((plan) => plan.agreed === undefined && isRival(plan));
  const kept = rivals.find((plan) => plan.digest === digest);
  if (input.beside === 'whole' || input.beside === 'more')
    return yield* carrying({ ...input, planned }, rivals, approved);
  const superseded = input.beside === 'instead' ? rivals.filter((plan) => plan !== kept) : [];
  const plan = kept ?? (planned.length > 0 ? newPlan({ ...input, planned }, digest) : undefined);
  return sealedAs(input, { plan, digest, carried: [], superseded: superseded.map(({ id }) => id) }, plan !== kept);
}

function sealedAs({ runId }: SealInput, made: Omit<Sealed, 'notes'>, isNew: boolean): Sealed {
  const { plan, carried, superseded } = made;
  const notes: AuditNote[] = superseded.map((id) => ({ kind: 'plan.superseded', body: { plan: id, by: plan?.id } }));
  for (const one of carried) notes.push(carriedNote(one, { run: runId }));
  if (plan && isNew) notes.push(sealedNote(plan));
  return { ...made, notes };
}

/** Each waiting plan keeps what of it is still planned; what is in none joins the one that keeps most. */
function* carrying(input: SealInput, rivals: readonly Plan[], approved: readonly Plan[]): Generator<void, Sealed> {
  const now = new Map(input.planned.map((one) => [one.key, one]));
  const known = new Set(rivals.flatMap(({ intents }) => intents.map(({ key }) => key)));
  const fresh = input.planned.filter(({ key }) => !known.has(key));
  const { joined, ...beside } = besideThose(input.beside === 'more' ? rivals : [], now, fresh);
  const all = rivals.map((plan) => ({ plan, ...keptOf(plan, now, beside) }));
  const staying = all.filter(({ intents }) => intents.length > 0);
  const [main] = [...staying].sort((a, b) => b.still - a.still || (a.plan.id < b.plan.id ? -1 : 1));
  const whyLeft = whyLeftOf(input, approved);
  const carried: CarriedPlan[] = [];
  const isOfRun = main !== undefined && main.still + joined.length > 0;
  let plan = isOfRun ? main.plan : undefined;
  for (const { plan: was, intents, left } of staying) {
    const more = was === main?.plan ? joined : [];
    const present = [...intents, ...more];
    const digest = yield* digesting(present);
    if (digest === was.digest) continue;
    const before = new Map(was.intents.map((one) => [one.key, one]));
    const stayed = present.filter(({ key }) => before.has(key));
    const changed = stayed.filter((one) => !isSameContent(one, before.get(one.key) as PlannedIntent)).length;
    const { pairs, came, gone } = anewOf(
      left,
      present.filter(({ key }) => !before.has(key)),
    );
    const change = {
      joined: came.length,
      changed: changed + pairs.length,
      left: gone.map((one) => leftAs(one, whyLeft(one))),
    };
    const carriedOn = carry(was, present, digest, change, input);
    carried.push(carriedOn);
    if (isOfRun && was === main.plan) plan = carriedOn.plan;
    yield;
  }
  const digest = plan?.digest ?? (yield* digesting(joined));
  const made = plan ?? (joined.length > 0 ? newPlan({ ...input, planned: joined }, digest) : undefined);
  const superseded = all.filter(({ intents }) => intents.length === 0).map(({ plan: { id } }) => id);
  return sealedAs(input, { plan: made, digest, carried, superseded }, plan === undefined);
}

interface BesideThose {
  /** Planned now, and of no plan that waits. */
  joined: PlannedIntent[];
  /** Not planned now, and waiting on. */
  stays: Set<PlannedIntent>;
  /** Those of them that cover what is planned now. */
  covering: Set<PlannedIntent>;
  /** What is planned now in the place of one that waited. */
  instead: Map<PlannedIntent, PlannedIntent>;
}

/**
 * INVARIANT: a plan that a run carries on has one entry for a target and a match: two could not both be begun, so that nothing of the plan would be.
 * What waits and covers what is planned now stands for it; else that comes in its place, in the same plan. `rivals`: those that nothing leaves.
 */
function besideThose(
  rivals: readonly Plan[],
  now: ReadonlyMap<string, PlannedIntent>,
  fresh: readonly PlannedIntent[],
): BesideThose {
  const planOf = new Map<PlannedIntent, Plan>();
  for (const plan of rivals) for (const one of plan.intents) if (!now.has(one.key)) planOf.set(one, plan);
  if (planOf.size === 0) return { joined: [...fresh], stays: new Set(), covering: new Set(), instead: new Map() };
  const byGround = new Map([...planOf.keys()].flatMap((one) => groundsOf(one).map((ground) => [ground, one] as const)));
  const beside: BesideThose = { joined: [], stays: new Set(planOf.keys()), covering: new Set(), instead: new Map() };
  const othersOf = (one: PlannedIntent) => {
    const others = groundsOf(one).map((ground) => byGround.get(ground));
    return others.map((other) => (other && beside.stays.has(other) ? other : undefined));
  };
  const coverOf = ([first, ...more]: readonly (PlannedIntent | undefined)[]) =>
    more.every((other) => other === first) ? first : undefined;
  const placed = new Set<PlannedIntent>();
  for (const one of fresh) {
    const others = othersOf(one);
    const first = others.find((other) => other !== undefined);
    if (first === undefined || coverOf(others)) continue;
    beside.instead.set(first, one);
    placed.add(one);
    for (const other of others) if (other && planOf.get(other) === planOf.get(first)) beside.stays.delete(other);
  }
  for (const one of fresh) {
    const cover = placed.has(one) ? undefined : coverOf(othersOf(one));
    if (cover) beside.covering.add(cover);
    else if (!placed.has(one)) beside.joined.push(one);
  }
  return beside;
}

/** `still`: how many of it are planned now, or cover what is. */
function keptOf(
  { intents: before }: Plan,
  now: ReadonlyMap<string, PlannedIntent>,
  { stays, covering, instead }: Omit<BesideThose, 'joined'>,
) {
  const intents: PlannedIntent[] = [];
  const left: PlannedIntent[] = [];
  let still = 0;
  for (const one of before) {
    const present = now.get(one.key) ?? instead.get(one);
    if (present || covering.has(one)) still += 1;
    if (present || stays.has(one)) intents.push(present ?? one);
    if (present?.key !== one.key && !stays.has(one)) left.push(one);
  }
  return { intents, left, still };
}

function whyLeftOf({ whyLeft, planned }: SealInput, approved: readonly Plan[]): (intent: PlannedIntent) => string {
  const named = new Map(approved.flatMap((plan) => plan.intents.map((one) => [one.key, plan])));
  const targets = new Set(planned.map(({ action, target }) => `${action} ${target}`));
  return (intent) => {
    const plan = named.get(intent.key);
    if (plan !== undefined) return answeredIn(plan);
    if (targets.has(`${intent.action} ${intent.target}`)) return 'it is planned anew, for another match';
    return whyLeft?.(intent) ?? 'it is no longer planned';
  };
}

function answeredIn({ id, status }: Pick<Plan, 'id' | 'status'>): string {
  return status === 'pending' ? `it waits for more people in plan ${id}` : `it is ${status} in plan ${id}`;
}

function leftAs({ action, target }: PlannedIntent, reason: string): LeftIntent {
  return { action, target, reason };
}

function carry(
  was: Plan,
  intents: PlannedIntent[],
  digest: string,
  change: PlanChange,
  { beside, runId, nowMs, ttlMs }: Pick<SealInput, 'beside' | 'runId' | 'nowMs' | 'ttlMs'>,
): CarriedPlan {
  // What was not judged again does not wait longer because something joined it.
  const expiresAt = beside === 'whole' ? nowMs + ttlMs : was.expiresAt;
  return { plan: { ...was, intents, digest, runId, createdAt: nowMs, expiresAt }, from: was.digest, change };
}

const NAMED_MAX = 100;

/** The audit names at most so many that left; the counts are of all. `by`: the run, or the plan of the answered part. */
function carriedNote({ plan, from, change }: CarriedPlan, by: { run: string } | { part: string }): AuditNote {
  const { joined, changed, left } = change;
  const body = { plan: plan.id, digest: plan.digest, from, ...by, intents: plan.intents.length, joined, changed };
  const named = left.slice(0, NAMED_MAX).map(({ action, target, reason }) => ({ action, target, reason }));
  return { kind: 'plan.carried', body: { ...body, left: left.length, ...(left.length > 0 && { leftNamed: named }) } };
}

/** Plans of one kind are in each other's place: those of dry runs, those of live ones, releases of one rule's claims. */
function kindOf(plan: { mode: Mode; intents: readonly PlannedIntent[] }): string {
  const rule = releasedRule(plan);
  if (rule !== undefined) return `release ${rule}`;
  return plan.mode === 'dry-run' ? 'dry' : 'live';
}

function withoutThoseOf(approved: readonly Plan[], planned: readonly PlannedIntent[]): readonly PlannedIntent[] {
  const answered = new Set(approved.flatMap(({ intents }) => intents.map((one) => digestOf(contentOf(one)))));
  return answered.size === 0 ? planned : planned.filter((one) => !answered.has(digestOf(contentOf(one))));
}

export function sealedNote({ id, digest, runId, intents }: Plan): AuditNote {
  return { kind: 'plan.sealed', body: { plan: id, digest, run: runId, intents: intents.length } };
}

function newPlan(input: SealInput, digest: string): Plan {
  return {
    id: input.id,
    digest,
    runId: input.runId,
    mode: input.mode,
    status: 'pending',
    intents: [...input.planned],
    createdAt: input.nowMs,
    expiresAt: input.nowMs + input.ttlMs,
    decidedAt: undefined,
    decidedBy: undefined,
    decidedReason: undefined,
  };
}

/**
 * `audited`: the digest that the audit has for this plan, under the required kind of entry: sealed before it is
 * approved, approved before it is applied. Editing a stored plan, digest, status and all, then requires forging the
 * chain too. Errors: AppError `conflict` when they differ.
 */
export function demandAudited(plan: Plan, kind: PlanAuditKind, audited: string | undefined): void {
  const wrong = whyNotAudited(plan, kind, audited);
  if (wrong === undefined) return;
  const advice = 'nothing of it is done; check the record with `audit verify`';
  throw new AppError('conflict', `plan ${plan.id} differs from what was ${AUDITED_AS[kind]}: ${wrong}; ${advice}`);
}

const AUDITED_AS: Record<PlanAuditKind, string> = {
  'plan.sealed': 'sealed',
  'plan.approved': 'approved',
  'plan.glass_broken': 'let through the change windows',
};

function whyNotAudited(plan: Plan, kind: string, audited: string | undefined): string | undefined {
  if (planDigest(plan.intents) !== plan.digest) return 'its intents do not match its digest';
  if (audited === undefined) return `the audit has no entry \`${kind}\` for it, or the entry was archived`;
  return audited === plan.digest ? undefined : `the audit's entry \`${kind}\` has another digest for it`;
}

/** Expiry denies. Errors: AppError `conflict` for an expired plan, approved or not, or interrupted. */
export function demandInTime(plan: Plan, nowMs: number): void {
  const isOver = plan.status === 'interrupted' && plan.expiresAt <= nowMs;
  if (statusAt(plan, nowMs) !== 'expired' && !isOver) return;
  const ttl = formatDuration(plan.expiresAt - plan.createdAt);
  throw new AppError(
    'conflict',
    `plan ${plan.id} expired at ${timeText(plan.expiresAt)} (${ttl} after it was made): the next run makes a new one`,
  );
}

/** Errors: AppError `conflict`. */
export function demandWaiting(plan: Plan, answer: 'approved' | 'rejected', nowMs: number): void {
  demandInTime(plan, nowMs);
  if (plan.status !== 'pending')
    throw new AppError('conflict', `plan ${plan.id} is ${plan.status}: only a pending plan can be ${answer}`);
}

/**
 * An operator's yes or no. Single use: only a pending plan that has not expired can be answered. A yes needs
 * `demandAudited` too.
 */
export function decidePlan(plan: Plan, answer: 'approved' | 'rejected', who: Operator, nowMs: number): Plan {
  demandWaiting(plan, answer, nowMs);
  return { ...plan, status: answer, decidedAt: nowMs, decidedBy: who.by, decidedReason: saidText(who) };
}

// A part of a plan: the intents that a person chose become a plan of their own, and the rest waits on as another one.

/** As it is stored, or shown. */
type Choice = Pick<Plan, 'id' | 'intents'>;

interface Chosen {
  chosen: PlannedIntent[];
  rest: PlannedIntent[];
}

/** Errors: AppError `usage` when the plan does not have what is named, or when nothing of it is chosen. */
export function chooseFrom(plan: Choice, selection: PlanSelection): Chosen {
  demandBounded(selection);
  const rules = new Set(selection.rules);
  const [only, except] = [namesOf(selection.only), namesOf(selection.except)];
  const keys = selection.keys && new Set(selection.keys);
  demandKeys(plan, selection.keys ?? []);
  demandRules(plan, selection.rules);
  demandTargets(plan, 'only', selection.only);
  demandTargets(plan, 'except', selection.except);
  demandOwners(plan, selection.except);
  const isChosen = (intent: PlannedIntent) =>
    keys?.has(intent.key) !== false &&
    (rules.size === 0 || intent.basis.every(({ rule }) => rules.has(rule))) &&
    (only.size === 0 || isNamed(intent, only)) &&
    !isNamed(intent, except);
  const chosen = plan.intents.filter(isChosen);
  if (chosen.length > 0) return { chosen, rest: plan.intents.filter((intent) => !isChosen(intent)) };
  throw new AppError('usage', `nothing of plan ${plan.id} is chosen: ${whyNothing(plan, rules)}`);
}

function demandBounded(selection: PlanSelection): void {
  const long = (['rules', 'only', 'except'] as const).find((name) => selection[name].length > SELECTION_MAX);
  if (long === undefined) return;
  throw new AppError('usage', `${long}: ${selection[long].length} names: at most ${SELECTION_MAX} are taken`);
}

function namesOf(texts: readonly string[]): ReadonlySet<string> {
  return new Set(texts.map((text) => text.toLowerCase()));
}

/** By its target, a subject, or the e-mail address of an owner. A device's name is chosen by its user: it names nothing here. */
function isNamed({ target, basis, effect }: PlannedIntent, names: ReadonlySet<string>): boolean {
  const owners = effect.devices.flatMap((device) => device.owners ?? []);
  return [target, ...basis.map(({ subjectId }) => subjectId), ...owners].some((one) => names.has(one.toLowerCase()));
}

function demandKeys({ id, intents }: Choice, keys: readonly string[]): void {
  const known = new Set(intents.map(({ key }) => key));
  const unknown = keys.filter((key) => !known.has(key));
  if (unknown.length === 0) return;
  throw new AppError('usage', `plan ${id} has no action of the key ${quoted(unknown.slice(0, 3))}: read it again`);
}

function demandRules(plan: Choice, rules: readonly string[]): void {
  const known = rulesOf(plan.intents);
  const unknown = rules.filter((rule) => !known.includes(rule));
  if (unknown.length === 0) return;
  throw new AppError(
    'usage',
    `plan ${plan.id} has nothing of rule ${quoted(unknown)}: its rules are ${known.join(', ')}`,
  );
}

/** A name that nothing has may be a mistake: as an exception it would approve what it was to leave out. */
function demandTargets(plan: Choice, name: 'only' | 'except', texts: readonly string[]): void {
  const unknown = texts.filter((text) => !plan.intents.some((intent) => isNamed(intent, namesOf([text]))));
  if (unknown.length === 0) return;
  const called = plan.intents.find(({ effect }) =>
    effect.devices.some((one) => unknown.some((text) => isCalled(one, text))),
  );
  if (called) {
    const what = `${name}: ${quoted(unknown)} is only the name of a device, and names are chosen by their users`;
    throw new AppError('usage', `${what}: give its serial number \`${called.target}\``);
  }
  const advice = `\`trustward plans ${plan.id}\` lists its targets`;
  throw new AppError('usage', `${name}: plan ${plan.id} has no target or subject ${quoted(unknown)}: ${advice}`);
}

function isCalled({ name }: EffectDevice, text: string): boolean {
  return name.toLowerCase() === text.toLowerCase();
}

/** An address leaves out all devices of an owner, or nothing: one whose owners are not known may be theirs. */
function demandOwners({ id, intents }: Choice, except: readonly string[]): void {
  if (!except.some((text) => text.includes('@'))) return;
  // An action about a user has that address itself.
  const doubtful = intents.find(
    ({ basis, effect }) =>
      effect.devices.some(({ owners }) => owners === undefined) &&
      !basis.some(({ subjectId }) => subjectId.includes('@')),
  );
  if (!doubtful) return;
  const what = `except: the owners of \`${doubtful.target}\` in plan ${id} are not known`;
  throw new AppError('usage', `${what}: give serial numbers instead of an e-mail address`);
}

/** An intent of several rules is chosen only when all of them are named: nobody approves for a rule that they did not name. */
function whyNothing({ intents }: Choice, rules: ReadonlySet<string>): string {
  const shared = intents.find(
    ({ basis }) => basis.some(({ rule }) => rules.has(rule)) && basis.some(({ rule }) => !rules.has(rule)),
  );
  if (!shared) return 'no action fits all that is named';
  const others = rulesOf([shared]).filter((rule) => !rules.has(rule));
  return `\`${shared.action} ${shared.target}\` is of rule ${quoted(others)} too: name each of its rules`;
}

function rulesOf(intents: readonly PlannedIntent[]): string[] {
  return [...new Set(intents.flatMap(({ basis }) => basis.map(({ rule }) => rule)))].sort();
}

function quoted(texts: readonly string[]): string {
  return texts.map((text) => `\`${text}\``).join(', ');
}

/** The chosen part as a plan of its own, which keeps the run, the kind and the end of the whole one. */
export function partOf(plan: Plan, chosen: PlannedIntent[], id: string, nowMs: number): Plan {
  return { ...plan, id, intents: chosen, digest: planDigest(chosen), createdAt: nowMs };
}

/** What waits on without the part that was answered, and the entries of both being plans from now on. */
export function withoutPart(plan: Plan, rest: PlannedIntent[], part: Plan): { rest: CarriedPlan; notes: AuditNote[] } {
  const change = { joined: 0, changed: 0, left: part.intents.map((one) => leftAs(one, answeredIn(part))) };
  const waiting = { plan: { ...plan, intents: rest, digest: planDigest(rest) }, from: plan.digest, change };
  return { rest: waiting, notes: [carriedNote(waiting, { part: part.id }), sealedNote(part)] };
}
