// rules: which changes of one fact of a record leave every verdict on it as it was. In: steady rules of one kind (`whenAgain`). Out: a test of
// a path and its two values. INVARIANT: what is not known here to be without effect has one. A time that moves on, and a number that stays on the
// same side of what it is compared with, are most of what changes in a fleet. Used by replays.

import { epochMsOf } from '../../base/time.ts';
import type { Fact, Facts } from '../../domain/facts.ts';
import type { Lists } from '../../domain/lists.ts';
import { newCompiler, underLists } from '../compile/expressions.ts';
import { newFrame } from '../compile/program.ts';
import {
  type Condition,
  type Expression,
  type FactRef,
  type Frame,
  FUTURE_MAX_MS,
  factsIn,
  isOfType,
  isReadLate,
  keyOf,
  ownAt,
  ownPart,
  type PathFact,
  readsItem,
  walk,
} from '../language/expression.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import type { ValueType } from '../record-types/field-types.ts';

// When a rule's verdict on an unchanged record may become another one: at points in time, when events enter or leave a
// window, when a joined record changes. In: a loaded rule. Out: what to wait for. INVARIANT: what is not known here to
// be steady is restless, and is judged each time. Used by replays, which judge a month of runs.

/** A timestamp of the record: a verdict may change so long after it. */
export interface TimeTerm {
  path: readonly string[];
  afterMs: readonly number[];
}

export interface WhenAgain {
  /** Nothing shows when it changes: it is judged each time. */
  isRestless: boolean;
  times: readonly TimeTerm[];
  /** Lengths of its event windows. */
  windowsMs: readonly number[];
  readsOwners: boolean;
  readsDevices: boolean;
  /** It counts the events of its owners, or of its devices. */
  countsJoined: boolean;
}

/** `lists`: where devices and users are read, as for compiling. */
export function whenAgain(rule: LoadedRule, lists: Lists): WhenAgain {
  const found = new Found();
  const { condition, reportTimes = [] } = underLists(rule, lists);
  found.look(condition, undefined);
  // A time of a report that lies too far ahead counts later.
  for (const path of reportTimes) found.wait(path.split('.'), [-FUTURE_MAX_MS]);
  return {
    // Rows change without their records.
    isRestless: found.isRestless || rule.given.length > 0,
    times: [...found.times.values()].map(({ path, afterMs }) => ({ path, afterMs: [...afterMs] })),
    windowsMs: [...found.windowsMs],
    readsOwners: rule.reads.owners,
    readsDevices: rule.reads.joinedDevices,
    countsJoined: found.countsJoined,
  };
}

/** The same of several rules: each path once, its times in order. */
export function mergedTimes(all: readonly TimeTerm[]): TimeTerm[] {
  const byPath = new Map<string, { path: readonly string[]; afterMs: Set<number> }>();
  for (const { path, afterMs } of all) {
    const known = byPath.get(path.join('\u0000')) ?? { path, afterMs: new Set<number>() };
    byPath.set(path.join('\u0000'), known);
    for (const ms of afterMs) known.afterMs.add(ms);
  }
  return [...byPath.values()].map(({ path, afterMs }) => ({ path, afterMs: [...afterMs].sort((a, b) => a - b) }));
}

/** The first time after `nowMs` at which one of these, as `mergedTimes` gives them, may change a verdict; infinite: never. */
export function nextChangeMs(times: readonly TimeTerm[], record: Facts, nowMs: number): number {
  let next = Number.POSITIVE_INFINITY;
  for (let i = 0; i < times.length; i++) {
    const { path, afterMs } = times[i] as TimeTerm;
    const value = path.length === 1 ? ownPart(record, path[0] as string) : ownAt(record, path);
    const timeMs = typeof value === 'number' || typeof value === 'bigint' ? epochMsOf(value) : undefined;
    if (timeMs === undefined) continue;
    for (let j = 0; j < afterMs.length; j++) {
      const at = timeMs + (afterMs[j] as number);
      if (at + AROUND_MS <= nowMs) continue;
      if (at - AROUND_MS - 1 >= next) break;
      // At the point itself and on both sides of it there may be three verdicts.
      for (let ms = Math.floor(at) - AROUND_MS; ms <= at + AROUND_MS; ms++) if (ms > nowMs && ms < next) next = ms;
    }
  }
  return next;
}

/** Ages are fractions of seconds: rounding moves a point by less than this. */
const AROUND_MS = 1;

