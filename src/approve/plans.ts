// approve: the life of a plan until it is applied: pending, approved, rejected, superseded, expired. Pure: plans in, plans and
// notes out. A plan is content-addressed: the digest covers rule hashes, intents and the facts behind them.

import { createHash } from 'node:crypto';
import type { AuditNote } from '../domain/audit-entry.ts';
import { canonicalJson } from '../domain/canonical.ts';
import { digestOf } from '../domain/digest.ts';
import { formatDuration } from '../domain/duration.ts';
import { AppError } from '../domain/errors.ts';
import { drained } from '../domain/give-way.ts';
import type { Mode } from '../domain/mode.ts';
import { type Plan, type PlanAuditKind, type PlannedIntent, releasedRule, statusAt } from '../domain/plan.ts';
import { contentOf } from '../domain/plan-content.ts';
import { timeText } from '../domain/time-text.ts';

export interface SealInput {
  id: string;
  runId: string;
  mode: Mode;
  nowMs: number;
  ttlMs: number;
  planned: readonly PlannedIntent[];
  /** False if some rule was not judged, or on untrusted data: the run shows nothing about what waits of it. */
  isWhole: boolean;
  /** Pending plans. */
  pending: readonly Plan[];
  /** Approved plans: what such a plan has, with the same content, waits for nobody and is in no other plan of its kind. */
  approved: readonly Plan[];
}

export interface Sealed {
  /** The run's plan: a pending one with the same digest is kept; undefined when nothing is planned. */
  plan: Plan | undefined;
  /** The digest of the plan, also when nothing is planned. */
  digest: string;
  superseded: string[];
  notes: AuditNote[];
}

/**
 * Seals what a run or a person planned. A pending plan of the same kind is kept while its digest is unchanged, otherwise superseded.
 */
export function sealPlan(input: SealInput): Sealed {
  return drained(sealing(input));
}

/** The same in steps of a few milliseconds. */
export function* sealing(input: SealInput): Generator<void, Sealed> {
  const kind = kindOf({ mode: input.mode, intents: input.planned });
  const isRival = (plan: Plan) => kindOf(plan) === kind;
  const approved = input.approved.filter((plan) => isRival(plan) && plan.expiresAt > input.nowMs);
  const planned = withoutThoseOf(approved, input.planned);
  const digest = yield* digesting(planned);
  const rivals = input.pending.filter(isRival);
  const kept = rivals.find((plan) => plan.digest === digest && plan.expiresAt > input.nowMs);
  const superseded = input.isWhole ? rivals.filter((plan) => plan !== kept) : [];
  const plan = kept ?? (planned.length > 0 ? newPlan({ ...input, planned }, digest) : undefined);
  const notes: AuditNote[] = superseded.map(({ id }) => ({
    kind: 'plan.superseded',
    body: { plan: id, by: plan?.id },
  }));
  if (plan && plan !== kept) notes.push(sealedNote(plan));
  return { plan, digest, superseded: superseded.map(({ id }) => id), notes };
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

export function planDigest(planned: readonly PlannedIntent[]): string {
  return drained(digesting(planned));
}

const INTENTS_OF_STEP = 50;

/** Of the canonical JSON of the list: each intent is written apart, since all together may be megabytes. */
export function* digesting(planned: readonly PlannedIntent[]): Generator<void, string> {
  const hash = createHash('sha256').update('[');
  const sorted = [...planned].sort((a, b) => (a.key < b.key ? -1 : 1));
  for (const [at, one] of sorted.entries()) {
    hash.update(`${at === 0 ? '' : ','}${canonicalJson(contentOf(one))}`);
    if (at % INTENTS_OF_STEP === INTENTS_OF_STEP - 1) yield;
  }
  return hash.update(']').digest('hex');
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

/**
 * An operator's yes or no. Single use: only a pending plan that has not expired can be answered. A yes needs
 * `demandAudited` too.
 */
export function decidePlan(
  plan: Plan,
  answer: 'approved' | 'rejected',
  by: string,
  reason: string | undefined,
  nowMs: number,
): Plan {
  demandInTime(plan, nowMs);
  if (plan.status !== 'pending')
    throw new AppError('conflict', `plan ${plan.id} is ${plan.status}: only a pending plan can be ${answer}`);
  return { ...plan, status: answer, decidedAt: nowMs, decidedBy: by, decidedReason: reason };
}
