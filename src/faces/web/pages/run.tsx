// web: the report of a run: the same sections as the HTML file, with the first rows of each group; the rest of a group; and the files. In:
// the store. Out: a page that reads itself again while the run is under way.

import { raw } from 'hono/html';
import { z } from 'zod';
import type { Report, RunDecision } from '../../../contract/report.ts';
import { runNamed } from '../../../domain/decision-filter.ts';
import { AppError } from '../../../domain/errors.ts';
import { statusAt } from '../../../domain/plan.ts';
import type { ReportFormat } from '../../../domain/replay.ts';
import type { RunRecord } from '../../../domain/store.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { type Ctx, param, type Route, readQuery } from '../../http/route.ts';
import { writtenReport } from '../../http/routes/runs.ts';
import { buildOutline, wholeDecisions } from '../../report/build-report.ts';
import { countText } from '../../report/fact-text.ts';
import { Form, Link } from '../../report/html/link.tsx';
import { groupTable, type Place, runReportPieces } from '../../report/html/report.tsx';
import { Words } from '../../report/html/text.tsx';
import { keyOfGroup, type RowGroup, rowGroups } from '../../report/words.ts';
import { readPage } from '../answer.tsx';
import type { PageContent } from '../layout.tsx';
import { Live } from '../parts/act.tsx';
import { Ago } from '../parts/figures.tsx';
import { chartOver, type Range, rangeField, talliesOver } from '../parts/over-time.tsx';

/**
 * INVARIANT: what a report shows changes only together with an audit entry; only the end of a plan comes by itself. Evidence of rules is of
 * the time when the outline was made.
 */
function keptOutlines({
  reader,
  clock,
  evidence,
}: Pick<HttpDeps, 'reader' | 'clock' | 'evidence'>): (run: RunRecord) => Promise<Report> {
  let kept: { run: string; head: number; report: Report } | undefined;
  return async (run) => {
    const { seq: head } = await reader.auditHead();
    if (kept?.run === run.id && kept.head === head && !hasExpired(kept.report, clock.nowMs())) return kept.report;
    const report = await buildOutline(reader, run, evidence);
    kept = { run: run.id, head, report };
    return report;
  };
}

function hasExpired({ plan: { status, expiresAt } }: Report, nowMs: number): boolean {
  if (status === null || expiresAt === null) return false;
  return statusAt({ status, expiresAt: Date.parse(expiresAt) }, nowMs) !== status;
}

const ROWS_OF_GROUP = 50;
/** Of all groups together, and the least of each: a page stays short, however many groups there are. */
const ROWS_OF_PAGE = 100;
const ROWS_LEAST = 1;
const LIVE = 'run intent decision plan';
const FILES = { html: 'HTML', csv: 'CSV', json: 'JSON', md: 'Markdown' } as const satisfies Partial<
  Record<ReportFormat, string>
>;

const textField = z.string().max(1_000).optional();
const runQuery = z.strictObject({ q: textField, range: rangeField });
const groupQuery = z.strictObject({ q: textField, group: z.string().max(1_000), after: z.string().max(200) });

type OutlineOf = (run: RunRecord) => Promise<Report>;

export function runPages(deps: HttpDeps): Route[] {
  const outlineOf = keptOutlines(deps);
  return [
    readPage(deps, '/runs/:id', async (context) => {
      const run = await runNamed(deps.reader, param(context, 'id'));
      const { q, range } = readQuery(context, runQuery);
      return runPage(deps, outlineOf, run, { text: q?.trim() || undefined, range });
    }),
    readPage(deps, '/runs/:id/group', (context) => groupPage(deps, outlineOf, context)),
    ...(Object.keys(FILES) as (keyof typeof FILES)[]).map((format) =>
      readPage(deps, `/runs/:id/report.${format}`, async (context) => {
        const run = await runNamed(deps.reader, param(context, 'id'));
        const filename = `trustward-run-${run.seq}.${format}`;
        return writtenReport(deps, run, format, { 'Content-Disposition': `attachment; filename="${filename}"` });
      }),
    ),
  ];
}

async function runPage(
  deps: HttpDeps,
  outlineOf: OutlineOf,
  run: RunRecord,
  { text, range }: { text: string | undefined; range: Range },
): Promise<PageContent> {
  const path = pathOf(run);
  const isRunning = run.status === 'running';
  const pieces = await reportPieces(deps, outlineOf, run, text);
  return {
    title: `Run ${run.seq}`,
    section: '/runs',
    ...(isRunning && { live: LIVE }),
    body: (
      <>
        <Live id="report" on={isRunning ? LIVE : undefined} path={path}>
          {isRunning ? <p id="progress" class="quiet" aria-live="polite"></p> : null}
          <Pieces of={pieces} />
        </Live>
        {await chartOver(deps, { path, tallies: await talliesOver(deps, range, run) })}
        <Files path={path} />
      </>
    ),
  };
}

