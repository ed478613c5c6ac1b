// evaluate: when a rule's verdict on an unchanged record may become another one: at points in time, when events enter or leave a window,
// when a joined record changes. In: a loaded rule. Out: what to wait for. INVARIANT: what is not known here to be steady is restless, and is
// judged each time. Used by replays, which judge a month of runs.
import type { Facts } from '../../domain/facts.ts';
import type { Lists } from '../../domain/lists.ts';
import { epochMsOf } from '../../domain/timestamp.ts';
import { underLists } from '../compile/lost-facts.ts';
import type { Expression, FactRef } from '../language/expression.ts';
import { FUTURE_MAX_MS } from '../language/frame.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import { ownAt, ownPart } from '../language/typed-value.ts';

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
}

/** `lists`: where devices and users are read, as for compiling. */
export function whenAgain(rule: LoadedRule, lists: Lists): WhenAgain {
  const found = new Found();
  const { condition, reportTimes = [] } = underLists(rule, lists);
  found.look(condition, undefined);
  // A time of a report that lies too far ahead counts later.
  for (const path of reportTimes) found.wait(path.split('.'), [-FUTURE_MAX_MS]);
  return {
    isRestless: found.isRestless,
    times: [...found.times.values()].map(({ path, afterMs }) => ({ path, afterMs: [...afterMs] })),
    windowsMs: [...found.windowsMs],
    readsOwners: rule.reads.owners,
    readsDevices: rule.reads.joinedDevices,
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

  look(part: Expression, around: Expression | undefined): void {
    if (part.op === 'now') this.isRestless = true;
    else if (part.op === 'fact') this.fact(part.fact);
    else if (part.op === 'call' && part.operator.readsTime) this.age(part.args, around);
    else if (part.op === 'call' || part.op === 'list') {
      for (const each of part.op === 'call' ? part.args : part.items) this.look(each, part);
    }
  }

  private fact(fact: FactRef): void {
    switch (fact.kind) {
      case 'events':
        this.windowsMs.add(fact.count.withinMs);
        // It grows with every second.
        if (fact.count.what === 'since_last_event') this.isRestless = true;
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
