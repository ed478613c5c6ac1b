// web: the first page: is all well, how many are banned, what was done by the hour, what waits for a person, and what people did. In: the store, and
// the readiness of the daemon. Out: a page whose parts read themselves again while it is open.

import { DAY_MS, HOUR_MS } from '../../../base/time.ts';
import { SWITCHES } from '../../../contract/operator.ts';
import { windowAt } from '../../../domain/change-window.ts';
import type { DoneInStep, InForceSince } from '../../../domain/store-ports.ts';
import type { HttpDeps } from '../../http/deps.ts';
import { operationsOf, type Route, readForm } from '../../http/route.ts';
import { asSentence, countText, pastOf, plural, verbOf } from '../../report/fact-text.ts';
import { Link } from '../../report/html/link.tsx';
import { By, Name, When, Words } from '../../report/html/text.tsx';
import { inboxTitle, inboxWhy, readInbox, sinceMs } from '../../report/inbox.ts';
import { changeWindowNow } from '../../report/plan-view.ts';
import { readNow, stateNow } from '../../report/state-now.ts';
import { buildPeople } from '../../report/summary/build.ts';
import { addressOf } from '../address.ts';
import { formPage, mayDo, readPage } from '../answer.tsx';
import { Live } from '../parts/act.tsx';
import { Ago, type BarSeries, type Point, StepBars, Tile } from '../parts/figures.tsx';
import { DoneTable } from '../parts/over-time.tsx';
import { DryRun } from './plans.tsx';

const LIVE = 'run plan intent stop';
const SPAN_MS = 7 * DAY_MS;
const HOURS = 48;
const HOURS_LEAST = 12;

