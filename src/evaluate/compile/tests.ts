// evaluate: tests on texts and lists → closures: `in`, `matches`, `starts_with`, versions, groups.
// In: a typed call. Out: (frame) → truth, or undefined when the expression is no such test.

import { RE2JS } from 're2js';
import semver, { type SemVer } from 'semver';
import type { Fact } from '../../domain/facts.ts';
import type { Expression, ExpressionOf } from '../language/expression.ts';
import type { Condition, Frame } from '../language/frame.ts';
import { FALSE, Span, TRUE, type Truth, Unknown, type Value, worse } from '../language/three-valued.ts';
import { isOfType } from '../language/typed-value.ts';
import { nameOf } from '../language/wording.ts';
import type { Compiler } from './compiler.ts';
import { OVER_BUDGET } from './each.ts';

export function compileTest(expression: Expression, compiler: Compiler): Condition | undefined {
  if (expression.op === 'matches') return compileMatches(expression, compiler);
  if (expression.op !== 'call') return undefined;
  switch (expression.name) {
    case 'in':
      return expression.args[1]?.type.kind === 'list'
        ? compileInList(expression, compiler)
        : textTest(expression, compiler, (part, text) => text.includes(part));
    case 'starts_with':
      return textTest(expression, compiler, (text, part) => text.startsWith(part));
    case 'ends_with':
      return textTest(expression, compiler, (text, part) => text.endsWith(part));
    case 'in_group':
      return compileInGroup(expression, compiler);
    case 'version_lt':
    case 'version_lte':
    case 'version_gt':
    case 'version_gte':
      return compileVersion(expression, compiler);
    default:
      return undefined;
  }
}

/** A test on two texts; unknown when one of them is. */
function textTest(
  { args }: ExpressionOf<'call'>,
  compiler: Compiler,
  test: (a: string, b: string) => boolean,
): Condition {
  const [first, second] = args.map((arg) => compiler.value(arg, compiler));
  return (frame) => {
    const a = (first as (f: Frame) => Value)(frame);
    const b = (second as (f: Frame) => Value)(frame);
    if (a instanceof Unknown) return b instanceof Unknown ? worse(a.truth, b.truth) : a.truth;
    if (b instanceof Unknown) return b.truth;
    return test(a as string, b as string) ? TRUE : FALSE;
  };
}

function compileMatches(expression: ExpressionOf<'matches'>, compiler: Compiler): Condition {
  const value = compiler.value(expression.arg, compiler);
  const pattern = RE2JS.compile(expression.pattern);
  const overBudget = compiler.reasons.error(OVER_BUDGET).truth;
  return (frame) => {
    const text = value(frame);
    if (text instanceof Unknown) return text.truth;
    // Linear in the text, but a long one times a large pattern is still too long.
    frame.steps -= (text as string).length;
    if (frame.steps < 0) return overBudget;
    return pattern.matcher(text as string).find() ? TRUE : FALSE;
  };
}

function compileInList(expression: ExpressionOf<'call'>, compiler: Compiler): Condition {
  const [needle, hay] = expression.args as [Expression, Expression];
  const value = compiler.value(needle, compiler);
  if (hay.op === 'list' && hay.items.every((item) => item.op === 'literal')) {
    const members = new Set(hay.items.map((item) => (item as ExpressionOf<'literal'>).value));
    const counts = [...members].every((member) => typeof member === 'number');
    return (frame) => {
      const found = value(frame);
      if (found instanceof Unknown) return found.truth;
      if (found instanceof Span) return counts ? inSpan(found, members as Set<number>, compiler, needle) : FALSE;
      return members.has(found) ? TRUE : FALSE;
    };
  }
  if (hay.op === 'list') return compileInExpressions(value, hay, compiler);
  return compileInFact(value, needle, hay, compiler);
}

function inSpan(span: Span, members: ReadonlySet<number>, compiler: Compiler, needle: Expression): Truth {
  for (const member of members) {
    if (member >= span.lo && member <= span.hi) {
      const name = nameOf(needle).replaceAll('`', '');
      return compiler.reasons.unknown(name, `\`${name}\` is only known to lie between bounds: the event log has gaps`)
        .truth;
    }
  }
  return FALSE;
}

