// domain: the intended actions of a run, sealed by a digest. Approved exactly; applied exactly or in part.

import { canonicalJson } from '../base/json.ts';
import { giveWay } from '../base/turns.ts';
import type { ActionName } from './action.ts';
import type { PlanYes } from './approvals.ts';
import { seenKey } from './episode.ts';
import { type Intent, type IntentBasis, type IntentDraft, timesRefused } from './intent.ts';
import type { Mode } from './rule.ts';

/** interrupted: applying it ended before its end. Only applying it again, in its time, continues it. */
export const PLAN_STATUSES = [
  'pending',
  'approved',
  'applying',
  'applied',
  'interrupted',
  'rejected',
  'superseded',
  'expired',
] as const;
export type PlanStatus = (typeof PLAN_STATUSES)[number];

/** One intent in a plan, with why it waits (or that it acts by itself in `enforce`). */
export interface PlannedIntent extends IntentDraft {
  /** SHA-256 of action, target and episodes: names this intent within and across plans. */
  key: string;
  held: boolean;
  reason: string;
  reasonText: string;
}

/**
 * The effective status of a stored plan: one that nobody answered, or that was approved and not applied, is expired
 * from its end on, whether or not the expiry has been recorded. The store calls this whenever it reads a plan.
 */
export function statusAt({ status, expiresAt }: Pick<Plan, 'status' | 'expiresAt'>, nowMs: number): PlanStatus {
  return (status === 'pending' || status === 'approved') && expiresAt <= nowMs ? 'expired' : status;
}

export interface Plan {
  /** It stays while anything of the plan is still planned. */
  id: string;
  /** SHA-256 over rule hashes, intents and the record facts behind them. */
  digest: string;
  /** The run that its present content is of, and whose ceiling it counts with. */
  runId: string;
  /** The lower of the run's and the daemon's mode: a dry plan and a live one do not supersede each other. */
  mode: Mode;
  /** As of the time of reading: a plan past its end reads as `expired`. */
  status: PlanStatus;
  intents: PlannedIntent[];
  /** The date of its present content: a later run that changes it gives it a new one. */
  createdAt: number;
  expiresAt: number;
  decidedAt: number | undefined;
  decidedBy: string | undefined;
  decidedReason: string | undefined;
  /** Who let it through the change windows, and why. Absent: nobody did. */
  breakGlass?: BreakGlass | undefined;
  /** Of one that more than one person is asked about, once somebody has said yes: its content stays as it is from then on. */
  agreed?: PlanYes | undefined;
  /** Of a superseded plan: the plans in its place. Empty: the next run planned nothing. Undefined in rows of earlier versions. */
  supersededBy?: readonly string[];
  /** Of a plan that was superseded long ago: its intents are no longer kept, and `intents` is empty. */
  dropped?: DroppedIntents;
}

/** What an entry `plan.glass_broken` lifted, by its body: `window` was in force, `needed` was whose yes the plan lacked. */
export function liftedText({ window, needed }: { window?: unknown; needed?: unknown }): string {
  const alone = `without ${needed}`;
  if (needed === undefined) return 'through the change windows';
  return window === undefined ? alone : `through the change windows and ${alone}`;
}

export interface BreakGlass {
  at: number;
  by: string;
  reason: string;
  /** With a passkey. */
  touched?: true;
}

// A plan that runs carried on: the same id, with another content and date. Each earlier content is kept with its digest, and with how the
// next one differs from it.

export interface LeftIntent {
  action: ActionName;
  target: string;
  /** Why it is no longer in the plan: its rule has ceased to match, it is exempt, it was approved in another plan. */
  reason: string;
}

export interface PlanChange {
  joined: number;
  /** The same action on the same target, with other facts, settings or effect, or for other matches. */
  changed: number;
  left: readonly LeftIntent[];
}

export interface PlanRevision extends Pick<Plan, 'digest' | 'runId' | 'createdAt'> {
  /** How the content after it differs. */
  change: PlanChange;
}

/** So many earlier contents of a plan are kept. */
export const REVISIONS_MAX = 200;

/** A waiting plan with its new content. */
export interface CarriedPlan {
  plan: Plan;
  /** The digest of the content before. */
  from: string;
  change: PlanChange;
}

/** An id alone names all that was ever shown under it: not once something joined it or changed. */
export function isGrown(revisions: readonly PlanRevision[]): boolean {
  return revisions.length >= REVISIONS_MAX || revisions.some(({ change }) => change.joined + change.changed > 0);
}