export function overviewPages(deps: HttpDeps): Route[] {
  return [
    readPage(deps, '/', async (context) => {
      const nowMs = deps.clock.nowMs();
      return {
        title: 'Overview',
        section: '/',
        live: LIVE,
        body: (
          <>
            <div class="title">
              <h1>Overview</h1>
              {mayDo(context, 'trigger') ? <DryRun /> : null}
            </div>
            <Live id="well" on={LIVE} path="/">
              {await wellLine(deps, nowMs)}
            </Live>
            <Live id="tiles" on="run intent" path="/">
              {await tiles(deps, nowMs)}
            </Live>
            <Live id="work" on={LIVE} path="/">
              <div class="cards wide-first">
                {await byHour(deps, nowMs)}
                {await waits(deps, nowMs)}
              </div>
              {await people(deps, nowMs)}
            </Live>
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

async function wellLine({ readiness, reader, rules, changeWindows = [] }: HttpDeps, nowMs: number) {
  const wrong = (await readiness()).filter(({ ok }) => !ok);
  const frozen = windowAt(changeWindows, nowMs) && (await changeWindowNow(reader, changeWindows, nowMs));
  const { tone, sentence } = stateNow(await readNow(reader, nowMs, rules()), { isWrong: wrong.length > 0 });
  return (
    <div class={`notice state ${tone === 'good' && frozen ? 'wait' : tone}`}>
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

// The tiles: counts of the last trusted readings, and of what Trustward keeps in force, over seven days.

const COMPROMISED = 'MdmData.CompromisedStatus';

async function tiles({ reader }: HttpDeps, nowMs: number) {
  const [devices, services] = [await reader.baseline('devices'), await reader.baseline('services')];
  const readings = devices === undefined ? [] : [...(devices.earlier ?? []), devices];
  // Of what is younger than that, all is shown.
  const spanMs = Math.max(HOUR_MS, Math.min(SPAN_MS, nowMs - (readings[0]?.takenAt ?? nowMs)));
  const inForce = await reader.inForceSince(nowMs - spanMs);
  const compromised = readings.flatMap(({ takenAt: at, values }) => {
    const counts = Object.hasOwn(values, COMPROMISED) ? values[COMPROMISED] : undefined;
    return counts === undefined ? [] : [{ at, count: counts.TRUE ?? 0 }];
  });
  const banned = overTime(inForce, BANS, nowMs - spanMs);
  const off = await servicesOff(reader);
  const keptOff = overTime(inForce, SWITCHES_OFF, nowMs).at(-1)?.count ?? 0;
  const common = { nowMs, spanMs };
  const isSome = (points: readonly Point[]) => (points.at(-1)?.count ?? 0) > 0;
  return (
    <div class="tiles">
      <Tile
        {...common}
        isRead
        title="Devices"
        href="/devices"
        tone="accent"
        ground="least"
        points={readings.map(({ takenAt: at, count }) => ({ at, count }))}
      />
      <Tile
        {...common}
        isRead
        title="Compromised"
        href={addressOf('/devices', { compromised: 'true' })}
        tone={isSome(compromised) ? 'bad' : 'calm'}
        ground="zero"
        points={compromised}
        {...(devices && { unknown: `Not known: no rule reads ${COMPROMISED}.` })}
      />
      <Tile
        {...common}
        title="Banned by Trustward"
        tone={isSome(banned) ? 'bad' : 'calm'}
        ground="zero"
        points={banned}
        href={inForceOf(inForce, BANS)}
      />
      <Tile
        {...common}
        isRead
        title="Services off"
        tone="calm"
        ground="zero"
        points={off}
        href={addressOf('/services', { enabled: 'false' })}
        beside={services && `of ${countText(services.count)}`}
        change={keptOff === 0 ? '' : `${countText(keptOff)} kept off by Trustward`}
      />
    </div>
  );
}

/** Whoever disabled them. It is not kept how many there were before. */
async function servicesOff(reader: HttpDeps['reader']): Promise<Point[]> {
  const { readAt, total } = await reader.fleetPage({
    kind: 'service',
    facts: { enabled: 'false' },
    sort: 'name',
    isDescending: false,
    limit: 1,
  });
  return readAt === undefined || total === undefined ? [] : [{ at: readAt, count: total }];
}

interface Verb {
  verb: string;
  noun: string;
}

const BANS: Verb = { verb: 'ban', noun: 'device' };
const SWITCHES_OFF: Verb = { verb: 'disable', noun: 'service' };

function isOf({ verb, noun }: Verb, { action }: { action: string }): boolean {
  const named = verbOf(action);
  return named?.verb === verb && named.noun === noun;
}

function inForceOf({ lasting, changed }: InForceSince, verb: Verb): string {
  return addressOf('/in-force', { action: [...lasting, ...changed].find((one) => isOf(verb, one))?.action });
}

/** How many targets were so: a target that several rules keep so counts once. */
export function overTime({ lasting, changed }: InForceSince, verb: Verb, fromMs: number): Point[] {
  const always = lasting.find((one) => isOf(verb, one))?.count ?? 0;
  const own = changed.filter((one) => isOf(verb, one));
  const steps = own
    .flatMap(({ target, openedAt, endedAt }) => [
      { at: openedAt, target, by: 1 },
      ...(endedAt === undefined ? [] : [{ at: endedAt, target, by: -1 }]),
    ])
    .sort((one, other) => one.at - other.at || other.by - one.by);
  const held = new Map<string, number>();
  const points: Point[] = [{ at: fromMs, count: always }];
  for (const { at, target, by } of steps) {
    const rules = (held.get(target) ?? 0) + by;
    if (rules === 0) held.delete(target);
    else held.set(target, rules);
    points.push({ at: Math.max(at, fromMs), count: always + held.size });
  }
  return points;
}

// What was done by the hour: bans and switched services upward, what undoes them downward.

const SERIES = [
  { of: BANS, tone: 'bad', isDown: false, isAlways: true },
  { of: SWITCHES_OFF, tone: 'wait', isDown: false, isAlways: false },
  { of: { ...BANS, verb: 'unban' }, tone: 'good', isDown: true, isAlways: true },
  { of: { ...SWITCHES_OFF, verb: 'enable' }, tone: 'calm', isDown: true, isAlways: false },
];

async function byHour({ reader }: HttpDeps, nowMs: number) {
  const untilMs = Math.ceil(nowMs / HOUR_MS) * HOUR_MS;
  const done = await reader.doneInSteps({ untilMs, steps: HOURS, stepMs: HOUR_MS });
  const oldest = Math.max(0, ...done.map(({ step }) => step + 1));
  const hours = oldest > HOURS_LEAST ? HOURS : HOURS_LEAST;
  const series = seriesOf(done);
  return (
    <section class="card">
      <h2>Bans and unbans by hour, over {hours} hours</h2>
      <StepBars series={series} steps={hours} stepMs={HOUR_MS} untilMs={untilMs} />
      <details>
        <summary>The numbers</summary>
        <DoneTable done={done} untilMs={untilMs} stepMs={HOUR_MS} />
      </details>
    </section>
  );
}

function seriesOf(done: readonly DoneInStep[]): BarSeries[] {
  return SERIES.map(({ of, ...series }) => {
    const counts = new Map(done.filter((one) => isOf(of, one)).map(({ step, targets }) => [step, targets]));
    return { ...series, words: (count: number) => `${plural(count, of.noun)} ${pastOf(of.verb)}`, counts };
  }).filter(({ counts, isAlways }) => counts.size > 0 || isAlways);
}

// What waits for a person: the first of the inbox.

const ITEMS = 5;

async function waits({ reader }: HttpDeps, nowMs: number) {
  const { items, total } = await readInbox(reader, { limit: ITEMS });
  return (
    <section class="card">
      <h2>
        <Link href="/inbox">Waits for you</Link> {total > 0 ? <span class="count">{countText(total)}</span> : null}
      </h2>
      {total === 0 ? <p class="empty">Nothing waits for a person.</p> : null}
      <ul class="list">
        {items.map((item) => (
          <li data-row>
            <Link href={`${'plan' in item ? '/plans' : '/intents'}/${encodeURIComponent(item.id)}`}>
              <Name>{inboxTitle(item)}</Name>
            </Link>
            <div class="quiet">
              <Ago at={sinceMs(item)} nowMs={nowMs} />: <Words>{inboxWhy(item)}</Words>
            </div>
          </li>
        ))}
      </ul>
      {total > items.length ? (
        <p>
          <Link href="/inbox">{plural(total - items.length, 'more')}</Link>
        </p>
      ) : null}
    </section>
  );
}

// What people did.

async function people({ reader }: HttpDeps, nowMs: number) {
  const { count, some } = await buildPeople(reader, nowMs - DAY_MS, nowMs);
  return (
    <section class="card">
      <h2>What people did</h2>
      {count === 0 ? <p class="empty">Nobody changed anything in the last 24 hours.</p> : null}
      <ul class="list">
        {some.map(({ at, by, text, reason }) => (
          <li>
            <b>
              <By>{by ?? 'Somebody'}</By>
            </b>{' '}
            <Words>{text}</Words>
            {reason === null ? null : (
              <>
                : “<Words>{reason}</Words>”
              </>
            )}{' '}
            <span class="quiet">
              <Ago at={at} nowMs={nowMs} />
            </span>
          </li>
        ))}
      </ul>
      {count > some.length ? (
        <p>
          <Link href="/audit">{plural(count - some.length, 'more')} in the audit</Link>
        </p>
      ) : null}
    </section>
  );
}
