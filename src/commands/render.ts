// commands: a report in the format that was asked for. It loads the writer of that format alone, and actions only for targets that
// the record does not name.
import type { KnownTraits } from '../domain/action.ts';
import type { ReportFormat } from '../domain/report-format.ts';
import type { Report } from '../report/report.ts';

export async function renderReport(report: Report, format: ReportFormat, options: { width: number }): Promise<string> {
  switch (format) {
    case 'json':
      return (await import('../report/json.ts')).reportJson(report);
    case 'md':
      return (await import('../report/markdown.ts')).reportMarkdown(report, await actionsFor(report));
    case 'csv':
      return [...(await import('../report/csv.ts')).reportCsvPieces(report)].join('');
    case 'html':
      return [...(await import('../report/html/run/file.tsx')).reportHtmlPieces(report)].join('');
    case 'text':
      return (await import('../report/text.ts')).reportText(report, { ...options, ...(await actionsFor(report)) });
  }
}

async function actionsFor({ decisions }: Report): Promise<{ actions?: KnownTraits }> {
  const { namesOwnTarget } = await import('../report/decision-words.ts');
  return decisions.some(namesOwnTarget) ? { actions: (await import('../act/actions.ts')).ACTIONS } : {};
}
