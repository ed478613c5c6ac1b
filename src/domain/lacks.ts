// domain: what a rule's evidence lacks for the modes that it can earn. In: evidence, thresholds. Out: what is missing, most important
// first. Pure, and the one place where the thresholds are compared.
import type {
  EarnedMode,
  EvidenceThresholds,
  Lack,
  Lacks,
  ReplayedFigures,
  RuleEvidence,
  TestFigures,
} from './evidence.ts';

const DAY_MS = 86_400_000;

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
      lack('coverage', `${thresholds.coveredPercentMin} % coverage of its conditions, ${coveredPercent} % now`),
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
      text: `runs within its limits: ${mostTargets} targets in one run, ${allowed} allowed`,
      needsHistory: true,
    });
  if (flaps > flapsMax)
    lacks.push({
      code: 'flaps',
      text: `at most ${flapsMax} undone within the hour, ${flaps} now`,
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
