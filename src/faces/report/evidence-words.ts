// report: the evidence of a rule in one short line, and as data. In: the rule's mode and hash, kept evidence. Out: words without names of
// subjects.

import { formatDuration, isoTime } from '../../base/time.ts';
import type { ReportEvidence } from '../../contract/report.ts';
import {
  daysReplayed,
  type EvidenceReader,
  earnedMode,
  type Lack,
  type Lacks,
  lacksOf,
  type RuleEvidence,
  unknownPercent,
} from '../../domain/evidence.ts';
import type { Plan } from '../../domain/plan.ts';
import { type Rollout, shareText } from '../../domain/rollout.ts';
import { type ActionOfRule, isLive, leastMode, type Mode, type Rule, type RuleNotice } from '../../domain/rule.ts';
import { countText, plural } from './fact-text.ts';

interface Judged {
  mode: Mode;
  hash: string;
}

/**
 * `evidence of 2026-11-22 19:42 UTC: 21 days, 12 matches, at most 3 done in a run, 0 undone within the hour, 2 unknown; enforce is earned`: it was made then,
 * and is not made anew to be shown. Undefined: no history is kept at all.
 */
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
    text: `evidence of ${minuteText(evidence.madeAtMs)}: ${figureWords(evidence)}; ${earnedWords(mode, lacks)}`,
  };
}

function minuteText(atMs: number): string {
  return `${isoTime(atMs).slice(0, 16).replace('T', ' ')} UTC`;
}

function figureWords({ replayed, tests }: RuleEvidence): string {
  if (replayed === undefined) return `${plural(tests.passed + tests.failed, 'test')}, nothing replayed`;
  const { matches, mostInRun, flaps, unknown } = replayed;
  return [
    plural(daysReplayed(replayed), 'day'),
    plural(matches, 'match', 'matches'),
    `at most ${countText(mostInRun)} done in a run`,
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

interface PlannedEvidence extends ReportEvidence {
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

// The settings of a rule in words.

const MODE_WORDS: Record<Mode, string> = {
  off: 'it is not judged',
  'dry-run': 'it judges and reports, and changes nothing',
  approve: 'it does only what a person approved',
  enforce: 'it acts by itself, within limits and ceilings',
};

/** What the mode in force means, and what lowered it. */
export function ruleModeWords(
  { mode, notice, rollout }: Pick<Rule, 'mode' | 'notice' | 'rollout'>,
  daemonMode: Mode,
): string {
  const inForce = leastMode(mode, daemonMode);
  const lowered = inForce === mode ? '' : `; the daemon's mode ${daemonMode} lowers its own, ${mode}`;
  const before = notice && isLive(inForce) ? `; it warns people ${formatDuration(notice.beforeMs)} before` : '';
  const share = rollout && isLive(inForce) ? '; its rollout says on how many' : '';
  return `${MODE_WORDS[inForce]}${before}${share}${lowered}`;
}

/** `25 targets at once, and 2 % of the subjects; twice that within 24 hours`. */
export function limitWords({ limits: { max, percent, perDay } }: Pick<Rule, 'limits'>): string {
  const inDay = perDay === undefined ? 'twice that' : plural(perDay, 'subject');
  return `${plural(max, 'target')} at once, and ${percent} % of the subjects; ${inDay} within 24 hours`;
}

/** `with` of an action as JSON; empty without settings. */
export function settingsOfAction({ with: settings }: ActionOfRule): string {
  if (Object.keys(settings).length === 0) return '';
  return JSON.stringify(settings, (_key, member) => (typeof member === 'bigint' ? member.toString() : member));
}

export function rolloutWords({ steps, eachMs, brake: { reversed, exempted } }: Rollout): string {
  const shares = steps.map(shareText).join(', then ');
  return `it acts on ${shares} of its subjects, each for ${formatDuration(eachMs)}; it stops when people reversed ${reversed} of what it did, or exempted ${exempted} of those it acted on`;
}

export function noticeWords({ beforeMs, remindMs }: Pick<RuleNotice, 'beforeMs' | 'remindMs'>): string {
  const reminded =
    remindMs.length === 0 ? '' : `; they are reminded ${remindMs.map(formatDuration).join(', ')} before that`;
  return `owners are warned first, and it acts ${formatDuration(beforeMs)} after the delivery${reminded}; where somebody cannot be warned, a person is asked`;
}

/** By the names that rule files have. */
export function ruleSettings(rule: Rule): { name: string; text: string }[] {
  const { forMs, clearForMs, cooldownMs, whenAllowed, notice, fix, rollout, revert, owners, watch } = rule;
  const lasting = (ms: number, what: string) =>
    ms === 0 ? `${what} at once` : `${what} after ${formatDuration(ms)} without a break`;
  return [
    { name: 'for', text: lasting(forMs, 'a match counts') },
    { name: 'clear_for', text: lasting(clearForMs, 'the end of a match counts') },
    {
      name: 'cooldown',
      text:
        cooldownMs === 0
          ? 'none: an attempt on a target may follow another at once'
          : `at least ${formatDuration(cooldownMs)} between two attempts on one target`,
    },
    ...(whenAllowed
      ? [
          {
            name: 'when_allowed',
            text: `it acts only in ${whenAllowed.map(({ text }) => text).join(', ')}; matches wait`,
          },
        ]
      : []),
    ...(notice
      ? [
          {
            name: 'notice',
            text: noticeWords(notice),
          },
        ]
      : []),
    ...(fix
      ? [{ name: 'fix', text: `${fix.problem ? `“${fix.problem}” ` : ''}${fix.text}${fix.url ? ` (${fix.url})` : ''}` }]
      : []),
    ...(rollout ? [{ name: 'rollout', text: rolloutWords(rollout) }] : []),
    {
      name: 'revert',
      text: revert ? 'what it did is undone when it no longer matches' : 'what it did stays until a person undoes it',
    },
    { name: 'limits', text: `${limitWords(rule)}; more holds the whole rule` },
    {
      name: 'owners',
      text:
        owners === 'one'
          ? 'two or more devices of one owner in one run wait for a yes'
          : 'one run can take two or more devices of one owner',
    },
    {
      name: 'watch',
      text: watch
        ? 'between two runs, it judges the subjects that new events name'
        : 'only whole runs judge it: new events do not',
    },
  ];
}
