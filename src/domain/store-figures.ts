// domain: what the database shows at one moment, in numbers: what waits for a person, what is in doubt, what is stopped, when each source
// was last trusted. It names no target, subject or person.
import type { AlertCode } from './notification.ts';
import type { Source } from './subjects.ts';
import type { VerdictName } from './verdict.ts';

/** How many there are, and since when the oldest of them is so, epoch ms; undefined without any. */
export interface Waiting {
  count: number;
  oldestAt: number | undefined;
}

/** Cheap to read: each is found in an index, or in a table of a few rows. */
export interface StoreFigures {
  /** When everything was stopped, epoch ms; undefined: it is not. */
  stoppedAt: number | undefined;
  plans: Waiting;
  /** Approved, not applied yet. */
  approvedPlans: Waiting;
  /** Committed and not sent yet. */
  plannedIntents: Waiting;
  inDoubt: Waiting;
  parked: Waiting;
  notifications: Waiting;
  alerts: { code: AlertCode; count: number }[];
  /** Standing and orphaned ones. */
  claims: { status: string; count: number }[];
  exemptions: number;
  /** Of lists: when the last trusted reading of each ended. Of the event log: until when it is known. Epoch ms. */
  lastTrusted: { source: Source; at: number; count: number | undefined }[];
  /** When the newest completed run over all active rules ended. */
  lastCompletedAt: number | undefined;
  auditEntries: number;
}

/** What the newest run over lists that has findings found. */
export interface LastFindings {
  seq: number;
  /** Of the sources that its rules read. */
  sources: { source: Source; isUsable: boolean }[];
  /** Of the rules that it judged. */
  rules: ({ rule: string } & Record<VerdictName, number>)[];
}

/** Sizes in bytes. */
export interface DiskUse {
  database: number;
  /** The write-ahead log. */
  log: number;
  /** Of the file system: what a process without special rights may still write, and all of it. */
  free: number;
  size: number;
}
