// web: the first page: is all well, what waits for a person, what was done in the last 24 hours, and the switch that stops everything.
// In: the store, and the readiness of the daemon. Out: a page whose parts read themselves again while it is open.

import { DAY_MS } from '../../../base/time.ts';
import { SWITCHES } from '../../../contract/operator.ts';
import { windowAt } from '../../../domain/change-window.ts';
import type { PlanStatus } from '../../../domain/plan.ts';
import type { WorkNow } from '../../../domain/store-ports.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { type Ctx, operationsOf, type Route, readForm } from '../../http/route.ts';
import { asSentence, countText, plural } from '../../report/fact-text.ts';
import { Link } from '../../report/html/link.tsx';
import { Code, Lines, Mark, Table, Term, When, Words } from '../../report/html/text.tsx';
import { countedPlans } from '../../report/inbox.ts';
import { changeWindowNow } from '../../report/plan-view.ts';
import { inboxItems, readNow, stateNow } from '../../report/state-now.ts';
import { buildDone } from '../../report/summary/build.ts';
import { sourceWords } from '../../report/words.ts';
import { formPage, mayDo, readPage } from '../answer.tsx';
import { Act, Live } from '../parts/act.tsx';
import { DryRun, planLine, RUN_COLUMNS, runRow } from './plans.tsx';

// What waits for a person, on the first page: plans, and actions in doubt, parked or failed.

const PLANS = 5;

