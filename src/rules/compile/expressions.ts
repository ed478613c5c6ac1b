// rules: typed expressions → closures: conditions that answer a truth, and values. Each operator compiles itself; this file
// compiles facts, elements and lists, shares equal conditions, and gives each condition its budget of steps.
// In: an expression. Out: (frame) → truth, or (frame) → value. No code is generated; nothing throws.

import type { Fact, Facts } from '../../domain/facts.ts';
import { type Lists, listsHave, notInLists } from '../../domain/lists.ts';
import {
  type Compiling,
  type Condition,
  type Expr,
  type Expression,
  type ExpressionOf,
  FALSE,
  type FactRef,
  type Frame,
  GIVEN,
  isOfType,
  isReadLate,
  isYoung,
  keyOf,
  type Operator,
  ownAt,
  partsOf,
  Reasons,
  readsItem,
  STEPS_MAX,
  TRUE,
  type Truth,
  textOf,
  Unknown,
  type Value,
  valueAt,
  worse,
  worseOf,
} from '../language/expression.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';

// What is gathered while the conditions of one subject kind are compiled: facts to read, reasons, shared conditions.

/** The reasons a fact can be unknown for, made once. */
interface SlotReasons {
  missing: Unknown;
  isNull: Unknown;
  wrongType: Unknown;
  stale: Unknown;
  unavailable: Unknown;
  gap: Unknown;
  lost: Unknown;
}

export interface Slot {
  index: number;
  fact: FactRef;
  reasons: SlotReasons;
}

/** Sees every value of every condition that coverage counts. */
export type Probe = (expression: Expression, truth: Truth) => void;

export interface Compiler extends Compiling {
  slots: Map<string, Slot>;
  /** How often each condition occurs (by key), so that shared ones are evaluated once per subject. */
  uses: Map<string, number>;
  /** Compiled conditions by key: equal conditions are one closure. */
  conditions: Map<string, Condition>;
  sharedCount: number;
  probe: Probe | undefined;
}

/** The slot of a fact, made when first asked for. */
export function slotOf(fact: FactRef, { slots, reasons }: { slots: Map<string, Slot>; reasons: Reasons }): Slot {
  const known = slots.get(fact.key);
  if (known) return known;
  const { label } = fact;
  const freshness = fact.kind === 'path' ? fact.fresh.map((each) => `\`${each.label}\``).join(' or ') : '';
  const slot: Slot = {
    index: slots.size,
    fact,
    reasons: {
      missing: reasons.absence(label, `\`${label}\` is missing`),
      isNull: reasons.absence(label, `\`${label}\` is null`),
      wrongType: reasons.unknown(label, `\`${label}\` is not of the type it should be`),
      stale: reasons.unknown(label, `\`${label}\` is stale: ${freshness} is too old, or was never set`, 'stale'),
      unavailable: reasons.unknown(label, `\`${label}\` cannot be known: its source is unavailable`, 'unavailable'),
      gap: reasons.unknown(label, `\`${label}\` cannot be known: a newer signal may be missing`),
      lost: reasons.unknown(label, lostWords(label, (fact.kind !== 'events' && fact.lost) || label), 'not_in_lists'),
    },
  };
  slots.set(fact.key, slot);
  return slot;
}

/** `path`: the fact itself, or a timestamp that vouches for it. */
function lostWords(label: string, path: string): string {
  return path === label ? notInLists(path) : `\`${label}\` cannot be vouched for: ${notInLists(path)}`;
}

export function readLate(slot: Slot, frame: Frame): Value {
  const { index } = slot;
  if (frame.slotTurns[index] !== frame.turn) {
    frame.slots[index] = readSlot(slot, frame);
    frame.slotTurns[index] = frame.turn;
  }
  return frame.slots[index] as Value;
}

function readSlot(slot: Slot, frame: Frame): Value {
  const { fact, reasons, index } = slot;
  if (fact.kind !== 'events' && fact.lost !== undefined) return reasons.lost;
  return fact.kind === 'path' ? readVirtualPart(slot, frame) : frame.readPast(index, frame);
}

function readVirtualPart({ fact, reasons }: Slot, frame: Frame): Value {
  if (fact.kind !== 'path') return reasons.missing;
  const found = valueAt(fact.path, frame);
  if (found instanceof Unknown) return found;
  if (fact.fresh.some(({ path, ms }) => !isYoung(valueAt(path, frame), ms, frame.nowMs))) return reasons.stale;
  if (found === undefined) return fact.fallback ?? reasons.missing;
  if (found === null) return fact.fallback ?? reasons.isNull;
  return isOfType(found, fact.type) ? found : reasons.wrongType;
}

