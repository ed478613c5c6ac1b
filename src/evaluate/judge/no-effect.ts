// evaluate: which changes of one fact of a record leave every verdict on it as it was. In: steady rules of one kind (`when-again.ts`). Out: a test of
// a path and its two values. INVARIANT: what is not known here to be without effect has one. A time that moves on, and a number that stays on the
// same side of what it is compared with, are most of what changes in a fleet. Used by replays.
import type { Fact } from '../../domain/facts.ts';
import type { Lists } from '../../domain/lists.ts';
import { epochMsOf } from '../../domain/timestamp.ts';
import { newCompiler } from '../compile/expressions.ts';
import { underLists } from '../compile/lost-facts.ts';
import { newFrame } from '../compile/new-frame.ts';
import type { Expression, PathFact } from '../language/expression.ts';
import type { Condition, Frame } from '../language/frame.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import { isOfType } from '../language/typed-value.ts';
import { factsIn, isReadLate, keyOf, readsItem, walk } from '../language/walk.ts';
import type { ValueType } from '../record-types/field-types.ts';
import { mergedTimes, whenAgain } from './when-again.ts';

/**
 * Whether verdicts on a record, found at `asOfMs` or held since, are those that its new value gives, until a time in which `nextChangeMs` of
 * the earlier value has them found again. INVARIANT: nothing is shown of the value, as in the facts of a match.
 */
export type HasNoEffect = (path: string, before: Fact | undefined, now: Fact | undefined, asOfMs: number) => boolean;

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

/** As in `when-again.ts`, and the points there are whole numbers. */
const AROUND_MS = 2;

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
    if (was + ms - AROUND_MS <= asOfMs && is + ms + AROUND_MS >= asOfMs) return false;
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
