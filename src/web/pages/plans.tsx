// web: the plans: first those that wait for a person, then all others, newest first, a page at a time. In: the store. Out: a page.

import { z } from 'zod';
import type { PlanLine } from '../../domain/page-reader.ts';
import { PLAN_STATUSES, type PlanStatus } from '../../domain/plan.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { nameField, readQuery } from '../../http/input.ts';
import { pageAsked } from '../../http/mount.ts';
import type { Route } from '../../http/route.ts';
import { plural } from '../../report/fact-text.ts';
import { Link } from '../../report/html/link.tsx';
import { Mark } from '../../report/html/marks.tsx';
import { type Row, Table } from '../../report/html/table.tsx';
import { Name, When } from '../../report/html/text.tsx';
import { kindWordsOf } from '../../report/plan-text.ts';
import { readPage } from '../answer.tsx';
import { Live } from '../parts/live.tsx';
import { Pager } from '../parts/pager.tsx';
import { StatusFilter } from '../parts/status-filter.tsx';
import { countedPlans, planLine } from './plan-row.tsx';

const PAGE = 50;
const WAITING_MAX = 10;
const WAITING = ['pending', 'approved', 'interrupted', 'applying'] as const satisfies readonly PlanStatus[];

const query = z.strictObject({
  status: z.preprocess((value) => (value === '' ? undefined : value), z.enum(PLAN_STATUSES).optional()),
  before: nameField.optional(),
});

export function plansPages(deps: HttpDeps): Route[] {
  return [
    readPage(deps, '/plans', async (context) => {
      const { status, before } = readQuery(context, query);
      const isFirst = status === undefined && before === undefined;
      return {
        title: 'Plans',
        section: '/plans',
        live: 'plan',
        body: (
          <>
            <h1>Plans</h1>
            <Live id="plans" on="plan" path={pageAsked(context)}>
              {isFirst ? await waiting(deps) : null}
              {await others(deps, status, before)}
            </Live>
          </>
        ),
      };
    }),
  ];
}

async function waiting({ reader }: HttpDeps) {
  const found = await Promise.all(WAITING.map((status) => reader.planLines({ status }, { limit: WAITING_MAX })));
  const plans = await countedPlans(reader, found.flat());
  return (
    <section class="card">
      <h2>Wait for an answer</h2>
      {plans.length === 0 ? <p class="empty">No plan waits for a person.</p> : null}
      <ul class="list">
        {plans.map((plan) => (
          <li data-row>{planLine(plan)}</li>
        ))}
      </ul>
      {found.some(({ length }) => length === WAITING_MAX) ? (
        <p class="quiet">These are the newest {WAITING_MAX} of each status; choose a status for the rest.</p>
      ) : null}
    </section>
  );
}

async function others({ reader }: HttpDeps, status: PlanStatus | undefined, before: string | undefined) {
  const plans = await reader.planLines(status === undefined ? {} : { status }, {
    ...(before !== undefined && { before }),
    limit: PAGE,
  });
  const isShownAbove = (plan: PlanLine) => status === undefined && (WAITING as readonly string[]).includes(plan.status);
  const last = plans.at(-1);
  const params = last && new URLSearchParams({ ...(status && { status }), before: last.id });
  return (
    <section class="card">
      <h2>{status === undefined ? 'All others' : `Plans that are ${status}`}</h2>
      <StatusFilter path="/plans" statuses={PLAN_STATUSES} chosen={status} />
      <Table
        caption="Plans, newest first"
        columns={['Plan', 'Status', 'Actions', 'Kind', 'Made', 'Answered']}
        rows={plans.filter((plan) => !isShownAbove(plan)).map(rowOf)}
        empty="There is none."
      />
      <Pager next={plans.length === PAGE && params ? `/plans?${params}` : undefined} />
    </section>
  );
}

function rowOf({ id, status, mode, releases, intents, createdAt, decidedBy, decidedAt }: PlanLine): Row {
  return {
    cells: [
      <Link href={`/plans/${encodeURIComponent(id)}`}>{id}</Link>,
      <Mark word={status} />,
      intents === undefined ? 'not readable' : plural(intents, 'action'),
      kindWordsOf(mode, releases),
      <When at={createdAt} />,
      decidedBy === undefined ? (
        ''
      ) : (
        <>
          <Name>{decidedBy}</Name>
          {decidedAt === undefined ? null : (
            <div>
              <When at={decidedAt} />
            </div>
          )}
        </>
      ),
    ],
  };
}
