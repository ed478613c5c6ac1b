// commands: the evidence of rules as one document, as text and as Markdown. In: rules with their evidence and what it lacks. Out: data for JSON;
// lines and a table. Rules name themselves: their titles are escaped.
import {
  EARNED_MODES,
  type EarnedMode,
  type EvidenceThresholds,
  type Lacks,
  type RuleEvidence,
} from '../domain/evidence.ts';
import type { Replay } from '../domain/replay.ts';
import type { Rule } from '../domain/rule.ts';
import { isoTime } from '../domain/time-text.ts';
import { type ReportEvidence, viewOf } from '../report/evidence-words.ts';
import { showHidden } from '../report/hostile-text.ts';
import { countText, md, paragraph, plural, type TerminalOptions } from '../report/index.ts';
import { mdTable } from '../report/markdown-text.ts';
import { timeWords } from '../report/time-words.ts';

export interface EvidenceReport {
  /** What was replayed; null: there is no history, and only tests count. */
  history: { from: string; to: string; runs: number; gaps: { from: string; to: string; text: string }[] } | null;
  since: string;
  thresholds: EvidenceThresholds;
  rules: EvidenceOfRule[];
}

export interface EvidenceOfRule extends ReportEvidence {
  id: string;
  title: string;
  mode: Rule['mode'];
  hash: string;
  /** What the rule's own mode lacks; without a history, only what its tests lack. */
  unearned: string[];
}

interface JudgedRule {
  rule: Pick<Rule, 'id' | 'title' | 'mode' | 'hash'>;
  evidence: RuleEvidence;
  lacks: Lacks;
}

export function evidenceReport(
  judged: readonly JudgedRule[],
  { thresholds, replay, fromMs }: { thresholds: EvidenceThresholds; replay: Replay | undefined; fromMs: number },
): EvidenceReport {
  return {
    history: replay
      ? {
          from: isoTime(replay.fromMs),
          to: isoTime(replay.toMs),
          runs: replay.runs,
          gaps: replay.gaps.map((gap) => ({ from: isoTime(gap.fromMs), to: isoTime(gap.toMs), text: gap.text })),
        }
      : null,
    since: isoTime(fromMs),
    thresholds,
    rules: judged.map(({ rule: { id, title, mode, hash }, evidence, lacks }) => ({
      id,
      title,
      mode,
      hash,
      ...viewOf(mode, evidence, lacks),
      unearned: unearned(mode, lacks, replay !== undefined),
    })),
  };
}

function unearned(mode: Rule['mode'], lacks: Lacks, hasHistory: boolean): string[] {
  const own = EARNED_MODES.find((one) => one === mode);
  if (own === undefined) return [];
  return lacks[own].filter(({ needsHistory }) => hasHistory || !needsHistory).map(({ text }) => text);
}

export function evidenceText(report: EvidenceReport, options: TerminalOptions): string {
  const blocks = report.rules.map((rule) =>
    [`${rule.id} (${rule.mode}): ${showHidden(rule.title)}`, ...linesOf(rule)].map((line, at) =>
      at === 0 ? paragraph(line, options) : setIn(line, options),
    ),
  );
  return [...blocks.map((lines) => lines.join('\n')), paragraph(historyWords(report), options)].join('\n\n');
}

function setIn(line: string, { width = 100 }: TerminalOptions): string {
  const [first = '', ...rest] = paragraph(line, { width: width - 4 }).split('\n');
  return [`  ${first}`, ...rest.map((more) => `    ${more}`)].join('\n');
}

function linesOf(rule: EvidenceOfRule): string[] {
  return [testWords(rule), replayWords(rule), ...EARNED_MODES.map((mode) => modeWords(rule, mode))];
}

function testWords({ tests: { passed, failed, coveredPercent, mutants, survived } }: EvidenceOfRule): string {
  return `tests: ${passed} passed, ${failed} failed; ${coveredPercent} % of its conditions covered; ${survived} of ${plural(mutants, 'small change')} of them went unnoticed`;
}

function replayWords({ replayed, mode }: EvidenceOfRule): string {
  if (replayed === null) return mode === 'off' ? 'replayed: nothing, since the rule is off' : 'replayed: nothing';
  const { days, gaps, matches, acts, mostInRun, flaps, unknown, unknownPercent } = replayed;
  const share = unknownPercent === null ? '' : ` (${Math.ceil(unknownPercent * 10) / 10} %)`;
  return [
    `replayed: ${plural(days, 'day')}${gaps === 0 ? '' : ` and ${plural(gaps, 'gap')}`}`,
    plural(matches, 'match', 'matches'),
    plural(acts, 'action'),
    `at most ${countText(mostInRun)} in a run`,
    `${countText(flaps)} undone within the hour`,
    `${plural(unknown, 'subject')} unknown${share}`,
  ].join(', ');
}

function modeWords({ missing }: EvidenceOfRule, mode: EarnedMode): string {
  const lacks = missing[mode];
  return `${mode}: ${lacks.length === 0 ? 'earned' : `needs ${lacks.join('; ')}`}`;
}

function historyWords({ history, since }: EvidenceReport): string {
  if (history === null)
    return 'There is no history beside the database: only tests count here, and all that recorded time would show is missing.';
  const gaps = history.gaps.length === 0 ? '' : `, with ${plural(history.gaps.length, 'gap')}`;
  return `Replayed in mode enforce over ${plural(history.runs, 'run')}, ${timeWords(history.from)} to ${timeWords(history.to)}${gaps}; asked for since ${timeWords(since)}.`;
}

export function evidenceMarkdown(report: EvidenceReport): string {
  const rows = report.rules.map((rule) => [
    `\`${rule.id}\`<br>${md(rule.title)}`,
    rule.mode,
    md(testWords(rule).replace('tests: ', '')),
    md(replayWords(rule).replace('replayed: ', '')),
    EARNED_MODES.map((mode) => md(modeWords(rule, mode))).join('<br>'),
  ]);
  const table = [...mdTable(['Rule', 'Mode', 'Tests', 'Replayed', 'What is missing'], rows)].join('');
  return `# Evidence of rules\n\n${md(historyWords(report))}\n\n${table}\n`;
}
