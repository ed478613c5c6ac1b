// web: all runs, the newest first, and the way to make one. In: the store. Out: a page of fifty, by status; a form for each mode.
import { z } from 'zod';
import type { RunStatus } from '../../domain/run.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { readForm } from '../../http/form.ts';
import { positionField, readQuery } from '../../http/input.ts';
import type { Route } from '../../http/route.ts';
import { beginRun } from '../../http/routes/runs.ts';
import { Table } from '../../report/html/table.tsx';
import { addressOf } from '../address.ts';
import { formPage, mayDo, readPage } from '../answer.tsx';
import { Act } from '../parts/act.tsx';
import { Live } from '../parts/live.tsx';
import { Pager } from '../parts/pager.tsx';
import { StatusFilter } from '../parts/status-filter.tsx';
import { DryRun, RUN_COLUMNS, runRow } from './run-row.tsx';

const RUNS_ON_PAGE = 50;
const STATUSES = ['completed', 'aborted', 'running'] as const satisfies readonly RunStatus[];

const listQuery = z.strictObject({
  status: z.enum(STATUSES).or(z.literal('')).optional(),
  before: positionField.optional(),
});
const runForm = z.strictObject({ mode: z.enum(['dry-run', 'approve', 'enforce']) });

export function runsPages(deps: HttpDeps): Route[] {
  return [
    readPage(deps, '/runs', async (context) => {
      const { status, before } = readQuery(context, listQuery);
      const chosen = status === '' ? undefined : status;
      return {
        title: 'Runs',
        section: '/runs',
        live: 'run',
        body: (
          <>
            <h1>Runs</h1>
            {mayDo(context, 'trigger') ? <NewRun /> : null}
            <StatusFilter path="/runs" statuses={STATUSES} chosen={chosen} />
            <Live id="runs" on="run" path={addressOf('/runs', { status: chosen, before })}>
              <p id="progress" class="quiet" aria-live="polite"></p>
              {await list(deps, chosen, before)}
            </Live>
          </>
        ),
      };
    }),
    formPage(deps, '/runs', 'trigger', async (context) => {
      const { mode } = await readForm(context, runForm);
      const { run } = await beginRun(deps, context, { mode, rules: undefined });
      return `/runs/${run.seq}`;
    }),
  ];
}

async function list({ reader }: HttpDeps, status: RunStatus | undefined, before: number | undefined) {
  const found = await reader.runLines({
    limit: RUNS_ON_PAGE + 1,
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
        rows={counted.map(runRow)}
        empty="There is no such run."
      />
      <Pager next={last && addressOf('/runs', { status, before: last.seq })} />
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
