// domain: one link of the hash-chained record of everything that the engine read, decided and did.
import { type Fact, type Facts, isFacts } from './facts.ts';

export const AUDIT_KINDS = [
  'database.bound',
  'lists.changed',
  'run.started',
  'run.finished',
  'run.aborted',
  'runs.removed',
  'plans.dropped',
  'rules.loaded',
  'rules.rejected',
  'rules.returned',
  'source.untrusted',
  'baseline.accepted',
  'episode.opened',
  'episode.closed',
  'episode.overridden',
  'decision.made',
  'decision.flapped',
  'plan.sealed',
  'plan.carried',
  'plan.agreed',
  'plan.approved',
  'plan.rejected',
  'plan.superseded',
  'plan.expired',
  'plan.glass_broken',
  'plan.applying',
  'plan.applied',
  'plan.interrupted',
  'intent.planned',
  'intent.dry',
  'intent.sent',
  'intent.settled',
  'intent.withdrawn',
  'claim.opened',
  'claim.ended',
  'claim.orphaned',
  'claim.released',
  'intent.resolved',
  'intent.reopened',
  'exemption.added',
  'exemption.covered',
  'exemption.confirmed',
  'exemption.ended',
  'exemption.ending',
  'exemption.requested',
  'exemption.request_granted',
  'exemption.request_refused',
  'exemption.request_withdrawn',
  'rollout.began',
  'rollout.widened',
  'rollout.braked',
  'rollout.planned',
  'rollout.resumed',
  'rollout.restarted',
  'stop.set',
  'stop.lifted',
  'snapshot.accepted',
  'audit.archived',
  'audit.key_replaced',
  'audit.checkpoints_lost',
  'database.restored',
  'database.migrated',
  'database.moved',
  'tables.accepted',
  'tables.changed',
  'restore.accepted',
  'notification.delivered',
  'notification.given_up',
  'alert.raised',
  'credential.replaced',
  'token.added',
  'token.revoked',
  'session.began',
  'passkey.added',
  'passkey.removed',
  'person_link.made',
  'person_link.revoked',
  'stream.created',
  'stream.changed',
  'stream.removed',
  'stream.refused',
  'history.forgotten',
  'notice.begun',
  'notice.sending',
  'notice.delivered',
  'notice.failed',
  'notice.cancelled',
  'notice.mended',
  'notice',
] as const;
export type AuditKind = (typeof AUDIT_KINDS)[number];

/** What an entry is about: `run` of `run.started`. */
export function familyOf(kind: string): string {
  return kind.split('.', 1)[0] as string;
}

/** What to record; appending adds `at` and the links. */
export interface AuditNote {
  kind: AuditKind;
  body: { [key: string]: Fact | undefined };
}

export interface AuditEntry {
  /** 1, 2, 3 … without a gap. */
  seq: number;
  at: number;
  kind: AuditKind;
  /**
   * The exact canonical bytes that were hashed, as text: `{"at":…,"body":…,"digests":…,"kind":…,"signature":…}`. `digests` (`TableDigests`)
   * and `signature` are those of the transaction, in its last entry.
   */
  bytes: string;
  /** Hex SHA-256 of the entry before; 64 zeros for the first. */
  prev: string;
  hash: string;
}

/** What an entry is about. Bytes that are no JSON were tampered with: they say nothing, and verification names them. */
export function entryBody({ bytes }: Pick<AuditEntry, 'bytes'>): Facts {
  try {
    const { body } = JSON.parse(bytes) as { body?: unknown };
    return isFacts(body) ? body : {};
  } catch {
    return {};
  }
}

/** Links an entry to the chain: SHA-256 over a domain byte, `prev`, the sequence number and the canonical bytes. */
export type LinkEntry = (prev: string, seq: number, bytes: string) => string;

/** Signs an entry: Ed25519 over a domain byte, `prev`, the sequence number and the canonical bytes without the signature; base64. */
export type SignEntry = (prev: string, seq: number, bytes: string) => string;

export const GENESIS = '0'.repeat(64);

// A digest of each table that acting rests on, as audit entries and checkpoints carry it.

/** `ROWS:HASH`: the number of rows, and 32 hex digits over all of them in any order. By the name of the table. */
export interface TableDigests {
  readonly [table: string]: string;
}

/** A table whose rows are not those that the record describes. */
export interface TableDifference {
  table: string;
  /** For people: `2 rows, and the audit records 3`. */
  text: string;
}

/** The store as the tables and the record are compared in it. */
export interface ActingTableReader {
  /**
   * All that differ; empty when nothing does. It reads one state of the database, and gives way while it reads. Without `judgeEnd` the
   * end of the audit is not checked.
   */
  tableDifferences(judgeEnd?: JudgeEnd): Promise<readonly TableDifference[]>;
}

/** The end of the chain, as it is stored: it says what the tables should hold. */
export interface AuditEnd {
  sealed: { size: number; line: string } | undefined;
  /** From the last one on that the checkpoint covers. */
  entries: readonly AuditEntry[];
  /** False in a database of a version that did not sign entries. */
  isSigned: boolean;
}

/**
 * What is wrong with an end that the keys of this database did not sign, in words that follow "the audit has"; undefined: nothing.
 */
export type JudgeEnd = (end: AuditEnd) => string | undefined;

/** `table \`claims\` has …; table \`plans\` has …`. */
export function differencesText(differences: readonly TableDifference[]): string {
  return differences.map(({ table, text }) => `table \`${table}\` has ${text}`).join('; ');
}

// The result of verifying the audit, the same for a database and for an export.

export interface AuditCheck {
  ok: boolean;
  /** The first entry present: 1, or the one after the archived ones. */
  first: number;
  /** Entries verified before the first bad one. */
  entries: number;
  /** The hash of the last of them. */
  head: string;
  /** Checkpoints that they were compared with. */
  checkpoints: number;
  /** The last entry that a signed checkpoint covers; 0: none. */
  sealed: number;
  /** The first thing that is wrong. */
  bad: AuditFault | undefined;
  /** Tables that differ from what the record says of them; empty for an export, which has none. */
  tables: readonly TableDifference[];
  /** What a reader should know although nothing is wrong, one line each. */
  notes: string[];
}

export interface AuditFault {
  /** The first bad entry, or the first that may be bad when `checkpoint` is the evidence. */
  seq: number;
  /** How many entries are covered by the checkpoint that is bad, or that proves it. */
  checkpoint?: number;
  /** In words that follow "entry N" or "the checkpoint over N entries". */
  reason: string;
}
