// commands: a report in the format that was asked for.
import { ACTIONS } from '../act/actions.ts';
import { type Report, reportJson, reportMarkdown, reportText } from '../report/index.ts';

export type ReportFormat = 'text' | 'json' | 'md';

export function renderReport(report: Report, format: ReportFormat, options: { width: number }): string {
  switch (format) {
    case 'json':
      return reportJson(report);
    case 'md':
      return reportMarkdown(report, { actions: ACTIONS });
    case 'text':
      return reportText(report, { ...options, actions: ACTIONS });
  }
}
