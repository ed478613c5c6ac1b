// operate: applies an approved plan: exactly its intents or fewer; an interrupted one, the rest of them. Capped by the rules' and the daemon's modes, not by the mode of
// the run that made it. A target whose record fields drifted is refused by field, and the other intents go on.

import { actorText } from '../../domain/actor.ts';
import type { AuditNote } from '../../domain/audit-entry.ts';
import type { Ask, Refused, TargetFacts } from '../../domain/check.ts';
import type { ReasonCode } from '../../domain/decision.ts';
import { planDigest } from '../../domain/digest.ts';
import { seenKey } from '../../domain/episode.ts';
import { AppError, type ErrorCode } from '../../domain/errors.ts';
import type { Intent } from '../../domain/intent.ts';
import { type Operator, stopText } from '../../domain/operator.ts';
import {
  changeSince,
  changeText,
  episodesOf,
  groundsOf,
  isGrown,
  isSameContent,
  type LeftIntent,
  type Plan,
  type PlannedIntent,
  type PlanRevision,
  type PlanSelection,
  releasedRule,
  restOf,
  shortDigest,
} from '../../domain/plan.ts';
import { leastMode, type Mode, rulesThatWarn } from '../../domain/rule.ts';
import type { Run } from '../../domain/run.ts';
import type { PlanStore } from '../../domain/store-ports.ts';
import { type ActContext, noSuchAction } from '../act/context.ts';
import { isOpen, openAgain, openIntent, reopened } from '../act/gate.ts';
import { carryOut, resolveLeftovers, sideBySide } from '../act/resolve.ts';
import {
  chooseFrom,
  decidePlan,
  demandAudited,
  demandInTime,
  demandWaiting,
  partOf,
  withoutPart,
} from '../approve/plans.ts';
import { CANCELS } from '../decide/notices.ts';
import { type Approving, agreedBy, demandTouch, missingYes } from '../run/approvers.ts';
import type { Engine } from '../run/engine.ts';
import type { Freezing } from '../run/pulled-snapshot.ts';
import { said } from './commands.ts';
import { breakGlass, demandInPlace, type FactsOfPlanned, foundPlan, planContext, planFacts } from './plan-drift.ts';
import { releasePlanned } from './release.ts';

// Applies an approved release of a rule's claims: several targets at once, with the checks, the gate and the commits of
// a release of one target, within the ceilings of the plan's run.

export interface Applied {
  plan: Plan;
  intents: Intent[];
  /** Planned intents that were not begun, each with the reason. */
  refused: { action: string; target: string; reason: string }[];
  /** Undos that needed no call: their claims have ended. */
  needless?: { action: string; target: string; reason: string }[];
}

/** Errors: AppError `conflict` when nothing may be called now, then the plan keeps its status; those that end a run. */
async function applyRelease(
  engine: Engine,
  context: ActContext,
  plan: Plan,
  rest: readonly PlannedIntent[],
  who: Operator,
): Promise<Applied> {
  const { store, signal } = engine;
  const stop = await store.stop();
  if (stop)
    throw new AppError('conflict', `${stopText(stop)}; plan ${plan.id} stays ${plan.status}: \`resume\` comes first`);
  demandOpen(engine, plan);
  const applied = { intents: [] as Intent[], refused: [] as Applied['refused'], needless: [] as Applied['refused'] };
  const ended = await applying(engine, plan, [], { ...who, intents: [], refused: [] }, async () => {
    let begun = 0;
    await sideBySide(context, rest, async (planned, done) => {
      if (signal.aborted) return;
      begun += 1;
      const { action, target } = planned;
      context.progress?.({ phase: 'acting', what: `${action} ${target}`, done, total: rest.length });
      await releaseOne(engine, context, plan, planned, who, applied);
    });
    return begun === rest.length && (!signal.aborted || applied.intents.every(isSettled));
  });
  return { plan: ended, ...applied };
}

