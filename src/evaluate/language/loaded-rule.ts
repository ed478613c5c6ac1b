// evaluate: a loaded rule: its checked condition, what it reads, and its tests. Compiling and testing need nothing else.

import type { Fact, Facts } from '../../domain/facts.ts';
import type { Rule } from '../../domain/rule.ts';
import type { VerdictName } from '../../domain/verdict.ts';
import type { Expression } from './expression.ts';
import type { Reads } from './reads.ts';

/** One event of a rule test: the subject's own, at a time before the test's now. */
export interface TestEvent {
  agoMs: number;
  times: number;
  /** Any field of an event; `type`, `sub_type`, `action`, `severity` and `result` have defaults. */
  body: Facts;
}

export interface RuleTest {
  name: string;
  /** Merged onto the sample record; `null` removes a field. */
  given: Facts;
  /** Records for `$owners` or `$devices`, each merged onto a sample; undefined: one unremarkable one. */
  joined: Facts[] | undefined;
  events: TestEvent[];
  /** What runs saw before: values by path, null for none. */
  history: { agoMs: number; values: Facts }[];
  /** Stretches for which the event log is not known and in which no run read anything, in ms before now. */
  gaps: { fromAgoMs: number; toAgoMs: number }[];
  /** The event log is unavailable. */
  eventsUnavailable: boolean;
  expect: VerdictName;
  /** Facts that the reasons must name; empty: any. */
  reasons: string[];
  line: number;
}

export interface LoadedRule extends Rule {
  /** `when`, checked and typed. */
  condition: Expression;
  reads: Reads;
  tests: RuleTest[];
  /** The file's text, as it was loaded. */
  text: string;
  /** The file's value, for mutants and the what-if of tests. */
  raw: { [key: string]: Fact };
}
