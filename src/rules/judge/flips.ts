// rules: the smallest change of at most two facts that gives a rule another verdict on a record.
// In: a judged rule. Out: for each verdict that can be reached, the fewest facts to change. Bounded; changes nothing.
import { type Fact, type Facts, isFacts } from '../../domain/facts.ts';
import { TRUST_LEVELS, type TrustLevel } from '../../domain/platform-values.ts';
import { ANOTHER_TEXT, type Flip, type VerdictName } from '../../domain/verdict.ts';
import type { Slot } from '../compile/expressions.ts';
import {
  type Expression,
  FALSE,
  factsIn,
  isAbsent,
  isReadLate,
  ownAt,
  type PathFact,
  STEPS_MAX,
  TRUE,
  type Truth,
  Unknown,
  walk,
} from '../language/expression.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import { fieldAt, recordType, type TimeUnit, type ValueType } from '../record-types/field-types.ts';
import { type Change, timeIn, withRanges } from './flip-ranges.ts';
import { type Judged, shown, slotValue, verdictOf } from './judge-once.ts';

// Which values of which facts can flip a verdict: those that the rule itself compares with.

const PER_FACT_MAX = 16;
/** Times of every hour of a day, each with its neighbours. */
const PER_TIME_MAX = 80;

function candidatesFor(rule: LoadedRule, record: Facts, judged: Judged): Change[] {
  const literals = literalsByFact(rule.condition);
  const changes: Change[] = [];
  for (const slot of judged.rule.slots) {
    const { fact } = slot;
    const compared = literals.get(fact.key) ?? [];
    if (fact.kind === 'look_back' || (fact.kind === 'events' && fact.count.what === 'last_signal'))
      changes.push(...pastChanges(slot, compared, judged));
    else if (fact.kind === 'events') {
      const from = presentValue(slot, judged);
      const measure = fact.type.kind === 'seconds' ? 'seconds' : undefined;
      for (const to of numbersAround(compared).filter((value) => value >= 0 && Number.isInteger(value)))
        changes.push({ fact: fact.label, at: { slot: slot.index }, from, to, measure });
    } else if (!isReadLate(fact)) changes.push(...pathChanges(fact, compared, record, judged.frame.nowMs));
  }
  changes.push(...missingChanges(rule, record, judged.frame.nowMs));
  // What names a value says more than any other value.
  const isVague = ({ to }: Change) => to === ANOTHER_TEXT;
  return [...changes.filter((one) => !isVague(one)), ...changes.filter(isVague)];
}

function pastChanges(slot: Slot, compared: readonly Fact[], judged: Judged): Change[] {
  const { fact, index } = slot;
  const from = presentValue(slot, judged);
  return valuesFor(fact.type, compared, from, judged.frame.nowMs)
    .slice(0, PER_FACT_MAX)
    .filter((to) => to !== from)
    .map((to): Change => ({ fact: fact.label, at: { slot: index }, from, to, measure: undefined }));
}

function pathChanges(fact: PathFact, compared: readonly Fact[], record: Facts, nowMs: number): Change[] {
  const from = ownAt(record, fact.path);
  const values = valuesFor(fact.type, compared, from, nowMs).slice(
    0,
    fact.type.kind === 'time' ? PER_TIME_MAX : PER_FACT_MAX,
  );
  const own = values
    .filter((to) => to !== from)
    .map((to): Change => ({ fact: fact.label, at: { path: fact.path }, from, to, measure: unitOf(fact.type) }));
  // A fact is unknown while its freshness timestamp is old: then the timestamp is the fact to change.
  const fresh = fact.fresh.map(({ path, label }): Change => {
    const to = timeIn('ns', nowMs);
    return { fact: label, at: { path }, from: ownAt(record, path), to, measure: 'ns' };
  });
  return [...own, ...fresh];
}

function unitOf(type: ValueType | undefined): TimeUnit | undefined {
  return type?.kind === 'time' ? type.unit : undefined;
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
    type.values?.find((value) => !texts.includes(value)) ?? (type.style === 'version' ? '0.0.0' : ANOTHER_TEXT);
  if (type.style === 'groups')
    return [...texts.map((text) => (typeof from === 'string' && from !== '' ? `${from},${text}` : text)), other];
  if (type.style === 'level') return [...texts, ...nearestLevels(from)];
  return type.style === 'version' ? [...texts, '0.0.0', '9999.0.0'] : [...texts, other];
}

function nearestLevels(from: Fact | undefined): TrustLevel[] {
  const at = TRUST_LEVELS.indexOf(from as TrustLevel);
  const distance = (level: TrustLevel) => Math.abs(TRUST_LEVELS.indexOf(level) - at);
  return [...TRUST_LEVELS].sort((a, b) => distance(a) - distance(b));
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

/** Fields that `missing` asks for: removed when present, added when absent. */
function missingChanges(rule: LoadedRule, record: Facts, nowMs: number): Change[] {
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
      to: isAbsent(from, type?.kind === 'time') ? sampleOf(type, nowMs) : undefined,
      measure: unitOf(type),
    };
  });
}