/** `work` between the entries of its begin and end; returns the plan as it is then. It is interrupted unless all of it was done. */
async function applying(
  engine: Engine,
  plan: Plan,
  fresh: Intent[],
  about: Operator & { intents: string[]; refused: Applied['refused'] },
  work: () => Promise<boolean>,
): Promise<Plan> {
  const { store } = engine;
  const begun: Plan = { ...plan, status: 'applying' };
  const body = { plan: plan.id, digest: plan.digest, ...about };
  await store.changePlan(begun, fresh, [{ kind: 'plan.applying', body }], plan.status);
  let ended: Plan = { ...begun, status: 'interrupted' };
  try {
    if (await work()) ended = { ...begun, status: 'applied' };
  } finally {
    const kind = ended.status === 'applied' ? 'plan.applied' : 'plan.interrupted';
    await store.changePlan(ended, [], [{ kind, body: { plan: plan.id } }], 'applying');
    await engine.afterwards?.();
  }
  return ended;
}

function isSettled({ status }: Intent): boolean {
  return status === 'settled';
}

/** One target that is refused or cannot be read does not keep the others. */
const OF_ONE_TARGET: ReadonlySet<ErrorCode> = new Set(['conflict', 'api_unreachable', 'api_answer', 'api_forbidden']);

async function releaseOne(
  engine: Engine,
  context: ActContext,
  plan: Plan,
  planned: PlannedIntent,
  operator: Operator,
  applied: Required<Omit<Applied, 'plan'>>,
): Promise<void> {
  const { action, target } = planned;
  try {
    const who = { ...operator, reason: plan.decidedReason ?? `plan ${plan.id}` };
    const { intent, text } = await releasePlanned(engine, context, planned, plan.id, who);
    if (intent) applied.intents.push(intent);
    else applied.needless.push({ action, target, reason: text });
  } catch (error) {
    if (!(error instanceof AppError && OF_ONE_TARGET.has(error.code))) throw error;
    applied.refused.push({ action, target, reason: error.message });
  }
}

/** Errors: AppError `conflict` in a mode in which nothing is changed: the plan keeps its status. */
function demandOpen({ daemonMode }: Engine, plan: Plan): void {
  if (isOpen(daemonMode)) return;
  const text = `the daemon has mode ${daemonMode}, in which nothing is changed: plan ${plan.id} stays ${plan.status}`;
  throw new AppError('conflict', text);
}

interface Applying {
  /** It may be done in a change window, for the reason that is given. */
  glass?: boolean | undefined;
  /** Nobody asks for it now. */
  byItself?: boolean;
}

/**
 * Errors: AppError `not_found`, `conflict` when the plan is not approved, is too old, or nothing may
 * be done. Single use, unless interrupted; one of which a change window holds a part is interrupted.
 */
export async function applyPlan(
  engine: Engine,
  planId: string,
  operator: Operator,
  { glass = false, byItself = false }: Applying = {},
): Promise<Applied> {
  const found = await applicablePlan(engine, planId, glass);
  const plan = glass ? await letThrough(engine, found, said(operator)) : found;
  // The entry of the broken glass has the reason.
  const who = { ...operator, reason: undefined, touch: undefined };
  const context = await planContext(engine, plan);
  const rest = await restToApply(engine, context, plan);
  if (releasedRule(plan) !== undefined) return applyRelease(engine, context, plan, rest, who);
  const opened = openIntents(engine, plan, rest, context.ask, await planFacts(engine, rest, context), byItself);
  if (opened.noticeMs > 0) await waitLonger(engine, plan, opened.noticeMs);
  if (opened.waiting !== undefined && opened.fresh.length + opened.again.length === 0)
    throw new AppError('conflict', opened.waiting);
  const { fresh, again, refused } = opened;
  const ids = [...fresh, ...again].map(({ id }) => id);
  const ended = await applying(engine, plan, fresh, { ...who, intents: ids, refused }, async () => {
    await engine.store.reopen(reopened(plan.runId, again));
    await carryOut(context, [...fresh, ...again]);
    return isWhole(engine, context, opened, ids);
  });
  return { plan: ended, intents: await engine.store.intents({ ids }), refused };
}

