// domain: the evidence of a rule, by its content: what its own tests show, and what a replay of recorded time found. In: nothing. Out: its
// forms, and the thresholds that a mode is earned by. It holds figures alone: no subject is named in it.
import { DAY_MS } from '../base/time.ts';
import type { AuditEntry } from './audit-entry.ts';
import type { Mode } from './rule.ts';

/** A mode that a rule has to earn, the lower one first. */
export const EARNED_MODES = ['approve', 'enforce'] as const;
export type EarnedMode = (typeof EARNED_MODES)[number];

export interface TestFigures {
  passed: number;
  failed: number;
  /** Tests that expect `match`; and those that expect another verdict. */
  matching: number;
  others: number;
  /** How many of the values that its conditions can have were seen; 0 to 100. */
  coveredPercent: number;
  mutants: { tried: number; survived: number };
  /** Of the tests themselves: others have other figures. */
  hash: string;
}

/** What it would have done over recorded time, in mode enforce. */
export interface ReplayedFigures {
  /** The first and the last replayed run, epoch ms. */
  fromMs: number;
  toMs: number;
  runs: number;
  /** The time between them without the gaps, ms. */
  coveredMs: number;
  gaps: number;
  /** Different subjects. */
  matches: number;
  acts: number;
  mostInRun: number;
  /** The most targets that its limits were asked about in one run, one that crossed them if any did, and what they allowed in it; null: never asked. */
  mostTargets: number;
  allowed: number | null;
  flaps: number;
  /** Different subjects that it could not judge at some time; and the most subjects that one run listed. */
  unknown: number;
  subjects: number;
}

export interface RuleEvidence {
  rule: string;
  /** SHA-256 of the rule without its tests and its mode: a mode does not change what a rule would do. */
  content: string;
  madeAtMs: number;
  tests: TestFigures;
  /** Undefined: nothing is recorded, or nothing was replayed. */
  replayed: ReplayedFigures | undefined;
}

/** What a mode is earned by. All but the days hold for both modes or for `enforce` alone. */
export interface EvidenceThresholds {
  daysMin: Record<EarnedMode, number>;
  coveredPercentMin: number;
  survivorsMax: number;
  /** Of `enforce`. */
  flapsMax: number;
  unknownPercentMax: number;
}

export const EVIDENCE_THRESHOLDS: EvidenceThresholds = {
  daysMin: { approve: 7, enforce: 14 },
  coveredPercentMin: 100,
  survivorsMax: 0,
  flapsMax: 0,
  unknownPercentMax: 5,
};

export interface Lack {
  code:
    | 'no_tests'
    | 'tests_failed'
    | 'one_side'
    | 'coverage'
    | 'mutants'
    | 'subjects'
    | 'days'
    | 'limits'
    | 'flaps'
    | 'unknown';
  /** For people, without the mode: `7 days of history, 3 so far`. */
  text: string;
  /** Recorded time shows it, and nothing else. */
  needsHistory: boolean;
}

/** What is missing for each mode. A mode is earned when nothing is. */
export type Lacks = Record<EarnedMode, readonly Lack[]>;

/** Evidence that is kept. Reading it asks neither the database nor the platform, and computes nothing. */
export interface EvidenceReader {
  readonly thresholds: EvidenceThresholds;
  /** Whether there is a history for it to be made of. */
  isKept(): boolean;
  /** By the hash of a rule (`Rule.hash`). Undefined: there is none yet. Never throws: a damaged file is none. */
  of(ruleHash: string): RuleEvidence | undefined;
}

/** The highest mode that is earned. */
export function earnedMode({ approve, enforce }: Lacks): Extract<Mode, 'dry-run' | EarnedMode> {
  if (approve.length > 0) return 'dry-run';
  return enforce.length > 0 ? 'approve' : 'enforce';
}

// What a rule's evidence lacks for the modes that it can earn.

type Judged = Pick<RuleEvidence, 'tests' | 'replayed'>;

export function lacksOf({ tests, replayed }: Judged, thresholds: EvidenceThresholds): Lacks {
  const ofTests = testLacks(tests, thresholds);
  const days = (mode: EarnedMode) => daysLack(replayed, thresholds.daysMin[mode]);
  const both = [...ofTests, ...subjectsLack(replayed)];
  const ofTime = replayed ? timeLacks(replayed, thresholds) : [];
  return { approve: [...both, ...days('approve')], enforce: [...both, ...days('enforce'), ...ofTime] };
}

/** Whole days of recorded time, without the gaps. */
export function daysReplayed(replayed: Pick<ReplayedFigures, 'coveredMs'> | undefined): number {
  return replayed === undefined ? 0 : Math.floor(replayed.coveredMs / DAY_MS);
}