function sampleOf(type: ValueType | undefined, nowMs: number): Fact {
  switch (type?.kind) {
    case 'flag':
      return 'FALSE';
    case 'number':
    case 'score':
      return 1;
    case 'time':
      return timeIn(type.unit, nowMs);
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
      if (inner.op === 'call') literals.push(...(inner.operator.agesToTry ?? []));
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

/** How many changes may still be tried. One that takes loops counts as several. */
interface TryBudget {
  tries: number;
}

const TRIES_MAX = 20_000;
/** Steps of loops that take about as long as one try. */
const STEPS_OF_A_TRY = 100;

/** `budget`: what is tried is taken from it. */
export function findFlips(
  rule: LoadedRule,
  record: Facts,
  judged: Judged,
  budget: TryBudget = { tries: TRIES_MAX },
): Flip[] {
  const wanted: VerdictName[] =
    judged.verdict === 'match' ? ['no_match'] : judged.verdict === 'no_match' ? ['match'] : ['match', 'no_match'];
  const candidates = candidatesFor(rule, record, judged);
  const ask = asker(record, judged);
  const found = new Map<VerdictName, Flip>();
  const isOver = () => found.size === wanted.length || budget.tries <= 0;
  const tried = (changes: Change[]): VerdictName => {
    const verdict = ask(changes);
    budget.tries -= 1 + Math.floor((STEPS_MAX - judged.frame.steps) / STEPS_OF_A_TRY);
    return verdict;
  };
  const attempt = (changes: Change[]): void => {
    if (isOver()) return;
    const verdict = tried(changes);
    if (!wanted.includes(verdict) || found.has(verdict)) return;
    const ranged = withRanges(rule, judged, changes, (others) => budget.tries > 0 && tried(others) === verdict);
    // Where the tries ended meanwhile, a range may be shorter than it is.
    const kept = budget.tries > 0 ? ranged : changes;
    found.set(verdict, {
      verdict,
      changes: kept.map(({ fact, from, to, range }) => ({ fact, from, to, ...(range && { range }) })),
    });
  };
  for (const change of candidates) attempt([change]);
  for (let i = 0; i < candidates.length && !isOver(); i++) {
    for (let j = i + 1; j < candidates.length; j++) {
      const [a, b] = [candidates[i] as Change, candidates[j] as Change];
      if (a.fact !== b.fact) attempt([a, b]);
    }
  }
  restore(record, judged);
  return wanted.flatMap((verdict) => found.get(verdict) ?? []);
}

/** The verdict on the record after some changes. */
function asker(record: Facts, judged: Judged): (changes: Change[]) => VerdictName {
  const { frame, program, reader } = judged;
  const late = judged.rule.slots.filter(({ fact }) => fact.kind !== 'path');
  const counts = late.map((slot) => slotValue(slot, frame));
  return (changes) => {
    let changedRecord = record;
    for (const { at, to } of changes) if ('path' in at) changedRecord = withChange(changedRecord, at.path, to);
    frame.record = changedRecord;
    frame.turn++;
    reader.read(changedRecord, frame);
    late.forEach((slot, index) => {
      const change = changes.find(({ at }) => 'slot' in at && at.slot === slot.index);
      // What is known of the past also depends on the present value, which may be the one that is changed.
      if (!change && slot.fact.kind === 'look_back') return;
      frame.slots[slot.index] = change ? (change.to as Fact) : counts[index];
      frame.slotTurns[slot.index] = frame.turn;
    });
    let truth: Truth = FALSE;
    program.evaluate(frame, (_, value) => {
      truth = value;
    });
    return truth === TRUE ? 'match' : verdictOf(truth);
  };
}

/** Puts the explained record back into the frame: later reads must not see a change that was only tried. */
function restore(record: Facts, { frame, reader }: Judged): void {
  frame.record = record;
  frame.turn++;
  reader.read(record, frame);
}

function withChange(record: Facts, path: readonly string[], to: Fact | undefined): Facts {
  const [key, ...rest] = path;
  if (key === undefined) return record;
  const copy: Facts = { ...record };
  const before = ownAt(record, [key]);
  const inner = typeof before === 'object' && before !== null && !Array.isArray(before) ? before : {};
  const value = rest.length > 0 ? withChange(inner, rest, to) : to;
  if (value === undefined) delete copy[key];
  else Object.defineProperty(copy, key, { value, enumerable: true, configurable: true, writable: true });
  return copy;
}
