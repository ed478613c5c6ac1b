// bench: how the rule language answers the tests of JSON Logic's community. In: a folder (or a file) of suites in JSON: lists of
// `{ description, rule, data, result | error }`, or of [rule, data, result] as the first ones were; texts between them are headings.
// Out: how many agree, are unknown, are refused (by reason) and disagree, for each file. Each operand has the type that `data` shows.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import jsonLogic from 'json-logic-js';
import { AppError, lineOf } from '../src/domain/errors.ts';
import { type Fact, type Facts, isFacts } from '../src/domain/facts.ts';
import { check, measure, type Scope, unify } from '../src/rules/check/scope.ts';
import { newCompiler } from '../src/rules/compile/expressions.ts';
import { newFrame } from '../src/rules/compile/program.ts';
import { Span, Unknown } from '../src/rules/language/expression.ts';
import { noReads } from '../src/rules/language/loaded-rule.ts';
import { LANGUAGE } from '../src/rules/operators/operators.ts';
import { ANY, BOOLEAN, NUMBER, REFUSED, TEXT, type ValueType } from '../src/rules/record-types/field-types.ts';

interface Asked {
  rule: Fact;
  data: Fact;
  /** Absent: an error is expected. */
  result?: Fact;
}

/** `refused:type`, say, for the code of the first problem. */
export type Outcome = 'agree' | 'unknown' | 'disagree' | `refused:${string}`;

/** The answers to a suite, each with its test. */
export function answersOf(suite: readonly Fact[]): { asked: Asked; outcome: Outcome }[] {
  return suite.flatMap((one) => askedBy(one) ?? []).map((asked) => ({ asked, outcome: outcomeOf(asked) }));
}

function askedBy(one: Fact): Asked | undefined {
  if (typeof one === 'string') return undefined;
  if (Array.isArray(one)) return { rule: one[0] as Fact, data: one[1] as Fact, result: one[2] as Fact };
  if (!isFacts(one) || !('rule' in one)) throw new AppError('usage', 'a test is a list of three, or has a `rule`');
  const { rule, data = null, result } = one;
  return { rule: rule as Fact, data, ...('error' in one ? {} : { result: result as Fact }) };
}

function outcomeOf({ rule, data, ...expected }: Asked): Outcome {
  const isErrorExpected = !('result' in expected);
  const codes: string[] = [];
  const scope: Scope = {
    language: LANGUAGE,
    ...{ subject: 'device', root: REFUSED, eventRoot: REFUSED, itemSource: undefined, fresh: [] },
    ...{ lists: new Map(), transmitters: new Map(), given: new Map() },
    item: typeOf(data),
    reads: noReads(),
    problem: (code) => codes.push(code),
  };
  const code = measure(rule)?.code;
  const expression = code === undefined ? check(rule, ['rule'], scope) : undefined;
  if (!expression || codes.length > 0) return isErrorExpected ? 'agree' : `refused:${code ?? codes[0]}`;
  const compiler = newCompiler();
  const value = compiler.value(expression);
  const nothing = () => compiler.reasons.error('nothing is joined here');
  const readers = { readVirtual: nothing, readPast: nothing, showPast: () => undefined };
  const frame = newFrame({ rules: 1, slots: compiler.slots.size, truths: compiler.sharedCount }, 0, readers);
  Object.assign(frame, { item: data, turn: 1 });
  const found = value(frame);
  if (found instanceof Unknown) return found.isError && isErrorExpected ? 'agree' : 'unknown';
  if (isErrorExpected || found instanceof Span) return 'disagree';
  // `and` and `or` over lists stand only where a truth is needed.
  const isTruth = expression.type.kind === 'condition';
  const wanted = isTruth ? jsonLogic.truthy(expected.result) : expected.result;
  return isDeepStrictEqual(found, wanted) ? 'agree' : 'disagree';
}

function typeOf(value: Fact): ValueType {
  if (typeof value === 'string') return TEXT;
  if (typeof value === 'boolean') return BOOLEAN;
  if (typeof value === 'number' || typeof value === 'bigint') return NUMBER;
  if (Array.isArray(value)) return { kind: 'list', of: value.map(typeOf).reduce((a, b) => unify(a, b) ?? ANY, ANY) };
  if (!isFacts(value)) return ANY;
  return { kind: 'record', fields: new Map(fieldsOf(value)) };
}

const fieldsOf = (record: Facts) =>
  Object.entries(record).map(([name, value]) => [name, { type: typeOf(value) }] as const);

/** `agree 5, unknown 1, refused 2 (operator 1, type 1), disagree 0`. */
export function tallied(outcomes: readonly Outcome[]): string {
  const of = (start: string) => outcomes.filter((outcome) => outcome.startsWith(start));
  const reasons = [...new Set(of('refused:'))].sort().map((one) => `${one.slice('refused:'.length)} ${of(one).length}`);
  const refused = `refused ${of('refused:').length}${reasons.length > 0 ? ` (${reasons.join(', ')})` : ''}`;
  return [
    `agree ${of('agree').length}`,
    `unknown ${of('unknown').length}`,
    refused,
    `disagree ${of('disagree').length}`,
  ].join(', ');
}

function suitesIn(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  const files = readdirSync(path, { recursive: true, encoding: 'utf8' }).sort();
  return files.filter((name) => name.endsWith('.json')).map((name) => join(path, name));
}

function run(path: string | undefined): void {
  if (path === undefined)
    throw new AppError('usage', 'give a folder of suites: npm run conformance:jsonlogic -- FOLDER');
  const all: Outcome[] = [];
  for (const file of suitesIn(path)) {
    const suite = JSON.parse(readFileSync(file, 'utf8')) as Fact;
    if (!Array.isArray(suite)) continue; // an index of suites
    const answers = answersOf(suite);
    all.push(...answers.map(({ outcome }) => outcome));
    process.stdout.write(`${file}: ${tallied(answers.map(({ outcome }) => outcome))}\n`);
    for (const { asked, outcome } of answers)
      if (outcome === 'disagree' || outcome === 'unknown')
        process.stdout.write(`  ${outcome}: ${JSON.stringify(asked)}\n`);
  }
  process.stdout.write(`${tallied(all)}\n`);
}

if (import.meta.main)
  try {
    run(process.argv[2]);
  } catch (error) {
    process.stderr.write(`${lineOf(error)}\n`);
    process.exitCode = 2;
  }
