// operate: the undo of one target, as a person asked for it: through act's gate, preflight and ceilings. In: open claims of one action
// on the target. Out: the result. Its episodes are overridden: it is not done again while their matches last.
// The claims end with the undo, in one commit with its outcome: an undo that fails leaves them open.

import { elapsedMs } from '../../base/time.ts';
import {
  type Action,
  type ActionName,
  type ActionOnTarget,
  type Effect,
  isSameTarget,
  type ReadBack,
  targetKey,
} from '../../domain/action.ts';
import type { AuditNote } from '../../domain/audit-entry.ts';
import type { Refusal, TargetFacts } from '../../domain/check.ts';
import type { StoredDecision } from '../../domain/decision.ts';
import { intentKey } from '../../domain/digest.ts';
import type { Claim, Episode } from '../../domain/episode.ts';
import { AppError } from '../../domain/errors.ts';
import { demandOneToChange, type IdentityReader, type Named, resolveName } from '../../domain/identity.ts';
import { type Intent, type IntentDraft, isDone, isUnresolved } from '../../domain/intent.ts';
import type { Operator, Released } from '../../domain/operator.ts';
import { type Plan, type PlannedIntent, releasedRule } from '../../domain/plan.ts';
import { openClaims } from '../../domain/store.ts';
import type { ActStore, RecordReader } from '../../domain/store-ports.ts';
import { summaryOf } from '../../domain/subjects.ts';
import { type ActContext, targetFacts } from '../act/context.ts';
import { RunCounts } from '../act/door.ts';
import { isToBeCarriedOut, openAgain, openIntent } from '../act/gate.ts';
import { carryOutOne } from '../act/resolve.ts';
import { claimNote } from '../act/settle.ts';
import { type Sealed, sealPlan } from '../approve/plans.ts';
import { isProposedBy } from '../decide/reversals.ts';
import { demandOwner, isOwnerOfSome } from '../run/approvers.ts';
import { actContext, type Engine, rulesOfRun } from '../run/engine.ts';
import { checked, said } from './commands.ts';

interface StoredOnTarget {
  intents: readonly Intent[];
  decisions: readonly StoredDecision[];
}

/** What is stored about the target, for its undos. */
async function storedOn({ store }: Engine, target: string): Promise<StoredOnTarget> {
  return { intents: await store.intentsOn(target), decisions: await store.decisionsOn(target) };
}

/** One undo of an approved plan: the claims that it names and that are still open. Errors: those of `releaseClaims`. */
export async function releasePlanned(
  engine: Engine,
  context: ActContext,
  planned: PlannedIntent,
  planId: string,
  who: Operator,
): Promise<Released> {
  const done = engine.actions.get(planned.action)?.inverse;
  const episodes = new Set(planned.basis.map(({ episodeId }) => episodeId));
  const claims = (await engine.store.openClaimsOn(planned.target)).filter(
    (claim) => claim.action === done && episodes.has(claim.episodeId),
  );
  if (done === undefined || claims.length === 0)
    throw new AppError('conflict', 'nothing that Trustward did is left to undo');
  const stored = await storedOn(engine, planned.target);
  return new Release(engine, context, stored, done, claims, who, { planned, planId }).perform();
}

class Release {
  private readonly target: string;
  private readonly undo: Action;

  constructor(
    private readonly engine: Engine,
    private readonly context: ActContext,
    private readonly stored: StoredOnTarget,
    private readonly done: ActionName,
    private readonly claims: readonly Claim[],
    private readonly who: Operator,
    /** Its effect was approved with the plan: nothing beyond it is undone. */
    private readonly approved?: { planned: PlannedIntent; planId: string },
  ) {
    this.target = (claims[0] as Claim).target;
    const inverse = engine.actions.get(done)?.inverse;
    if (!inverse) throw new AppError('conflict', `nothing undoes ${done} on \`${this.target}\``);
    this.undo = engine.actions.get(inverse) as Action;
  }

  async perform(): Promise<Released> {
    const { context } = this;
    const fresh = await this.undo.readBack(this.engine.api, this.target, {});
    const intent = this.open(context, fresh);
    const facts = { ...(await targetFacts(context, intent, fresh)), ...this.ownDoing(fresh) };
    const refused = context.ask('releasing', facts);
    const isNeedless = refused?.check === 'already-so' || refused?.check === 'target-gone';
    if (refused && !isNeedless) {
      const hint = refused.check === 'stopped' ? '; `resume` comes first' : '';
      throw new AppError('conflict', `${refused.reasonText}${hint}`);
    }
    if (!isToBeCarriedOut(intent)) return this.describe(intent, isNeedless, context.ask('preflight', facts));
    return refused
      ? this.releaseWithoutCall(`${refused.reasonText}: nothing to undo`, fresh)
      : this.send(context, intent, fresh);
  }