/** The notice begins with the approval, which does not end before its deadline. */
async function waitLonger({ store, settings }: Engine, plan: Plan, noticeMs: number): Promise<void> {
  const expiresAt = (plan.decidedAt ?? plan.createdAt) + noticeMs + settings.planTtlMs;
  if (expiresAt > plan.expiresAt) await store.changePlan({ ...plan, expiresAt }, [], [], plan.status);
}

/** What people were warned of since a person approved it is done when its deadline has passed. Errors: those that end a run. */
export async function applyWarned(engine: Engine, run: Pick<Run, 'mode'>): Promise<void> {
  if (!isOpen(leastMode(run.mode, engine.daemonMode))) return;
  const warning = rulesThatWarn(engine.active().rules);
  for (const status of warning.size === 0 ? [] : (['approved', 'interrupted'] as const)) {
    for (const plan of await engine.store.plans({ status }, PLANS_MAX)) {
      if (!plan.intents.some(({ basis }) => basis.some(({ rule }) => warning.has(rule)))) continue;
      try {
        await applyPlan(engine, plan.id, { by: plan.decidedBy ?? '', reason: undefined }, { byItself: true });
      } catch (error) {
        if (!(error instanceof AppError && error.code === 'conflict')) throw error;
      }
    }
  }
}

const PLANS_MAX = 100;

/** The entry is committed, and people are alerted, before anything is done. */
async function letThrough(engine: Engine, was: Plan, who: Operator): Promise<Plan> {
  await demandTouch(engine, who, 'apply', { of: was.id, digest: was.digest }, engine.clock.nowMs());
  const { plan, note } = breakGlass(engine, was, who);
  await engine.store.changePlan(plan, [], [note], was.status);
  void engine.afterwards?.();
  return plan;
}

/** What a change window held, before or while it was applied, is done when it is applied again after the window. */
async function isWhole(
  { signal, store }: Engine,
  { freezeNow }: ActContext,
  { waiting }: OpenedIntents,
  ids: string[],
): Promise<boolean> {
  if (waiting !== undefined) return false;
  const intents = await store.intents({ ids });
  if (freezeNow() !== undefined && intents.some(({ status }) => status === 'withdrawn')) return false;
  return !signal.aborted || intents.every(isSettled);
}

/** INVARIANT: what an interrupted attempt left is settled first: what was sent is in doubt, and what was not is begun anew. */
async function restToApply(engine: Engine, context: ActContext, plan: Plan): Promise<PlannedIntent[]> {
  if (plan.status !== 'interrupted') return plan.intents;
  await resolveLeftovers(context);
  return restOf(plan, await engine.store.intents({ liveFor: episodesOf(plan) }));
}

async function applicablePlan(engine: Engine, planId: string, glass: boolean): Promise<Plan> {
  const plan = await foundPlan(engine.store, planId);
  await demandInPlace(engine.store, plan);
  demandInTime(plan, engine.clock.nowMs());
  if (plan.status !== 'approved' && plan.status !== 'interrupted') {
    const only = 'only an approved or interrupted plan can be applied';
    throw new AppError('conflict', `plan ${plan.id} is ${plan.status}: ${only}`);
  }
  for (const kind of ['plan.sealed', 'plan.approved'] as const)
    demandAudited(plan, kind, await engine.store.auditedDigest(kind, plan.id));
  const missing = glass ? undefined : await missingYes(engine, plan);
  if (missing === undefined) return plan;
  const advice = 'the next plan asks for all of them, or break the glass';
  throw new AppError('conflict', `plan ${plan.id} needs ${missing} by now: ${advice}`);
}

