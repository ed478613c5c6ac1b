// run: how many people have to say yes to a plan, and whose yes is missing. In: a plan, the rules in force with their approvals, the audit. Out: what is
// missing. INVARIANT: what counts is the audit's: an edited row approves nothing.
import { actorText, tokenOf } from '../../domain/actor.ts';
import {
  type Approval,
  type Approvals,
  approvalsFor,
  approvalsIn,
  missingFor,
  notOwned,
  notOwnedText,
  ownersFor,
  type PlanYes,
  rulesOfEach,
  whyNoYes,
  type Yes,
} from '../../domain/approvals.ts';
import { AppError } from '../../domain/errors.ts';
import type { Intent } from '../../domain/intent.ts';
import type { Operator } from '../../domain/operator.ts';
import { passkeyNeeded, passkeysOf, type TouchedFor, type TouchKind } from '../../domain/passkey.ts';
import type { Plan } from '../../domain/plan.ts';
import type { Rule } from '../../domain/rule.ts';
import type { PlanStore } from '../../domain/store-ports.ts';
import { touchFault } from '../../domain/touch.ts';

export interface Approving {
  store: Pick<PlanStore, 'auditedDigest' | 'auditedYes' | 'passkeys'>;
  active(): { rules: readonly Pick<Rule, 'id' | 'severity' | 'guards'>[] };
}

/** Without any set nobody is known as an owner, nothing is judged, and an exemption must still be possible. */
function approvalsKnown(engine: Pick<Approving, 'active'>): Approvals | undefined {
  try {
    return approvalsOf(engine);
  } catch (error) {
    if (error instanceof AppError && error.code === 'rules') return undefined;
    throw error;
  }
}

/** For what is no plan. Each of `rules` has to be theirs. Errors: AppError `conflict` for whoever is none of the owners. */
export function demandOwner(
  engine: Pick<Approving, 'active'>,
  { by, groups = [] }: Pick<Operator, 'by' | 'groups'>,
  what: string,
  rules?: readonly string[],
): void {
  const all = approvalsKnown(engine);
  if (!all?.owners) return;
  const asked = rules ?? all.owners.flatMap((owner) => owner.rules);
  const foreign = notOwned(
    { by, groups },
    asked.map((rule) => [rule]),
    all,
  );
  if (foreign) throw new AppError('conflict', `${what}: ${notOwnedText({ by, groups }, foreign, all)}`);
}

/** Of some of these rules, and not of all that are owned: a yes of others is needed, too. */
export function isOwnerOfSome(
  engine: Pick<Approving, 'active'>,
  { by, groups = [] }: Pick<Operator, 'by' | 'groups'>,
  rules: readonly string[],
): boolean {
  const all = approvalsKnown(engine);
  const foreign = (asked: string[][]) => all && notOwned({ by, groups }, asked, all);
  return foreign(rules.map((rule) => [rule])) !== undefined && foreign([[...rules]]) === undefined;
}

/** What a plan needs, by the size of `whole`, and of the owners of what is answered. */
function askedOf(engine: Approving, whole: Plan, part: Plan): { needed: Approval[]; all: Approvals } | undefined {
  const all = approvalsOf(engine);
  const needed = all ? [...approvalsFor(whole, all, engine.active().rules), ...ownersFor(part, all)] : [];
  return all && needed.length > 0 ? { needed, all } : undefined;
}

/** INVARIANT: a yes counts as long as whoever said it is an owner by the file of now. */
async function givenTo(engine: Approving, plan: Plan, all: Approvals) {
  const { given, asked } = await countedYes(engine, plan);
  const acts = rulesOfEach(plan);
  return { given: given.filter((yes) => !notOwned(yes, acts, all)), asked };
}

export function approvalsOf({ active }: Pick<Approving, 'active'>): Approvals | undefined {
  return approvalsIn(active().rules);
}

/** As the audit has them; which of them a passkey signed, while it was the person's, is judged anew. */
export async function countedYes(
  { store }: Pick<Approving, 'store'>,
  plan: Pick<Plan, 'id' | 'digest' | 'runId'>,
): Promise<{ given: Yes[]; asked: string | undefined }> {
  const { given, asked } = await store.auditedYes(plan);
  const passkeys = given.some(({ signed }) => signed) ? await store.passkeys() : [];
  const counted = given.map(({ signed, ...yes }): Yes => {
    const key = passkeysOf(passkeys, yes.by, yes.at).find(({ id }) => id === signed?.touch.passkey);
    const isTouched =
      signed?.touch.kind === 'approve' && key && touchFault(signed.touch, signed.about, key) === undefined;
    return { ...yes, ...(isTouched && { touched: true }) };
  });
  return { given: counted, asked };
}

