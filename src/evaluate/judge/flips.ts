// evaluate: the smallest change of at most two facts that gives a rule another verdict on a record.
// In: a judged rule. Out: for each verdict that can be reached, the fewest facts to change. Bounded; changes nothing.
import type { Fact, Facts } from '../../domain/facts.ts';
import type { Flip, VerdictName } from '../../domain/verdict.ts';
import { STEPS_MAX } from '../language/frame.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import { FALSE, TRUE, type Truth } from '../language/three-valued.ts';
import { ownAt } from '../language/typed-value.ts';
import { slotValue, verdictOf } from './evidence.ts';
import { type Change, candidatesFor } from './flip-candidates.ts';
import type { Judged } from './judge-once.ts';

/** How many changes may still be tried. One that takes loops counts as several. */
export interface TryBudget {
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
  const attempt = (changes: Change[]): void => {
    if (isOver()) return;
    const verdict = ask(changes);
    budget.tries -= 1 + Math.floor((STEPS_MAX - judged.frame.steps) / STEPS_OF_A_TRY);
    if (!wanted.includes(verdict) || found.has(verdict)) return;
    found.set(verdict, { verdict, changes: changes.map(({ fact, from, to }) => ({ fact, from, to })) });
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
