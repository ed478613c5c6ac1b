// history: gathers the evidence of rules: their own tests, and a replay of recorded time in which each has mode enforce. In: rules, and the
// replay. Out: evidence, one for each rule. It keeps nothing.
import { digestOf } from '../../domain/digest.ts';
import type { ReplayedFigures, RuleEvidence, TestFigures } from '../../domain/evidence.ts';
import type { HistoryGap, HistoryReader } from '../../domain/recorded-history.ts';
import type { Replay, ReplayedRule } from '../../domain/replay.ts';
import { MODES } from '../../domain/rule.ts';
import { SOURCE_OF, SUBJECT_KINDS, type SubjectKind } from '../../domain/subjects.ts';
import type { RuleTestReport } from '../../domain/verdict.ts';
import type { LoadedRule } from '../../rules/language/loaded-rule.ts';
import { testRuleInTurns } from '../../rules/rule-tests/run-tests.ts';
import { type WhatIfOptions, whatIf } from '../replay/what-if.ts';

interface RuleContent {
  content: string;
  /** `Rule.hash` in each mode, and where its file names none. */
  ruleHashes: string[];
  tests: string;
}

export function contentOf({ raw }: Pick<LoadedRule, 'raw'>): RuleContent {
  const { tests, mode: _, ...meaning } = raw;
  const inModes = MODES.map((mode) => digestOf({ ...meaning, mode }));
  const content = digestOf(meaning);
  return { content, ruleHashes: [content, ...inModes], tests: digestOf(tests ?? []) };
}

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

function countingReader(reader: HistoryReader): {
  reader: HistoryReader;
  subjects: Readonly<Record<SubjectKind, number>>;
} {
  const subjects = { device: 0, user: 0, service: 0 };
  const counting: HistoryReader = {
    async *items(query) {
      for await (const item of reader.items(query)) {
        if (item.kind === 'run' && item.run.frame.part === undefined) {
          for (const kind of SUBJECT_KINDS) {
            const { state, trusted, count } = item.run.frame.sources[SOURCE_OF[kind]];
            if (state === 'read' && trusted) subjects[kind] = Math.max(subjects[kind], count);
          }
        }
        yield item;
      }
    },
    span: () => reader.span(),
    factsAt: (subject, atMs) => reader.factsAt(subject, atMs),
    changesOf: (subject, fromMs, toMs) => reader.changesOf(subject, fromMs, toMs),
    ruleSet: (hash) => reader.ruleSet(hash),
  };
  return { reader: counting, subjects };
}

/** Undefined: nothing is recorded. Errors: as whatIf. */
export async function replayTime(
  reader: HistoryReader,
  rules: readonly LoadedRule[],
  options: WhatIfOptions,
): Promise<ReplayedTime | undefined> {
  if ((await reader.span()) === undefined) return undefined;
  const { reader: counting, subjects } = countingReader(reader);
  const replay = await whatIf(counting, rules, options);
  return { replay, subjects };
}
