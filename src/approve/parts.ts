// approve: a part of a plan: the intents that a person chose become a plan of their own, and the rest waits on as another one. In: a
// pending plan and a selection. Out: the intents chosen, two sealed plans, notes. Pure. The order within the plan stays.
import type { AuditNote } from '../domain/audit-entry.ts';
import type { EffectDevice } from '../domain/effect.ts';
import { AppError } from '../domain/errors.ts';
import { type Plan, type PlannedIntent, type PlanSelection, SELECTION_MAX } from '../domain/plan.ts';
import { planDigest, sealedNote } from './plans.ts';

export interface Chosen {
  chosen: PlannedIntent[];
  rest: PlannedIntent[];
}

/** Errors: AppError `usage` when the plan does not have what is named, or when nothing of it is chosen. */
export function chooseFrom(plan: Plan, selection: PlanSelection): Chosen {
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

function demandKeys({ id, intents }: Plan, keys: readonly string[]): void {
  const known = new Set(intents.map(({ key }) => key));
  const unknown = keys.filter((key) => !known.has(key));
  if (unknown.length === 0) return;
  throw new AppError('usage', `plan ${id} has no action of the key ${quoted(unknown.slice(0, 3))}: read it again`);
}

function demandRules(plan: Plan, rules: readonly string[]): void {
  const known = rulesOf(plan.intents);
  const unknown = rules.filter((rule) => !known.includes(rule));
  if (unknown.length === 0) return;
  throw new AppError(
    'usage',
    `plan ${plan.id} has nothing of rule ${quoted(unknown)}: its rules are ${known.join(', ')}`,
  );
}

/** A name that nothing has may be a mistake: as an exception it would approve what it was to leave out. */
function demandTargets(plan: Plan, name: 'only' | 'except', texts: readonly string[]): void {
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
function demandOwners({ id, intents }: Plan, except: readonly string[]): void {
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
function whyNothing({ intents }: Plan, rules: ReadonlySet<string>): string {
  const shared = intents.find(
    ({ basis }) => basis.some(({ rule }) => rules.has(rule)) && basis.some(({ rule }) => !rules.has(rule)),
  );
  if (!shared) return 'no action fits all that is named';
  const others = rulesOf([shared]).filter((rule) => !rules.has(rule));
  return `\`${shared.action} ${shared.target}\` is of rule ${quoted(others)} too: name each of its rules`;
}

export function rulesOf(intents: readonly PlannedIntent[]): string[] {
  return [...new Set(intents.flatMap(({ basis }) => basis.map(({ rule }) => rule)))].sort();
}

function quoted(texts: readonly string[]): string {
  return texts.map((text) => `\`${text}\``).join(', ');
}

export interface Split {
  /** Sealed and approved. */
  part: Plan;
  /** Sealed, and waits on. */
  rest: Plan;
  notes: AuditNote[];
}

/** `ids`: of the part and of the rest. Both keep the run, the kind and the end of the plan. */
export function splitPlan(
  plan: Plan,
  { chosen, rest }: Chosen,
  ids: readonly [part: string, rest: string],
  answer: { by: string; reason: string | undefined; nowMs: number },
): Split {
  const { by, reason, nowMs } = answer;
  const made = (id: string, intents: PlannedIntent[]): Plan => ({
    ...plan,
    id,
    intents,
    digest: planDigest(intents),
    createdAt: nowMs,
  });
  const part: Plan = {
    ...made(ids[0], chosen),
    status: 'approved',
    decidedAt: nowMs,
    decidedBy: by,
    decidedReason: reason,
  };
  const waiting = made(ids[1], rest);
  return {
    part,
    rest: waiting,
    notes: [
      { kind: 'plan.superseded', body: { plan: plan.id, by: [part.id, waiting.id] } },
      sealedNote(part),
      sealedNote(waiting),
      { kind: 'plan.approved', body: { plan: part.id, digest: part.digest, by, reason, partOf: plan.id } },
    ],
  };
}