interface OpenedIntents {
  fresh: Intent[];
  /** Live intents that failed before, and are tried again. */
  again: Intent[];
  refused: Applied['refused'];
  /** Why some of them wait: a change window is in force, it is none of the windows of their rules, or people are warned first. */
  waiting: string | undefined;
  /** How long people are warned before; 0: nothing waits for that. */
  noticeMs: number;
}

const FAILED = 'it failed before: it is tried again when a person applies the plan again';
const WAITING: ReadonlySet<ReasonCode> = new Set(['frozen', 'outside_window', 'notice']);

/** Errors: AppError `conflict` when nothing may be called now; the plan keeps its status. */
function openIntents(
  engine: Engine,
  plan: Plan,
  rest: readonly PlannedIntent[],
  ask: Ask,
  factsOf: FactsOfPlanned,
  byItself: boolean,
): OpenedIntents {
  const opened: OpenedIntents = { fresh: [], again: [], refused: [], waiting: undefined, noticeMs: 0 };
  const begun = new Set<string>();
  for (const planned of rest) {
    const { action, target, basis, settings, effect } = planned;
    if (!engine.actions.has(action)) {
      opened.refused.push({ action, target, reason: noSuchAction(planned) });
      continue;
    }
    const facts = factsOf(planned);
    const refused = ask('applying', facts);
    if (refused?.check === 'stopped')
      throw new AppError(
        'conflict',
        `${refused.reasonText}; plan ${plan.id} stays ${plan.status}: \`resume\` comes first`,
      );
    if (refused && WAITING.has(refused.reason) && !isNeverWarned(refused, facts))
      opened.waiting = waitingText(refused, plan);
    if (refused?.reason === 'notice')
      opened.noticeMs = Math.max(opened.noticeMs, ...facts.basis.map(({ ruleNow }) => ruleNow?.notice?.beforeMs ?? 0));
    const failed = facts.basis.find(({ earlier }) => earlier?.outcome === 'failed')?.earlier;
    const mode = leastMode(...facts.basis.map(({ ruleNow }) => ruleNow?.mode ?? 'off'), engine.daemonMode);
    const grounds = groundsOf(planned);
    const isTwice = grounds.some((ground) => begun.has(ground));
    // A person who applies it again wants it tried now; a run that only does what has become due does not.
    if (byItself && failed) opened.waiting ??= FAILED;
    if (refused) opened.refused.push({ action, target, reason: refused.reasonText });
    else if (byItself && failed) opened.refused.push({ action, target, reason: FAILED });
    else if (isTwice)
      opened.refused.push({ action, target, reason: 'another entry of this plan does it for that match' });
    else if (failed) opened.again.push(openAgain({ ...failed, basis, settings, effect, approved: true }, mode));
    else opened.fresh.push(intentOf(engine, plan, planned, mode));
    if (!refused) for (const ground of grounds) begun.add(ground);
  }
  demandOpen(engine, plan);
  return opened;
}

/** No notice begins for what is exempt by now, or so already: nothing of the plan waits for that. */
function isNeverWarned({ reason }: Refused, { basis }: TargetFacts): boolean {
  return reason === 'notice' && basis.every(({ said }) => said !== undefined && CANCELS.has(said.reason));
}

function waitingText({ check, reasonText }: Refused, { id, status }: Plan): string {
  if (check === 'notice-due') return `${reasonText}; plan ${id} stays ${status}: the first run after that does it`;
  const when = check === 'frozen' ? 'after the window, or with `--break-glass --reason TEXT`' : 'then';
  return `${reasonText}; plan ${id} stays ${status}: apply it ${when}`;
}

function intentOf(engine: Engine, plan: Plan, planned: PlannedIntent, mode: Mode): Intent {
  const { action, target, settings, undo, basis, effect } = planned;
  const opening = {
    id: engine.ids.next(),
    runId: plan.runId,
    planId: plan.id,
    approved: true,
    nowMs: engine.clock.nowMs(),
  };
  return openIntent({ action, target, settings, undo, basis, effect }, mode, opening);
}