/** How often a run did; what a person answered a part of has changed too. */
export function carriedTimes({ runId }: Pick<Plan, 'runId'>, revisions: readonly PlanRevision[]): number {
  return revisions.filter((one, at) => (revisions[at + 1]?.runId ?? runId) !== one.runId).length;
}

export interface CountedChange {
  joined: number;
  changed: number;
  left: number;
}

/** Counted since the first of these. */
export function changeSince(revisions: readonly PlanRevision[]): CountedChange {
  const all = { joined: 0, changed: 0, left: 0 };
  for (const { change } of revisions) {
    all.joined += change.joined;
    all.changed += change.changed;
    all.left += change.left.length;
  }
  return all;
}

/** As long as a person has to repeat it; nobody finds another content for it by trying. */
export const DIGEST_SHORT = 16;

export function shortDigest({ digest }: Pick<Plan, 'digest'>): string {
  return digest.slice(0, DIGEST_SHORT);
}

/** It covers what was read, and no more. */
export function answerCommand(verb: 'approve' | 'reject', plan: Pick<Plan, 'id' | 'digest'>): string {
  return `trustward ${verb} ${plan.id} --digest ${shortDigest(plan)}`;
}

export interface ComparedIntents {
  joined: PlannedIntent[];
  left: PlannedIntent[];
  changed: { was: PlannedIntent; now: PlannedIntent }[];
}

/** It gives way: plans may be long. */
export async function compareIntents(
  before: readonly PlannedIntent[],
  now: readonly PlannedIntent[],
): Promise<ComparedIntents> {
  const earlier = new Map(before.map((one) => [one.key, one]));
  const compared: ComparedIntents = { joined: [], left: [], changed: [] };
  for (const [at, one] of now.entries()) {
    if (at % AT_ONCE === AT_ONCE - 1) await giveWay();
    const was = earlier.get(one.key);
    earlier.delete(one.key);
    if (!was) compared.joined.push(one);
    else if (!isSameContent(was, one)) compared.changed.push({ was, now: one });
  }
  const { pairs, came, gone } = anewOf([...earlier.values()], compared.joined);
  return { joined: came, left: gone, changed: [...compared.changed, ...pairs] };
}

/** Of what is in one of two contents alone: for a person the same action on the same target, for other matches, has changed. */
export function anewOf(left: readonly PlannedIntent[], joined: readonly PlannedIntent[]) {
  const actOf = ({ action, target }: PlannedIntent) => seenKey(action, target);
  const waiting = new Map<string, PlannedIntent[]>();
  for (const one of left) waiting.set(actOf(one), [...(waiting.get(actOf(one)) ?? []), one]);
  const paired = new Set<PlannedIntent>();
  const pairs = joined.flatMap((now) => {
    const was = waiting.get(actOf(now))?.shift();
    if (was === undefined) return [];
    paired.add(was).add(now);
    return [{ was, now }];
  });
  const alone = (one: PlannedIntent) => !paired.has(one);
  return { pairs, came: joined.filter(alone), gone: left.filter(alone) };
}

export function isSameContent(one: PlannedIntent, other: PlannedIntent): boolean {
  return canonicalJson(contentOf(one)) === canonicalJson(contentOf(other));
}

/** `2 joined, 1 left, 1 changed`; `the same actions`. */
export function changeText({ joined, changed, left }: CountedChange): string {
  const counts = Object.entries({ joined, left, changed }).filter(([, count]) => count > 0);
  return counts.map(([how, count]) => `${count} ${how}`).join(', ') || 'the same actions';
}

/** What the audit records of a plan with its digest. */
export type PlanAuditKind = 'plan.sealed' | 'plan.approved' | 'plan.glass_broken';

/** What remains of the intents of a superseded plan. */
export interface DroppedIntents {
  /** How many they were. */
  intents: number;
  /** Null: it was not known any longer. */
  difference: PlanDifference | null;
  /** What they were to do. Undefined in rows of earlier versions. */
  counts?: readonly PlannedCount[];
}

/** Intents, counted: `added` and `removed` by key, `changed` those of one key with another content. */
export interface PlanDifference {
  added: number;
  removed: number;
  changed: number;
}

/** How many actions a plan has, or had. */
export function sizeOf({ intents, dropped }: Pick<PlanOutline, 'intents' | 'dropped'>): number {
  return dropped?.intents ?? intents.length;
}

