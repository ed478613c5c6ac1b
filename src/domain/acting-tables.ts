// domain: a digest of each table that acting rests on, as audit entries and checkpoints carry it. A row that somebody else
// changed differs from the record, and is found without a replay of the whole record.
import type { AuditEntry } from './audit-entry.ts';

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
