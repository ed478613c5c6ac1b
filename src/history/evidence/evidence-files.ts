// history: evidence as files beside the history, one for each content of a rule. In: a folder. Out: evidence by the hash of a rule; a file that
// is written whole or not at all (0600). INVARIANT: reading computes nothing and never throws: a damaged or foreign file is no evidence.
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { makeFolderSync, writeWhole } from '../../base/files.ts';
import { digestOf } from '../../domain/digest.ts';
import type {
  EvidenceReader,
  EvidenceThresholds,
  ReplayedFigures,
  RuleEvidence,
  TestFigures,
} from '../../domain/evidence.ts';
import type { HistoryGap, HistoryReader } from '../../domain/recorded-history.ts';
import type { Replay, ReplayedRule } from '../../domain/replay.ts';
import { MODES } from '../../domain/rule.ts';
import { SOURCE_OF, SUBJECT_KINDS, type SubjectKind } from '../../domain/subjects.ts';
import type { RuleTestReport } from '../../domain/verdict.ts';
import type { LoadedRule } from '../../rules/language/loaded-rule.ts';
import { testRuleInTurns } from '../../rules/rule-tests/run-tests.ts';
import { type WhatIfOptions, whatIf } from '../replay/what-if.ts';

const VERSION = 2;
const NAME = /^[0-9a-f]{64}\.json$/;
/** Of contents that no rule has had for this long. */
const KEPT_MS = 180 * 86_400_000;
/** A folder that somebody filled is not read whole with every page. */
const FILES_MAX = 5_000;

const count = z.int().min(0);
const form = z.object({
  version: z.literal(VERSION),
  ruleHashes: z.array(z.string()),
  evidence: z.object({
    rule: z.string(),
    content: z.string(),
    madeAtMs: z.number(),
    tests: z.object({
      passed: count,
      failed: count,
      matching: count,
      others: count,
      coveredPercent: z.number(),
      mutants: z.object({ tried: count, survived: count }),
      hash: z.string(),
    }),
    replayed: z
      .object({
        fromMs: z.number(),
        toMs: z.number(),
        runs: count,
        coveredMs: z.number(),
        gaps: count,
        matches: count,
        acts: count,
        mostInRun: count,
        mostTargets: count,
        allowed: count.nullable(),
        flaps: count,
        unknown: count,
        subjects: count,
      })
      .optional(),
  }),
});

/** Beside the database: the folder of the history has it. */
export function evidenceFolder(db: string): string {
  return join(`${db}.history`, 'evidence');
}

/** Errors: those of node:fs. */
export function keepEvidence(folder: string, evidence: RuleEvidence, ruleHashes: readonly string[]): void {
  makeFolderSync(folder);
  const text = JSON.stringify({ version: VERSION, ruleHashes, evidence }, null, 1);
  writeWhole(join(folder, `${evidence.content}.json`), `${text}\n`, 0o600);
}

/** Removes what was made long ago and never again. */
export function dropOldEvidence(folder: string, nowMs: number): void {
  for (const file of namesIn(folder)) {
    const kept = readKept(join(folder, file));
    if (kept && kept.evidence.madeAtMs < nowMs - KEPT_MS) rmSync(join(folder, file), { force: true });
  }
}

/** A reader that reads the folder again after it changed. */
export function evidenceReader(folder: string, thresholds: EvidenceThresholds): EvidenceReader {
  let known = new Map<string, RuleEvidence>();
  let asOf: number | undefined;
  return {
    thresholds,
    isKept: () => statSync(dirname(folder), { throwIfNoEntry: false })?.isDirectory() ?? false,
    of: (ruleHash) => {
      // Each file comes by a rename, which changes the folder.
      const changed = changedAt(folder);
      if (changed !== asOf) known = readAll(folder);
      asOf = changed;
      return known.get(ruleHash);
    },
  };
}

function readAll(folder: string): Map<string, RuleEvidence> {
  const byHash = new Map<string, RuleEvidence>();
  for (const file of namesIn(folder)) {
    const kept = readKept(join(folder, file));
    for (const hash of kept?.ruleHashes ?? []) byHash.set(hash, kept?.evidence as RuleEvidence);
  }
  return byHash;
}

function readKept(file: string): { ruleHashes: readonly string[]; evidence: RuleEvidence } | undefined {
  try {
    const { ruleHashes, evidence } = form.parse(JSON.parse(readFileSync(file, 'utf8')));
    return { ruleHashes, evidence: { ...evidence, replayed: evidence.replayed } };
  } catch {
    return undefined;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => NAME.test(name))
      .slice(0, FILES_MAX);
  } catch {
    return []; // there is no history, or it cannot be read
  }
}

function changedAt(folder: string): number | undefined {
  return statSync(folder, { throwIfNoEntry: false })?.mtimeMs;
}

// Gathers the evidence of rules: their own tests, and a replay of recorded time in which each has mode enforce. In: rules, and the
// replay. Out: evidence, one for each rule. It keeps nothing.

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