/** Names in each list of a selection, at most. */
export const SELECTION_MAX = 10_000;

/** A part of a plan: intents whose every rule is named, on these targets, without those. An empty list leaves its condition out. */
export interface PlanSelection {
  rules: readonly string[];
  /** A target, or a subject that it is based on; upper and lower case are one. */
  only: readonly string[];
  except: readonly string[];
  /** Exactly intents of these keys, however many share a target. */
  keys?: readonly string[] | undefined;
  /** Of what the person read, or the beginning of it: only what still is so is answered. */
  digest?: string | undefined;
}

/** The rule whose claims the plan undoes, or the rules of a target that several claim, if a person asked for that; undefined: a run made the plan. */
export function releasedRule({ intents: [first] }: { intents: readonly PlannedIntent[] }): string | undefined {
  return first?.released ? [...new Set(first.basis.map(({ rule }) => rule))].sort().join(' and ') : undefined;
}

/** Whether applying it has begun: then it has a progress. An `approved` one has none yet. */
export function hasProgress({ status }: Pick<Plan, 'status'>): boolean {
  return status === 'interrupted' || status === 'applied';
}

/** What the decisions of a plan and its progress are found by: a plan, or the same without the rest of its intents. */
export type PlanOutline = Omit<Plan, 'intents'> & { intents: readonly OutlinedIntent[] };

export type OutlinedIntent = Pick<PlannedIntent, 'action' | 'target'> & {
  basis: readonly Pick<IntentBasis, 'rule' | 'subjectId' | 'episodeId'>[];
};

/** How far applying a plan came. */
export interface PlanProgress {
  /** Of the intents that were begun, by outcome; one without an outcome is in doubt (`unknown`). */
  outcomes: { [outcome: string]: number };
  notBegun: { action: ActionName; target: string }[];
}

/** What the progress of a plan rests on: an intent without its facts. */
export type BegunIntent = Pick<Intent, 'action' | 'target' | 'status' | 'outcome' | 'sentAt' | 'refused'> & {
  basis: readonly Pick<IntentBasis, 'episodeId'>[];
};

/** `live`: the live intents of the plan's episodes. One that failed before the approval and was not tried again is not begun. */
export function progressOf(plan: PlanOutline, live: readonly BegunIntent[]): PlanProgress {
  const progress: PlanProgress = { outcomes: {}, notBegun: [] };
  const begunFor = begunOf(plan, live);
  for (const planned of plan.intents) {
    const begun = begunFor(planned);
    if (!begun) progress.notBegun.push({ action: planned.action, target: planned.target });
    else {
      const outcome = begun.outcome ?? 'unknown';
      progress.outcomes[outcome] = (progress.outcomes[outcome] ?? 0) + 1;
    }
  }
  return progress;
}

/** What applying it again may still do: less, if the checks refuse some of it. What the server refused was no attempt. */
export function restOf(plan: Plan, live: readonly BegunIntent[]): PlannedIntent[] {
  const begunFor = begunOf(plan, live);
  return plan.intents.filter((planned) => {
    const begun = begunFor(planned);
    return begun === undefined || (begun.outcome === 'failed' && timesRefused(begun) > 0);
  });
}

export function episodesOf({ intents }: { intents: readonly Pick<OutlinedIntent, 'basis'>[] }): string[] {
  return [...new Set(intents.flatMap(({ basis }) => basis.map(({ episodeId }) => episodeId)))];
}

/** By target: a plan may have ten thousand intents. */
function begunOf(
  { decidedAt = 0 }: Pick<Plan, 'decidedAt'>,
  live: readonly BegunIntent[],
): (planned: OutlinedIntent) => BegunIntent | undefined {
  const begun = new Map<string, BegunIntent[]>();
  for (const intent of live) {
    const isBegun = intent.status !== 'planned' && (intent.outcome !== 'failed' || (intent.sentAt ?? 0) >= decidedAt);
    if (isBegun) begun.set(intent.target, [...(begun.get(intent.target) ?? []), intent]);
  }
  return ({ action, target, basis }) => {
    const episodes = new Set(basis.map(({ episodeId }) => episodeId));
    return begun
      .get(target)
      ?.find((intent) => intent.action === action && intent.basis.some(({ episodeId }) => episodes.has(episodeId)));
  };
}

// The content of planned intents, as a plan's digest covers it; and how the plans in place of a superseded one differ
// from it.

