// store: rows to nouns and back. Documents are canonical JSON text, so that equal values are equal bytes.
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { canonicalJson } from '../base/json.ts';
import { currentReason, type Decision, type StoredDecision } from '../domain/decision.ts';
import type { Claim, Episode } from '../domain/episode.ts';
import type { Intent } from '../domain/intent.ts';
import type { RunOperatorState } from '../domain/operator.ts';
import type { BreakGlass, DroppedIntents, Plan } from '../domain/plan.ts';
import type { Run, RunFindings } from '../domain/run.ts';
import type { RunRecord } from '../domain/store.ts';
import type { Flip } from '../domain/verdict.ts';
import type { Row } from './queries.ts';
import { storedJson } from './stored-json.ts';

// What a run found, as compressed bytes: the texts of its rules and its examples are long, the same in most runs, and
// read by the report alone.

type Packed = Pick<RunFindings, 'snapshot' | 'tallies'>;

export function packFindings({ snapshot, tallies }: RunFindings): Buffer {
  return deflateRawSync(canonicalJson({ snapshot, tallies }));
}

/** What statements read of the tallies. */
export function talliedCounts({ tallies }: RunFindings): string {
  return canonicalJson(
    tallies.map(({ rule, judged, match, no_match, unknown, error }) => {
      return { rule, judged, match, no_match, unknown, error };
    }),
  );
}

function hasFindings(row: Row): boolean {
  return row.findings instanceof Uint8Array || row.snapshot !== null;
}

/** Errors: AppError `store_damaged`. */
function unpackFindings(row: Row): Packed {
  if (row.findings instanceof Uint8Array) return storedJson(inflated(row.findings));
  return { snapshot: storedJson(row.snapshot), tallies: storedJson(row.tallies) };
}

function inflated(bytes: Uint8Array): string {
  try {
    return inflateRawSync(bytes).toString();
  } catch {
    return ''; // reading it as JSON names the damage
  }
}

const orNull = <T extends string | number>(value: T | undefined): T | null => value ?? null;
const orUndefined = <T>(value: unknown): T | undefined => (value === null ? undefined : (value as T));
const flag = (value: boolean): number => (value ? 1 : 0);

export function rowOfRun(run: Run): Row {
  return {
    seq: run.seq,
    id: run.id,
    mode: run.mode,
    daemon_mode: run.daemonMode,
    run_trigger: run.trigger,
    rules: canonicalJson(run.rules),
    rule_set_hash: run.ruleSetHash,
    rules_dir: orNull(run.rulesDir),
    started_at: run.startedAt,
    finished_at: orNull(run.finishedAt),
    status: run.status,
    error: orNull(run.error),
    demo: flag(run.demo),
    scoped: flag(run.scoped ?? false),
    counts_with: orNull(run.countsWith),
  };
}

export function runOfRow(row: Row): RunRecord {
  return {
    ...runLineOfRow(row),
    findings: hasFindings(row)
      ? { ...unpackFindings(row), planDigest: row.plan_digest as string, ...operatorStateOf(row) }
      : undefined,
    planId: orUndefined(row.plan_id),
  };
}

/** A run without what it found. */
export function runLineOfRow(row: Row): Run {
  return {
    seq: row.seq as number,
    id: row.id as string,
    mode: row.mode as Run['mode'],
    daemonMode: row.daemon_mode as Run['mode'],
    trigger: row.run_trigger as Run['trigger'],
    rules: storedJson(row.rules),
    ruleSetHash: row.rule_set_hash as string,
    rulesDir: orUndefined(row.rules_dir),
    startedAt: row.started_at as number,
    finishedAt: orUndefined(row.finished_at),
    status: row.status as Run['status'],
    error: orUndefined(row.error),
    demo: row.demo === 1,
    ...(row.scoped === 1 && { scoped: true as const }),
    ...(row.counts_with !== null && { countsWith: row.counts_with as string }),
  };
}

function operatorStateOf(row: Row): { operator?: RunOperatorState } {
  return row.operator === null || row.operator === undefined ? {} : { operator: storedJson(row.operator) };
}

