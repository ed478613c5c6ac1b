// commands: a report in the format that was asked for.
import { ACTIONS } from '../act/actions.ts';
import { type Report, type ReportFormat, reportPieces } from '../report/index.ts';

export const REPORT_FORMATS = ['text', 'json', 'md'] as const;
export type { ReportFormat } from '../report/index.ts';

export function renderReport(report: Report, format: ReportFormat, options: { width: number }): string {
  return [...reportPieces(report, format, { ...options, actions: ACTIONS })].join('');
}
