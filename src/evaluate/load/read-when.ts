// evaluate: a rule's condition, with its freshness timestamps and the fields it declares → a typed condition.
// In: the rule's value. Out: the condition and what it reads, or problems.

import { parseDuration } from '../../domain/duration.ts';
import { type Fact, type Facts, isFacts } from '../../domain/facts.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import { checkConstants } from '../check/constants.ts';
import { checkCondition } from '../check/expression.ts';
import type { Language, Scope } from '../check/scope.ts';
import { measure } from '../check/size.ts';
import type { Expression, Freshness } from '../language/expression.ts';
import { didYouMean } from '../language/nearest-name.ts';
import type { Problems } from '../language/problem.ts';
import type { Reads } from '../language/reads.ts';
import { ownPart } from '../language/typed-value.ts';
import { walk } from '../language/walk.ts';
import { fieldAt, pathsOf, typeName, type ValueType } from '../record-types/field-types.ts';
import { declareFields } from './declared-fields.ts';
import { type RuleFile, ruleSchema } from './rule-format.ts';

/** Checks a rule's `when` with its `fresh` and `declares`, and fills `reads`. Undefined when there are problems. */
export function readWhen(
  value: Facts,
  subject: SubjectKind,
  language: Language,
  reads: Reads,
  problems: Problems,
): Expression | undefined {
  const when = ownPart(value, 'when');
  if (when === undefined) {
    problems.add('format', [], '`when` is missing; expected a condition in JSON Logic');
    return undefined;
  }
  const tooMuch = measure(when);
  if (tooMuch) {
    problems.add(tooMuch.code, ['when'], tooMuch.message);
    return undefined;
  }
  const declares = declaresOf(value);
  const { root, eventRoot } = declareFields(subject, declares, problems);
  const fresh = readFresh(ownPart(value, 'fresh'), root, problems);
  const before = problems.list.length;
  const scope: Scope = {
    language,
    eventRoot,
    subject,
    root,
    item: undefined,
    itemSource: undefined,
    fresh,
    reads,
    problem: (code, place, message) => problems.add(code, place, message),
  };
  let condition = checkCondition(when, ['when'], scope);
  if (problems.list.length > before) return undefined;
  // A timestamp covers the facts beside it. Where the rule reads none of these, it covers the whole record.
  if (fresh.some((each) => !each.used)) {
    for (const each of fresh) if (!each.used) each.parent = [];
    condition = checkCondition(when, ['when'], scope);
    fresh.forEach(({ freshness, used }) => {
      if (!used)
        problems.add(
          'fresh',
          ['fresh', freshness.label],
          `\`${freshness.label}\` has no effect: \`when\` reads no fact of the record`,
        );
    });
  }
  if (!readsSomething(condition)) {
    problems.add('format', ['when'], '`when` reads no fact, so it would be the same for every subject');
  } else checkConstants(condition, (place, message) => problems.add('value', place, message));
  return problems.list.length > before ? undefined : condition;
}

/** A condition that reads nothing is the same for every subject. */
function readsSomething(condition: Expression): boolean {
  let reads = false;
  walk(condition, (part) => {
    if (part.op === 'fact' || (part.op === 'call' && part.operator.looksIn)) reads = true;
  });
  return reads;
}

function declaresOf(value: Facts): RuleFile['declares'] {
  const parsed = ruleSchema.shape.declares.safeParse(ownPart(value, 'declares'));
  return parsed.success ? parsed.data : {};
}

function readFresh(
  raw: Fact | undefined,
  root: ValueType,
  problems: Problems,
): { freshness: Freshness; parent: string[]; used: boolean }[] {
  if (!isFacts(raw)) return [];
  return Object.entries(raw).flatMap(([path, written]) => {
    const ms = typeof written === 'string' ? parseDuration(written) : undefined;
    const segments = path.split('.');
    const field = fieldAt(root, segments);
    if (!field)
      problems.add('path', ['fresh', path], `there is no field \`${path}\`${didYouMean(path, pathsOf(root))}`);
    else if (field.type.kind !== 'time') {
      problems.add(
        'fresh',
        ['fresh', path],
        `\`fresh\` takes timestamps, but \`${path}\` is ${typeName(field.type)}${timestampHint(root, segments)}`,
      );
    } else if (ms !== undefined)
      return [{ freshness: { path: segments, label: path, ms }, parent: segments.slice(0, -1), used: false }];
    return [];
  });
}

function timestampHint(root: ValueType, segments: readonly string[]): string {
  const parent = segments.slice(0, -1);
  const beside = pathsOf(root).find(
    (path) =>
      path.split('.').slice(0, -1).join('.') === parent.join('.') &&
      fieldAt(root, path.split('.'))?.type.kind === 'time',
  );
  return beside ? `; did you mean \`${beside}\`?` : '';
}
