// report: what the rest of the product may use of it. Reads the store only. It loads every view and writer: a command that starts soon
// imports the file of the writer that it uses.

import { inTurns } from '../../base/turns.ts';
import type { Report } from '../../contract/report.ts';
import type { KnownTraits } from '../../domain/action.ts';
import type { EvidenceReader } from '../../domain/evidence.ts';
import type { EventSchema, LiveEvent } from '../../domain/live-event.ts';
import type { ReportFormat } from '../../domain/replay.ts';
import type { RunRecord } from '../../domain/store.ts';
import type { ReportReader } from '../../domain/store-ports.ts';
import { buildReport } from './build-report.ts';
import { reportCsvPieces } from './csv.ts';
import { decisionView, runSummaryView } from './decision-view.ts';
import { fleetView } from './fleet-view.ts';
import { reportJsonPieces } from './json.ts';
import { auditView, auditViews, historyView } from './lists-text.ts';
import { markdownPieces } from './markdown.ts';
import { eventIn } from './other-schemas.ts';
import {
  acceptanceView,
  claimList,
  claimView,
  exemptionList,
  exemptionView,
  intentView,
  planView,
  releasedView,
  requestView,
  stopView,
} from './plan-view.ts';
import { checkedView, rolloutView } from './rule-view.ts';
import { readableReport } from './sections.ts';
import { buildSummary } from './summary/build.ts';
import type { TerminalOptions } from './terminal-table.ts';
import { textPieces } from './text.ts';
import { liveEventView, noticeView, notificationView, tokenView } from './token-view.ts';

interface ReportOptions extends TerminalOptions {
  /** What they call targets that the record does not name. */
  actions?: KnownTraits;
}

/** The report of a run in one of its formats, in chunks between which others are given way. Errors: AppError `store_failed`. */
export async function* writeReport(
  reader: ReportReader,
  run: RunRecord,
  format: ReportFormat,
  options: ReportOptions & { evidence?: EvidenceReader } = {},
): AsyncGenerator<string> {
  yield* inTurns(await reportPieces(await buildReport(reader, run, options.evidence), format, options));
}

/** What HTML needs is loaded with the first such report: no other command has to wait for it. */
const htmlWriter = () => import('./html/picture.tsx');

async function reportPieces(report: Report, format: ReportFormat, options: ReportOptions): Promise<Generator<string>> {
  switch (format) {
    case 'json':
      return reportJsonPieces(report);
    case 'md':
      return markdownPieces(readableReport(report, 'md', options.actions));
    case 'text':
      return textPieces(readableReport(report, 'text', options.actions), options);
    case 'csv':
      return reportCsvPieces(report);
    case 'html':
      return (await htmlWriter()).reportHtmlPieces(report);
  }
}

/** How stored nouns are shown to other programs. */
export const views = {
  report: writeReport,
  reportFilePolicy: async () => (await import('./html/file.tsx')).filePolicy(),
  run: runSummaryView,
  summary: buildSummary,
  history: historyView,
  fleet: fleetView,
  decision: decisionView,
  plan: planView,
  intent: intentView,
  claim: claimView,
  claims: claimList,
  auditEntry: auditView,
  auditEntries: auditViews,
  liveEvent: (live: LiveEvent, schema?: EventSchema) =>
    schema ? eventIn(schema, live.entry, live) : liveEventView(live),
  eventIn,
  notice: noticeView,
  notification: notificationView,
  exemption: exemptionView,
  exemptions: exemptionList,
  request: requestView,
  stop: stopView,
  acceptance: acceptanceView,
  released: releasedView,
  rollout: rolloutView,
  checked: checkedView,
  token: tokenView,
};
