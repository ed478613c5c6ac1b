// http: what a run answers beside JSON: its report in other formats, and the place of one that was requested.
import { RUNS } from '../../../contract/plans.ts';
import type { Output } from '../../../contract/table.ts';
import { runNamed } from '../../../domain/decision-filter.ts';
import type { ReportFormat } from '../../../domain/replay.ts';
import type { RunRecord } from '../../../domain/store.ts';
import type { HttpDeps } from '../deps.ts';
import { sentAs } from '../mount.ts';
import { askingOf, type Ctx, json, type Route, routeOf, written } from '../route.ts';

const CONTENT_TYPES: Record<ReportFormat, string> = {
  json: 'application/json',
  md: 'text/markdown; charset=utf-8',
  text: 'text/plain; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  html: 'text/html; charset=utf-8',
};

export function reportRoute(deps: Pick<HttpDeps, 'views' | 'reader'>): Route {
  return routeOf(RUNS.getReport, async (_context, { id, format }) =>
    writtenReport(deps, await runNamed(deps.reader, id), format),
  );
}

/** With the policy that an HTML file has in itself, so that it is the same wherever it is opened. */
export async function writtenReport(
  { views, reader }: Pick<HttpDeps, 'views' | 'reader'>,
  run: RunRecord,
  format: ReportFormat,
  headers: Record<string, string> = {},
): Promise<Response> {
  const policy = format === 'html' && {
    'Content-Security-Policy': `${await views.reportFilePolicy()}; frame-ancestors 'none'`,
  };
  return written(views.report(reader, run, format), {
    headers: { 'Content-Type': CONTENT_TYPES[format], ...policy, ...headers },
  });
}

export function triggerRoute({ performer }: Pick<HttpDeps, 'performer'>): Route {
  return routeOf(RUNS.triggerRun, async (context, input) =>
    runAnswered(context, await performer.perform('triggerRun', input, askingOf(context)), input.wait),
  );
}

/** 202 when it has begun, or 200 when it has finished; an aborted one shows that in its status. */
export function runAnswered(context: Ctx, answer: Output<'triggerRun'>, wait: boolean): Promise<Response> {
  const location = sentAs(context, answer.location);
  return json({ ...answer, location }, wait ? 200 : 202, { Location: location });
}
