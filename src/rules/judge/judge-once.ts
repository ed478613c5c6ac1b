// rules: one rule judges one record, and everything stays available: for rule tests, mutants and explanations.
// In: a rule, a record, its events and context. Out: the truth, and the frame it was found in.

import { epochMsOf } from '../../base/time.ts';
import type { ReportTimes } from '../../domain/episode.ts';
import type { TrustEvent } from '../../domain/event.ts';
import { type Fact, type Facts, isFacts } from '../../domain/facts.ts';
import type { LookBack, LookBackItem } from '../../domain/look-back.ts';
import { redacted } from '../../domain/secrets.ts';
import { EVENT_KEYS, type SubjectKind } from '../../domain/subjects.ts';
import type { JudgeContext, VerdictName } from '../../domain/verdict.ts';
import { type Probe, readLate, type Slot } from '../compile/expressions.ts';
import { compileProgram, newFrame, type Program, type ProgramRule } from '../compile/program.ts';
import { virtualReader } from '../facts/fact-list.ts';
import { FactReader } from '../facts/fact-reader.ts';
import {
  type EventCount,
  FALSE,
  type Frame,
  FUTURE_MAX_MS,
  isOfType,
  isReadLate,
  ownAt,
  ownPart,
  type Reasons,
  Span,
  TRUE,
  type Truth,
  Unknown,
  type Value,
} from '../language/expression.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import { LookBackTracks, lookBackReader } from '../look-back.ts';
import { type EventWindow, keysOf, type SubjectKeys, Windows, type WindowView } from '../windows.ts';

// The facts that a verdict was based on, as reports and audit keep them.

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

type FactsOf = (rule: ProgramRule, frame: Frame) => { [path: string]: Fact };

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

// The frame that a program's conditions work on, connected to the event windows and the joins of one run.

export type FactsContext = Pick<
  JudgeContext,
  'nowMs' | 'windowsAtMs' | 'joins' | 'given' | 'coverage' | 'unavailable'
> &
  WithPast;

/** Absent: the past of fields is not known. */
export interface WithPast {
  lookBack?: LookBack | undefined;
}

/** Every window must exist before the first event is observed. */
export function registerWindows(program: Program, windows: Windows): void {
  for (const { fact } of program.slots) if (fact.kind === 'events') windows.register(fact.key, fact.count);
}

/** Every track must exist before the history is observed. */
export function registerTracks(kind: SubjectKind, program: Program, tracks: LookBackTracks): void {
  for (const { fact } of program.slots) if (fact.kind === 'look_back') tracks.register(kind, fact.past);
}

/** Signals come by themselves: their windows end now, however long ago the log of events was read. */
function viewOf(windows: Windows, count: EventCount, { coverage, nowMs }: FactsContext): WindowView {
  return count.transmitter === undefined ? windows.view(count, coverage) : windows.view(count, coverage, nowMs);
}

export function frameFor(kind: SubjectKind, program: Program, windows: Windows, context: FactsContext): Frame {
  windows.advance(context.windowsAtMs ?? context.nowMs);
  const readers = program.slots.map(({ fact }): { window: EventWindow; view: WindowView } | undefined =>
    fact.kind === 'events'
      ? { window: windows.register(fact.key, fact.count), view: viewOf(windows, fact.count, context) }
      : undefined,
  );
  const noEvents = context.unavailable.has('events');
  const tracks = context.lookBack instanceof LookBackTracks ? context.lookBack : undefined;
  const lookBacks = program.slots.map(({ fact }) =>
    fact.kind === 'look_back' ? lookBackReader(kind, fact.past, fact.label, tracks, program.reasons) : undefined,
  );
  let keysTurn = -1;
  let keys: SubjectKeys = { first: undefined, second: undefined };
  const readPast: Frame['readPast'] = (slot, frame, of) => {
    const lookBack = lookBacks[slot];
    if (lookBack) return lookBack.value(frame);
    const reader = readers[slot];
    const { fact, reasons } = program.slots[slot] as Slot;
    if (!reader || (noEvents && reader.window.spec.transmitter === undefined)) return reasons.unavailable;
    const read = (of: SubjectKeys): Value => {
      const { window, view } = reader;
      if (window.spec.what !== 'last_signal') return window.read(of, view);
      const last = window.last(of, view);
      if (!last) return reasons.gap;
      if (last.value === undefined) return reasons.missing;
      return isOfType(last.value as Fact, fact.type) ? last.value : reasons.wrongType;
    };
    if (of) return read(subjectKeys(reader.window.spec.subject, of));
    if (keysTurn !== frame.turn) {
      keys = subjectKeys(kind, frame.record);
      keysTurn = frame.turn;
    }
    return read(keys);
  };
  const showPast: Frame['showPast'] = (slot, frame) => lookBacks[slot]?.past(frame);
  const readVirtual = virtualReader(context, program.reasons);
  return newFrame(program.size, context.nowMs, { readVirtual, readPast, showPast });
}

function subjectKeys(kind: SubjectKind, record: Facts): SubjectKeys {
  const [first, second] = EVENT_KEYS[kind].map((field) => {
    const value = ownPart(record, field);
    return typeof value === 'string' ? value : undefined;
  });
  return keysOf(kind, first, second);
}

export interface Judged {
  truth: Truth;
  verdict: VerdictName;
  /** The facts that were missing, stale or of the wrong type. */
  missing: string[];
  program: Program;
  rule: ProgramRule;
  frame: Frame;
  reader: FactReader;
}

/** Compiles a rule once, to judge several records. `past`: what runs saw before, in place of what the context knows of it. */
export function prepareRule(
  rule: LoadedRule,
  probe?: Probe,
): (record: Facts, events: readonly TrustEvent[], context: FactsContext, past?: readonly LookBackItem[]) => Judged {
  const program = compileProgram([rule], probe);
  return (record, events, context, past) => {
    const windows = new Windows();
    registerWindows(program, windows);
    windows.observe(events);
    const lookBack = past ? tracksOf(rule, program, past) : context.lookBack;
    return judgeWith(rule, program, windows, { ...context, lookBack })(record);
  };
}

function tracksOf(rule: LoadedRule, program: Program, past: readonly LookBackItem[]): LookBackTracks {
  const tracks = new LookBackTracks();
  registerTracks(rule.subject, program, tracks);
  for (const item of past) tracks.observe(item);
  tracks.filled();
  return tracks;
}

/** Judges records by one rule, one after another. `windows` already has those of the rule. A result holds until the next record. */
export function judgeWith(
  rule: LoadedRule,
  program: Program,
  windows: Windows,
  context: FactsContext,
): (record: Facts) => Judged {
  const frame = frameFor(rule.subject, program, windows, context);
  const reader = new FactReader(program.slots, program.verdicts, program.rules.length);
  const compiled = program.rules[0] as ProgramRule;
  return (record) => {
    frame.record = record;
    frame.turn++;
    reader.read(record, frame);
    let truth: Truth = FALSE;
    program.evaluate(frame, (_, found) => {
      truth = found;
    });
    const verdict = truth === TRUE ? 'match' : verdictOf(truth);
    const missing =
      verdict === 'unknown' || verdict === 'error' ? missingOf(compiled, frame, truth, program.reasons) : [];
    return { truth, verdict, missing, program, rule: compiled, frame, reader };
  };
}