async function reportPieces(
  { reader, clock }: HttpDeps,
  outlineOf: OutlineOf,
  run: RunRecord,
  text: string | undefined,
): Promise<() => Iterable<string>> {
  const report = await outlineOf(run);
  const groups = rowGroups(text === undefined ? report : narrowed(report, text));
  const rowsMax = Math.max(ROWS_LEAST, Math.min(ROWS_OF_GROUP, Math.floor(ROWS_OF_PAGE / groups.length)));
  const shown = await wholeDecisions(
    reader,
    groups.flatMap(({ decisions }) => decisions.slice(0, rowsMax)),
  );
  const place = placeOf(run, shown, rowsMax, text);
  const found = groups.reduce((sum, { decisions }) => sum + decisions.length, 0);
  const narrow = <Narrow path={pathOf(run)} text={text} found={found} all={report.decisions.length} />;
  const head = (
    <p class="quiet">
      It began <Ago at={run.startedAt} nowMs={clock.nowMs()} />. <Link href="#over-time">Over time</Link>
    </p>
  );
  return () => runReportPieces({ report, place, groups, head: String(head), tools: String(narrow) });
}

/** INVARIANT: made while the page is written, so that its links begin as those of the page. */
function Pieces({ of }: { of: () => Iterable<string> }) {
  return raw([...of()].join(''));
}

function placeOf(run: RunRecord, shown: readonly RunDecision[], rowsMax: number, text: string | undefined): Place {
  const byId = new Map(shown.map((decision) => [decision.id, decision]));
  return {
    isPage: true,
    rowsMax,
    ...(text !== undefined && { text }),
    whole: ({ id }) => byId.get(id),
    more: (group, { id: after }) => {
      const query = new URLSearchParams({ group: keyOfGroup(group), after, ...(text !== undefined && { q: text }) });
      return `${pathOf(run)}/group?${query}`;
    },
  };
}

async function groupPage({ reader }: HttpDeps, outlineOf: OutlineOf, context: Ctx): Promise<PageContent> {
  const { q, group: key, after } = readQuery(context, groupQuery);
  const run = await runNamed(reader, param(context, 'id'));
  const report = await outlineOf(run);
  const text = q?.trim() || undefined;
  const group = groupOf(text === undefined ? report : narrowed(report, text), key);
  const from = group.decisions.findIndex(({ id }) => id === after) + 1;
  const rows = from === 0 ? [] : group.decisions.slice(from, from + ROWS_OF_GROUP);
  const place = placeOf(run, await wholeDecisions(reader, rows), ROWS_OF_GROUP, text);
  return {
    title: `Run ${run.seq}: ${group.action} by ${group.rule}`,
    section: '/runs',
    body: (
      <>
        <h1>
          {group.action} by {group.rule}
        </h1>
        <p>
          <Link href={pathOf(run)}>The report of run {run.seq}</Link>
        </p>
        <section class="card" id="rows">
          <Pieces of={() => groupTable(group, rows, place)} />
        </section>
      </>
    ),
  };
}

/** Errors: AppError `not_found`. */
function groupOf(report: Report, key: string): RowGroup {
  const group = rowGroups(report).find((one) => keyOfGroup(one) === key);
  if (group) return group;
  throw new AppError('not_found', `run ${report.run.seq} has no decisions \`${key}\`: go back to its report`);
}

/** A run is named by its number: a link to it stays short. */
function pathOf({ seq }: RunRecord): string {
  return `/runs/${seq}`;
}

interface NarrowProps {
  path: string;
  text: string | undefined;
  found: number;
  all: number;
}

function Narrow({ path, text, found, all }: NarrowProps) {
  return (
    <Form class="act" method="get" action={path}>
      <label>
        Rows with
        <input type="search" name="q" value={text} placeholder="Serial, name, e-mail, target" maxlength={1000} />
      </label>
      <button type="submit">Show</button>
      {text === undefined ? null : (
        <span>
          {countText(found)} of {countText(all)} with <Words>{text}</Words>. <Link href={path}>Show all</Link>
        </span>
      )}
    </Form>
  );
}

function Files({ path }: { path: string }) {
  return (
    <p>
      This report as a file:{' '}
      {Object.entries(FILES).map(([format, name], at) => (
        <>
          {at > 0 ? ', ' : ''}
          <Link href={`${path}/report.${format}`} download>
            {name}
          </Link>
        </>
      ))}
    </p>
  );
}

/** The same report with the decisions that a text names: a part of an id, a name, a serial number, a target or an owner, in any case. */
function narrowed(report: Report, text: string): Report {
  const part = text.trim().toLowerCase();
  if (part === '') return report;
  return { ...report, decisions: report.decisions.filter((decision) => isNamed(decision, part)) };
}

function isNamed({ subject, target, effect }: RunDecision, part: string): boolean {
  const names = [subject.id, subject.name, target, subject.serial, ...(subject.owners ?? [])];
  for (const { id, name, serial, owners = [] } of effect.devices) names.push(id, name, serial ?? null, ...owners);
  return names.some((name) => name?.toLowerCase().includes(part));
}