// A person approves or rejects what they read of a plan, or a part of that, recorded with who and why. INVARIANT: an answer covers what the
// person read and what still is so: what joined since, or changed, waits on.

type Answering = Pick<Engine, 'clock' | 'ids'> & Freezing & Approving & { store: PlanStore };

/** Errors: those of `answerPart`. */
export async function answerPlan(
  engine: Answering,
  planId: string,
  answer: 'approve' | 'reject',
  operator: Operator,
  glass = false,
): Promise<Plan> {
  return (await answerPart(engine, planId, answer, { rules: [], only: [], except: [] }, operator, glass)).plan;
}

export interface AnsweredPart {
  /** With the answer: the plan itself when all of it is answered, otherwise a plan of its own. */
  plan: Plan;
  /** The plan with what waits on; undefined: nothing does. */
  rest: Plan | undefined;
  /** What the person read and meant, and what is not so any longer: it is not answered. */
  missed: readonly LeftIntent[];
}

/** Errors: those of `answerPart`. */
export function approvePart(
  engine: Answering,
  planId: string,
  selection: PlanSelection,
  operator: Operator,
  glass = false,
): Promise<AnsweredPart> {
  return answerPart(engine, planId, 'approve', selection, operator, glass);
}

/**
 * Errors: AppError `not_found`; `usage` for an ambiguous prefix, an empty reason, or when the plan, as it was read, does not have what is named; `conflict`
 * when it no longer waits, when nothing of it is as it was read, and without a digest once the plan has grown.
 */
export async function answerPart(
  engine: Answering,
  planId: string,
  answer: 'approve' | 'reject',
  selection: PlanSelection,
  operator: Operator,
  glass = false,
): Promise<AnsweredPart> {
  const { store, clock, ids } = engine;
  const who = said(operator);
  const plan = await foundPlan(store, planId);
  await demandInPlace(store, plan);
  const nowMs = clock.nowMs();
  demandWaiting(plan, answer === 'approve' ? 'approved' : 'rejected', nowMs);
  const revisions = await store.planRevisions(plan.id);
  if (answer === 'approve') demandAudited(plan, 'plan.sealed', await store.auditedDigest('plan.sealed', plan.id));
  const wanted = chooseFrom(await planAsRead(store, plan, selection.digest, revisions), selection).chosen;
  const { chosen, rest, missed } = stillSo(plan, wanted, revisions);
  if (plan.agreed && rest.length > 0) throw new AppError('conflict', agreedWhole(plan));
  const part = rest.length === 0 ? plan : partOf(plan, chosen, ids.next(), nowMs);
  const { answered, notes } = await answeredBy(engine, plan, part, answer, who, glass);
  if (part === plan) {
    await store.changePlan(answered, [], notes, 'pending');
    return { plan: answered, rest: undefined, missed };
  }
  const beside = withoutPart(plan, rest, answered);
  await store.replacePlans({ carried: beside.rest, sealed: answered }, [...beside.notes, ...notes]);
  return { plan: answered, rest: beside.rest.plan, missed };
}

function agreedWhole({ id, agreed }: Plan): string {
  const first = actorText(agreed?.given[0]?.by ?? '');
  return `${first} has said yes to all of plan ${id}: answer all of it, or reject it and let the next run plan it anew`;
}

