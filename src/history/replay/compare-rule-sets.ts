// history: two rule sets over the same recorded time. In: what each would have done, and what each matches at the end of it. Out: who is added and
// who goes, now and over that time, by rule and in all; new unknowns. Equal sets give an empty difference.
import { canonicalJson } from '../../domain/canonical.ts';
import type {
  ActDifference,
  MatchNow,
  NumberPair,
  RuleDifference,
  RuleSetDifference,
  SampleOf,
} from '../../domain/rule-set-difference.ts';
import { DIFFERENCE_EXAMPLES_MAX } from '../../domain/rule-set-difference.ts';
import type { Replay, ReplayedAct, ReplayedRule } from '../../domain/replay.ts';

export interface ReplayedSet {
  replay: Replay;
  /** At its last run. */
  now: readonly MatchNow[];
}

export function compareRuleSets(old: ReplayedSet, fresh: ReplayedSet): RuleSetDifference {
  const ids = [...new Set([...old.replay.rules, ...fresh.replay.rules].map(({ id }) => id))].sort();
  const rules = ids
    .map((id) => ruleDifference(id, old, fresh))
    .filter(({ way, ...rest }) => way !== 'same' || hasAny(rest));
  const [before, after] = [new Map(old.now.map(keyed)), new Map(fresh.now.map(keyed))];
  return {
    fromMs: fresh.replay.fromMs,
    toMs: fresh.replay.toMs,
    runs: fresh.replay.runs,
    gaps: fresh.replay.gaps,
    isSame: rules.length === 0,
    now: { added: sample(without(after, before)), gone: sample(without(before, after)) },
    overTime: actDifference(old.replay.acts, fresh.replay.acts),
    rules,
    neverRecorded: fresh.replay.neverRecorded,
  };
}

function ruleDifference(id: string, old: ReplayedSet, fresh: ReplayedSet): RuleDifference {
  const [was, is] = [old, fresh].map(({ replay }) => replay.rules.find((rule) => rule.id === id));
  const of = ({ now }: ReplayedSet) => new Map(now.filter(({ rule }) => rule === id).map(keyed));
  const acts = ({ replay }: ReplayedSet) => replay.acts.filter(({ rule }) => rule === id);
  const numbers = (key: keyof ReplayedRule & NumberKey): NumberPair => ({ was: was?.[key] ?? 0, is: is?.[key] ?? 0 });
  return {
    id,
    title: (is ?? was)?.title ?? '',
    way: wayOf(was, is),
    now: { added: sample(without(of(fresh), of(old))), gone: sample(without(of(old), of(fresh))) },
    overTime: actDifference(acts(old), acts(fresh)),
    matches: numbers('matches'),
    acts: numbers('acts'),
    undos: numbers('undos'),
    mostInRun: numbers('mostInRun'),
    mostInDay: numbers('mostInDay'),
    flaps: numbers('flaps'),
    unknown: numbers('unknown'),
    missing: missingPairs(was?.missing ?? {}, is?.missing ?? {}),
  };
}

type NumberKey = 'matches' | 'acts' | 'undos' | 'mostInRun' | 'mostInDay' | 'flaps' | 'unknown';

function wayOf(was: ReplayedRule | undefined, is: ReplayedRule | undefined): RuleDifference['way'] {
  if (!was) return 'added';
  if (!is) return 'removed';
  return was.hash === is.hash ? 'same' : 'changed';
}

/** A rule that is the same may act otherwise because of another one. */
function hasAny({ now, overTime, missing, id: _id, title: _title, ...pairs }: Omit<RuleDifference, 'way'>): boolean {
  const samples = [now.added, now.gone, overTime.added, overTime.gone];
  const numbers = [...Object.values(pairs), ...Object.values(missing)];
  return samples.some(({ count }) => count > 0) || numbers.some(({ was, is }) => was !== is);
}

/** Whom one set would have acted on and the other one not: by action and target. The first act on each. */
function actDifference(old: readonly ReplayedAct[], fresh: readonly ReplayedAct[]): ActDifference {
  const [before, after] = [byTarget(old), byTarget(fresh)];
  return { added: sample(without(after, before)), gone: sample(without(before, after)) };
}

function byTarget(acts: readonly ReplayedAct[]): Map<string, ReplayedAct> {
  const first = new Map<string, ReplayedAct>();
  for (const act of acts) {
    const key = canonicalJson([act.action, act.target]);
    if (!act.undo && !first.has(key)) first.set(key, act);
  }
  return first;
}

function keyed(match: MatchNow): [string, MatchNow] {
  return [canonicalJson([match.rule, match.subject.kind, match.subject.id]), match];
}

function without<T>(all: ReadonlyMap<string, T>, others: ReadonlyMap<string, T>): T[] {
  return [...all].flatMap(([key, one]) => (others.has(key) ? [] : [one]));
}

function sample<T>(all: readonly T[]): SampleOf<T> {
  return { count: all.length, examples: all.slice(0, DIFFERENCE_EXAMPLES_MAX) };
}

function missingPairs(was: { [fact: string]: number }, is: { [fact: string]: number }): { [fact: string]: NumberPair } {
  const facts = [...new Set([...Object.keys(was), ...Object.keys(is)])].sort();
  return Object.fromEntries(facts.map((fact) => [fact, { was: was[fact] ?? 0, is: is[fact] ?? 0 }]));
}
