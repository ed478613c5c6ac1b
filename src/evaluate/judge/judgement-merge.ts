// evaluate: the judgements of the parts of one pass → the judgement of the pass. In: parts, in the order of their records, and the
// program that judged them. Out: what one pass over all records gives. It never depends on which thread judged which part.
import type { SubjectKind } from '../../domain/subjects.ts';
import type { JudgementMerge, Match, OpenVerdict, RuleTally } from '../../domain/verdict.ts';
import type { Program } from '../compile/program.ts';
import { ValueMerge } from '../facts/value-merge.ts';
import { addWhy, EXAMPLES_MAX, newTally } from './judge.ts';

export function mergeJudgements(kind: SubjectKind, program: Program): JudgementMerge {
  const tallies = program.rules.map(({ rule }) => newTally(rule.id));
  const matches: Match[] = [];
  const open: OpenVerdict[] = [];
  const values = new Map<string, ValueMerge>();
  const isExampleWanted = new Uint8Array(new SharedArrayBuffer(tallies.length)).fill(1);
  let judged = 0;
  return {
    isExampleWanted,
    add(part) {
      judged += part.judged;
      part.tallies.forEach((tally, index) => {
        const sum = tallies[index] as RuleTally;
        addTally(sum, tally);
        if (sum.examples.length >= EXAMPLES_MAX) isExampleWanted[index] = 0;
      });
      for (const match of part.matches) matches.push(match);
      for (const verdict of part.open) open.push(verdict);
      for (const [path, counted] of Object.entries(part.values)) {
        const counts = values.get(path) ?? new ValueMerge();
        values.set(path, counts);
        counts.add(counted);
      }
    },
    finish() {
      const counted = [...values].map(([path, counts]) => [path, counts.result(path)] as const);
      return { kind, judged, tallies, matches, open, values: Object.fromEntries(counted) };
    },
  };
}

function addTally(sum: RuleTally, part: RuleTally): void {
  sum.match += part.match;
  sum.no_match += part.no_match;
  sum.unknown += part.unknown;
  sum.error += part.error;
  for (const [fact, count] of Object.entries(part.missing)) sum.missing[fact] = (sum.missing[fact] ?? 0) + count;
  for (const [fact, whys] of Object.entries(part.whys ?? {})) for (const why of whys) addWhy(sum, fact, why);
  sum.examples.push(...part.examples.slice(0, EXAMPLES_MAX - sum.examples.length));
}