class Found {
  readonly times = new Map<string, { path: readonly string[]; afterMs: Set<number> }>();
  readonly windowsMs = new Set<number>();
  isRestless = false;
  countsJoined = false;

  look(part: Expression, around: Expression | undefined): void {
    if (part.op === 'now') this.isRestless = true;
    else if (part.op === 'fact') this.fact(part.fact);
    else if (part.op === 'item' && part.counts) {
      this.fact(part.counts);
      this.countsJoined = true;
    } else if (part.op === 'call' && part.operator.readsTime) this.age(part.args, around);
    else if (part.op === 'call' || part.op === 'list') {
      for (const each of part.op === 'call' ? part.args : part.items) this.look(each, part);
    }
  }

  private fact(fact: FactRef): void {
    switch (fact.kind) {
      case 'events':
        this.windowsMs.add(fact.count.withinMs);
        // It grows with every second.
        if (fact.count.what === 'since_last_event' || fact.count.transmitter !== undefined) this.isRestless = true;
        return;
      case 'path':
        for (const { path, ms } of fact.fresh) {
          if (fact.path[0]?.startsWith('$')) this.isRestless = true;
          this.wait(path, [ms, -FUTURE_MAX_MS]);
        }
        return;
      default:
        this.isRestless = true;
    }
  }

  /** An age that is compared with a fixed time changes the verdict at one point. */
  private age(args: readonly Expression[], around: Expression | undefined): void {
    for (const arg of args) this.look(arg, around);
    const [time] = args;
    const wanted = around?.op === 'call' && around.operator.isPlainComparison ? literalOf(around.args) : undefined;
    const fact = time?.op === 'fact' && time.fact.kind === 'path' ? time.fact : undefined;
    if (wanted === undefined || !fact || fact.path[0]?.startsWith('$') || fact.fallback !== undefined)
      this.isRestless = true;
    else this.wait(fact.path, [wanted * 1_000, -FUTURE_MAX_MS]);
  }

  wait(path: readonly string[], afterMs: readonly number[]): void {
    const key = path.join('\u0000');
    const known = this.times.get(key) ?? { path, afterMs: new Set<number>() };
    this.times.set(key, known);
    for (const ms of afterMs) known.afterMs.add(ms);
  }
}

function literalOf(args: readonly Expression[]): number | undefined {
  const literal = args.find((arg) => arg.op === 'literal');
  return literal?.op === 'literal' && typeof literal.value === 'number' ? literal.value : undefined;
}

/**
 * Whether verdicts on a record, found at `asOfMs` or held since, are those that its new value gives, until a time in which `nextChangeMs` of
 * the earlier value has them found again. INVARIANT: nothing is shown of the value, as in the facts of a match.
 */
type HasNoEffect = (path: string, before: Fact | undefined, now: Fact | undefined, asOfMs: number) => boolean;

export function changesWithoutEffect(rules: readonly LoadedRule[], lists: Lists): HasNoEffect {
  const uses = new Uses();
  for (const rule of rules) uses.addRule(rule, lists);
  return uses.finish();
}

/** All that rules ask of one path. */
interface Use {
  /** Something is asked of it that is not known here. */
  isOpen: boolean;
  types: ValueType[];
  asked: Map<string, { fact: PathFact; expression: Expression }>;
}

interface Test {
  types: readonly ValueType[];
  asked: readonly { slot: number; condition: Condition }[];
  afterMs: readonly number[];
}

/** As in `whenAgain`, and the points there are whole numbers. */
const NO_EFFECT_AROUND_MS = 2;

class Uses {
  private readonly byPath = new Map<string, Use>();
  private readonly times = new Map<string, readonly number[]>();
  private readonly rules: LoadedRule[] = [];

  addRule(rule: LoadedRule, lists: Lists): void {
    const judged = underLists(rule, lists);
    this.rules.push(rule);
    for (const { path, afterMs } of whenAgain(rule, lists).times) {
      const key = path.join('.');
      this.times.set(key, [...(this.times.get(key) ?? []), ...afterMs]);
    }
    let looksIn = false;
    walk(judged.condition, (part) => {
      if (part.op === 'call' && part.operator.looksIn) looksIn = true;
    });
    if (looksIn) for (const path of rule.reads.record) this.use(path).isOpen = true;
    this.look(judged.condition);
  }

