// domain: what the tests inside one rule show: their results, which conditions they cover, and which changes of the rule none of them
// notices. evaluate/ makes it, reports and the page show it.
import type { VerdictName } from './verdict.ts';

export interface TestResult {
  name: string;
  line: number;
  expected: VerdictName;
  got: VerdictName;
  ok: boolean;
  /** Why it is not ok; else undefined. */
  message: string | undefined;
}

/** One condition other than `and`, `or`, `not` and `if`, and the values that tests saw. */
export interface AtomCoverage {
  text: string;
  seenTrue: boolean;
  seenFalse: boolean;
  /** `never`: it cannot be unknown. */
  seenUnknown: boolean | 'never';
}

/** The values that an atom was never seen to have. */
export function unseenOf(atom: AtomCoverage): string[] {
  return [
    ...(atom.seenTrue ? [] : ['true']),
    ...(atom.seenFalse ? [] : ['false']),
    ...(atom.seenUnknown === false ? ['unknown'] : []),
  ];
}

export interface RuleTestReport {
  rule: string;
  file: string;
  ok: boolean;
  tests: TestResult[];
  /** Problems of the rule's tests as a whole. */
  problems: string[];
  coverage: AtomCoverage[];
  /** How many of the values that the atoms can have were seen; 0 to 100. */
  coveredPercent: number;
  /** Only when asked for. `survivors`: changes of the rule that no test notices. */
  mutants: { tried: number; survivors: string[] } | undefined;
}
