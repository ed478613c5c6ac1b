// rules: what rules ask of a time is its age, so the smallest change of a time is the bound that its age crosses, and not one value. In: changes that
// flip a verdict, and what finds the verdict after others. Out: the same changes, with all ages that flip it. Bounded; changes nothing.
import { DAY_MS, epochMsOf } from '../../base/time.ts';
import type { Fact } from '../../domain/facts.ts';
import type { AgeRange } from '../../domain/verdict.ts';
import type { Slot } from '../compile/expressions.ts';
import { type Expression, type FactRef, factsIn, partsOf } from '../language/expression.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import type { TimeUnit } from '../record-types/field-types.ts';
import type { Judged } from './judge-once.ts';

/** A change of one fact: of the record at a path, or of a count or span in a slot. */
export interface Change {
  fact: string;
  at: { path: string[] } | { slot: number };
  from: Fact | undefined;
  to: Fact | undefined;
  /** The unit of a time; `seconds`: a span. Undefined: neither. */
  measure: TimeUnit | 'seconds' | undefined;
  range?: AgeRange;
}

/** A rule that compares a time with more durations is left with an example. */
const EDGES_MAX = 8;
/** Before 1973 no number is a time. */
const OLDEST_MS = 1e11;

/** `flips`: whether changes still give the verdict. INVARIANT: of two ranges, every pair of ages does, not only each with one of the other. */
export function withRanges(
  rule: LoadedRule,
  judged: Judged,
  changes: readonly Change[],
  flips: (changes: Change[]) => boolean,
): Change[] {
  const result = [...changes];
  const may = changes.map(({ to }) => [to]);
  for (const [index, change] of changes.entries()) {
    const line = lineOf(rule, judged, change);
    if (!line) continue;
    const others = may.flatMap((values, at) =>
      at === index ? [] : values.map((to) => ({ ...changes[at], to }) as Change),
    );
    const holds = (to: Fact) =>
      others.length === 0 ? flips([{ ...change, to }]) : others.every((other) => flips([{ ...change, to }, other]));
    const stretch = nearestStretch(line, line.values.map(holds));
    if (!stretch) continue;
    const [first, last] = stretch;
    const range = rangeOf(line, first, last, change.measure === 'seconds' ? 'seconds' : 'time');
    if (!range) continue;
    may[index] = line.values.slice(first, last + 1);
    const nearest = line.present !== undefined && line.present > boundsOf(line, first, last)[1] ? last : first;
    result[index] = { ...change, to: line.values[nearest], range };
  }
  return result;
}

/**
 * The ages at which the answer may change, and a value for each stretch: at 2n the edge itself, at 2n + 1 what lies between it and the
 * next one. Within a stretch every value gives the same answer.
 */
interface Line {
  edges: readonly number[];
  values: readonly Fact[];
  /** The present age; undefined: it has none. */
  present: number | undefined;
}

/** Undefined: not a time or a span, or the rule asks something else of it than its age. */
function lineOf(rule: LoadedRule, { frame: { nowMs }, rule: { slots } }: Judged, change: Change): Line | undefined {
  const { at, from, measure } = change;
  if (measure === undefined) return undefined;
  const isMeant = meantBy(at, slots);
  const found = new Set<number>();
  if (!asksOnlyAges(rule.condition, isMeant, found)) return undefined;
  if ('path' in at) for (const seconds of freshEdges(rule, at.path)) found.add(seconds);
  const mostSeconds = measure === 'seconds' ? Number.POSITIVE_INFINITY : (nowMs - OLDEST_MS) / 1_000;
  const edges = [0, ...[...found].filter((edge) => edge > 0 && edge < mostSeconds).sort((a, b) => a - b)];
  if (edges.length < 2 || edges.length > EDGES_MAX) return undefined;
  const seconds = edges.flatMap((edge, index) => [edge, (edge + (edges[index + 1] ?? edge + 2 * DAY_SECONDS)) / 2]);
  const values = seconds
    .filter((each) => each < mostSeconds)
    .map((each): Fact => (measure === 'seconds' ? each : timeIn(measure, nowMs - each * 1_000)));
  return { edges, values, present: ageOf(from, measure, nowMs) };
}

const DAY_SECONDS = DAY_MS / 1_000;

type IsMeant = (fact: FactRef) => boolean;

