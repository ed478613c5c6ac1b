// Documents as people read them, in one call: a report, a replay, a summary, a comparison of two rule sets.
import type { Summary } from '../../src/contract/answers.ts';
import type { ReplayDocument } from '../../src/contract/replay.ts';
import type { Report } from '../../src/contract/report.ts';
import type { KnownTraits } from '../../src/domain/action.ts';
import { documentMarkdown } from '../../src/faces/report/markdown.ts';
import { readableReplay } from '../../src/faces/report/replay/sections.ts';
import { COMMENT_MAX, type RulesDiffDocument, readableDiff } from '../../src/faces/report/rules-diff/sections.ts';
import { readableReport } from '../../src/faces/report/sections.ts';
import { readableSummary } from '../../src/faces/report/summary/sections.ts';
import type { TerminalOptions } from '../../src/faces/report/terminal-table.ts';
import { documentText } from '../../src/faces/report/text.ts';

export const reportText = (report: Report, options?: TerminalOptions) =>
  documentText(readableReport(report, 'text'), options);
export const reportMarkdown = (report: Report, options: { actions?: KnownTraits } = {}) =>
  documentMarkdown(readableReport(report, 'md', options.actions));
export const replayText = (replay: ReplayDocument, options?: TerminalOptions) =>
  documentText(readableReplay(replay, 'text'), options);
export const replayMarkdown = (replay: ReplayDocument) => documentMarkdown(readableReplay(replay, 'md'));
export const summaryText = (summary: Summary, options?: TerminalOptions) =>
  documentText(readableSummary(summary), options);
export const summaryMarkdown = (summary: Summary) => documentMarkdown(readableSummary(summary));
export const rulesDiffText = (found: RulesDiffDocument, options?: TerminalOptions) =>
  documentText(readableDiff(found), options);
export const rulesDiffMarkdown = (found: RulesDiffDocument) => documentMarkdown(readableDiff(found), COMMENT_MAX);