/** A list written in the rule with computed parts: one unknown part leaves room for doubt, unless another is it. */
function compileInExpressions(
  value: (frame: Frame) => Value,
  hay: ExpressionOf<'list'>,
  compiler: Compiler,
): Condition {
  const items = hay.items.map((item) => compiler.value(item, compiler));
  return (frame) => {
    const found = value(frame);
    let result: Truth = found instanceof Unknown ? found.truth : FALSE;
    for (const item of items) {
      const member = item(frame);
      if (member instanceof Unknown) result = result === FALSE ? member.truth : worse(result, member.truth);
      else if (member === found) return TRUE;
    }
    return result;
  };
}

function compileInFact(
  value: (frame: Frame) => Value,
  needle: Expression,
  hay: Expression,
  compiler: Compiler,
): Condition {
  const members = compiler.value(hay, compiler);
  const of = hay.type.kind === 'list' ? hay.type.of : needle.type;
  const label = nameOf(hay);
  const wrong = compiler.reasons.unknown(label.replaceAll('`', ''), `${label} holds something of another type`).truth;
  const overBudget = compiler.reasons.error(OVER_BUDGET).truth;
  return (frame) => {
    const found = value(frame);
    const all = members(frame);
    if (all instanceof Unknown) return found instanceof Unknown ? worse(found.truth, all.truth) : all.truth;
    if (found instanceof Unknown) return found.truth;
    let result: Truth = FALSE;
    const list = all as Fact[];
    frame.steps -= list.length;
    if (frame.steps < 0) return overBudget;
    for (let i = 0; i < list.length; i++) {
      const member = list[i] as Fact;
      if (member === found) return TRUE;
      if (typeof member !== typeof found && !isOfType(member, of)) result = wrong;
    }
    return result;
  };
}

/** Groups come as one comma-separated text, or as a list of names. */
function compileInGroup({ args }: ExpressionOf<'call'>, compiler: Compiler): Condition {
  const [groups, name] = args as [Expression, ExpressionOf<'literal'>];
  if (groups.type.kind === 'list') return compileInFact(() => name.value, name, groups, compiler);
  const value = compiler.value(groups, compiler);
  return (frame) => {
    const text = value(frame);
    if (text instanceof Unknown) return text.truth;
    return (text as string).split(',').some((group) => group.trim() === name.value) ? TRUE : FALSE;
  };
}

const VERSIONS_KEPT = 5_000;

/** Versions as people and platforms write them: `13.1`, `macOS 13.1`, `3.2.1-beta`. What is none is unknown. */
function compileVersion(expression: ExpressionOf<'call'>, compiler: Compiler): Condition {
  const sides = expression.args.map((arg) => versionOf(arg, compiler));
  const [first, second] = sides as [(frame: Frame) => SemVer | Unknown, (frame: Frame) => SemVer | Unknown];
  const { name } = expression;
  return (frame) => {
    const a = first(frame);
    const b = second(frame);
    if (a instanceof Unknown) return b instanceof Unknown ? worse(a.truth, b.truth) : a.truth;
    if (b instanceof Unknown) return b.truth;
    const order = semver.compare(a, b);
    const holds =
      name === 'version_lt'
        ? order < 0
        : name === 'version_lte'
          ? order <= 0
          : name === 'version_gt'
            ? order > 0
            : order >= 0;
    return holds ? TRUE : FALSE;
  };
}

function versionOf(arg: Expression, compiler: Compiler): (frame: Frame) => SemVer | Unknown {
  const value = compiler.value(arg, compiler);
  const label = nameOf(arg);
  const none = compiler.reasons.unknown(label.replaceAll('`', ''), `${label} is no version`);
  const known = new Map<string, SemVer | Unknown>();
  return (frame) => {
    const text = value(frame);
    if (typeof text !== 'string') return text as Unknown;
    const before = known.get(text);
    if (before) return before;
    const version = (text.length <= 256 && (semver.parse(text) ?? semver.coerce(text))) || none;
    if (known.size >= VERSIONS_KEPT) known.clear();
    known.set(text, version);
    return version;
  };
}
