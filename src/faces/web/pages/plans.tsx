// web: the plans, newest first, a page at a time. In: the store. Out: a page.

import { z } from 'zod';
import { formatDuration } from '../../../base/time.ts';
import { nameField, positionField } from '../../../contract/operation.ts';
import { PLAN_STATUSES, type PlannedCount, type PlanStatus } from '../../../domain/plan.ts';
import type { RunStatus } from '../../../domain/run.ts';
import type { PlanLine } from '../../../domain/store-ports.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { pageAsked } from '../../http/mount.ts';
import { operationsOf, type Route, readForm, readQuery } from '../../http/route.ts';
import { plural } from '../../report/fact-text.ts';
import { Link } from '../../report/html/link.tsx';
import { By, Mark, type Row, Table, Words } from '../../report/html/text.tsx';
import { countedPlans, planTitle } from '../../report/inbox.ts';
import { type CountedRun, countWords, runLineView, triggerWords } from '../../report/lists-text.ts';
import { kindWordsOf } from '../../report/plan-text.ts';
import { addressOf } from '../address.ts';
import { formPage, mayDo, readPage } from '../answer.tsx';
import { Act, Live, Pager, StatusFilter } from '../parts/act.tsx';
import { Ago } from '../parts/figures.tsx';
import { chartOver, rangeField, talliesOver } from '../parts/over-time.tsx';

const PAGE = 50;
/** The rows of longer plans are megabytes. */
const TITLED_MAX = 200;

const query = z.strictObject({
  status: z.preprocess((value) => (value === '' ? undefined : value), z.enum(PLAN_STATUSES).optional()),
  before: nameField.optional(),
});

export function plansPages(deps: HttpDeps): Route[] {
  return [
    readPage(deps, '/plans', async (context) => {
      const { status, before } = readQuery(context, query);
      return {
        title: 'Plans',
        section: '/plans',
        live: 'plan',
        body: (
          <>
            <h1>Plans</h1>
            <Live id="plans" on="plan" path={pageAsked(context)}>
              {await list(deps, status, before)}
            </Live>
          </>
        ),
      };
    }),
  ];
}

async function list({ reader, clock }: HttpDeps, status: PlanStatus | undefined, before: string | undefined) {
  const plans = await reader.planLines(status === undefined ? {} : { status }, {
    ...(before !== undefined && { before }),
    limit: PAGE,
  });
  const short = plans.filter(({ intents = 0 }) => intents <= TITLED_MAX);
  const titles = new Map((await countedPlans(reader, short)).map(({ line, counts }) => [line.id, counts]));
  const last = plans.at(-1);
  const params = last && new URLSearchParams({ ...(status && { status }), before: last.id });
  return (
    <section class="card">
      {status === undefined ? null : <h2>Plans that are {status}</h2>}
      <StatusFilter path="/plans" statuses={PLAN_STATUSES} chosen={status} />
      <Table
        caption="Plans, newest first"
        columns={['Plan', 'Status', 'Made', 'Answered']}
        rows={plans.map((one) => rowOf(one, titles.get(one.id), clock.nowMs()))}
        empty="There is none."
      />
      <Pager next={plans.length === PAGE && params ? `/plans?${params}` : undefined} />
    </section>
  );
}

/** By what it does; of one that is long, or no longer kept, how much it has. */
function rowOf(line: PlanLine, counts: readonly PlannedCount[] = [], nowMs: number): Row {
  const { id, status, mode, releases, intents, madeAt, decidedBy, decidedAt } = line;
  const many = intents === undefined ? 'A plan that is not readable' : plural(intents, 'action');
  return {
    cells: [
      <>
        <Link href={`/plans/${encodeURIComponent(id)}`}>{counts.length === 0 ? many : planTitle(counts)}</Link>
        {releases === undefined && mode !== 'dry-run' ? null : <div class="quiet">{kindWordsOf(mode, releases)}</div>}
      </>,
      <Mark word={status} />,
      <Ago at={madeAt} nowMs={nowMs} />,
      decidedBy === undefined ? (
        ''
      ) : (
        <>
          <By>{decidedBy}</By>
          {decidedAt === undefined ? null : (
            <div>
              <Ago at={decidedAt} nowMs={nowMs} />
            </div>
          )}
        </>
      ),
    ],
  };
}

// What lists of runs share: a run as a row of a table, and the button that makes a dry run.

const RUN_COLUMNS = ['Run', 'Started', 'Trigger', 'Mode', 'Status', 'Took', 'Newly decided, and done'];

