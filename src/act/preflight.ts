// act: the last look before a call: the target as just read, the rule, the ceilings. Answers why not to call, or nothing.
import type { Action, ReadBack } from '../domain/action.ts';
import { canonicalJson } from '../domain/canonical.ts';
import { attemptsAllowed } from '../domain/ceiling.ts';
import type { Claim } from '../domain/claim.ts';
import type { Decision } from '../domain/decision.ts';
import { type Fact, type Facts, own } from '../domain/facts.ts';
import { type Intent, type IntentBasis, isInDoubt } from '../domain/intent.ts';
import { redacted } from '../domain/secrets.ts';
import { isSameTarget } from '../domain/target-key.ts';
import { type ActContext, type Refusal, recordOf } from './context.ts';
import { beyondReviewed } from './deletion-drift.ts';
import { mayStillAct } from './gate.ts';
import { refusedByOperator } from './operator.ts';
import { refusedReversal } from './reversals.ts';

const DAY_MS = 86_400_000;

export async function preflight(context: ActContext, intent: Intent, fresh: ReadBack): Promise<Refusal | undefined> {
  if (context.signal.aborted) return skipped('stopped', 'the process is being stopped');
  if (isBroken(context)) {
    return skipped('stopped', `${context.counts.failures} attempts failed in this run: it acts no more`);
  }
  const refused = await refusedByOperator(context, intent, fresh.records);
  if (refused) return refused;
  const withdrawnRule = changedRule(context, intent);
  if (withdrawnRule) return withdrawnRule;
  if (fresh.state === 'as_intended') return skipped('already_so', 'it was so already when it was read again');
  const action = context.actions.get(intent.action);
  if (!action?.changesFleet) return undefined;
  const doubt = await refusedByDoubt(context, intent);
  if (doubt) return doubt;
  if (fresh.state === 'absent') return skipped('drifted', 'the target is gone');
  const impossible = action.refuse?.(fresh);
  if (impossible !== undefined) return skipped('impossible_target', impossible);
  const reversal = await refusedReversal(context, action, intent, fresh);
  const refusal = reversal ?? (await refusedByClaims(context, intent)) ?? newcomers(intent, fresh);
  if (refusal) return refusal;
  // A person who lets go of it knows that the trouble lasts.
  if (intent.released) return beyondCeiling(context, intent);
  const drift = intent.approved ? driftOfApproved(action, intent, fresh) : driftOf(context, intent, fresh);
  return drift ?? (await beyondCeiling(context, intent));
}

/** The rules as they are at this moment: one may have been loaded again, taken away or made dry while the run acts. */
function changedRule(context: ActContext, intent: Intent): Refusal | undefined {
  if (intent.released) return undefined;
  if (!mayStillAct(context, intent))
    return skipped('drifted', 'its rule does not allow it any more (missing, off, or of a lesser mode)');
  const changed = intent.basis.find(({ rule, ruleHash }) => context.ruleHash(rule) !== ruleHash);
  return (
    changed && skipped('drifted', `rule ${changed.rule} was changed meanwhile: the next run judges by what it says now`)
  );
}

/** The breaker: too many attempts of this run failed. */
export function isBroken(context: ActContext): boolean {
  return context.counts.failures >= context.settings.runFailuresMax;
}

/**
 * INVARIANT: while it is not known what an intent did to a target, no other one is sent to it, whoever wishes or approved it.
 * Asked of the store: what is in doubt now may have been sent after this one was decided.
 */
export async function refusedByDoubt({ store, actions }: ActContext, intent: Intent): Promise<Refusal | undefined> {
  const doubt = (await store.intentsOn(intent.target)).find(
    (other) =>
      isInDoubt(other) &&
      other.id !== intent.id &&
      actions.get(other.action)?.changesFleet &&
      isSameTarget(other, intent),
  );
  return doubt && skipped('in_doubt', `intent ${doubt.id} (${doubt.action}) on the same target is not resolved yet`);
}

/**
 * Asked before every call, whichever way it comes: no plan, retry or undo brings about the opposite of what another claim wishes.
 * INVARIANT: only what Trustward did and still claims is undone, and nothing that a claim beyond this intent still wishes.
 */
export async function refusedByClaims(context: ActContext, intent: Intent): Promise<Refusal | undefined> {
  const opposite = context.actions.get(intent.action)?.inverse;
  const open = (await context.store.openClaimsOn(intent.target)).filter(({ action }) => action === opposite);
  if (!intent.undo) return refusedByOthers(context, intent, open);
  const episodes = new Set(intent.basis.map((basis) => basis.episodeId));
  const other = open.find(
    (claim) => !episodes.has(claim.episodeId) || (claim.status === 'orphaned' && !intent.released),
  );
  if (other) return conflictWith(other);
  return open.length > 0 ? undefined : skipped('drifted', 'nothing that Trustward did is left to undo');
}

/** A claim whose own trouble is over only waits to be undone, and stands against nothing: the same that decide/ asks. */
async function refusedByOthers(
  { store }: ActContext,
  intent: Intent,
  opposite: readonly Claim[],
): Promise<Refusal | undefined> {
  const others = opposite.filter((claim) => intent.basis.some(({ rule }) => rule !== claim.rule));
  if (others.length === 0) return undefined;
  const episodes = await store.episodesInForce(others.map(({ episodeId }) => episodeId));
  const over = new Set(episodes.flatMap(({ id, state }) => (state === 'closed' ? id : [])));
  const other = others.find(({ episodeId }) => !over.has(episodeId));
  return other && conflictWith(other);
}