/**
 * Whether a plan may be done as to who said yes to it. Undefined: nobody more is needed, or somebody broke the glass. A change of the file counts at
 * once.
 */
export async function missingYes(engine: Approving, plan: Plan): Promise<string | undefined> {
  const found = askedOf(engine, plan, plan);
  if (!found) return undefined;
  const { needed, all } = found;
  if (plan.breakGlass && (await engine.store.auditedDigest('plan.glass_broken', plan.id)) === plan.digest)
    return undefined;
  const { given, asked } = await givenTo(engine, plan, all);
  return missingFor(needed, given, asked, all);
}

/**
 * A yes to a part of a plan: what the plan keeps of it, and what is missing then, by the size of the whole plan; undefined: one person is enough.
 * Errors: AppError `conflict` for one that does not count.
 */
export async function agreedBy(
  engine: Approving,
  { whole, part }: { whole: Plan; part: Plan },
  { by, groups = [], reason, touch }: Operator,
  at: number,
): Promise<PlanYes | undefined> {
  const found = askedOf(engine, whole, part);
  if (!found) return undefined;
  const { needed, all } = found;
  const foreign = notOwned({ by, groups }, rulesOfEach(part), all);
  if (foreign) {
    const text = `plan ${whole.id} is not approved: ${notOwnedText({ by, groups }, foreign, all)}`;
    const own = [...new Set(rulesOfEach(part).flat())]
      .sort()
      .filter((rule) => !notOwned({ by, groups }, [[rule]], all));
    const advice =
      own.length === 0
        ? ''
        : `, or approve the part that is yours: ${own
            .slice(0, 10)
            .map((rule) => `--rule ${rule}`)
            .join(' ')}`;
    throw new AppError('conflict', `${text}${advice}`);
  }
  const { given, asked } = await givenTo(engine, part === whole ? whole : { ...part, id: whole.id }, all);
  // A single yes is kept for people, too, to show that it was touched.
  const yes: Yes = { at, by, groups, ...(reason !== undefined && { reason }), ...(touch && { touched: true }) };
  const refused = missingFor(needed, given, asked, all) && whyNoYes(yes, { needed, given, asked, all });
  if (refused) throw new AppError('conflict', `plan ${whole.id} is not approved: ${refused}`);
  return { given: [...given, yes], missing: missingFor(needed, [...given, yes], asked, all) };
}

/**
 * Whoever has a passkey answers with it, whichever way they come; a token that the file names as a person's is theirs. Before the answer is recorded. Errors:
 * AppError `conflict`.
 */
export async function demandTouch(
  engine: Omit<Approving, 'store'> & { store: Pick<PlanStore, 'passkeys'> },
  { by, touch }: Operator,
  kind: TouchKind,
  about: Omit<TouchedFor, 'by'>,
  nowMs: number,
): Promise<void> {
  const email = approvalsOf(engine)?.tokens.find(({ token }) => token === tokenOf(by))?.email;
  const own = passkeysOf(await engine.store.passkeys(), by, nowMs, email);
  if (own.length === 0 && !touch) return;
  if (!touch) throw new AppError('conflict', passkeyNeeded(own[0]?.email ?? by));
  const key = own.find(({ id }) => id === touch.passkey);
  const fault = touch.kind === kind ? key && touchFault(touch, { ...about, by }, key) : 'was made for something else';
  if (key && fault === undefined) return;
  const why = key ? `the passkey's answer ${fault}` : `this passkey is none of ${actorText(by)}, or was removed`;
  throw new AppError('conflict', `${why}: nothing was done; read it again and answer once more`);
}

/** Undefined for an intent of no plan. Asks about each plan once for a file: what was said of it stays. */
export function missingYesOf(
  engine: Approving & { store: Pick<PlanStore, 'plan'> },
): (intent: Pick<Intent, 'planId' | 'approved'>) => Promise<string | undefined> | undefined {
  const known = new Map<string, { all: Approvals; asked: Promise<string | undefined> }>();
  const ask = async (id: string) => {
    const plan = await engine.store.plan(id);
    return plan ? missingYes(engine, plan) : 'its plan, which is not there any longer';
  };
  return ({ planId, approved }) => {
    const all = planId === undefined || !approved ? undefined : approvalsOf(engine);
    if (planId === undefined || !all) return undefined;
    const found = known.get(planId);
    const one = found?.all === all ? found : { all, asked: ask(planId) };
    known.set(planId, one);
    return one.asked;
  };
}
