// store: the decisions in force in one run: those that it wrote, and unchanged ones of earlier runs. In: a run, columns. Out: SQL with its values.
// INVARIANT: an index serves both halves, so that what ended before the run is not read. They are named: others would read all that was
// ever decided by a rule.
import { isOfLook } from '../domain/run.ts';
import type { RunRecord } from '../domain/store.ts';
import type { Dialect } from './dialect.ts';

export interface InForce {
  /** A SELECT in brackets. */
  sql: string;
  values: (string | number)[];
}

/** `rule`: only of this one. */
export function inForceIn({ by }: Dialect, run: RunRecord, columns: string, rule?: string): InForce {
  const judged = judgedRulesOf(run).filter((one) => rule === undefined || one === rule);
  // A run of a look is about a few subjects: what earlier runs decided about all others is not its own.
  const own = isOfLook(run) ? `AND run_seq >= ${run.seq}` : '';
  const rest = `rule IN (SELECT value FROM json_each(?)) AND run_seq <= ? ${own}`;
  const open = `SELECT ${columns} FROM decisions ${by('decisions_standing')} WHERE ended_seq IS NULL AND ${rest}`;
  const ended = `SELECT ${columns} FROM decisions ${by('decisions_ended')} WHERE ended_seq > ? AND ${rest}`;
  const values = [JSON.stringify(judged), run.seq];
  return { sql: `(${open} UNION ALL ${ended}) AS in_force`, values: [...values, run.seq, ...values] };
}

/** Rules whose decisions a run's report shows: those that it judged or, if it broke off, was asked to judge. */
function judgedRulesOf(run: RunRecord): string[] {
  return run.findings ? run.findings.tallies.filter((tally) => tally.judged).map((tally) => tally.rule) : [];
}