export function rowOfEpisode(episode: Episode): Row {
  return {
    id: episode.id,
    rule: episode.rule,
    kind: episode.subject.kind,
    subject: episode.subject.id,
    since: episode.since,
    matching_since: episode.matchingSince,
    state: episode.state,
    state_since: episode.stateSince,
    absent_since: orNull(episode.absentSince),
    // With the reports that it has seen, in the column that is there: one more would change a table that the audit records.
    seen_so_of: JSON.stringify(episode.reports ? { so: episode.seenSo, reports: episode.reports } : episode.seenSo),
    overridden_at: orNull(episode.overriddenAt),
    closed_at: orNull(episode.closedAt),
    close_reason: orNull(episode.closeReason),
  };
}

export function episodeOfRow(row: Row): Episode {
  return {
    id: row.id as string,
    rule: row.rule as string,
    subject: { kind: row.kind as Episode['subject']['kind'], id: row.subject as string },
    since: row.since as number,
    matchingSince: row.matching_since as number,
    state: row.state as Episode['state'],
    stateSince: row.state_since as number,
    absentSince: orUndefined(row.absent_since),
    ...seenOf(storedJson(row.seen_so_of)),
    overriddenAt: orUndefined(row.overridden_at),
    closedAt: orUndefined(row.closed_at),
    closeReason: orUndefined(row.close_reason),
  };
}

/** Earlier versions wrote the list alone. */
function seenOf(
  seen: Episode['seenSo'] | { so: Episode['seenSo']; reports: NonNullable<Episode['reports']> },
): Pick<Episode, 'seenSo' | 'reports'> {
  return 'so' in seen ? { seenSo: seen.so, reports: seen.reports } : { seenSo: seen };
}

export function rowOfClaim(claim: Claim): Row {
  return {
    id: claim.id,
    episode_id: claim.episodeId,
    rule: claim.rule,
    subject: claim.subjectId,
    action: claim.action,
    target: claim.target,
    intent_id: claim.intentId,
    status: claim.status,
    opened_at: claim.openedAt,
    ended_at: orNull(claim.endedAt),
  };
}

export function claimOfRow(row: Row): Claim {
  return {
    id: row.id as string,
    episodeId: row.episode_id as string,
    rule: row.rule as string,
    subjectId: row.subject as string,
    action: row.action as Claim['action'],
    target: row.target as string,
    intentId: row.intent_id as string,
    status: row.status as Claim['status'],
    openedAt: row.opened_at as number,
    endedAt: orUndefined(row.ended_at),
  };
}

export function rowOfDecision(decision: Decision): Row {
  return {
    id: decision.id,
    rule: decision.rule,
    rule_hash: decision.ruleHash,
    kind: decision.subject.kind,
    subject: decision.subject.id,
    subject_name: decision.subjectName,
    verdict: decision.verdict,
    since: decision.since,
    decision: decision.decision,
    reason: decision.reason,
    reason_text: decision.reasonText,
    action: decision.action,
    target: decision.target,
    mode: decision.mode,
    capped_by: orNull(decision.cappedBy),
    facts: canonicalJson(decision.facts),
    flip: decision.flip ? canonicalJson(decision.flip) : null,
    effect: canonicalJson(decision.effect),
    episode_id: orNull(decision.episodeId),
    intent_id: orNull(decision.intentId),
    outcome: orNull(decision.outcome),
    outcome_text: orNull(decision.outcomeText),
  };
}

export function decisionOfRow(row: Row): StoredDecision {
  return {
    id: row.id as string,
    runId: row.run_id as string,
    runSeq: row.run_seq as number,
    writtenAt: row.written_at as number,
    endedSeq: orUndefined(row.ended_seq),
    rule: row.rule as string,
    ruleHash: row.rule_hash as string,
    subject: { kind: row.kind as StoredDecision['subject']['kind'], id: row.subject as string },
    subjectName: row.subject_name as string,
    verdict: row.verdict as StoredDecision['verdict'],
    since: row.since as number,
    decision: row.decision as StoredDecision['decision'],
    reason: row.reason as StoredDecision['reason'],
    reasonText: row.reason_text as string,
    action: row.action as StoredDecision['action'],
    target: row.target as string,
    mode: row.mode as StoredDecision['mode'],
    cappedBy: orUndefined(row.capped_by),
    facts: storedJson(row.facts),
    ...(typeof row.flip === 'string' && { flip: storedJson<Flip>(row.flip) }),
    effect: storedJson(row.effect),
    episodeId: orUndefined(row.episode_id),
    intentId: orUndefined(row.intent_id),
    outcome: orUndefined(row.outcome),
    outcomeText: orUndefined(row.outcome_text),
  };
}

