// store: what the two databases say differently, by name. In: nothing. Out: pieces of statements, for those that are otherwise the same. A
// statement whose pieces would be many is written without them.

export interface Dialect {
  /** After a table: the index that serves the statement, where the database would take a worse one. */
  by(index: string): string;
  /** After a table: no index is believed. */
  readonly unindexed: string;
  /** The target of a conflict: the columns of a key. */
  conflict(columns: string): string;
  /** How many intents a plan has, and the rule whose claims they release: without reading them, which may be megabytes. */
  readonly planned: string;
  readonly releases: string;
  /** The target and the person that an entry of the audit is about. */
  readonly auditTarget: string;
  readonly auditActor: string;
  /** For a table that acting rests on and no trigger follows: notes its row of an exemption, before or after a change. */
  noteChange?(table: string, is: 'removed' | 'added'): string;
}

const member = (name: string) => `json_extract(bytes, '$.body.${name}')`;

/** INVARIANT: the expressions are those of migrations 0016 and 0028: their indexes have the values. */
export const SQLITE: Dialect = {
  by: (index) => `INDEXED BY ${index}`,
  unindexed: 'NOT INDEXED',
  conflict: (columns) => `ON CONFLICT (${columns})`,
  planned: 'CASE WHEN json_valid(intents) THEN json_array_length(intents) END',
  releases:
    "CASE WHEN json_valid(intents) AND json_extract(intents, '$[0].released') THEN json_extract(intents, '$[0].basis[0].rule') END",
  auditTarget: `CASE WHEN json_valid(bytes) THEN ${member('target')} END`,
  auditActor: `CASE WHEN json_valid(bytes)
  THEN substr(${member('by')}, 1, instr(${member('by')} || ' (', ' (') - 1) END`,
};