/** The part with a person's answer, and the entries of that. Errors: AppError `conflict` for a yes that does not count. */
async function answeredBy(
  engine: Answering,
  whole: Plan,
  part: Plan,
  answer: 'approve' | 'reject',
  who: Operator,
  glass: boolean,
): Promise<{ answered: Plan; notes: AuditNote[] }> {
  const nowMs = engine.clock.nowMs();
  const { groups: _, ...said } = who;
  const body = { plan: part.id, digest: part.digest, ...said, ...(part !== whole && { partOf: whole.id }) };
  if (answer === 'reject')
    return { answered: decidePlan(part, 'rejected', who, nowMs), notes: [{ kind: 'plan.rejected', body }] };
  const about = { of: whole.id, digest: part.digest };
  await demandTouch(engine, who, glass ? 'glass' : 'approve', about, nowMs);
  const approved = decidePlan(part, 'approved', who, nowMs);
  const yes: AuditNote = { kind: 'plan.approved', body };
  if (glass) {
    const { plan, note } = breakGlass(engine, approved, who);
    return { answered: plan, notes: [yes, note] };
  }
  const agreed = await agreedBy(engine, { whole, part }, who, nowMs);
  if (agreed === undefined) return { answered: { ...approved, ...touchedAlone(who, nowMs) }, notes: [yes] };
  const { missing } = agreed;
  const note: AuditNote = { kind: 'plan.agreed', body: { ...body, groups: who.groups ?? [], missing } };
  return missing === undefined
    ? { answered: { ...approved, agreed }, notes: [note, yes] }
    : { answered: { ...part, agreed }, notes: [note] };
}

/** What a plan shows of a single yes that a passkey signed. */
function touchedAlone({ by, touch }: Operator, at: number): Pick<Plan, 'agreed'> {
  return touch ? { agreed: { given: [{ at, by, groups: [], touched: true }] } } : {};
}

/** Errors: AppError `conflict`: without a digest when something joined it or changed, and when it never had this one, or no longer keeps it. */
async function planAsRead(
  store: PlanStore,
  plan: Plan,
  digest: string | undefined,
  revisions: readonly PlanRevision[],
): Promise<Plan> {
  if (digest === undefined) {
    if (!isGrown(revisions)) return plan;
    const what = `plan ${plan.id} has changed since it was made (${changeText(changeSince(revisions))})`;
    throw new AppError('conflict', `${what}: read it, and give the digest that you read (now ${shortDigest(plan)})`);
  }
  const read = await store.planAt(plan.id, digest);
  if (read && planDigest(read.intents) === read.digest) return read;
  const what = `plan ${plan.id} has no content of digest ${digest}, or it is no longer kept`;
  throw new AppError('conflict', `${what}: nothing was done; read it again`);
}

/** Errors: AppError `conflict` when nothing is. */
function stillSo(plan: Plan, wanted: readonly PlannedIntent[], revisions: readonly PlanRevision[]) {
  const present = new Map(plan.intents.map((one) => [one.key, one]));
  const acts = new Set(plan.intents.map(({ action, target }) => seenKey(action, target)));
  const isSo = (one: PlannedIntent) => {
    const now = present.get(one.key);
    return now !== undefined && isSameContent(one, now);
  };
  const gone = wanted.filter((one) => !isSo(one));
  const left = new Map(
    revisions.flatMap(({ change }) => change.left.map((one) => [seenKey(one.action, one.target), one])),
  );
  const missed = gone.map(({ action, target }): LeftIntent => {
    const act = seenKey(action, target);
    const why = acts.has(act) ? 'it has changed since it was read' : left.get(act)?.reason;
    return { action, target, reason: why ?? 'it is no longer planned' };
  });
  const keys = new Set(wanted.filter(isSo).map(({ key }) => key));
  if (keys.size > 0) {
    const chosen = plan.intents.filter(({ key }) => keys.has(key));
    return { chosen, rest: plan.intents.filter(({ key }) => !keys.has(key)), missed };
  }
  const named = missed.slice(0, 3).map(({ action, target, reason }) => `${action} ${target} (${reason})`);
  const text = `nothing that you chose of plan ${plan.id} is as it was read: ${named.join(', ')}`;
  throw new AppError('conflict', `${text}${missed.length > 3 ? `, and ${missed.length - 3} more` : ''}; read it again`);
}