function meantBy(at: Change['at'], slots: readonly Slot[]): IsMeant {
  if ('slot' in at) {
    const key = slots.find(({ index }) => index === at.slot)?.fact.key;
    return (fact) => fact.key === key;
  }
  const overlaps = (path: readonly string[]) =>
    path.slice(0, at.path.length).every((key, index) => key === at.path[index]);
  return (fact) =>
    fact.kind === 'path' ? overlaps(fact.path) : fact.kind === 'look_back' && overlaps(fact.past.present.path);
}

/** Whether a condition only compares the age of what is meant with durations, which are added to `edges`. */
function asksOnlyAges(expression: Expression, isMeant: IsMeant, edges: Set<number>): boolean {
  if (expression.op === 'fact') return !isMeant(expression.fact);
  const parts = partsOf(expression);
  if (expression.op !== 'call' || !expression.operator.isComparison || !parts.some((part) => isAgeOf(part, isMeant)))
    return parts.every((part) => asksOnlyAges(part, isMeant, edges));
  for (const part of parts) {
    if (isAgeOf(part, isMeant)) continue;
    if (part.op !== 'literal' || typeof part.value !== 'number') return false;
    edges.add(part.value);
  }
  return true;
}

/** A span in a slot is as it is. */
function isAgeOf(expression: Expression, isMeant: IsMeant): boolean {
  if (expression.op === 'fact') return expression.fact.kind === 'events' && isMeant(expression.fact);
  if (expression.op !== 'call' || !expression.operator.readsTime) return false;
  const [time] = expression.args;
  return time?.op === 'fact' && time.fact.kind === 'path' && isMeant(time.fact);
}

/** As old as it may be where it vouches for other facts. */
function freshEdges(rule: LoadedRule, path: readonly string[]): number[] {
  const facts = factsIn(rule.condition).flatMap((fact) => (fact.kind === 'path' ? fact.fresh : []));
  return facts.filter((each) => each.path.join('.') === path.join('.')).map(({ ms }) => ms / 1_000);
}

export function timeIn(unit: TimeUnit, ms: number): Fact {
  return unit === 'ms' || unit === 'any'
    ? Math.trunc(ms)
    : unit === 's'
      ? Math.trunc(ms / 1_000)
      : BigInt(Math.trunc(ms)) * 1_000_000n;
}

/** In seconds; undefined for what is no time, and for one that is ahead. */
function ageOf(value: Fact | undefined, measure: TimeUnit | 'seconds', nowMs: number): number | undefined {
  if (typeof value !== 'number' && typeof value !== 'bigint') return undefined;
  const timeMs = measure === 'seconds' ? undefined : epochMsOf(value);
  const seconds = measure === 'seconds' ? Number(value) : timeMs === undefined ? -1 : (nowMs - timeMs) / 1_000;
  return seconds < 0 ? undefined : seconds;
}

/** The first and the last place of the nearest stretch in which all hold; of the first one where the present has no age. */
function nearestStretch(line: Line, holds: readonly boolean[]): [number, number] | undefined {
  const stretches: [number, number][] = [];
  holds.forEach((does, at) => {
    const last = stretches.at(-1);
    if (does && last?.[1] === at - 1) last[1] = at;
    else if (does) stretches.push([at, at]);
  });
  const { present } = line;
  if (present === undefined) return stretches[0];
  const distance = ([first, last]: [number, number]) => {
    const [low, high] = boundsOf(line, first, last);
    return Math.max(low - present, present - high, 0);
  };
  return stretches.sort((one, other) => distance(one) - distance(other))[0];
}

function boundsOf({ edges }: Line, first: number, last: number): [low: number, high: number] {
  const [low = 0, high = Number.POSITIVE_INFINITY] = [edges[Math.floor(first / 2)], edges[Math.ceil(last / 2)]];
  return [low, high];
}

/** Undefined: every age is in it. */
function rangeOf(line: Line, first: number, last: number, of: AgeRange['of']): AgeRange | undefined {
  const [low, high] = boundsOf(line, first, last);
  if (first === 0 && high === Number.POSITIVE_INFINITY) return undefined;
  return {
    of,
    ...(first > 0 && (first % 2 === 0 ? { atLeast: low } : { moreThan: low })),
    ...(high < Number.POSITIVE_INFINITY && (last % 2 === 0 ? { atMost: high } : { lessThan: high })),
  };
}
