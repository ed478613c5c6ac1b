// http: runs: triggering one, listing them, reading one and its report. In: requests. Out: runs as JSON, reports as
// JSON, Markdown, text, CSV or HTML.
import { z } from 'zod';
import { AppError, lineOf } from '../../domain/errors.ts';
import type { RecordReader } from '../../domain/record-reader.ts';
import { REPORT_FORMATS, type ReportFormat } from '../../domain/report-format.ts';
import type { Run, RunRequest } from '../../domain/run.ts';
import type { RunRecord } from '../../domain/store.ts';
import type { HttpDeps } from '../deps.ts';
import { idParam, limitField, nameField, positionField } from '../input.ts';
import { keyHeaders } from '../key-headers.ts';
import { sentAs } from '../mount.ts';
import { operation } from '../operation.ts';
import { pageSchema } from '../paging.ts';
import { type Ctx, json, type Route, written } from '../route.ts';

const runBody = z.strictObject({
  mode: z.enum(['dry-run', 'approve', 'enforce']),
  rules: z.array(nameField).min(1).max(1_000).optional().describe('only these rules; without it, the whole active set'),
  wait: z.boolean().default(false).describe('answer when it has finished, not when it has begun'),
});
const listQuery = z.strictObject({ limit: limitField, before: positionField.optional() });
const reportQuery = z.strictObject({ format: z.enum(REPORT_FORMATS).default('json') });
const runParam = idParam('a run, or its number, or `latest`');

const CONTENT_TYPES: Record<ReportFormat, string> = {
  json: 'application/json',
  md: 'text/markdown; charset=utf-8',
  text: 'text/plain; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  html: 'text/html; charset=utf-8',
};

const OTHER_TYPES = Object.values(CONTENT_TYPES).filter((type) => type !== CONTENT_TYPES.json);

function triggered(run: z.ZodType) {
  return z
    .strictObject({
      id: z.string(),
      status: z.enum(['running', 'completed', 'aborted']),
      location: z.string().describe('the path of the run'),
      run,
    })
    .meta({ id: 'TriggeredRun' });
}

export function runRoutes(deps: HttpDeps): Route[] {
  const { reader, views, schemas } = deps;
  const begun = { schema: triggered(schemas.run), headers: { Location: 'the path of the run' } };
  return [
    operation({
      method: 'POST',
      path: '/api/runs',
      scope: 'trigger',
      operationId: 'triggerRun',
      tag: 'runs',
      summary: 'Request a run',
      description: 'Runs go one at a time: it may begin after others. Equal dry runs that wait become one.',
      headers: keyHeaders,
      body: runBody,
      answers: {
        200: { ...begun, description: 'with `wait`: it has finished; an aborted one shows that in its status' },
        202: { ...begun, description: 'it has begun' },
      },
      refusals: [502],
      handle: (context, { body }) => triggerRun(deps, context, body),
    }),
    operation({
      method: 'GET',
      path: '/api/runs',
      scope: 'read',
      operationId: 'listRuns',
      tag: 'runs',
      summary: 'List runs',
      query: listQuery,
      answers: {
        200: {
          description: 'a page of runs, the newest first',
          schema: pageSchema('runs', schemas.run, { next: z.int().min(1) }),
        },
      },
      handle: async (_context, { query: { limit, before } }) => {
        const runs = await reader.runs(limit, before);
        return json({ runs: runs.map(views.run), next: runs.length < limit ? null : (runs.at(-1)?.seq ?? null) });
      },
    }),
    operation({
      method: 'GET',
      path: '/api/runs/:id',
      scope: 'read',
      operationId: 'getRun',
      tag: 'runs',
      summary: 'Read a run',
      params: runParam,
      answers: { 200: { description: 'the run', schema: schemas.run } },
      handle: async (_context, { params }) => json(views.run(await runOf(reader, params.id))),
    }),
    operation({
      method: 'GET',
      path: '/api/runs/:id/report',
      scope: 'read',
      operationId: 'getReport',
      tag: 'runs',
      summary: 'Read the report of a run',
      params: runParam,
      query: reportQuery,
      answers: { 200: { description: 'the report', schema: schemas.report, types: OTHER_TYPES } },
      handle: async (_context, { params, query }) => writtenReport(deps, await runOf(reader, params.id), query.format),
    }),
  ];
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

/** 202 when it has begun, or 200 when it has finished; an aborted one shows that in its status. */
async function triggerRun(
  deps: HttpDeps,
  context: Ctx,
  { mode, rules, wait }: z.infer<typeof runBody>,
): Promise<Response> {
  const unique = rules && [...new Set(rules)];
  const { run, ended } = await beginRun(deps, context, { mode, rules: unique });
  const failure = wait ? await ended : undefined;
  const record = await runOf(deps.reader, run.id);
  // Its end could not be recorded: the waiting caller must not read that it is still under way.
  if (failure !== undefined && record.status === 'running') throw failure;
  return runAnswered(deps, context, run.id, wait);
}

/** A run that was requested, as it is now. `wait`: the answer was to wait for its end. */
export async function runAnswered(
  deps: Pick<HttpDeps, 'reader' | 'views'>,
  context: Ctx,
  id: string,
  wait: boolean,
): Promise<Response> {
  const record = await runOf(deps.reader, id);
  const location = sentAs(context, `/api/runs/${encodeURIComponent(id)}`);
  const body = { id, status: record.status, location, run: deps.views.run(record) };
  return json(body, wait ? 200 : 202, { Location: location });
}

/** `ended` resolves with the error that aborted it, which is logged and recorded in its row. Errors: those of `trigger`. */
export async function beginRun(
  { trigger, log }: Pick<HttpDeps, 'trigger' | 'log'>,
  context: Ctx,
  { mode, rules }: Pick<RunRequest, 'mode' | 'rules'>,
): Promise<{ run: Run; ended: Promise<unknown> }> {
  const { onceId, caller } = context.var;
  const by = caller.name;
  const request = { mode, rules, trigger: 'http', waitForDoubts: false, by } as const;
  const { run, finished } = await trigger(onceId === undefined ? request : { ...request, onceId });
  const aborted = (error: unknown) => {
    log.warn({ run: run.id, by }, `a run was aborted: ${lineOf(error)}`);
    return error;
  };
  return { run, ended: finished.then(() => undefined, aborted) };
}

const RECENT = 20;

/** `latest`: the last run that has ended, or otherwise the one under way. Errors: AppError `not_found`. */
export async function runOf(reader: Pick<RecordReader, 'run' | 'runs'>, id: string): Promise<RunRecord> {
  if (id === 'latest') {
    const recent = await reader.runs(RECENT);
    const latest = recent.find((run) => run.status !== 'running') ?? recent[0];
    if (latest) return latest;
    throw new AppError('not_found', 'there is no run yet: POST /api/runs makes one');
  }
  const run = await reader.run(id);
  if (!run) throw new AppError('not_found', `there is no run \`${id}\``);
  return run;
}
