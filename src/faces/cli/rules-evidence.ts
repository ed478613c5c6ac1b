// cli: `rules evidence [ID]`: what each rule's tests and recorded time show, and what is missing for the next mode. In: the rules folder, the
// history beside the database, if any. Out: text, Markdown or JSON; kept evidence beside the history. It asks no API, and needs no database.

import { existsSync } from 'node:fs';
import { isoTime } from '../../base/time.ts';
import type { ReportEvidence } from '../../contract/report.ts';
import type { Database } from '../../domain/database.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import {
  EARNED_MODES,
  type EarnedMode,
  type EvidenceThresholds,
  type Lacks,
  lacksOf,
  type RuleEvidence,
} from '../../domain/evidence.ts';
import { givenTime } from '../../domain/given-time.ts';
import type { Replay } from '../../domain/replay.ts';
import type { Rule } from '../../domain/rule.ts';
import { ACTIONS } from '../../engine/act/actions.ts';
import {
  contentOf,
  dropOldEvidence,
  evidenceFolder,
  gatherEvidence,
  keepEvidence,
  type ReplayedTime,
  replayTime,
} from '../../history/evidence/evidence-files.ts';
import { loadRuleFolder } from '../../rules/active/rule-holder.ts';
import type { LoadedRule } from '../../rules/language/loaded-rule.ts';
import { evidenceThresholdsOf } from '../../runtime/config/config.ts';
import { systemClock } from '../../runtime/system/clock.ts';
import { keepHeapLean, statusLine } from '../../runtime/system/process.ts';
import { timeWords } from '../report/decision-words.ts';
import { noticeWords, rolloutWords, viewOf } from '../report/evidence-words.ts';
import { countText, plural, showHidden } from '../report/fact-text.ts';
import { md, mdTable } from '../report/markdown.ts';
import { paragraph, type TerminalOptions } from '../report/terminal-table.ts';
import { withSettings } from './config-of.ts';
import { type CommonOptions, databaseOf, type Io, outputOf, widthOf, write } from './io.ts';
import { oneOf } from './rules.ts';

// The evidence of rules as one document, as text and as Markdown.

interface EvidenceReport {
  /** What was replayed; null: there is no history, and only tests count. */
  history: { from: string; to: string; runs: number; gaps: { from: string; to: string; text: string }[] } | null;
  since: string;
  thresholds: EvidenceThresholds;
  rules: EvidenceOfRule[];
}

interface EvidenceOfRule extends ReportEvidence {
  id: string;
  title: string;
  mode: Rule['mode'];
  hash: string;
  /** Each warning counted as delivered at once in what was replayed. */
  notice?: string;
  /** Its steps: what was replayed went through them by its own time. */
  rollout?: string;
  /** What the rule's own mode lacks; without a history, only what its tests lack. */
  unearned: string[];
}

interface JudgedRule {
  rule: Pick<Rule, 'id' | 'title' | 'mode' | 'hash' | 'notice' | 'rollout'>;
  evidence: RuleEvidence;
  lacks: Lacks;
}

function evidenceReport(
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
    rules: judged.map(({ rule: { id, title, mode, hash, notice, rollout }, evidence, lacks }) => ({
      id,
      title,
      mode,
      hash,
      ...viewOf(mode, evidence, lacks),
      ...(notice && { notice: noticeWords(notice) }),
      ...(rollout && { rollout: rolloutWords(rollout) }),
      unearned: unearned(mode, lacks, replay !== undefined),
    })),
  };
}

function unearned(mode: Rule['mode'], lacks: Lacks, hasHistory: boolean): string[] {
  const own = EARNED_MODES.find((one) => one === mode);
  if (own === undefined) return [];
  return lacks[own].filter(({ needsHistory }) => hasHistory || !needsHistory).map(({ text }) => text);
}

function evidenceText(report: EvidenceReport, options: TerminalOptions): string {
  const blocks = report.rules.map((rule) =>
    [`${rule.id} (${rule.mode}): ${showHidden(rule.title)}`, ...linesOf(rule)].map((line, at) =>
      at === 0 ? paragraph(line, options) : setIn(line, options),
    ),
  );
  return [...blocks.map((lines) => lines.join('\n')), paragraph(historyWords(report), options)].join('\n\n');
}

function setIn(line: string, { width = 100, ...options }: TerminalOptions): string {
  const [first = '', ...rest] = paragraph(line, { ...options, width: width - 4 }).split('\n');
  return [`  ${first}`, ...rest.map((more) => `    ${more}`)].join('\n');
}