/** Of the subjects that one run listed, at most 100; undefined: no run listed any. */
export function unknownPercent({
  unknown,
  subjects,
}: Pick<ReplayedFigures, 'unknown' | 'subjects'>): number | undefined {
  if (subjects === 0) return unknown > 0 ? 100 : undefined;
  return Math.min(100, (100 * unknown) / subjects);
}

function testLacks(tests: TestFigures, thresholds: EvidenceThresholds): Lack[] {
  const { passed, failed, matching, others, coveredPercent, mutants } = tests;
  if (passed + failed === 0) return [lack('no_tests', 'tests: it has none')];
  const lacks: Lack[] = [];
  if (failed > 0) lacks.push(lack('tests_failed', `tests that pass: ${failed} of ${passed + failed} failed`));
  if (matching === 0) lacks.push(lack('one_side', 'a test that expects `match`'));
  if (others === 0) lacks.push(lack('one_side', 'a test that expects another verdict than `match`'));
  if (coveredPercent < thresholds.coveredPercentMin)
    lacks.push(
      lack('coverage', `${thresholds.coveredPercentMin} % coverage of its conditions, ${coveredPercent} % so far`),
    );
  if (mutants.survived > thresholds.survivorsMax)
    lacks.push(lack('mutants', `tests that notice ${mutants.survived} more changes of the rule`));
  return lacks;
}

function daysLack(replayed: ReplayedFigures | undefined, daysMin: number): Lack[] {
  const days = daysReplayed(replayed);
  if (days >= daysMin) return [];
  return [{ code: 'days', text: `${daysMin} days of history, ${days} so far`, needsHistory: true }];
}

/** Recorded time in which nothing was listed shows nothing, however long it is. */
function subjectsLack(replayed: ReplayedFigures | undefined): Lack[] {
  if (replayed === undefined || replayed.subjects > 0) return [];
  return [{ code: 'subjects', text: 'subjects in the record: no replayed run listed any', needsHistory: true }];
}

function timeLacks(replayed: ReplayedFigures, { flapsMax, unknownPercentMax }: EvidenceThresholds): Lack[] {
  const { mostTargets, allowed, flaps } = replayed;
  const percent = unknownPercent(replayed);
  const lacks: Lack[] = [];
  if (allowed !== null && mostTargets > allowed)
    lacks.push({
      code: 'limits',
      text: `runs within its limits: one would have taken ${mostTargets} targets, and ${allowed} were allowed in it`,
      needsHistory: true,
    });
  if (flaps > flapsMax)
    lacks.push({
      code: 'flaps',
      text: `at most ${flapsMax} undone within the hour, ${flaps} found`,
      needsHistory: true,
    });
  if (percent !== undefined && percent > unknownPercentMax)
    lacks.push({
      code: 'unknown',
      text: `at most ${unknownPercentMax} % unknown: ${shownPercent(percent)} % of its subjects could not be judged`,
      needsHistory: true,
    });
  return lacks;
}

/** One decimal, rounded up: what is over a threshold never reads as equal to it. */
function shownPercent(percent: number): string {
  return String(Math.ceil(percent * 10) / 10);
}

function lack(code: Lack['code'], text: string): Lack {
  return { code, text, needsHistory: false };
}

// The evidence of a plan, an intent or a subject, for an auditor: what was decided, who said yes, what was called, and what proves it.

/** A rule as a decision was made by it. */
export interface RuleAsItWas {
  id: string;
  file: string;
  hash: string;
  /** What the hash is over. */
  meaning: object;
  /** Of its file. */
  text: string;
}

/** An entry with the way from its hash to the root in the checkpoint over `size` entries. */
export interface ProvenEntry extends Pick<AuditEntry, 'seq' | 'prev' | 'bytes'> {
  path: string[];
  size: number;
}

/** A kind and an id, as people say them. */
export function aboutWords({ kind, id }: Pick<EvidencePack['about'], 'kind' | 'id'>): string {
  return `${kind === 'intent' ? 'action' : kind} ${id}`;
}

export interface EvidencePack {
  format: 'trustward-evidence/1';
  about: { kind: 'plan' | 'intent' | 'subject'; id: string; text: string };
  checkpoints: string[];
  entries: ProvenEntry[];
  keys: string[];
  /** What is not in it, as sentences. */
  left: string[];
  /** What somebody said yes to, whole: its hash is the digest in the entry. */
  plans: { hash: string; id: string; meaning: object }[];
  made: { at: number; by: string };
  rules: RuleAsItWas[];
}
