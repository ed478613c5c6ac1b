// store: rows to nouns and back.
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { canonicalJson } from '../base/json.ts';
import { currentReason, type StoredDecision } from '../domain/decision.ts';
import type { Claim, Episode } from '../domain/episode.ts';
import type { Intent } from '../domain/intent.ts';
import type { RunOperatorState } from '../domain/operator.ts';
import type { Plan } from '../domain/plan.ts';
import type { Run, RunFindings } from '../domain/run.ts';
import type { RunRecord } from '../domain/store.ts';
import type { PlanHead } from '../domain/store-ports.ts';
import { Columns, flag, json, leftOut, members, optionalJson } from './columns.ts';
import type { Row } from './queries.ts';
import { storedJson } from './stored-json.ts';

// What a run found, as compressed bytes: the texts of its rules and its examples are long, the same in most runs, and
// read by the report alone.

type Packed = Pick<RunFindings, 'snapshot' | 'tallies' | 'check'>;

export function packFindings({ snapshot, tallies, check }: RunFindings): Buffer {
  return deflateRawSync(canonicalJson({ snapshot, tallies, ...(check && { check }) }));
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

/** What a noun is about. */
const SUBJECT = members({ kind: 'kind', id: 'subject' });

/** A run without what it found. */
export const RUN = new Columns<Omit<Run, 'silentSince' | 'whatIf'>>({
  seq: 'seq',
  id: 'id',
  mode: 'mode',
  daemonMode: 'daemon_mode',
  trigger: 'run_trigger',
  rules: json('rules'),
  ruleSetHash: 'rule_set_hash',
  rulesDir: 'rules_dir',
  startedAt: 'started_at',
  finishedAt: 'finished_at',
  status: 'status',
  error: 'error',
  demo: flag('demo'),
  scoped: leftOut({ ...flag('scoped'), read: ({ scoped }) => (scoped === 1 ? true : undefined) }),
  countsWith: leftOut('counts_with'),
});

export function runOfRow(row: Row): RunRecord {
  return {
    ...RUN.nounOf(row),
    findings: hasFindings(row)
      ? { ...unpackFindings(row), planDigest: row.plan_digest as string, ...operatorStateOf(row) }
      : undefined,
    planId: (row.plan_id ?? undefined) as string | undefined,
  };
}

function operatorStateOf(row: Row): { operator?: RunOperatorState } {
  return row.operator === null || row.operator === undefined ? {} : { operator: storedJson(row.operator) };
}

interface Seen extends Pick<Episode, 'reports' | 'shownReversed'> {
  so: Episode['seenSo'];
}

/** What an episode has seen: with the reports and what was shown reversed, since one more column would change a table that the audit records. */
const SEEN = 'seen_so_of';

const EPISODE = new Columns<Omit<Episode, 'reports' | 'shownReversed'>>({
  id: 'id',
  rule: 'rule',
  subject: SUBJECT,
  since: 'since',
  matchingSince: 'matching_since',
  state: 'state',
  stateSince: 'state_since',
  absentSince: 'absent_since',
  seenSo: SEEN,
  overriddenAt: 'overridden_at',
  closedAt: 'closed_at',
  closeReason: 'close_reason',
});

export function rowOfEpisode(episode: Episode): Row {
  const { seenSo: so, reports, shownReversed } = episode;
  const seen = reports || shownReversed ? { so, reports, shownReversed } : so;
  return { ...EPISODE.rowOf(episode), [SEEN]: JSON.stringify(seen) };
}

/** Earlier versions wrote the list of what it has seen alone. */
export function episodeOfRow(row: Row): Episode {
  const seen = storedJson<Episode['seenSo'] | Seen>(row[SEEN]);
  if (!('so' in seen)) return Object.assign(EPISODE.nounOf(row), { seenSo: seen });
  const { so: seenSo, ...more } = seen;
  return Object.assign(EPISODE.nounOf(row), { seenSo, ...more });
}

export const CLAIM = new Columns<Claim>({
  id: 'id',
  episodeId: 'episode_id',
  rule: 'rule',
  subjectId: 'subject',
  action: 'action',
  target: 'target',
  intentId: 'intent_id',
  status: 'status',
  openedAt: 'opened_at',
  endedAt: 'ended_at',
});

export const DECISION = new Columns<StoredDecision>({
  id: 'id',
  runId: 'run_id',
  runSeq: 'run_seq',
  writtenAt: 'written_at',
  endedSeq: 'ended_seq',
  rule: 'rule',
  ruleHash: 'rule_hash',
  subject: SUBJECT,
  subjectName: 'subject_name',
  verdict: 'verdict',
  since: 'since',
  decision: 'decision',
  reason: 'reason',
  reasonText: 'reason_text',
  action: 'action',
  target: 'target',
  mode: 'mode',
  cappedBy: 'capped_by',
  facts: json('facts'),
  flip: optionalJson('flip'),
  effect: json('effect'),
  episodeId: 'episode_id',
  intentId: 'intent_id',
  outcome: 'outcome',
  outcomeText: 'outcome_text',
});

export const INTENT = new Columns<Intent>({
  id: 'id',
  runId: 'run_id',
  mode: 'mode',
  planId: 'plan_id',
  action: 'action',
  target: 'target',
  settings: json('settings'),
  undo: flag('undo'),
  approved: flag('approved'),
  released: flag('released'),
  basis: json('basis'),
  effect: json('effect'),
  status: 'status',
  outcome: 'outcome',
  attempts: 'attempts',
  refused: {
    names: ['refusals', 'refused_with'],
    write: (row, value) => {
      const refused = value as Intent['refused'];
      row.refusals = refused?.times ?? 0;
      row.refused_with = refused?.credential ?? null;
    },
    read: ({ refusals, refused_with }) =>
      refusals ? { times: refusals, credential: refused_with ?? undefined } : undefined,
  },
  doubtRetries: 'doubt_retries',
  createdAt: 'created_at',
  sentAt: 'sent_at',
  settledAt: 'settled_at',
  note: 'note',
});

export const PLAN = new Columns<Plan>({
  id: 'id',
  digest: 'digest',
  runId: 'run_id',
  mode: 'mode',
  status: 'status',
  // They may be many: who reads them chooses how they are parsed.
  intents: { ...json('intents'), read: () => [] },
  createdAt: 'created_at',
  expiresAt: 'expires_at',
  decidedAt: 'decided_at',
  decidedBy: 'decided_by',
  decidedReason: 'decided_reason',
  supersededBy: optionalJson('superseded_by'),
  dropped: optionalJson('dropped'),
  breakGlass: optionalJson('break_glass'),
  agreed: optionalJson('agreed'),
});

export const PLAN_HEAD: Columns<PlanHead> = PLAN.without('intents');

/** `intents`: those of the row. */
export function planOfRow(row: Row, intents: Plan['intents']): Plan {
  const named = intents.map((planned) => ({ ...planned, reason: currentReason(planned.reason) }));
  return Object.assign(PLAN.nounOf(row), { intents: named });
}