  finish(): HasNoEffect {
    const compiler = newCompiler();
    const tests = new Map<string, Test>();
    for (const path of new Set([...this.byPath.keys(), ...this.times.keys()])) {
      const { isOpen, types, asked } = this.use(path);
      if (isOpen || this.isPartOfOther(path)) continue;
      tests.set(path, {
        types,
        asked: [...asked.values()].map(({ fact, expression }) => ({
          slot: compiler.slotIndex(fact),
          condition: compiler.condition(expression),
        })),
        afterMs: mergedTimes([{ path: [path], afterMs: this.times.get(path) ?? [] }]).flatMap((term) => term.afterMs),
      });
    }
    const size = { rules: 0, slots: compiler.slots.size, truths: compiler.sharedCount };
    const nothing = { readVirtual: () => null, readPast: () => null, showPast: () => undefined };
    const frame = newFrame(size, 0, nothing);
    return (path, before, now, asOfMs) => {
      const test = tests.get(path);
      if (!test || before === undefined || now === undefined || before === null || now === null) return false;
      return (
        isOf(test, before) && isOf(test, now) && staysAt(test, before, now, asOfMs) && isSame(test, before, now, frame)
      );
    };
  }

  private look(part: Expression): void {
    const facts = factsIn(part);
    const [fact] = facts;
    if (!fact) return;
    if (part.op === 'fact') {
      if (isPlainPath(fact)) this.use(fact.label).isOpen = true;
      return;
    }
    if (part.op === 'call' && facts.length === 1 && isPlainPath(fact)) {
      const use = this.use(fact.label);
      // A steady rule compares an age with a fixed time, and nothing else: see `whenAgain`.
      if (part.operator.readsTime) {
        use.types.push(fact.type);
        return;
      }
      if (isTruth(part) && !readsItem(part) && !readsTime(part)) {
        use.types.push(fact.type);
        use.asked.set(keyOf(part), { fact, expression: part });
        return;
      }
    }
    for (const each of part.op === 'call' ? part.args : part.op === 'list' ? part.items : []) this.look(each);
  }

  private use(path: string): Use {
    const known = this.byPath.get(path) ?? { isOpen: false, types: [], asked: new Map() };
    this.byPath.set(path, known);
    return known;
  }

  /** Some rule reads what it is a part of, or a part of it. */
  private isPartOfOther(path: string): boolean {
    const read = [...this.rules.flatMap(({ reads }) => [...reads.record]), ...this.byPath.keys(), ...this.times.keys()];
    return read.some((other) => other.startsWith(`${path}.`) || path.startsWith(`${other}.`));
  }
}

function isPlainPath(fact: ReturnType<typeof factsIn>[number]): fact is PathFact {
  return fact.kind === 'path' && !isReadLate(fact);
}

function isTruth({ type }: Expression): boolean {
  return type.kind === 'boolean' || type.kind === 'condition';
}

function readsTime(expression: Expression): boolean {
  let found = false;
  walk(expression, (part) => {
    if (part.op === 'now' || (part.op === 'call' && part.operator.readsTime)) found = true;
  });
  return found;
}

function isOf({ types }: Test, value: Fact): boolean {
  return types.every((type) => isOfType(value, type));
}

/** A time that moved on: each point after it was reached before both, or is still to come after both. */
function staysAt({ afterMs }: Test, before: Fact, now: Fact, asOfMs: number): boolean {
  if (afterMs.length === 0) return true;
  const [was, is] = [timeOf(before), timeOf(now)];
  if (was === undefined || is === undefined || is < was) return false;
  for (let index = 0; index < afterMs.length; index++) {
    const ms = afterMs[index] as number;
    if (was + ms - NO_EFFECT_AROUND_MS <= asOfMs && is + ms + NO_EFFECT_AROUND_MS >= asOfMs) return false;
  }
  return true;
}

function timeOf(value: Fact): number | undefined {
  return typeof value === 'number' || typeof value === 'bigint' ? epochMsOf(value) : undefined;
}

function isSame({ asked }: Test, before: Fact, now: Fact, frame: Frame): boolean {
  for (let index = 0; index < asked.length; index++) {
    const { slot, condition } = asked[index] as Test['asked'][number];
    if (truthOf(slot, condition, before, frame) !== truthOf(slot, condition, now, frame)) return false;
  }
  return true;
}

function truthOf(slot: number, condition: Condition, value: Fact, frame: Frame): number {
  frame.turn++;
  frame.slots[slot] = value;
  return condition(frame);
}