function conflictWith({ rule, action }: Claim): Refusal {
  return skipped('conflict', `rule ${rule} holds a claim (${action}) on the same target`);
}

/** A serial number's action hits all its devices, a deletion their owners too: what nobody decided about is not taken along. */
export function newcomers(intent: Intent, fresh: ReadBack): Refusal | undefined {
  const known = new Set(intent.effect.devices.map((device) => device.id));
  const ids = fresh.records.flatMap((record) => own(record, 'DeviceID') ?? []).map(String);
  const added = known.size === 0 ? [] : ids.filter((id) => !known.has(id));
  if (added.length > 0)
    return skipped('drifted', `the serial number has devices now that it did not have: ${added.join(', ')}`);
  const beyond = beyondReviewed(intent.effect.deletion, fresh.deletion);
  return beyond === undefined ? undefined : skipped('drifted', beyond);
}

/** A person approved these very facts: a record field that changed since is refused by name. */
function driftOfApproved(action: Action, intent: Intent, fresh: ReadBack): Refusal | undefined {
  const facts = intent.basis.flatMap((basis) => {
    const record = recordOf(fresh.records, basis);
    return record ? changedFacts(basis, record) : [`${basis.subjectId} is gone`];
  });
  const changed = [...facts, ...otherChanges(action, intent, fresh)];
  return changed.length === 0 ? undefined : skipped('drifted', `changed since it was approved: ${changed.join(', ')}`);
}

/** What would be changed is part of what was approved: from another value, or to another document, it is not the same. */
function otherChanges(action: Action, { effect, settings }: Intent, { records }: ReadBack): string[] {
  if (!action.changes || effect.changes === undefined) return [];
  const now = action.changes(records[0] && own(records[0], 'ServiceSpec'), settings) ?? [];
  const then = new Map(effect.changes.map((change) => [change.path, change]));
  const paths = new Set([...then.keys(), ...now.map(({ path }) => path)]);
  return [...paths].flatMap((path) => {
    const [before, after] = [then.get(path), now.find((change) => change.path === path)];
    if (canonicalJson(before ?? null) === canonicalJson(after ?? null)) return [];
    // What needs no change has the value that it would be set to.
    const was = canonicalJson((before ? before.from : after?.to) ?? null);
    return [`${path} was ${was} and is ${canonicalJson((after ? after.from : before?.to) ?? null)}`];
  });
}

/** INVARIANT: at least one rule that wished it still does (or, undoing, none of them wishes it again). */
function driftOf(context: ActContext, intent: Intent, fresh: ReadBack): Refusal | undefined {
  const wanted = intent.undo ? 'no_match' : 'match';
  const looks = intent.basis.map((basis) => ({ basis, record: recordOf(fresh.records, basis) }));
  const stillSo = looks.filter(({ basis, record }) => record && context.recheck(basis.rule, record) === wanted);
  if (intent.undo ? stillSo.length === looks.length : stillSo.length > 0) return undefined;
  const changed = looks.flatMap(({ basis, record }) =>
    record ? changedFacts(basis, record) : [`${basis.subjectId} is gone`],
  );
  return skipped('drifted', `changed since the snapshot: ${changed.join(', ') || 'the rule does not say so any more'}`);
}

/** Record fields that differ from those that the intent was based on, each with both values. */
export function changedFacts(basis: IntentBasis, record: Facts): string[] {
  return Object.entries(basis.facts).flatMap(([path, then]) => {
    if (!isRecordPath(path)) return [];
    // As facts are told now, both: an older version may have kept a secret in it.
    const now = redacted(factAt(record, path) ?? null, path);
    const before = redacted(then ?? null, path);
    if (canonicalJson(now) === canonicalJson(before)) return [];
    return [`${path} was ${canonicalJson(before)} and is ${canonicalJson(now)}`];
  });
}

/** Facts of events, `age` and joined records are evidence; the record's own fields are plain paths. */
function isRecordPath(path: string): boolean {
  return /^[A-Za-z_][\w.]*$/.test(path);
}

function factAt(record: Facts, path: string): Fact | undefined {
  return path.split('.').reduce<Fact | undefined>((value, key) => own(value, key), record);
}

/** Asked before every call: no schedule, trigger, approval, retry or undo gets past its action's ceiling. */
export async function beyondCeiling(context: ActContext, intent: Intent): Promise<Refusal | undefined> {
  const kind = context.actions.get(intent.action)?.subjects[0] ?? 'device';
  const lastDay = await context.store.attemptsSince(intent.action, context.clock.nowMs() - DAY_MS);
  const thisRun = context.counts.attempts.get(intent.action) ?? 0;
  const allowed = attemptsAllowed(context.settings.ceilings, { subjects: context.subjects[kind], thisRun, lastDay });
  if (allowed > 0) return undefined;
  return {
    decision: 'hold',
    reason: 'ceiling',
    reasonText: `the ceiling of ${intent.action} (in a run, or in 24 hours) is reached`,
  };
}

function skipped(reason: Decision['reason'], reasonText: string): Refusal {
  return { decision: 'skip', reason, reasonText };
}
