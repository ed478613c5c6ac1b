// web: what Trustward says of itself: the state of each of its parts, and what it read last. In: the readiness of the daemon, the last run. Out: a page.

import type { HttpDeps } from '../../http/deps.ts';
import type { Route } from '../../http/route.ts';
import { plural } from '../../report/fact-text.ts';
import { Link } from '../../report/html/link.tsx';
import { Lines, Mark, Table, Term, When, Words } from '../../report/html/text.tsx';
import { readNow, type TransmitterNow } from '../../report/state-now.ts';
import { sourceWords } from '../../report/words.ts';
import { readPage } from '../answer.tsx';
import { Live } from '../parts/act.tsx';

const PATH = '/health';
const LIVE = 'run stop';

export function healthPages(deps: HttpDeps): Route[] {
  return [
    readPage(deps, PATH, async () => ({
      title: 'Health',
      section: PATH,
      live: LIVE,
      body: (
        <>
          <h1>Health</h1>
          <Live id="health" on={LIVE} path={PATH}>
            {await state(deps)}
          </Live>
          <p class="quiet">
            <code>/healthz</code>, <code>/readyz</code> and <code>/metrics</code> have the same for machines.{' '}
            <Link href="/docs">The endpoint</Link> has its documentation, and{' '}
            <Link href="/audit/verify">the audit</Link> its own verdict.
          </p>
        </>
      ),
    })),
  ];
}

async function state(deps: HttpDeps) {
  const checks = await deps.readiness();
  const { snapshot, transmitters = [] } = await readNow(deps.reader, deps.clock.nowMs(), deps.rules());
  const wrong = checks.filter(({ ok }) => !ok).length;
  return (
    <>
      <div class={`notice state ${wrong === 0 ? 'good' : 'bad'}`}>
        <b>
          {wrong === 0
            ? `All ${plural(checks.length, 'check')} of this process are in order.`
            : `${plural(wrong, 'check')} of ${checks.length} failed.`}
        </b>
      </div>
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
      {transmitters.length === 0 ? null : transmittersCard(transmitters)}
    </>
  );
}

const TONES = { heard: 'good', 'nothing yet': 'wait', fails: 'wait', 'in doubt': 'bad' } as const;

function transmittersCard(transmitters: readonly TransmitterNow[]) {
  return (
    <section class="card">
      <h2>Transmitters</h2>
      <Table
        caption="Transmitters of signals.yaml"
        columns={['Transmitter', 'Signals', 'Notes']}
        rows={transmitters.map(({ name, standing, words }) => ({
          cells: [<Term>{name}</Term>, <Mark word={standing} tone={TONES[standing]} />, <Lines texts={words} />],
        }))}
      />
    </section>
  );
}

function modeFirst(one: { name: string }, other: { name: string }): number {
  return Number(other.name === 'mode') - Number(one.name === 'mode');
}

function nextRun(deps: HttpDeps) {
  const atMs = deps.nextRunAtMs();
  return atMs === undefined ? 'none is scheduled' : <When at={atMs} />;
}
