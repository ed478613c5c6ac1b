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
  'source.untrusted',
  'baseline.accepted',
  'episode.opened',
  'episode.closed',
  'episode.overridden',
  'decision.made',
  'decision.flapped',
  'plan.sealed',
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
  'history.forgotten',
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