// What the closures of several operators have in common: reading all operands, joining conditions, the budget.

export const OVER_BUDGET = 'the condition takes too many steps for this record';

/** All values, or the worst doubt among them. */
export function valuesOf(parts: readonly Expr[], frame: Frame): Value[] | Unknown {
  const values: Value[] = [];
  let doubt: Unknown | undefined;
  for (const part of parts) {
    const value = part(frame);
    if (value instanceof Unknown) doubt = doubt ? worseOf(doubt, value) : value;
    else values.push(value);
  }
  return doubt ?? values;
}

/** True when all hold. `isWatched`: each is asked, also when the answer is known. */
export function allOf(parts: readonly Condition[], isWatched: boolean): Condition {
  if (parts.length === 1) return parts[0] as Condition;
  return (frame) => {
    let result: number = TRUE;
    for (let i = 0; i < parts.length; i++) {
      const truth = (parts[i] as Condition)(frame);
      if (truth === TRUE) continue;
      if (truth === FALSE) {
        if (!isWatched) return FALSE;
        result = FALSE;
      } else if (result !== FALSE) result = result === TRUE ? truth : worse(result, truth);
    }
    return result;
  };
}

/** A truth as a value. */
function truthValue(truth: Truth, reasons: Reasons): Value {
  return truth === TRUE ? true : truth === FALSE ? false : reasons.of(truth);
}

/** `probe`: sees every condition that coverage counts; nothing is cut short then. */
export function newCompiler(probe?: Probe): Compiler {
  const slots = new Map<string, Slot>();
  const compiler: Compiler = {
    reasons: new Reasons(),
    slots,
    uses: new Map(),
    conditions: new Map(),
    sharedCount: 0,
    probe,
    isWatched: probe !== undefined,
    condition: (expression) => compileCondition(expression, compiler),
    value: (expression) => compileValue(expression, compiler),
    slotIndex: (fact) => slotOf(fact, compiler).index,
  };
  return compiler;
}

/** Compiles a condition; equal conditions become one closure, and costly shared ones are evaluated once per subject. */
function compileCondition(expression: Expression, compiler: Compiler): Condition {
  if (compiler.probe) return compileFresh(expression, compiler);
  const key = keyOf(expression);
  const known = compiler.conditions.get(key);
  if (known) return known;
  const made = share(compileFresh(expression, compiler), expression, key, compiler);
  compiler.conditions.set(key, made);
  return made;
}

/** INVARIANT: a condition that reads the loop's element is never shared: its value differs from element to element. */
function share(condition: Condition, expression: Expression, key: string, compiler: Compiler): Condition {
  if ((compiler.uses.get(key) ?? 0) < 2 || isCheap(expression) || readsItem(expression)) return condition;
  const index = compiler.sharedCount++;
  return (frame) => {
    if (frame.truthTurns[index] === frame.turn) return frame.truths[index] as number;
    const truth = condition(frame);
    frame.truths[index] = truth;
    frame.truthTurns[index] = frame.turn;
    return truth;
  };
}

/** Comparing a fact with a literal is as cheap as looking up an earlier result. */
function isCheap(expression: Expression): boolean {
  if (expression.op !== 'call') return expression.op === 'fact' || expression.op === 'literal';
  const isPlain = expression.operator.isPlainComparison === true;
  return isPlain && expression.args.every((arg) => arg.op === 'fact' || arg.op === 'literal');
}

function compileFresh(expression: Expression, compiler: Compiler): Condition {
  const condition = conditionOf(expression, compiler);
  if (expression.op === 'call' && expression.operator.joins) return condition;
  // Each leaf has a budget of its own, so that a verdict does not depend on the order of operands.
  const bounded: Condition = takesSteps(expression) && !readsItem(expression) ? withBudget(condition) : condition;
  const { probe } = compiler;
  if (!probe) return bounded;
  return (frame) => {
    const truth = bounded(frame);
    probe(expression, truth);
    return truth;
  };
}

function conditionOf(expression: Expression, compiler: Compiler): Condition {
  const own = expression.op === 'call' ? expression.operator.condition?.(expression.args, compiler) : undefined;
  return own ?? truthOf(compiler.value(expression));
}