async function waits({ reader }: HttpDeps, work: WorkNow) {
  const { plans, isMore } = await waitingPlans(reader);
  const actions = inboxItems({ ...work.inbox, pending: 0, interrupted: 0, approved: 0 });
  const isNothing = plans.length + actions.length === 0;
  return (
    <section class="card">
      <h2>Waits for a person</h2>
      {isNothing ? <p class="empty">Nothing waits.</p> : null}
      <ul class="list">
        {plans.map((plan) => (
          <li data-row>{planLine(plan)}</li>
        ))}
        {isMore ? (
          <li data-row>
            <Link href="/inbox">more plans</Link>
          </li>
        ) : null}
        {actions.map((words) => (
          <li data-row>
            <Link href="/inbox">{words}</Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The first of them, and whether there are more. */
async function waitingPlans(reader: HttpDeps['reader']) {
  const ofStatus = (status: PlanStatus) => reader.planLines({ status }, { limit: PLANS + 1 });
  const all = (await Promise.all((['pending', 'approved', 'interrupted'] as const).map(ofStatus))).flat();
  return { plans: await countedPlans(reader, all.slice(0, PLANS)), isMore: all.length > PLANS };
}

const RUNS = 5;
const LIVE = 'run plan intent stop';

export function overviewPages(deps: HttpDeps): Route[] {
  return [
    readPage(deps, '/', async (context) => {
      const now = await found(deps);
      return {
        title: 'Overview',
        section: '/',
        live: LIVE,
        body: (
          <>
            <h1>Overview</h1>
            <Live id="well" on={LIVE} path="/">
              {wellLine(now)}
            </Live>
            <Live id="waits" on={LIVE} path="/">
              <div class="cards">
                {await waits(deps, now.work)}
                {await lastDay(deps)}
              </div>
            </Live>
            <Live id="state" on="run stop" path="/">
              {state(deps, now)}
            </Live>
            <Live id="recent" on="run" path="/">
              {await recentRuns(deps)}
            </Live>
            {mayDo(context, 'trigger') ? <RunNow /> : null}
            {await switches(deps, context)}
          </>
        ),
      };
    }),
    formPage(deps, '/stop', 'approve', async (context) => {
      await operationsOf(deps, context).stop(await readForm(context, SWITCHES.stop.body));
      return '/';
    }),
    formPage(deps, '/resume', 'approve', async (context) => {
      await operationsOf(deps, context).resume(await readForm(context, SWITCHES.resume.body));
      return '/';
    }),
  ];
}

async function found({ readiness, reader, clock, changeWindows = [] }: HttpDeps) {
  const checks = await readiness();
  const nowMs = clock.nowMs();
  const frozen = windowAt(changeWindows, nowMs) && (await changeWindowNow(reader, changeWindows, nowMs));
  return { nowMs, checks, frozen, ...(await readNow(reader, nowMs)) };
}

type Found = Awaited<ReturnType<typeof found>>;

function wellLine({ nowMs, checks, frozen, ...now }: Found) {
  const wrong = checks.filter(({ ok }) => !ok);
  const { tone, sentence } = stateNow(now, { isWrong: wrong.length > 0 });
  return (
    <div class={`notice ${tone === 'good' && frozen ? 'wait' : tone}`}>
      <b>{sentence}</b>{' '}
      {wrong.map(({ name, text }) => (
        <span>
          <b>{name}:</b> <Words>{text}</Words>.{' '}
        </span>
      ))}
      {frozen === undefined ? null : (
        <span>
          <Words>{asSentence(frozen)}</Words>.{' '}
        </span>
      )}
      <span class="quiet">
        As of <When at={nowMs} />.
      </span>
      <p id="progress" class="quiet" aria-live="polite"></p>
    </div>
  );
}

function state(deps: HttpDeps, { checks, snapshot }: Found) {
  return (
    <div class="cards">
      <section class="card">
        <h2>State</h2>
        <dl class="facts">
          {[...checks].sort(modeFirst).map(({ name, ok, text }) => (
            <>
              <dt>{name}</dt>
              <dd>
                {ok ? null : <Mark word="failed" text="not ok" />} <Words>{text}</Words>
              </dd>
            </>
          ))}
          <dt>next run</dt>
          <dd>{nextRun(deps)}</dd>
        </dl>
      </section>
      <section class="card">
        <h2>Sources</h2>
        {snapshot?.at == null ? null : (
          <p class="quiet">
            As the last run read them at <When at={snapshot.at} />.
          </p>
        )}
        {snapshot === undefined ? (
          <p class="empty">Nothing was read yet.</p>
        ) : (
          <Table
            caption="Sources, as the last run read them"
            columns={['Source', 'Read', 'Trust', 'Notes']}
            rows={Object.entries(snapshot.sources).map(([source, reading]) => {
              const { read, trust, notes } = sourceWords(reading);
              return {
                cells: [
                  <Term>{source}</Term>,
                  read,
                  reading.state !== 'read' ? trust : <Mark word={trust} tone={reading.trusted ? 'good' : 'bad'} />,
                  notes.length === 0 ? null : <Lines texts={notes} />,
                ],
              };
            })}
          />
        )}
      </section>
    </div>
  );
}

function modeFirst(one: { name: string }, other: { name: string }): number {
  return Number(other.name === 'mode') - Number(one.name === 'mode');
}

function nextRun(deps: HttpDeps) {
  const atMs = deps.nextRunAtMs();
  return atMs === undefined ? 'none is scheduled' : <When at={atMs} />;
}

async function lastDay({ reader, clock }: HttpDeps) {
  const nowMs = clock.nowMs();
  const { calls, runs, people } = await buildDone(reader, nowMs - DAY_MS, nowMs);
  return (
    <section class="card">
      <h2>Last 24 hours</h2>
      <p>
        {plural(runs.completed, 'run')} completed
        {runs.aborted > 0 ? `, ${countText(runs.aborted)} aborted` : ''}
        {runs.afterEvents > 0 ? `, ${countText(runs.afterEvents)} after new events only` : ''}.
      </p>
      {calls.length === 0 ? <p class="empty">Nothing was called.</p> : null}
      <ul class="list">
        {calls.map(({ action, outcome, count }) => (
          <li>
            {countText(count)} × <Code>{action}</Code>{' '}
            <Mark
              word={outcome === 'in_doubt' ? 'unknown' : outcome}
              text={outcome === 'in_doubt' ? 'in doubt' : outcome}
            />
          </li>
        ))}
      </ul>
      {people.count > 0 ? (
        <>
          <h3>People</h3>
          <ul class="list">
            {people.some.map(({ at, by, text, reason }) => (
              <li>
                <When at={at} /> <Words>{`${by ?? 'somebody'}: ${text}${reason === null ? '' : ` (${reason})`}`}</Words>
              </li>
            ))}
          </ul>
        </>
      ) : null}
    </section>
  );
}

async function recentRuns({ reader }: HttpDeps) {
  const runs = await reader.runLines({ limit: RUNS });
  const counted = await Promise.all(runs.map(async (run) => ({ run, counts: await reader.countsOfRun(run) })));
  return (
    <section class="card">
      <h2>
        <Link href="/runs">Last runs</Link>
      </h2>
      <Table caption="The last runs" columns={RUN_COLUMNS} rows={counted.map(runRow)} empty="No run was made yet." />
    </section>
  );
}

function RunNow() {
  return (
    <section class="card">
      <h2>Run now</h2>
      <DryRun />
    </section>
  );
}

async function switches({ reader }: HttpDeps, context: Ctx) {
  if (!mayDo(context, 'approve') || (await reader.stop()) !== undefined) return null;
  return (
    <section class="card">
      <h2>Stop everything</h2>
      <p>Nothing is called from now on, also not by a run under way: no action, no undo, no plan. Runs still judge.</p>
      <Act to="/stop" of={SWITCHES.stop} label="Stop" reason="required" tone="danger" />
    </section>
  );
}