/** Its action on its target, once for each match that it is based on: nothing of that is begun twice. */
export function groundsOf({ action, target, basis }: Pick<PlannedIntent, 'action' | 'target' | 'basis'>): string[] {
  return basis.map(({ episodeId }) => JSON.stringify([action, target, episodeId]));
}

/** What a digest covers of one intent, and no more. */
export function contentOf({ key, action, target, settings, held, released, basis, effect }: PlannedIntent) {
  return {
    key,
    action,
    target,
    settings,
    held,
    // Only an undo that a person asked for has it: the digests of all other intents stay as they were.
    released: released || undefined,
    devices: effect.devices.map((device) => device.id).sort(),
    changes: effect.changes,
    deletion: effect.deletion,
    ends: effect.ends,
    joined: effect.joined,
    unwarned: effect.unwarned,
    basis: basis.map(({ rule, ruleHash, subjectId, facts }) => ({
      rule,
      ruleHash,
      subjectId,
      facts: sealedFacts(facts),
    })),
  };
}

/** All that a digest is over, in its order. */
export function sealedContent(planned: readonly PlannedIntent[]) {
  return [...planned].sort((a, b) => (a.key < b.key ? -1 : 1)).map(contentOf);
}

function sealedFacts(facts: PlannedIntent['basis'][number]['facts']): object {
  return Object.fromEntries(Object.entries(facts).filter(([path]) => /^[A-Za-z_][\w.]*$/.test(path)));
}

/** The live intents of the plan's episodes, which show how far applying it has come; none before it has begun. */
export async function liveIntentsOf(
  reader: { intents(of: { liveFor: string[] }): Promise<Intent[]> },
  plan: Pick<Plan, 'status' | 'intents'>,
): Promise<Intent[]> {
  return hasProgress(plan) ? reader.intents({ liveFor: episodesOf(plan) }) : [];
}

const AT_ONCE = 200;

/**
 * How the plans in the place of a superseded one differ from it; null for any other plan, and when it is not known any longer. It gives way:
 * plans may be long.
 */
export async function differenceFrom(
  reader: { plan(id: string): Promise<Plan | undefined> },
  was: Plan,
): Promise<PlanDifference | null> {
  if (was.dropped) return was.dropped.difference;
  if (was.supersededBy === undefined) return null;
  const successors: PlannedIntent[] = [];
  for (const id of was.supersededBy) {
    const successor = await reader.plan(id);
    if (!successor || successor.dropped) return null;
    successors.push(...successor.intents);
  }
  const { joined, left, changed } = await compareIntents(was.intents, successors);
  return { added: joined.length, removed: left.length, changed: changed.length };
}

/** `plan X: 2 added, 1 removed`; `plans X and Y: the same actions`; `a run that planned nothing`. */
export function successorText(ids: readonly string[], difference: PlanDifference | null): string {
  if (ids.length === 0) return 'a run that planned nothing';
  return `plan${ids.length === 1 ? '' : 's'} ${ids.join(' and ')}${differenceText(difference)}`;
}

/** `: 2 added, 1 removed`; empty when it is not known. */
export function differenceText(difference: PlanDifference | null): string {
  if (difference === null) return '';
  const counted = (['added', 'removed', 'changed'] as const).filter((how) => difference[how] > 0);
  return `: ${counted.map((how) => `${difference[how]} ${how}`).join(', ') || 'the same actions'}`;
}

export interface PlannedCount {
  /** An action of several rules is counted once, for all of them. */
  rules: string[];
  action: ActionName;
  count: number;
  /** Devices that it hits, or targets that are none: a serial number may be that of several. */
  subjects: number;
}

/** In the order of the plan; none where an earlier version did not keep them. */
export function plannedCounts({
  intents,
  dropped,
}: {
  intents: readonly PlannedIntent[];
  dropped?: DroppedIntents | undefined;
}): readonly PlannedCount[] {
  if (dropped) return dropped.counts ?? [];
  const counts = new Map<string, PlannedCount>();
  for (const { basis, action, effect } of intents) {
    const rules = [...new Set(basis.map(({ rule }) => rule))].sort();
    const key = [...rules, action].join(' ');
    const counted = counts.get(key) ?? { rules, action, count: 0, subjects: 0 };
    counts.set(key, counted);
    counted.count += 1;
    counted.subjects += Math.max(1, effect.devices.length);
  }
  return [...counts.values()];
}