/** Whether evaluating takes steps from the budget. */
function takesSteps(expression: Expression): boolean {
  if (expression.op === 'list') return true;
  if (expression.op !== 'call') return false;
  return expression.operator.takesSteps === true || partsOf(expression).some(takesSteps);
}

function withBudget(condition: Condition): Condition {
  return (frame) => {
    frame.steps = STEPS_MAX;
    return condition(frame);
  };
}

/** The truth of a value: a boolean itself, a list when it is not empty. */
function truthOf(value: Expr): Condition {
  return (frame) => {
    const found = value(frame);
    if (found === true) return TRUE;
    if (found === false) return FALSE;
    if (found instanceof Unknown) return found.truth;
    return Array.isArray(found) && found.length > 0 ? TRUE : FALSE;
  };
}

function compileValue(expression: Expression, compiler: Compiler): Expr {
  switch (expression.op) {
    case 'literal': {
      const { value } = expression;
      return () => value;
    }
    case 'fact':
      return compileFact(expression, compiler);
    case 'item':
      return compileItem(expression, compiler);
    case 'now':
      return (frame) => frame.nowMs;
    case 'list':
      return compileList(expression.items, compiler);
    case 'call':
      return expression.operator.value?.(expression.args, compiler) ?? compileTruth(expression, compiler);
  }
}

function compileTruth(expression: Expression, compiler: Compiler): Expr {
  const condition = compiler.condition(expression);
  const { reasons } = compiler;
  return (frame) => truthValue(condition(frame), reasons);
}

function compileFact({ fact }: ExpressionOf<'fact'>, compiler: Compiler): Expr {
  const slot = slotOf(fact, compiler);
  const { index } = slot;
  if (isReadLate(fact)) return (frame) => readLate(slot, frame);
  return (frame) => frame.slots[index] as Value;
}

function compileItem(expression: ExpressionOf<'item'>, compiler: Compiler): Expr {
  const { path, type, fallback, counts } = expression;
  if (counts) {
    const { index } = slotOf(counts, compiler);
    return (frame) => frame.readPast(index, frame, ownAt(frame.item as Fact, path) as Facts);
  }
  const label = expression.label === '' ? 'an element' : `…${expression.label}`;
  const isGiven = path[0] === GIVEN;
  const missing = compiler.reasons.absence(label, `\`${label}\` is missing in an element`);
  const wrong = compiler.reasons.unknown(label, `\`${label}\` is not of the type it should be in an element`);
  return (frame) => {
    const found = isGiven ? valueAt(path, frame, frame.item as Fact) : ownAt(frame.item as Fact, path);
    if (found instanceof Unknown) return found;
    if (found === undefined || found === null) return fallback ?? missing;
    return isOfType(found, type) ? found : wrong;
  };
}

function compileList(items: readonly Expression[], compiler: Compiler): Expr {
  if (items.every((item) => item.op === 'literal')) {
    const written = items.map(({ value }) => value);
    return () => written;
  }
  const parts = items.map((item) => compiler.value(item));
  return (frame) => {
    const values = valuesOf(parts, frame);
    return values instanceof Unknown ? values : (values as Fact[]);
  };
}

// Rules under lists that lack some of what they read.

/** What a path is read of: the rule's subject, or an element of a joined list. */
type Holder = 'device' | 'user' | 'service' | undefined;

/** The same rule when nothing is lost. */
export function underLists<R extends Pick<LoadedRule, 'subject' | 'condition' | 'reportTimes'>>(
  rule: R,
  lists: Lists,
): R {
  const { condition, lost } = marked(rule, lists);
  const reportTimes = lists === 'v1' ? rule.reportTimes : rule.reportTimes?.filter((path) => has(rule.subject, path));
  if (lost.length === 0 && reportTimes?.length === rule.reportTimes?.length) return rule;
  return { ...rule, condition, ...(reportTimes && { reportTimes }) };
}

interface LosingRule {
  rule: string;
  subject: LoadedRule['subject'];
  facts: string[];
}

/** Of these rules, those that lose facts under lists of version 2. */
export function rulesThatLose(rules: readonly LoadedRule[]): LosingRule[] {
  return rules.flatMap((rule) => {
    const facts = marked(rule, 'v2').lost;
    return facts.length === 0 ? [] : [{ rule: rule.id, subject: rule.subject, facts }];
  });
}

