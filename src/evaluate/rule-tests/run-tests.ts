// evaluate: runs the tests inside rules. In: loaded rules and a now. Out: a report: results, which conditions were seen
// true, false and unknown, tests that cannot fail, mutants that no test notices. Pure: the same rules, the same report.

import { giveWay } from '../../domain/give-way.ts';
import type { AtomCoverage, RuleTestReport, TestResult } from '../../domain/rule-tests.ts';
import type { Language } from '../check/scope.ts';
import { findFlips } from '../judge/flips.ts';
import { type Judged, prepareRule } from '../judge/judge-once.ts';
import type { Expression } from '../language/expression.ts';
import { textOf } from '../language/expression-text.ts';
import type { LoadedRule, RuleTest } from '../language/loaded-rule.ts';
import { FALSE, TRUE } from '../language/three-valued.ts';
import { keyOf, walk } from '../language/walk.ts';
import { LANGUAGE } from '../operators/index.ts';
import { arrangeTest } from './arrange-test.ts';
import { canBeUnknown } from './can-be-unknown.ts';
import { mutantsOf } from './mutants.ts';
import { secondOpinion } from './second-opinion.ts';

/** Rule tests are judged at this time unless another is given: 2026-01-15T12:00:00Z. */
export const TEST_NOW_MS = 1_768_478_400_000;

export interface TestReport {
  ok: boolean;
  rules: RuleTestReport[];
  passed: number;
  failed: number;
}

export interface TestOptions {
  nowMs?: number;
  /** Also find the changes of a rule that no test notices. */
  mutate?: boolean;
  /** The operators that the rules can use; the shipped ones by default. */
  language?: Language;
}

export function runRuleTests(rules: readonly LoadedRule[], options: TestOptions = {}): TestReport {
  const reports = rules.map((rule) => {
    const steps = testRule(rule, options);
    let step = steps.next();
    while (!step.done) step = steps.next();
    return step.value;
  });
  const tests = reports.flatMap((report) => report.tests);
  const passed = tests.filter((test) => test.ok).length;
  return { ok: reports.every((report) => report.ok), rules: reports, passed, failed: tests.length - passed };
}

/** The same report of one rule, with others given way to between two tests and two mutants. */
export async function testRuleInTurns(rule: LoadedRule, options: TestOptions = {}): Promise<RuleTestReport> {
  const steps = testRule(rule, options);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    await giveWay();
  }
}

/** Each step is short: a test, or a mutant over all tests. */
function* testRule(
  rule: LoadedRule,
  { nowMs = TEST_NOW_MS, mutate = false, language = LANGUAGE }: TestOptions,
): Generator<void, RuleTestReport> {
  const atoms = new Map<string, AtomCoverage>();
  const judge = prepareRule(rule, (expression, truth) => note(atoms, expression, truth));
  const judged: Judged[] = [];
  const tests: TestResult[] = [];
  for (const test of rule.tests) {
    const { record, events, context, past } = arrangeTest(rule, test, nowMs);
    const one = judge(record, events, context, past);
    judged.push(one);
    tests.push(resultOf(test, one));
    yield;
  }
  const mutants = mutate ? yield* tryMutants(rule, judged, nowMs, language) : undefined;
  const survivors = rule.tests.length === 0 ? [] : (mutants?.survivors ?? []);
  const unnoticed = survivors.map((survivor) => `no test notices: ${survivor}`);
  const problems = [...(yield* problemsOf(rule, judged, nowMs)), ...unnoticed];
  const coverage = [...atoms.values()];
  return {
    rule: rule.id,
    file: rule.file,
    ok: problems.length === 0 && tests.every((test) => test.ok),
    tests,
    problems,
    coverage,
    coveredPercent: percentOf(coverage),
    mutants,
  };
}