  /** An undo that failed before is tried again. */
  private open(context: ActContext, fresh: ReadBack): Intent {
    const draft = this.draft(fresh);
    const { ids, clock, daemonMode } = this.engine;
    const failed = this.liveUndo();
    const planId = this.approved && { planId: this.approved.planId };
    const opened = failed
      ? { ...openAgain(failed, daemonMode), basis: draft.basis, effect: draft.effect }
      : openIntent(draft, daemonMode, { id: ids.next(), runId: context.runId, nowMs: clock.nowMs(), ...planId });
    return { ...opened, approved: true, released: true };
  }

  /** Trustward's own unfinished actions on the target: not resolved or not begun yet, or too recent to be read. */
  private ownDoing({ state }: ReadBack): Pick<TargetFacts, 'doubt' | 'justDoneMs'> {
    const { steady, quiet } = this.engine;
    const { ms: quietMs } = quiet.read();
    const reading = steady.read();
    const own = new Set(this.claims.map(({ intentId }) => intentId));
    const isYoung = this.stored.intents.some(
      ({ id, settledAt }) => own.has(id) && settledAt !== undefined && elapsedMs(reading, settledAt) < quietMs,
    );
    const isReadUndone = state === 'as_intended' || state === 'absent';
    const doubt = this.stored.intents.find(
      (other) =>
        isSameTarget(other, { action: this.done, target: this.target }, this.engine.actions) &&
        other.mode !== 'dry-run' &&
        other.status !== 'withdrawn' &&
        isUnresolved(other),
    );
    return { doubt, justDoneMs: isYoung && isReadUndone ? quietMs : undefined };
  }

  /** Nothing to call: the claims end at once. */
  private async releaseWithoutCall(text: string, fresh: ReadBack): Promise<Released> {
    const endedAt = this.engine.clock.nowMs();
    const claims = this.claims.map((claim): Claim => ({ ...claim, status: 'released', endedAt }));
    const notes = claims.map((claim) => {
      const { kind, body } = claimNote(claim);
      return { kind, body: { ...body, ...this.who, text } };
    });
    const overridden = await this.overridden(fresh);
    const release = { intent: undefined, claims, episodes: overridden };
    await this.engine.store.release({ ...release, notes: [...notes, ...this.episodeNotes(overridden)] });
    return { ...this.head, state: 'released', text, intent: undefined };
  }

  /** The gate lets no call through: returns what would be done or refused, and records the request. */
  private async describe({ effect }: Intent, isNeedless: boolean, refused: Refusal | undefined): Promise<Released> {
    const would = refused ? `would be refused: ${refused.reasonText}` : `would be done: ${effect.text}`;
    const text = isNeedless ? 'nothing would be called' : would;
    await this.engine.store.appendAudit([
      { kind: 'intent.dry', body: { action: this.undo.name, target: this.target, text, ...this.who } },
    ]);
    return { ...this.head, state: 'dry_run', text, intent: undefined };
  }

  private async send(context: ActContext, intent: Intent, fresh: ReadBack): Promise<Released> {
    const overridden = await this.overridden(fresh);
    const { store } = this.engine;
    const notes = [this.plannedNote(intent), ...this.episodeNotes(overridden)];
    if (this.liveUndo()) await store.reopen({ intents: [intent], episodes: overridden, notes });
    else await store.release({ intent, claims: [], episodes: overridden, notes });
    await carryOutOne(context, intent);
    return this.outcomeOf(intent.id);
  }

  private async outcomeOf(id: string): Promise<Released> {
    const intent = (await this.engine.store.intents({ ids: [id] }))[0] as Intent;
    const text = `${intent.outcome ?? intent.status}${intent.note ? `: ${intent.note}` : ''}`;
    return { ...this.head, state: isDone(intent) ? 'released' : 'standing', text, intent };
  }

  private get head(): Pick<Released, 'target' | 'action'> {
    return { target: this.target, action: this.undo.name };
  }

  /** An earlier undo of these episodes, by a rule or a person. */
  private liveUndo(): Intent | undefined {
    const episodes = new Set(this.claims.map((claim) => claim.episodeId));
    return this.stored.intents.find(
      ({ action, target, mode, status, basis }) =>
        action === this.undo.name &&
        target === this.target &&
        mode !== 'dry-run' &&
        status !== 'withdrawn' &&
        basis.some(({ episodeId }) => episodes.has(episodeId)),
    );
  }

