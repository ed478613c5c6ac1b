// report: what the rest of the product may use of it. Reads the store only. It loads every view and writer: a command that starts soon
// imports the file of the writer that it uses.
import type { EvidenceReader } from '../domain/evidence.ts';
import type { ExplainedSubject } from '../domain/explanation.ts';
import { inTurns } from '../domain/give-way.ts';
import type { ReportReader } from '../domain/record-reader.ts';
import type { ReportFormat } from '../domain/report-format.ts';
import type { RunRecord } from '../domain/store.ts';
import type { WhyAnswer } from '../domain/why.ts';
import { auditView } from './audit-view.ts';
import { buildReport } from './build-report.ts';
import { reportCsvPieces } from './csv.ts';
import { decisionView } from './decision-view.ts';
import { historyView } from './history.ts';
import { reportJsonPieces } from './json.ts';
import { claimList, exemptionList } from './listed.ts';
import { liveEventView } from './live-event-view.ts';
import { reportMarkdownPieces } from './markdown.ts';
import { notificationView } from './notification-view.ts';
import { acceptanceView, exemptionView, releasedView, stopView } from './operator-view.ts';
import { claimView, intentView, planView } from './plan-view.ts';
import type { Report } from './report.ts';
import { runSummaryView } from './run-view.ts';
import { buildSummary } from './summary/build.ts';
import { reportTextPieces, type TextOptions } from './text.ts';
import { tokenView } from './token-view.ts';

export { buildReport } from './build-report.ts';
export { CHANGE_WINDOW, changeWindowNow, changeWindowText, quietHoursText } from './change-window-view.ts';
export { countText, flipWords, plural } from './fact-text.ts';
export { showHidden } from './hostile-text.ts';
export { joinedText } from './listed.ts';
export { md } from './markdown-text.ts';
export { type CellLine, whole } from './marked.ts';
export { countLines, partWords } from './plan-counts.ts';
export { plansText, planText } from './plan-text.ts';
export { planLine } from './plan-words.ts';
export { meanwhileText, refusalText } from './refusal-text.ts';
export type { Report } from './report.ts';
export { buildSummary } from './summary/build.ts';
export { summaryMarkdown, summaryText } from './summary/words.ts';
export { type Cell, paragraph, type TerminalOptions, terminalTable } from './terminal-table.ts';
export type { TextOptions } from './text.ts';
export { timeWords } from './time-words.ts';
export { whoLines } from './who.ts';

/** The report of a run in one of its formats, in chunks between which others are given way. Errors: AppError `store_failed`. */
export async function* writeReport(
  reader: ReportReader,
  run: RunRecord,
  format: ReportFormat,
  options: TextOptions & { evidence?: EvidenceReader } = {},
): AsyncGenerator<string> {
  yield* inTurns(await reportPieces(await buildReport(reader, run, options.evidence), format, options));
}

/** What HTML needs is loaded with the first such report: no other command has to wait for it. */
const htmlWriter = () => import('./html/run/file.tsx');

async function reportPieces(report: Report, format: ReportFormat, options: TextOptions): Promise<Generator<string>> {
  switch (format) {
    case 'json':
      return reportJsonPieces(report);
    case 'md':
      return reportMarkdownPieces(report, options);
    case 'text':
      return reportTextPieces(report, options);
    case 'csv':
      return reportCsvPieces(report);
    case 'html':
      return (await htmlWriter()).reportHtmlPieces(report);
  }
}

/** Schemas are loaded with the first answer that needs them. */
const answers = () => import('./answers.ts');

/** How stored nouns are shown to other programs. */
export const views = {
  report: writeReport,
  reportFilePolicy: async () => (await import('./html/file.tsx')).filePolicy(),
  run: runSummaryView,
  summary: buildSummary,
  history: historyView,
  decision: decisionView,
  plan: planView,
  intent: intentView,
  claim: claimView,
  claims: claimList,
  why: async (answer: WhyAnswer) => (await answers()).whyJson(answer),
  explained: async (answer: ExplainedSubject) => (await answers()).explainedJson(answer),
  auditEntry: auditView,
  liveEvent: liveEventView,
  notification: notificationView,
  exemption: exemptionView,
  exemptions: exemptionList,
  stop: stopView,
  acceptance: acceptanceView,
  released: releasedView,
  token: tokenView,
};
