// report: the evidence of a rule in one short line, and as data. In: the rule's mode and hash, kept evidence. Out: words without names of
// subjects.
import { type EvidenceReader, earnedMode, type Lack, type Lacks, type RuleEvidence } from '../domain/evidence.ts';
import { daysReplayed, lacksOf, unknownPercent } from '../domain/lacks.ts';
import type { Mode } from '../domain/mode.ts';
import type { Plan } from '../domain/plan.ts';
import { isoTime } from '../domain/time-text.ts';
import { countText, plural } from './fact-text.ts';

interface Judged {
  mode: Mode;
  hash: string;
}

/** As the JSON report has it. */
export interface ReportEvidence {
  madeAt: string;
  tests: { passed: number; failed: number; coveredPercent: number; mutants: number; survived: number };
  /** Null: no recorded time was replayed. */
  replayed: {
    from: string;
    to: string;
    days: number;
    gaps: number;
    matches: number;
    acts: number;
    mostInRun: number;
    flaps: number;
    unknown: number;
    unknownPercent: number | null;
  } | null;
  earned: 'dry-run' | 'approve' | 'enforce';
  /** By mode, what is missing. */
  missing: { approve: string[]; enforce: string[] };
  /** All of it in one line. */
  text: string;
}

/** `evidence: 21 days, 12 matches, at most 3 in a run, 0 undone within the hour, 2 unknown; enforce is earned`. Undefined: no history is kept at all. */
export function evidenceLine(rule: Judged, reader: EvidenceReader | undefined): string | undefined {
  if (!reader?.isKept()) return undefined;
  return evidenceView(rule, reader)?.text ?? 'no evidence yet';
}

/** Of the rules that have some. */
export function evidenceLines(
  rules: readonly { id: string; evidence?: Pick<ReportEvidence, 'text'> | null }[],
): { rule: string; text: string }[] {
  // A report of an earlier version, as JSON, has none.
  return rules.flatMap(({ id, evidence }) => (evidence ? [{ rule: id, text: evidence.text }] : []));
}

/** Null: there is none. */
export function evidenceView({ mode, hash }: Judged, reader: EvidenceReader | undefined): ReportEvidence | null {
  const evidence = reader?.of(hash);
  if (reader === undefined || evidence === undefined) return null;
  return viewOf(mode, evidence, lacksOf(evidence, reader.thresholds));
}

export function viewOf(mode: Mode, evidence: RuleEvidence, lacks: Lacks): ReportEvidence {
  const { passed, failed, coveredPercent, mutants } = evidence.tests;
  const { replayed } = evidence;
  return {
    madeAt: isoTime(evidence.madeAtMs),
    tests: { passed, failed, coveredPercent, mutants: mutants.tried, survived: mutants.survived },
    replayed: replayed
      ? {
          from: isoTime(replayed.fromMs),
          to: isoTime(replayed.toMs),
          days: daysReplayed(replayed),
          gaps: replayed.gaps,
          matches: replayed.matches,
          acts: replayed.acts,
          mostInRun: replayed.mostInRun,
          flaps: replayed.flaps,
          unknown: replayed.unknown,
          unknownPercent: unknownPercent(replayed) ?? null,
        }
      : null,
    earned: earnedMode(lacks),
    missing: { approve: lacks.approve.map(textOf), enforce: lacks.enforce.map(textOf) },
    text: `evidence: ${figureWords(evidence)}; ${earnedWords(mode, lacks)}`,
  };
}

function figureWords({ replayed, tests }: RuleEvidence): string {
  if (replayed === undefined) return `${plural(tests.passed + tests.failed, 'test')}, nothing replayed`;
  const { matches, mostInRun, flaps, unknown } = replayed;
  return [
    plural(daysReplayed(replayed), 'day'),
    plural(matches, 'match', 'matches'),
    `at most ${countText(mostInRun)} in a run`,
    `${countText(flaps)} undone within the hour`,
    // No matches, where nobody could be judged, are no evidence of none.
    ...(unknown > 0 ? [`${countText(unknown)} unknown`] : []),
  ].join(', ');
}

/** What the rule's own mode lacks goes before what the next one lacks. */
export function earnedWords(mode: Mode, lacks: Lacks): string {
  if ((mode === 'approve' || mode === 'enforce') && lacks[mode].length > 0)
    return `its mode ${mode} is not earned: it needs ${lackWords(lacks[mode])}`;
  const earned = earnedMode(lacks);
  if (earned === 'enforce') return 'enforce is earned';
  if (earned === 'approve') return `approve is earned; enforce needs ${lackWords(lacks.enforce)}`;
  return `approve needs ${lackWords(lacks.approve)}`;
}

const LACKS_MAX = 2;

function lackWords(lacks: readonly Lack[]): string {
  const more = lacks.length - LACKS_MAX;
  return [...lacks.slice(0, LACKS_MAX).map(textOf), ...(more > 0 ? [`${more} more`] : [])].join('; ');
}

function textOf({ text }: Lack): string {
  return text;
}

export interface PlannedEvidence extends ReportEvidence {
  rule: string;
}

/** Of the rules of a plan that have some. Their own modes are not known here. */
export function evidenceOfPlan(
  { intents }: Pick<Plan, 'intents'>,
  reader: EvidenceReader | undefined,
): PlannedEvidence[] {
  const hashes = new Map(intents.flatMap(({ basis }) => basis.map(({ rule, ruleHash }) => [ruleHash, rule])));
  return [...hashes].flatMap(([hash, rule]) => {
    const view = evidenceView({ mode: 'off', hash }, reader);
    return view ? [{ rule, ...view }] : [];
  });
}
