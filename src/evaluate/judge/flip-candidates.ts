// evaluate: which values of which facts can flip a verdict: those that the rule itself compares with.
// In: a rule and a record. Out: changes of one fact each, the simplest first.
import { type Fact, type Facts, isFacts } from '../../domain/facts.ts';
import type { Slot } from '../compile/compiler.ts';
import type { Expression, PathFact } from '../language/expression.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import { Unknown } from '../language/three-valued.ts';
import { isAbsent, ownAt } from '../language/typed-value.ts';
import { factsIn, isReadLate, walk } from '../language/walk.ts';
import type { TimeUnit, ValueType } from '../record-types/field-types.ts';
import { fieldAt } from '../record-types/field-types.ts';
import { recordType } from '../record-types/index.ts';
import { shown, slotValue } from './evidence.ts';
import type { Judged } from './judge-once.ts';

/** A change of one fact: of the record at a path, or of an event count. */
export interface Change {
  fact: string;
  at: { path: string[] } | { slot: number };
  from: Fact | undefined;
  to: Fact | undefined;
}

const PER_FACT_MAX = 16;

export function candidatesFor(rule: LoadedRule, record: Facts, judged: Judged): Change[] {
  const literals = literalsByFact(rule.condition);
  const changes: Change[] = [];
  for (const slot of judged.rule.slots) {
    const { fact } = slot;
    const compared = literals.get(fact.key) ?? [];
    if (fact.kind === 'events') {
      const from = presentValue(slot, judged);
      for (const to of numbersAround(compared).filter((value) => value >= 0 && Number.isInteger(value)))
        changes.push({ fact: fact.label, at: { slot: slot.index }, from, to });
    } else if (fact.kind === 'look_back') changes.push(...pastChanges(slot, compared, judged));
    else if (!isReadLate(fact)) changes.push(...pathChanges(fact, compared, record, judged.frame.nowMs));
  }
  changes.push(...missingChanges(rule, record));
  return changes;
}

function pastChanges(slot: Slot, compared: readonly Fact[], judged: Judged): Change[] {
  const { fact, index } = slot;
  const from = presentValue(slot, judged);
  return valuesFor(fact.type, compared, from, judged.frame.nowMs)
    .slice(0, PER_FACT_MAX)
    .filter((to) => to !== from)
    .map((to): Change => ({ fact: fact.label, at: { slot: index }, from, to }));
}

function pathChanges(fact: PathFact, compared: readonly Fact[], record: Facts, nowMs: number): Change[] {
  const from = ownAt(record, fact.path);
  const values = valuesFor(fact.type, compared, from, nowMs).slice(0, PER_FACT_MAX);
  const own = values
    .filter((to) => to !== from)
    .map((to): Change => ({ fact: fact.label, at: { path: fact.path }, from, to }));
  // A fact is unknown while its freshness timestamp is old: then the timestamp is the fact to change.
  const fresh = fact.fresh.map(
    ({ path, label }): Change => ({ fact: label, at: { path }, from: ownAt(record, path), to: timeIn('ns', nowMs) }),
  );
  return [...own, ...fresh];
}

function valuesFor(type: ValueType, compared: readonly Fact[], from: Fact | undefined, nowMs: number): Fact[] {
  const texts = compared.filter((value) => typeof value === 'string');
  switch (type.kind) {
    case 'flag':
      return ['TRUE', 'FALSE'];
    case 'boolean':
      return [true, false];
    case 'text':
      return textValues(type, texts, from);
    case 'number':
      return numbersAround(compared);
    case 'score':
      return numbersAround(compared).filter((value) => value >= 0 && value <= 100);
    case 'time':
      return timesAround(type.unit, compared, nowMs);
    case 'list':
      return type.of.kind === 'record' ? [[]] : [[], ...texts.map((text) => [text])];
    default:
      return texts;
  }
}

/** The texts it is compared with, and another one that the field is known to have. */
function textValues(type: ValueType & { kind: 'text' }, texts: readonly string[], from: Fact | undefined): Fact[] {
  const other =
    type.values?.find((value) => !texts.includes(value)) ?? (type.style === 'version' ? '0.0.0' : '(another)');
  if (type.style === 'groups')
    return [...texts.map((text) => (typeof from === 'string' && from !== '' ? `${from},${text}` : text)), other];
  return type.style === 'version' ? [...texts, '0.0.0', '9999.0.0'] : [...texts, other];
}

function numbersAround(compared: readonly Fact[]): number[] {
  const numbers = compared.filter((value) => typeof value === 'number');
  return [...new Set(numbers.flatMap((value) => [value, value + 1, value - 1]))];
}

/** Moments at, before and after the ages that it is compared with; and now. */
function timesAround(unit: TimeUnit, compared: readonly Fact[], nowMs: number): Fact[] {
  const ages = compared.filter((value) => typeof value === 'number' && value >= 0 && value < 4e9) as number[];
  const moments = [
    nowMs,
    ...ages.flatMap((seconds) => [
      nowMs - seconds * 1_000,
      nowMs - (seconds + 1) * 1_000,
      nowMs - (seconds - 1) * 1_000,
    ]),
  ];
  return moments.filter((ms) => ms > 1e11).map((ms) => timeIn(unit, ms));
}

function timeIn(unit: TimeUnit, ms: number): Fact {
  return unit === 'ms' || unit === 'any'
    ? Math.trunc(ms)
    : unit === 's'
      ? Math.trunc(ms / 1_000)
      : BigInt(Math.trunc(ms)) * 1_000_000n;
}

/** Fields that `missing` asks for: removed when present, added when absent. */
function missingChanges(rule: LoadedRule, record: Facts): Change[] {
  const paths = new Set<string>();
  walk(rule.condition, (part) => {
    if (part.op !== 'call' || part.operator.looksIn !== 'record') return;
    walk(part, (path) => {
      if (path.op === 'literal' && typeof path.value === 'string' && !path.value.startsWith('$')) paths.add(path.value);
    });
  });
  return [...paths].map((label): Change => {
    const path = label.split('.');
    const from = ownAt(record, path);
    const type = fieldAt(recordType(rule.subject), path)?.type;
    return {
      fact: label,
      at: { path },
      from,
      to: isAbsent(from, type?.kind === 'time') ? sampleOf(type) : undefined,
    };
  });
}

function sampleOf(type: ValueType | undefined): Fact {
  switch (type?.kind) {
    case 'flag':
      return 'FALSE';
    case 'number':
    case 'score':
      return 1;
    case 'time':
      return 1;
    case 'boolean':
      return false;
    case 'list':
      return [];
    default:
      return '(a value)';
  }
}

/** The literals that stand in one comparison or test with a fact. */
function literalsByFact(condition: Expression): Map<string, Fact[]> {
  const byFact = new Map<string, Fact[]>();
  walk(condition, (part) => {
    const isLeaf = part.op === 'call' && !part.operator.joins && !part.operator.body && !part.operator.looksIn;
    if (!isLeaf) return;
    const literals: Fact[] = [];
    walk(part, (inner) => {
      if (inner.op === 'literal' && !isFacts(inner.value)) literals.push(inner.value);
    });
    for (const fact of factsIn(part)) byFact.set(fact.key, [...(byFact.get(fact.key) ?? []), ...literals]);
  });
  return byFact;
}

/** The present value of a count, for the `from` of a change. */
function presentValue(slot: Slot, judged: Judged): Fact | undefined {
  const value = slotValue(slot, judged.frame);
  return value === undefined || value instanceof Unknown ? undefined : shown(value);
}