  private draft(fresh: ReadBack): IntentDraft {
    const drafted = undoDraft(this.engine, this.undo, this.claims, devicesOf(fresh));
    return this.approved ? { ...drafted, effect: this.approved.planned.effect } : drafted;
  }

  /** The claims' episodes, and those of other rules that propose the same for this target, also where no decision says so now. */
  private async overridden(fresh: ReadBack): Promise<Episode[]> {
    const { claims, done, engine, stored, target } = this;
    const proposing = stored.decisions.filter(({ action }) => action === done);
    const ids = new Set([...claims, ...proposing].flatMap(({ episodeId }) => episodeId ?? []));
    const devices = devicesOf(fresh).flatMap(({ id, owners = [] }) => [id, ...owners]);
    const subjects = new Set([...claims.map(({ subjectId }) => subjectId), ...devices]);
    const overriddenAt = engine.clock.nowMs();
    const activeRules = new Map(engine.active().rules.map((rule) => [rule.id, rule]));
    const open = await engine.store.openEpisodes([...activeRules.keys()], [...subjects]);
    const aim = { traits: engine.actions.get(done) as Action, target };
    for (const one of open) if (isProposedBy(one, aim, { activeRules })) ids.add(one.id);
    return (await engine.store.episodesInForce([...ids]))
      .filter((one) => one.state !== 'closed' && one.overriddenAt === undefined)
      .map((episode) => ({ ...episode, overriddenAt }));
  }

  private episodeNotes(episodes: readonly Episode[]): AuditNote[] {
    return episodes.map(({ id, rule, subject }) => ({
      kind: 'episode.overridden',
      body: { episode: id, rule, subject: subject.id, action: this.done, target: this.target, ...this.who },
    }));
  }

  private plannedNote({ id, action, target, mode, basis, effect }: Intent): AuditNote {
    const rules = basis.map(({ rule }) => rule);
    const body = { intent: id, action, target, mode, undo: true, released: true, effect: effect.text, rules };
    return { kind: 'intent.planned', body: { ...body, plan: this.approved?.planId, ...this.who } };
  }
}

/** The undo of these claims, all of them of one action on one target. */
function undoDraft(
  { active }: Pick<Engine, 'active'>,
  undo: Action,
  claims: readonly Claim[],
  devices: Effect['devices'],
): IntentDraft {
  const hashes = new Map(active().rules.map((rule) => [rule.id, rule.hash]));
  const { target } = claims[0] as Claim;
  return {
    action: undo.name,
    target,
    settings: {},
    undo: true,
    released: true,
    basis: claims.map(({ rule, subjectId, episodeId }) => ({
      rule,
      ruleHash: hashes.get(rule) ?? '',
      subjectId,
      episodeId,
      decisionId: '',
      facts: {},
    })),
    effect: { text: undo.effect(target, devices, {}), devices },
  };
}

function devicesOf({ records }: ReadBack): Effect['devices'] {
  return records
    .filter((record) => Object.hasOwn(record, 'DeviceID'))
    .map((record) => {
      const { id, name, platform, model, serial, owners } = summaryOf('device', record);
      return { id, name, platform, model, serial, ...(owners && { owners }) };
    });
}

// The target that a person names for a release.

type Reader = IdentityReader & Pick<ActStore, 'openClaimsOn'> & Pick<RecordReader, 'claims'>;

/** Errors: AppError `not_found` (no open claim), `usage` (several targets with claims, or a name that a user chose). */
async function claimedTarget(reader: Reader, given: string): Promise<string> {
  if ((await reader.openClaimsOn(given)).length > 0) return given;
  const resolved = await resolveName(reader, given, { kinds: ['device', 'service'] });
  const among = resolved.found === 'one' ? [resolved.named] : resolved.found === 'several' ? resolved.among : [];
  const claimed: Named[] = [];
  for (const named of among) {
    if (named.target !== undefined && (await reader.openClaimsOn(named.target)).length > 0) claimed.push(named);
  }
  const [first] = claimed;
  if (first === undefined) throw noClaimOn(among[0]?.target ?? given, await openClaims(reader));
  const left =
    claimed.length === 1 ? { found: 'one' as const, named: first } : { found: 'several' as const, among: claimed };
  return demandOneToChange(left, given).target as string;
}