function marked({ subject, condition }: Pick<LoadedRule, 'subject' | 'condition'>, lists: Lists) {
  if (lists === 'v1') return { condition, lost: [] };
  const lost = new Set<string>();
  return { condition: mark(condition, subject, undefined, lost), lost: [...lost].sort() };
}

/** `item`: what the elements are of, inside a loop over whole records. `lost` is added to. */
function mark(part: Expression, subject: Holder, item: Holder, lost: Set<string>): Expression {
  switch (part.op) {
    case 'fact': {
      const path = lostOf(part.fact, subject);
      if (path === undefined) return part;
      lost.add(path);
      return { ...part, fact: { ...part.fact, lost: path } as FactRef };
    }
    case 'item': {
      const path = pathInElement(part.path);
      return path === '' || has(item, path) ? part : replaced(part, elementPath(item, path), lost);
    }
    case 'list':
      return { ...part, items: part.items.map((each) => mark(each, subject, item, lost)) };
    case 'call': {
      const { looksIn, body } = part.operator;
      const paths = looksIn ? part.args.flatMap(pathsIn) : [];
      const missed = paths.find((path) => !has(looksIn === 'item' ? item : subject, path));
      if (missed !== undefined) return replaced(part, looksIn === 'item' ? elementPath(item, missed) : missed, lost);
      const inner = body && part.args[0] ? elementsOf(part.args[0]) : undefined;
      const args = part.args.map((arg, at) => mark(arg, subject, body?.arg === at ? inner : item, lost));
      return { ...part, args };
    }
    default:
      return part;
  }
}

/** The path that a fact is lost for: its own, or that of a timestamp that vouches for it. */
function lostOf(fact: FactRef, subject: Holder): string | undefined {
  const path = fact.kind === 'look_back' ? fact.past.present : fact;
  if (path.kind !== 'path') return undefined;
  if (!has(subject, path.label)) return path.label;
  return path.fresh.find(({ label }) => !has(subject, label))?.label;
}

/** A part of `TrustData` is there, and the whole of it is not: what is left of it is no answer to whether it is missing. */
function has(holder: Holder, path: string): boolean {
  if (holder === undefined || holder === 'service' || path === '$now') return true;
  // Owners are found by a device's `Emails`, and a user's devices by `SerialNumbers`, which v2 lists do not have.
  const [first, , ...rest] = path.split('.');
  if (first === '$owners')
    return listsHave('v2', 'devices', 'Emails') && (rest.length === 0 || has('user', rest.join('.')));
  if (first === '$devices')
    return listsHave('v2', 'users', 'SerialNumbers') && (rest.length === 0 || has('device', rest.join('.')));
  return listsHave('v2', holder === 'device' ? 'devices' : 'users', path);
}

function elementsOf(list: Expression): Holder {
  if (list.op === 'fact' && list.fact.kind === 'path') {
    const [first, ...rest] = list.fact.path;
    if (rest.length > 0) return undefined;
    return first === '$owners' ? 'user' : first === '$devices' ? 'device' : undefined;
  }
  if (list.op !== 'call') return undefined;
  return list.operator
    .elementsOf?.(list.args)
    .map(elementsOf)
    .find((each) => each !== undefined);
}

function elementPath(item: Holder, path: string): string {
  return `${item === 'user' ? '$owners' : '$devices'}[].${path}`;
}

/** `reduce` reads its element behind `current`. */
function pathInElement(path: readonly string[]): string {
  const own = path[0] === 'current' || path[0] === 'accumulator' ? path.slice(1) : path;
  return own.join('.');
}

/** The paths that `missing` looks for, and no texts of conditions that choose between them. */
function pathsIn(part: Expression): string[] {
  if (part.op === 'literal') return typeof part.value === 'string' ? [part.value] : [];
  if (part.op === 'list') return part.items.flatMap(pathsIn);
  if (part.op !== 'call' || part.type.kind === 'boolean' || part.type.kind === 'condition') return [];
  return part.args.flatMap(pathsIn);
}

/** In place of an operation or of a part of an element whose answer is lost. */
function replaced(part: Expression, path: string, lost: Set<string>): Expression {
  lost.add(path);
  const text = textOf(part);
  const operator: Operator = {
    name: 'lost',
    key: () => `(lost ${path} ${text})`,
    text: () => text,
    isDoubtful: true,
    value: (_, { reasons }) => {
      const unknown = reasons.unknown(path, notInLists(path), 'not_in_lists');
      return () => unknown;
    },
  };
  return { op: 'call', operator, args: [], type: part.type, place: part.place };
}