function linesOf(rule: EvidenceOfRule): string[] {
  const steps = (['notice', 'rollout'] as const).flatMap((name) => (rule[name] ? [`${name}: ${rule[name]}`] : []));
  return [testWords(rule), replayWords(rule), ...steps, ...EARNED_MODES.map((mode) => modeWords(rule, mode))];
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

function evidenceMarkdown(report: EvidenceReport): string {
  const rows = report.rules.map((rule) => [
    `\`${rule.id}\`<br>${md(rule.title)}`,
    rule.mode,
    md(testWords(rule).replace('tests: ', '')),
    md([replayWords(rule).replace('replayed: ', ''), rule.notice ?? [], rule.rollout ?? []].flat().join('; ')),
    EARNED_MODES.map((mode) => md(modeWords(rule, mode))).join('<br>'),
  ]);
  const table = [...mdTable(['Rule', 'Mode', 'Tests', 'Replayed', 'What is missing'], rows)].join('');
  return `# Evidence of rules\n\n${md(historyWords(report))}\n\n${table}\n`;
}

export interface EvidenceOptions extends CommonOptions {
  since?: string;
  require?: boolean;
}

const SINCE = '30d';

/** Exit code 1 with `--require`: a rule has a mode that it has not earned. */
export async function rulesEvidenceCommand(
  io: Io,
  named: string | undefined,
  options: EvidenceOptions,
): Promise<number> {
  const format = outputOf(options, ['text', 'json', 'md'] as const, 'text');
  const nowMs = systemClock.nowMs();
  const fromMs = givenTime(options.since ?? SINCE, '--since', nowMs, 'before');
  if (fromMs >= nowMs) throw new AppError('usage', `--since \`${options.since}\`: expected a time in the past`);
  const { env } = await withSettings(io, options);
  const thresholds = evidenceThresholdsOf(env);
  const folders = options.rules ?? (env.TRUSTWARD_RULES?.trim() || 'rules');
  const { rules } = await loadRuleFolder(folders, ACTIONS);
  const only = named === undefined ? undefined : oneOf(rules, named, folders);
  const chosen = only ? [only] : rules;
  const database = databaseOf(io, options);
  const time = await recordedTime(io, database, rules, { fromMs, toMs: nowMs, only: only?.id });
  const evidence = await gatherEvidence(chosen, time, nowMs);
  // Of a shorter stretch than usual, only this answer is made.
  if (time && options.since === undefined) keep(io, database, chosen, evidence, nowMs);
  const report = reportOf(chosen, evidence, thresholds, { time, fromMs });
  const texts = {
    text: () => evidenceText(report, widthOf(options)),
    md: () => evidenceMarkdown(report),
    json: () => JSON.stringify(report, null, 2),
  };
  write(io, options, texts[format]());
  return options.require && report.rules.some(({ unearned }) => unearned.length > 0) ? 1 : 0;
}

/** Undefined without a history, and for an empty one. */
async function recordedTime(
  io: Io,
  database: Database,
  rules: readonly LoadedRule[],
  { fromMs, toMs, only }: { fromMs: number; toMs: number; only: string | undefined },
): Promise<ReplayedTime | undefined> {
  if (!existsSync(`${database.beside}.history`)) return undefined;
  keepHeapLean();
  const { boundAddressOf, composeHistory } = await import('../../runtime/compose/history.ts');
  const stopping = new AbortController();
  void io.untilStopped().then(() => stopping.abort());
  try {
    return await replayTime(composeHistory(database, await boundAddressOf(database)), rules, {
      fromMs,
      toMs,
      ...(only !== undefined && { only: [only] }),
      actions: ACTIONS,
      signal: stopping.signal,
      progress: statusLine.progress(io.env),
    });
  } finally {
    statusLine.clear();
  }
}

/** What cannot be kept is shown all the same. */
function keep(
  io: Io,
  database: Database,
  rules: readonly LoadedRule[],
  evidence: readonly RuleEvidence[],
  nowMs: number,
): void {
  const folder = evidenceFolder(database.beside);
  try {
    for (const [at, rule] of rules.entries())
      keepEvidence(folder, evidence[at] as RuleEvidence, contentOf(rule).ruleHashes);
    dropOldEvidence(folder, nowMs);
  } catch (error) {
    io.err(`the evidence could not be kept in \`${folder}\`: ${lineOf(error)}\n`);
  }
}

function reportOf(
  rules: readonly LoadedRule[],
  evidence: readonly RuleEvidence[],
  thresholds: EvidenceThresholds,
  { time, fromMs }: { time: ReplayedTime | undefined; fromMs: number },
): EvidenceReport {
  const judged = rules.map((rule, at) => {
    const own = evidence[at] as RuleEvidence;
    return { rule, evidence: own, lacks: lacksOf(own, thresholds) };
  });
  return evidenceReport(judged, { thresholds, replay: time?.replay, fromMs });
}