export function rowOfIntent(intent: Intent): Row {
  return {
    id: intent.id,
    run_id: intent.runId,
    mode: intent.mode,
    plan_id: orNull(intent.planId),
    action: intent.action,
    target: intent.target,
    settings: canonicalJson(intent.settings),
    undo: flag(intent.undo),
    approved: flag(intent.approved),
    released: flag(intent.released ?? false),
    basis: canonicalJson(intent.basis),
    effect: canonicalJson(intent.effect),
    status: intent.status,
    outcome: orNull(intent.outcome),
    attempts: intent.attempts,
    refusals: intent.refused?.times ?? 0,
    refused_with: orNull(intent.refused?.credential),
    doubt_retries: intent.doubtRetries,
    created_at: intent.createdAt,
    sent_at: orNull(intent.sentAt),
    settled_at: orNull(intent.settledAt),
    note: orNull(intent.note),
  };
}

export function intentOfRow(row: Row): Intent {
  return {
    id: row.id as string,
    runId: row.run_id as string,
    mode: row.mode as Intent['mode'],
    planId: orUndefined(row.plan_id),
    action: row.action as Intent['action'],
    target: row.target as string,
    settings: storedJson(row.settings),
    undo: row.undo === 1,
    approved: row.approved === 1,
    released: row.released === 1,
    basis: storedJson(row.basis),
    effect: storedJson(row.effect),
    status: row.status as Intent['status'],
    outcome: orUndefined(row.outcome),
    attempts: row.attempts as number,
    refused: row.refusals ? { times: row.refusals as number, credential: orUndefined(row.refused_with) } : undefined,
    doubtRetries: row.doubt_retries as number,
    createdAt: row.created_at as number,
    sentAt: orUndefined(row.sent_at),
    settledAt: orUndefined(row.settled_at),
    note: orUndefined(row.note),
  };
}

export function rowOfPlan(plan: Plan): Row {
  return {
    id: plan.id,
    digest: plan.digest,
    run_id: plan.runId,
    mode: plan.mode,
    status: plan.status,
    intents: canonicalJson(plan.intents),
    created_at: plan.createdAt,
    expires_at: plan.expiresAt,
    decided_at: orNull(plan.decidedAt),
    decided_by: orNull(plan.decidedBy),
    decided_reason: orNull(plan.decidedReason),
    superseded_by: plan.supersededBy ? canonicalJson(plan.supersededBy) : null,
    dropped: plan.dropped ? canonicalJson(plan.dropped) : null,
    break_glass: plan.breakGlass ? canonicalJson({ ...plan.breakGlass }) : null,
  };
}

/** `intents`: those of the row, which may be many: a caller chooses how it parses them. */
export function planOfRow(row: Row, intents: Plan['intents']): Plan {
  return {
    id: row.id as string,
    digest: row.digest as string,
    runId: row.run_id as string,
    mode: row.mode as Plan['mode'],
    status: row.status as Plan['status'],
    intents: intents.map((planned) => ({ ...planned, reason: currentReason(planned.reason) })),
    createdAt: row.created_at as number,
    expiresAt: row.expires_at as number,
    decidedAt: orUndefined(row.decided_at),
    decidedBy: orUndefined(row.decided_by),
    decidedReason: orUndefined(row.decided_reason),
    ...(typeof row.superseded_by === 'string' && { supersededBy: storedJson<string[]>(row.superseded_by) }),
    ...(typeof row.dropped === 'string' && { dropped: storedJson<DroppedIntents>(row.dropped) }),
    ...(typeof row.break_glass === 'string' && { breakGlass: storedJson<BreakGlass>(row.break_glass) }),
  };
}
