// evaluate: the facts that a verdict was based on, as reports and audit keep them. In: a rule and a frame that was evaluated.
// Out: values by path or operator text; a count with gaps as `at least n`. Never a whole record of another subject.
import type { ReportTimes } from '../../domain/episode.ts';
import { type Fact, isFacts } from '../../domain/facts.ts';
import { redacted } from '../../domain/secrets.ts';
import { epochMsOf } from '../../domain/timestamp.ts';
import type { VerdictName } from '../../domain/verdict.ts';
import type { Slot } from '../compile/compiler.ts';
import { readLate } from '../compile/late-facts.ts';
import type { ProgramRule } from '../compile/program.ts';
import { type Frame, FUTURE_MAX_MS } from '../language/frame.ts';
import { FALSE, type Reasons, Span, type Truth, Unknown, type Value } from '../language/three-valued.ts';
import { ownAt } from '../language/typed-value.ts';
import { isReadLate } from '../language/walk.ts';

const ELEMENTS_MAX = 20;

/** Texts of one fact that are kept as they are shown: most facts have few. */
const TEXTS_MAX = 64;

/** One fact of a rule: what it is called, and what was shown of it before. */
interface ShownFact {
  slot: Slot;
  isLate: boolean;
  /** The path that it is read by; undefined: it is a count. */
  path: string | undefined;
  texts: Map<string, Fact>;
  /** The list that was shown last, and for which record: several rules may show it. */
  list: Fact;
  listTurn: number;
}

export type FactsOf = (rule: ProgramRule, frame: Frame) => { [path: string]: Fact };

/** For one pass: the values of the facts that a rule reads; those that are unknown are left out. Looking for secrets is the costly part. */
export function factsShown(): FactsOf {
  const bySlot: (ShownFact | undefined)[] = [];
  const byRule = new Map<ProgramRule, ShownFact[]>();
  const factsOfRule = (rule: ProgramRule): ShownFact[] => {
    // `__proto__` is no name for a fact: assigning it would set a prototype.
    const slots = rule.slots.filter(({ fact }) => fact.label !== '__proto__');
    const shownFacts = slots.map((slot) => {
      bySlot[slot.index] ??= newShownFact(slot);
      return bySlot[slot.index] as ShownFact;
    });
    byRule.set(rule, shownFacts);
    return shownFacts;
  };
  return (rule, frame) => {
    const facts: { [path: string]: Fact } = {};
    for (const shownFact of byRule.get(rule) ?? factsOfRule(rule)) {
      const { slot, isLate } = shownFact;
      const value = isLate ? readLate(slot, frame) : frame.slots[slot.index];
      if (typeof value === 'number' || typeof value === 'boolean') facts[slot.fact.label] = value;
      else if (value !== undefined && !(value instanceof Unknown))
        facts[slot.fact.label] = shownAs(shownFact, value, frame.turn);
    }
    return facts;
  };
}

function newShownFact(slot: Slot): ShownFact {
  const { fact } = slot;
  const label = fact.kind === 'look_back' ? fact.past.present.label : fact.label;
  return {
    slot,
    isLate: isLateSlot(slot),
    path: isPathLabel(label) ? label : undefined,
    texts: new Map(),
    list: null,
    listTurn: -1,
  };
}

function shownAs(fact: ShownFact, value: Exclude<Value, Unknown>, turn: number): Fact {
  const { texts, path } = fact;
  const known = typeof value === 'string' ? texts.get(value) : undefined;
  if (known !== undefined) return known;
  const isList = Array.isArray(value);
  if (isList && fact.listTurn === turn) return fact.list;
  const result = path === undefined ? shown(value) : redacted(shown(value), path);
  if (typeof value === 'string' && texts.size < TEXTS_MAX) texts.set(value, result);
  if (isList) {
    fact.list = result;
    fact.listTurn = turn;
  }
  return result;
}

/** Labels that are no paths are texts of operators, whose values are counts. */
function isPathLabel(label: string): boolean {
  return /^[\w$.]+$/.test(label);
}

/** The facts of a rule that are missing, stale or of the wrong type, and the reason of its verdict. */
export function missingOf(rule: ProgramRule, frame: Frame, truth: Truth, reasons: Reasons): string[] {
  if (truth === 0) return [];
  const missing = new Set<string>([reasons.of(truth).fact]);
  for (const slot of rule.slots) {
    if (slotValue(slot, frame) instanceof Unknown) missing.add(slot.fact.label);
  }
  return [...missing];
}

/** When the reports were made that a verdict of the rule rests on. One that lies too far ahead has no time. */
export function reportedOf({ rule }: ProgramRule, { record, nowMs }: Frame): { reported?: ReportTimes } {
  const { reportTimes = [] } = rule;
  if (reportTimes.length === 0) return {};
  const timeOf = (path: string): number | null => {
    const value = ownAt(record, path.split('.'));
    const atMs = typeof value === 'number' || typeof value === 'bigint' ? epochMsOf(value) : undefined;
    return atMs === undefined || atMs > nowMs + FUTURE_MAX_MS ? null : Math.floor(atMs);
  };
  return { reported: Object.fromEntries(reportTimes.map((path) => [path, timeOf(path)])) };
}

/** Of a condition that is not true. */
export function verdictOf(truth: Truth): Exclude<VerdictName, 'match'> {
  return truth === FALSE ? 'no_match' : truth < 0 ? 'error' : 'unknown';
}

export function slotValue(slot: Slot, frame: Frame): Value | undefined {
  return isLateSlot(slot) ? readLate(slot, frame) : frame.slots[slot.index];
}

function isLateSlot({ fact }: Slot): boolean {
  return isReadLate(fact);
}

/** A value as a fact: bounds in words, long lists cut, records of owners and devices by their keys alone, nothing secret. */
export function shown(value: Exclude<Value, Unknown>): Fact {
  if (value instanceof Span) return Number.isFinite(value.hi) ? `${value.lo} to ${value.hi}` : `at least ${value.lo}`;
  if (!Array.isArray(value)) return redacted(value);
  const elements = value
    .slice(0, ELEMENTS_MAX)
    .map((element) => (isFacts(element) ? keyOfRecord(element) : redacted(element)));
  return value.length > ELEMENTS_MAX ? [...elements, `… and ${value.length - ELEMENTS_MAX} more`] : elements;
}

function keyOfRecord(record: { [key: string]: Fact }): Fact {
  for (const key of ['Email', 'SerialNumber', 'DeviceID']) {
    if (Object.hasOwn(record, key) && typeof record[key] === 'string') return record[key];
  }
  return redacted(record);
}