export function DryRun() {
  return (
    <>
      <Act to="/runs" label="Dry run" fields={{ mode: 'dry-run' }} tone="main" />
      <p class="quiet">It judges everything, changes nothing, and shows its report.</p>
    </>
  );
}

function runRow(counted: CountedRun, nowMs: number): Row {
  const run = runLineView(counted);
  return {
    cells: [
      <Link href={`/runs/${run.seq}`}>{run.seq}</Link>,
      <Ago at={run.startedAt} nowMs={nowMs} />,
      triggerWords(run).map((words) => <div>{words}</div>),
      <Mark word={run.modeInForce} tone="calm" />,
      <>
        <Mark word={run.status} />
        {run.error === null ? null : (
          <div>
            <Words>{run.error}</Words>
          </div>
        )}
      </>,
      run.tookMs === null ? '' : formatDuration(run.tookMs),
      countWords(run.counts).map((words) => <div>{words}</div>),
    ],
  };
}

// All runs, the newest first, and the way to make one.

const RUNS_ON_PAGE = 50;
const STATUSES = ['completed', 'aborted', 'running'] as const satisfies readonly RunStatus[];

const listQuery = z.strictObject({
  /** Also those that judged only what new events named. */
  events: z.literal('yes').optional(),
  status: z.enum(STATUSES).or(z.literal('')).optional(),
  before: positionField.optional(),
  range: rangeField,
});
const runForm = z.strictObject({ mode: z.enum(['dry-run', 'approve', 'enforce']) });

export function runsPages(deps: HttpDeps): Route[] {
  return [
    readPage(deps, '/runs', async (context) => {
      const { status, before, events, range } = readQuery(context, listQuery);
      const chosen = status === '' ? undefined : status;
      return {
        title: 'Runs',
        section: '/runs',
        live: 'run',
        body: (
          <>
            <h1>Runs</h1>
            {mayDo(context, 'trigger') ? <NewRun /> : null}
            <Live id="work" on="run" path={addressOf('/runs', { range })}>
              {await chartOver(deps, { path: '/runs', tallies: await talliesOver(deps, range) })}
            </Live>
            <StatusFilter path="/runs" statuses={STATUSES} chosen={chosen} />
            <p class="quiet">
              {events
                ? 'Runs after new events are shown, too. '
                : 'Runs that judged only what new events named are not shown. '}
              <Link href={addressOf('/runs', { status: chosen, events: events ? undefined : 'yes' })}>
                {events ? 'Hide them' : 'Show them'}
              </Link>
            </p>
            <Live id="runs" on="run" path={addressOf('/runs', { status: chosen, events, before })}>
              <p id="progress" class="quiet" aria-live="polite"></p>
              {await runList(deps, { status: chosen, events, before })}
            </Live>
          </>
        ),
      };
    }),
    formPage(deps, '/runs', 'trigger', async (context) => {
      const { mode } = await readForm(context, runForm);
      const { run } = await operationsOf(deps, context).triggerRun({ mode });
      return `/runs/${run.seq}`;
    }),
  ];
}

interface ListedRuns {
  status: RunStatus | undefined;
  events: 'yes' | undefined;
  before: number | undefined;
}

async function runList({ reader, clock }: HttpDeps, { status, events, before }: ListedRuns) {
  const found = await reader.runLines({
    limit: RUNS_ON_PAGE + 1,
    ...(events === undefined && { overLists: true }),
    ...(status && { status }),
    ...(before !== undefined && { before }),
  });
  const runs = found.slice(0, RUNS_ON_PAGE);
  const counted = await Promise.all(runs.map(async (run) => ({ run, counts: await reader.countsOfRun(run) })));
  const last = found.length > RUNS_ON_PAGE ? runs.at(-1) : undefined;
  return (
    <section class="card">
      <Table
        caption="Runs, the newest first"
        columns={RUN_COLUMNS}
        rows={counted.map((one) => runRow(one, clock.nowMs()))}
        empty="There is no such run."
      />
      <Pager next={last && addressOf('/runs', { status, events, before: last.seq })} />
    </section>
  );
}

function NewRun() {
  return (
    <section class="card">
      <h2>Run now</h2>
      <DryRun />
      <details>
        <summary>A run that acts</summary>
        <Act
          to="/runs"
          label="Run in mode approve"
          fields={{ mode: 'approve' }}
          confirm="Run now, and put everything that the rules want into a plan?"
        />
        <Act
          to="/runs"
          label="Run in mode enforce"
          fields={{ mode: 'enforce' }}
          tone="danger"
          confirm="Run now, and act on what the rules match?"
        />
        <p class="quiet">Rules, ceilings and the configured mode still lower what is done.</p>
      </details>
    </section>
  );
}
