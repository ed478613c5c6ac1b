// web: how many subjects each rule matched in its last runs. In: the store. Out: by rule, the newest run first. Runs that did not judge a
// rule have nothing of it.
import type { RunTallies } from '../../../domain/run.ts';
import type { HttpDeps } from '../../../http/deps.ts';

const RUNS = 30;

export interface RunTally extends Omit<RunTallies['tallies'][number], 'rule'> {
  seq: number;
  at: number;
}

export async function lastTallies({ reader }: Pick<HttpDeps, 'reader'>): Promise<Map<string, RunTally[]>> {
  const byRule = new Map<string, RunTally[]>();
  for (const { seq, at, tallies } of await reader.ruleTallies(RUNS)) {
    for (const { rule, ...counts } of tallies) {
      const known = byRule.get(rule);
      if (known) known.push({ seq, at, ...counts });
      else byRule.set(rule, [{ seq, at, ...counts }]);
    }
  }
  return byRule;
}