/** No prefix is accepted: a target is a name from the platform, and the beginning of one may be another's full name. */
function noClaimOn(target: string, claims: readonly Claim[]): AppError {
  const alike = new Set(
    claims.flatMap((claim) => (target !== '' && claim.target.startsWith(target) ? claim.target : [])),
  );
  const named = [...alike].slice(0, 5).map((name) => `\`${name}\``);
  const hint = alike.size > 0 ? `give the whole target; such ones are in force on ${named.join(', ')}` : '';
  return new AppError(
    'not_found',
    `nothing is in force on \`${target}\`: ${hint || '`claims list` shows those that are'}`,
  );
}

// A person releases a target: what Trustward did to it is undone now.

/**
 * `about`: any name of the target, or a claim on it, since two targets may have the same text.
 * `counts`: the counts of the whole command; several targets together stay within the ceilings of one run.
 * Errors: AppError `not_found` (no open claim), `usage` (the name may mean several), `conflict` (stopped, or an undo not resolved yet), and those of reading the API.
 */
export async function releaseClaims(
  engine: Engine,
  about: string | ActionOnTarget,
  operator: Operator,
  counts: RunCounts = new RunCounts(undefined),
): Promise<Released[]> {
  const { groups, ...who } = checked(operator);
  const { store } = engine;
  const target = typeof about === 'string' ? await claimedTarget(store, about) : about.target;
  const onText = await store.openClaimsOn(target);
  const open =
    typeof about === 'string' ? onText : onText.filter((claim) => isSameTarget(claim, about, engine.actions));
  demandOwner(
    engine,
    { by: who.by, groups },
    `nothing of \`${target}\` is released`,
    open.map(({ rule }) => rule),
  );
  const context = { ...(await releaseContext(engine)), counts };
  const stored = await storedOn(engine, target);
  const released: Released[] = [];
  for (const action of new Set(open.map((claim) => claim.action))) {
    const claims = open.filter((claim) => claim.action === action);
    released.push(await new Release(engine, context, stored, action, claims, who).perform());
  }
  return released;
}

/** For the undos of one command or one plan. Errors: AppError `not_found` when there is no run yet. */
async function releaseContext(engine: Engine): Promise<ActContext> {
  const run = await engine.store.latestRun();
  if (!run) throw new AppError('not_found', 'there is no run yet: nothing can have been done');
  return actContext(engine, run, await rulesOfRun(engine, { rules: undefined }), engine.daemonMode);
}

// A person releases all that a rule has in force: a sealed plan of undos, which is approved and applied like any other.

/** A target that other rules claim too: nothing of it is undone. */
interface KeptTarget {
  action: string;
  target: string;
  rules: string[];
}

interface PlannedRelease {
  plan: Plan;
  /** How many of its targets the rule still matches: they are not acted on again while the match lasts. */
  matching: number;
  kept: KeptTarget[];
}

/**
 * A pending release of the same claims is kept; another one of this rule is superseded.
 * Errors: AppError `not_found` (the rule has nothing in force, or there is no run yet), `conflict` (other rules claim every target).
 */
export async function planRelease(engine: Engine, rule: string, operator: Operator): Promise<PlannedRelease> {
  const { groups, ...who } = said(operator);
  demandOwner(engine, { by: who.by, groups }, `nothing of rule \`${rule}\` is released`, [rule]);
  return planUndos(engine, rule, who);
}

/**
 * At once by whoever owns each rule that claims the target. Somebody who owns one of several plans it, and it waits for a yes of each. Errors: as `releaseClaims`.
 */
export async function releaseTarget(
  engine: Engine,
  given: string,
  operator: Operator,
): Promise<Released[] | PlannedRelease> {
  const { groups, ...who } = checked(operator);
  const target = await claimedTarget(engine.store, given);
  const open = await engine.store.openClaimsOn(target);
  if (!isOwnerOfSome(engine, { by: who.by, groups }, [...new Set(open.map(({ rule }) => rule))]))
    return releaseClaims(engine, target, operator);
  const byAction = new Map<ActionName, Claim[]>();
  for (const claim of open) byAction.set(claim.action, [...(byAction.get(claim.action) ?? []), claim]);
  return sealUndos(engine, { own: [...byAction.values()], kept: [] }, 'apart', who);
}

/** The same for whoever is not asked: the brake of a rollout. Its owners are asked when the plan is approved. */
export async function planUndos(engine: Engine, rule: string, who: Operator): Promise<PlannedRelease> {
  const targets = await targetsOf(engine, rule);
  if (targets.own.length === 0) throw nothingToRelease(rule, targets.kept);
  return sealUndos(engine, targets, 'instead', who);
}

