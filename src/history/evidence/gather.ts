// history: gathers the evidence of rules: their own tests, and a replay of recorded time in which each has mode enforce. In: rules, and the
// replay. Out: evidence, one for each rule. It keeps nothing.
import type { ReplayedFigures, RuleEvidence, TestFigures } from '../../domain/evidence.ts';
import type { HistoryGap } from '../../domain/recorded-history.ts';
import type { Replay, ReplayedRule } from '../../domain/replay.ts';
import type { RuleTestReport } from '../../domain/rule-tests.ts';
import { type LoadedRule, testRuleInTurns } from '../../evaluate/index.ts';
import { contentOf } from './content.ts';

/** What a replay of all these rules together found; and the most subjects of each kind that one of its runs listed. */
export interface ReplayedTime {
  replay: Replay;
  subjects: Readonly<Record<LoadedRule['subject'], number>>;
}

export async function gatherEvidence(
  rules: readonly LoadedRule[],
  time: ReplayedTime | undefined,
  nowMs: number,
): Promise<RuleEvidence[]> {
  const evidence: RuleEvidence[] = [];
  for (const rule of rules) {
    const { content, tests } = contentOf(rule);
    const report = await testRuleInTurns(rule, { mutate: true });
    const found = time?.replay.rules.find(({ id, hash }) => id === rule.id && hash === rule.hash);
    evidence.push({
      rule: rule.id,
      content,
      madeAtMs: nowMs,
      tests: testFigures(report, tests),
      replayed: time && found && time.replay.runs > 0 ? replayedFigures(time, found, rule) : undefined,
    });
  }
  return evidence;
}

function testFigures({ tests, coveredPercent, mutants }: RuleTestReport, hash: string): TestFigures {
  const passed = tests.filter(({ ok }) => ok).length;
  const matching = tests.filter(({ expected }) => expected === 'match').length;
  return {
    passed,
    failed: tests.length - passed,
    matching,
    others: tests.length - matching,
    coveredPercent,
    mutants: { tried: mutants?.tried ?? 0, survived: mutants?.survivors.length ?? 0 },
    hash,
  };
}

function replayedFigures({ replay, subjects }: ReplayedTime, found: ReplayedRule, rule: LoadedRule): ReplayedFigures {
  const { fromMs, toMs, runs, gaps } = replay;
  const { matches, acts, mostInRun, mostTargets, allowed, flaps, unknown } = found;
  return {
    fromMs,
    toMs,
    runs,
    coveredMs: coveredMs(fromMs, toMs, gaps),
    gaps: gaps.length,
    matches,
    acts,
    mostInRun,
    mostTargets,
    allowed: allowed?.limits ?? null,
    flaps,
    unknown,
    subjects: subjects[rule.subject],
  };
}

/** Without the gaps, each moment of which counts once. */
export function coveredMs(fromMs: number, toMs: number, gaps: readonly Pick<HistoryGap, 'fromMs' | 'toMs'>[]): number {
  let covered = Math.max(0, toMs - fromMs);
  let doneMs = fromMs;
  for (const gap of [...gaps].sort((one, other) => one.fromMs - other.fromMs)) {
    const [from, to] = [Math.max(gap.fromMs, doneMs), Math.min(gap.toMs, toMs)];
    if (to > from) covered -= to - from;
    doneMs = Math.max(doneMs, to);
  }
  return covered;
}
