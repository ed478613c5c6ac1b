// Evidence for tests, made by hand: a rule that has earned everything, and changes of it.
import type { ReplayedFigures, RuleEvidence, TestFigures } from '../../../src/domain/evidence.ts';
import type { Replay, ReplayedRule } from '../../../src/domain/replay.ts';

export const DAY_MS = 86_400_000;
export const NOW_MS = 1_768_478_400_000;

export function evidenceOf(tests: Partial<TestFigures> = {}, replayed: Partial<ReplayedFigures> = {}): RuleEvidence {
  return {
    rule: 'ban-lost',
    content: 'c'.repeat(64),
    madeAtMs: NOW_MS,
    tests: {
      passed: 4,
      failed: 0,
      matching: 2,
      others: 2,
      coveredPercent: 100,
      mutants: { tried: 9, survived: 0 },
      hash: 't'.repeat(64),
      ...tests,
    },
    replayed: {
      fromMs: NOW_MS - 21 * DAY_MS,
      toMs: NOW_MS,
      runs: 6_048,
      coveredMs: 21 * DAY_MS,
      gaps: 0,
      matches: 12,
      acts: 12,
      mostInRun: 3,
      mostTargets: 3,
      allowed: 25,
      flaps: 0,
      unknown: 1,
      subjects: 100,
      ...replayed,
    },
  };
}

export function replayedRule(changes: Partial<ReplayedRule> & Pick<ReplayedRule, 'id' | 'hash'>): ReplayedRule {
  return {
    title: changes.id,
    mode: 'dry-run',
    matches: 12,
    acts: 12,
    undos: 0,
    mostInRun: 3,
    mostInRunAtMs: NOW_MS - DAY_MS,
    mostInDay: 4,
    mostInDayAtMs: NOW_MS - DAY_MS,
    allowed: { limits: 25, run: 50, day: 200 },
    mostTargets: 3,
    flaps: 0,
    lasted: undefined,
    personDid: 0,
    personUndid: 0,
    unknown: 2,
    missing: {},
    held: [],
    notice: undefined,
    ...changes,
  };
}

export function replayOf(rules: ReplayedRule[], changes: Partial<Replay> = {}): Replay {
  const fromMs = NOW_MS - 21 * DAY_MS;
  return {
    way: 'what_if',
    fromMs,
    toMs: NOW_MS,
    askedFromMs: fromMs,
    everyMs: undefined,
    runs: 6_048,
    wholeRuns: 6_000,
    decidedRuns: 6_048,
    gaps: [],
    rules,
    acts: [],
    differences: [],
    untrusted: [],
    notes: [],
    unread: [],
    neverRecorded: [],
    buckets: [],
    ...changes,
  };
}