async function sealUndos(
  engine: Engine,
  { own, kept }: { own: Claim[][]; kept: KeptTarget[] },
  beside: 'instead' | 'apart',
  who: Operator,
): Promise<PlannedRelease> {
  const { store, ids, clock, settings, daemonMode } = engine;
  await store.expirePlans();
  const run = await store.latestRun();
  if (!run) throw new AppError('not_found', 'there is no run yet: nothing can have been done');
  const sealed = sealPlan({
    id: ids.next(),
    runId: run.id,
    mode: daemonMode,
    nowMs: clock.nowMs(),
    ttlMs: settings.planTtlMs,
    beside,
    planned: await plannedUndos(engine, own),
    pending: await store.plans({ status: 'pending' }, PLANS_MAX),
    approved: await store.plans({ status: 'approved' }, PLANS_MAX),
  });
  if (!sealed.plan)
    throw new AppError(
      'conflict',
      'a plan that was approved, or to which somebody has said yes, has all of it: `plans` shows it',
    );
  if (isNew(sealed))
    await store.replacePlans(
      { superseded: sealed.superseded, sealed: sealed.plan },
      notesOf(sealed, releasedRule(sealed.plan), who),
    );
  const matching = sealed.plan.intents.filter(({ reason }) => reason === 'rule_matches').length;
  return { plan: sealed.plan, matching, kept };
}

const PLANS_MAX = 100;

function isNew({ notes }: Sealed): boolean {
  return notes.some(({ kind }) => kind === 'plan.sealed');
}

function notesOf({ notes }: Sealed, rule: string | undefined, who: Operator): AuditNote[] {
  const asked = { release: rule, ...who };
  return notes.map(({ kind, body }) => ({ kind, body: kind === 'plan.sealed' ? { ...body, ...asked } : body }));
}

function nothingToRelease(rule: string, kept: readonly KeptTarget[]): AppError {
  if (kept.length === 0) {
    const text = `rule \`${rule}\` has nothing in force: \`claims list\` shows the rules that have`;
    return new AppError('not_found', text);
  }
  const named = kept.slice(0, 5).map(({ target, rules }) => `\`${target}\` (${rules.join(', ')})`);
  const text = `other rules hold each target of rule \`${rule}\`, so all of them stay: ${named.join(', ')}`;
  return new AppError('conflict', text);
}

/** The rule's open claims, by action and target. */
async function targetsOf({ store, actions }: Engine, rule: string): Promise<{ own: Claim[][]; kept: KeptTarget[] }> {
  const byTarget = new Map<string, Claim[]>();
  for (const claim of await openClaims(store)) {
    const key = `${claim.action} ${targetKey(claim, actions)}`;
    byTarget.set(key, [...(byTarget.get(key) ?? []), claim]);
  }
  const ofRule = [...byTarget.values()].filter((claims) => claims.some((claim) => claim.rule === rule));
  const isShared = (claims: readonly Claim[]) => claims.some((claim) => claim.rule !== rule);
  const kept = ofRule.filter(isShared).map((claims): KeptTarget => {
    const { action, target } = claims[0] as Claim;
    const rules = [...new Set(claims.map((claim) => claim.rule))].filter((other) => other !== rule);
    return { action, target, rules };
  });
  return { own: ofRule.filter((claims) => !isShared(claims)), kept };
}

/** The devices are those of the action that is undone: the plan covers no more than what was done. */
async function plannedUndos(engine: Engine, own: readonly Claim[][]): Promise<PlannedIntent[]> {
  const { store, actions } = engine;
  const claims = own.flat();
  const episodes = await store.episodes([...new Set(claims.map(({ episodeId }) => episodeId))]);
  const over = new Set(episodes.filter(({ state }) => state === 'closed').map(({ id }) => id));
  const done = await store.intents({ ids: [...new Set(claims.map(({ intentId }) => intentId))] });
  const devices = new Map(done.map(({ id, effect }): [string, Effect['devices']] => [id, effect.devices]));
  return own.map((ofTarget) => {
    const { action, target, intentId } = ofTarget[0] as Claim;
    const inverse = actions.get(action)?.inverse;
    if (!inverse) throw new AppError('conflict', `nothing undoes ${action} on \`${target}\``);
    const draft = undoDraft(engine, actions.get(inverse) as Action, ofTarget, devices.get(intentId) ?? []);
    const rule = [...new Set(ofTarget.map((claim) => claim.rule))].join(' and ');
    const isMatching = ofTarget.some(({ episodeId }) => !over.has(episodeId));
    return {
      ...draft,
      key: intentKey(draft),
      held: true,
      reason: isMatching ? 'rule_matches' : 'cleared',
      reasonText: isMatching
        ? `rule ${rule} still matches: it is not done again while the match lasts`
        : `rule ${rule} has ceased to match`,
    };
  });
}
