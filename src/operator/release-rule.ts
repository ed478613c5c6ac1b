// operator: a person releases all that a rule has in force: a sealed plan of undos, which is approved and applied like any other. In: a
// rule's id. Out: the plan, and the targets that stay since other rules claim them too. It calls nothing.
import { type Sealed, sealPlan } from '../approve/plans.ts';
import type { Action } from '../domain/action.ts';
import type { AuditNote } from '../domain/audit-entry.ts';
import type { Claim } from '../domain/claim.ts';
import type { Effect } from '../domain/effect.ts';
import { AppError } from '../domain/errors.ts';
import { intentKey } from '../domain/intent-key.ts';
import type { Plan, PlannedIntent } from '../domain/plan.ts';
import { openClaims } from '../domain/store.ts';
import { targetKey } from '../domain/target-key.ts';
import type { Engine } from '../run/engine.ts';
import { filledReason } from './filled.ts';
import { undoDraft } from './release-target.ts';

/** A target that other rules claim too: nothing of it is undone. */
export interface KeptTarget {
  action: string;
  target: string;
  rules: string[];
}

export interface PlannedRelease {
  plan: Plan;
  /** How many of its targets the rule still matches: they are not acted on again while the match lasts. */
  matching: number;
  kept: KeptTarget[];
}

/**
 * A pending release of the same claims is kept; another one of this rule is superseded.
 * Errors: AppError `not_found` (the rule has nothing in force, or there is no run yet), `conflict` (other rules claim every target).
 */
export async function planRelease(
  engine: Engine,
  rule: string,
  by: string,
  given: string | undefined,
): Promise<PlannedRelease> {
  const reason = filledReason(given);
  const { store, ids, clock, settings, daemonMode } = engine;
  await store.expirePlans();
  const run = await store.latestRun();
  if (!run) throw new AppError('not_found', 'there is no run yet: nothing can have been done');
  const { own, kept } = await targetsOf(engine, rule);
  if (own.length === 0) throw nothingToRelease(rule, kept);
  const sealed = sealPlan({
    id: ids.next(),
    runId: run.id,
    mode: daemonMode,
    nowMs: clock.nowMs(),
    ttlMs: settings.planTtlMs,
    isWhole: true,
    planned: await plannedUndos(engine, rule, own),
    pending: await store.plans({ status: 'pending' }, PLANS_MAX),
    approved: await store.plans({ status: 'approved' }, PLANS_MAX),
  });
  if (!sealed.plan)
    throw new AppError('conflict', `an approved plan has all that is left of rule \`${rule}\`: apply it`);
  if (isNew(sealed)) await store.replacePlans(sealed.superseded, [sealed.plan], notesOf(sealed, rule, by, reason));
  const matching = sealed.plan.intents.filter(({ reason }) => reason === 'rule_matches').length;
  return { plan: sealed.plan, matching, kept };
}

const PLANS_MAX = 100;

function isNew({ notes }: Sealed): boolean {
  return notes.some(({ kind }) => kind === 'plan.sealed');
}

function notesOf({ notes }: Sealed, rule: string, by: string, reason: string | undefined): AuditNote[] {
  const asked = { release: rule, by, reason };
  return notes.map(({ kind, body }) => ({ kind, body: kind === 'plan.sealed' ? { ...body, ...asked } : body }));
}

function nothingToRelease(rule: string, kept: readonly KeptTarget[]): AppError {
  if (kept.length === 0) {
    const text = `rule \`${rule}\` has nothing in force: \`claims list\` shows the rules that have`;
    return new AppError('not_found', text);
  }
  const named = kept.slice(0, 5).map(({ target, rules }) => `\`${target}\` (${rules.join(', ')})`);
  const text = `other rules claim each target of rule \`${rule}\`, so all of them stay: ${named.join(', ')}`;
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
async function plannedUndos(engine: Engine, rule: string, own: readonly Claim[][]): Promise<PlannedIntent[]> {
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
