// evaluate: the flips of the verdicts that lead to new decisions, found while their record is there: it is dropped after judging.
// In: the windows and joins of a pass, and which flips are wanted. Out: a flip without secrets, or none. It never throws.
import { canonicalJson } from '../../domain/canonical.ts';
import type { Fact, Facts } from '../../domain/facts.ts';
import { redacted } from '../../domain/secrets.ts';
import type { Flip, JudgeContext, WantedFlips } from '../../domain/verdict.ts';
import { compileProgram } from '../compile/program.ts';
import type { Windows } from '../events/windows.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import { shown } from './evidence.ts';
import { findFlips } from './flips.ts';
import { type Judged, judgeWith } from './judge-once.ts';
import type { WithPast } from './judging-frame.ts';

/** Rules compare with few values: a flip that is not found by then has seldom been found later. */
const TRIES_MAX = 1_000;
/** Characters of a flip as JSON: a hostile record makes no row longer. */
const LENGTH_MAX = 10_000;

export type FlipOf = (
  rule: LoadedRule,
  subjectId: string,
  verdict: 'match' | 'no_match',
  record: Facts,
) => Flip | undefined;

/** Each rule is compiled alone when its first flip is wanted: a changed record must not reach the values that a pass counts. */
export function flipFinder(windows: Windows, context: JudgeContext & WithPast, wanted: WantedFlips): FlipOf {
  const prepared = new Map<string, (record: Facts) => Judged>();
  const judgeBy = (rule: LoadedRule): ((record: Facts) => Judged) => {
    const known = prepared.get(rule.id) ?? judgeWith(rule, compileProgram([rule]), windows, context);
    prepared.set(rule.id, known);
    return known;
  };
  return (rule, subjectId, verdict, record) => {
    const { budget } = wanted;
    if (budget.flips <= 0 || budget.tries <= 0 || !wanted.isNew(rule.id, subjectId, verdict)) return undefined;
    budget.flips--;
    try {
      return found(rule, record, judgeBy(rule)(record), budget);
    } catch {
      return undefined;
    }
  };
}

function found(rule: LoadedRule, record: Facts, judged: Judged, budget: WantedFlips['budget']): Flip | undefined {
  const own = { tries: Math.min(TRIES_MAX, budget.tries) };
  const before = own.tries;
  const [flip] = findFlips(rule, record, judged, own);
  budget.tries -= before - own.tries;
  if (!flip) return undefined;
  const changes = flip.changes.map(({ fact, from, to }) => ({ fact, from: kept(from, fact), to: kept(to, fact) }));
  // What cannot be written is no flip: a run does not fail for it.
  return canonicalJson(changes).length <= LENGTH_MAX ? { verdict: flip.verdict, changes } : undefined;
}

function kept(value: Fact | undefined, fact: string): Fact | undefined {
  return value === undefined ? undefined : redacted(shown(value), fact);
}
