// report: what the rest of the product may use of it. Reads the store only.
import type { ReportReader } from '../domain/record-reader.ts';
import type { RunRecord } from '../domain/store.ts';
import { auditView } from './audit-view.ts';
import { buildReport } from './build-report.ts';
import { decisionView } from './decision-view.ts';
import { reportJson } from './json.ts';
import { reportMarkdown } from './markdown.ts';
import { notificationView } from './notification-view.ts';
import { acceptanceView, exemptionView, releasedView, stopView } from './operator-view.ts';
import { claimView, intentView, planView } from './plan-view.ts';
import { runSummaryView } from './run-view.ts';
import { reportText, type TextOptions } from './text.ts';
import { tokenView } from './token-view.ts';

export { buildReport } from './build-report.ts';
export { clip, showHidden } from './hostile-text.ts';
export { auditJson, decisionsJson, reportJson } from './json.ts';
export { auditText, decisionsText } from './lists-text.ts';
export { type MarkdownOptions, reportMarkdown } from './markdown.ts';
export type { Report, ReportDecision, ReportSummary } from './report.ts';
export { paragraph, type TerminalOptions, terminalTable } from './terminal-table.ts';
export { reportText, type TextOptions } from './text.ts';
export { timeWords } from './words.ts';

export const REPORT_FORMATS = ['json', 'md', 'text'] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

/** The report of a run in one of its formats. Errors: AppError `store_failed`. */
export async function writeReport(
  reader: ReportReader,
  run: RunRecord,
  format: ReportFormat,
  options: TextOptions = {},
): Promise<string> {
  const report = await buildReport(reader, run);
  switch (format) {
    case 'json':
      return reportJson(report);
    case 'md':
      return reportMarkdown(report, options);
    case 'text':
      return reportText(report, options);
  }
}

/** How stored nouns are shown to other programs. */
export const views = {
  report: writeReport,
  run: runSummaryView,
  decision: decisionView,
  plan: planView,
  intent: intentView,
  claim: claimView,
  auditEntry: auditView,
  notification: notificationView,
  exemption: exemptionView,
  stop: stopView,
  acceptance: acceptanceView,
  released: releasedView,
  token: tokenView,
};
