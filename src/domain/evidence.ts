// domain: the evidence of a rule, by its content: what its own tests show, and what a replay of recorded time found. In: nothing. Out: its
// forms, and the thresholds that a mode is earned by. It holds figures alone: no subject is named in it.
import type { Mode } from './mode.ts';

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
  /** The most targets that its limits were asked about in one run, and the least that they allowed; null: they were never asked. */
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