function note(atoms: Map<string, AtomCoverage>, expression: Expression, truth: number): void {
  const key = keyOf(expression);
  let atom = atoms.get(key);
  if (!atom) {
    atom = {
      text: textOf(expression),
      seenTrue: false,
      seenFalse: false,
      seenUnknown: canBeUnknown(expression) ? false : 'never',
    };
    atoms.set(key, atom);
  }
  if (truth === TRUE) atom.seenTrue = true;
  else if (truth === FALSE) atom.seenFalse = true;
  else atom.seenUnknown = true;
}

function resultOf(test: RuleTest, judged: Judged): TestResult {
  const got = judged.verdict;
  const message = failureOf(test, judged);
  return { name: test.name, line: test.line, expected: test.expect, got, ok: message === undefined, message };
}

function failureOf(test: RuleTest, judged: Judged): string | undefined {
  if (judged.verdict !== test.expect) {
    const why = judged.missing.length > 0 ? ` (${judged.program.reasons.of(judged.truth).text})` : '';
    return `expected ${test.expect}, got ${judged.verdict}${why}`;
  }
  const absent = test.reasons.filter((reason) => !judged.missing.includes(reason));
  if (absent.length > 0) {
    return `expected the reason ${absent.map((each) => `\`${each}\``).join(', ')}, got ${judged.missing.map((each) => `\`${each}\``).join(', ') || 'none'}`;
  }
  const opinion = secondOpinion(judged);
  if (opinion === undefined || opinion === (judged.verdict === 'match')) return undefined;
  return `json-logic-js disagrees: it gives ${opinion ? 'match' : 'no_match'}`;
}

function* problemsOf(rule: LoadedRule, judged: readonly Judged[], nowMs: number): Generator<void, string[]> {
  const first = judged[0];
  if (!first) return ['the rule has no tests'];
  if (!rule.tests.some((test) => test.expect === 'match'))
    return ['no test expects `match`: that the rule ever acts is not tested'];
  const differ = judged.some((each) => each.verdict !== first.verdict);
  if (differ || !isFlippable(rule)) return [];
  for (const test of rule.tests) {
    yield;
    if (hasFlip(rule, test, nowMs)) return [];
  }
  return [`its tests cannot fail: no change of facts was found that gives another verdict than ${first.verdict}`];
}

function hasFlip(rule: LoadedRule, test: RuleTest, nowMs: number): boolean {
  const { record, events, context, past } = arrangeTest(rule, test, nowMs);
  return findFlips(rule, record, prepareRule(rule)(record, events, context, past)).length > 0;
}

/** Whether flips can be found for everything that the rule reads. Elements and joined records are not changed. */
function isFlippable(rule: LoadedRule): boolean {
  let flippable = true;
  walk(rule.condition, (part) => {
    if (part.op === 'call' && part.operator.body) flippable = false;
    if (part.op === 'fact' && part.fact.label.startsWith('$')) flippable = false;
  });
  return flippable;
}

/** Survivors are the mutants that give every test the same verdict. */
function* tryMutants(
  rule: LoadedRule,
  judged: readonly Judged[],
  nowMs: number,
  language: Language,
): Generator<void, { tried: number; survivors: string[] }> {
  const arranged = rule.tests.map((test) => arrangeTest(rule, test, nowMs));
  const found = { tried: 0, survivors: [] as string[] };
  for (const mutant of mutantsOf(rule, language)) {
    const judge = prepareRule(mutant.rule);
    const survives = arranged.every(
      ({ record, events, context, past }, index) =>
        judge(record, events, context, past).verdict === judged[index]?.verdict,
    );
    found.tried += 1;
    if (survives) found.survivors.push(mutant.description);
    yield;
  }
  return found;
}

function percentOf(coverage: readonly AtomCoverage[]): number {
  const seen = coverage.flatMap(({ seenTrue, seenFalse, seenUnknown }) =>
    seenUnknown === 'never' ? [seenTrue, seenFalse] : [seenTrue, seenFalse, seenUnknown],
  );
  if (seen.length === 0) return 0;
  return Math.floor((100 * seen.filter(Boolean).length) / seen.length);
}
