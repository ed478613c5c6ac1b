// bench: what events cost. A million of them are read over loopback, parsed exactly, deduplicated, stored and windowed over 100,000 subjects,
// beside the floor (`events/floor.ts`). Then what 1,000 new events cost. Out: figures as ratios of processor time, and the most memory that this
// process has had (VmHWM): the log and the floor have processes of their own. The log grows in steps, and both read the steps by turns.

import './events/nursery.ts';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Coverage } from '../src/domain/snapshot.ts';
import type { Evaluator } from '../src/domain/verdict.ts';
import { EVENT_PULL_DEFAULT, pullEvents } from '../src/engine/pull/pull-events.ts';
import { TRUST_DEFAULT } from '../src/engine/pull/trust-gate.ts';
import { ManagementClient } from '../src/platform/client.ts';
import { compileRules } from '../src/rules/judge/evaluator.ts';
import { parseRule } from '../src/rules/load/read-rule.ts';
import { systemClock } from '../src/runtime/system/clock.ts';
import { eventsFrom, readCoverage, saveEvents } from '../src/store/event-log.ts';
import {
  answered,
  migrate,
  openDatabase,
  readMigrations,
  type SqliteDb,
  SqliteWork,
} from '../src/store/sqlite/database.ts';
import { FIRST_MS, SPACING_MS, type Timed, timed } from './events/setting.ts';
import { isShort, report } from './figures.ts';
import { NOTIFY } from './notify-traits.ts';

const EVENTS = isShort ? 50_000 : 1_000_000;
/** As many as a server keeps: a pull brings no more. */
const STEP = EVENT_PULL_DEFAULT.retainedMax;
const NEW = 1_000;
const REPEATS = isShort ? 5 : 9;
const WINDOW_MS = 14 * 86_400_000;

const dir = mkdtempSync(join(tmpdir(), 'trustward-bench-'));
const log = fork(new URL('events/log.ts', import.meta.url), { execArgv: ['--import', 'tsx'] });
const [{ port }] = (await once(log, 'message')) as [{ port: number }];
const address = `http://127.0.0.1:${port}`;
const floorProcess = fork(new URL('events/floor.ts', import.meta.url), [address, join(dir, 'floor.db')], {
  execArgv: ['--expose-gc', '--import', 'tsx'],
});
const api = new ManagementClient({
  address,
  credential: { kind: 'api_key', secret: 'none' },
  clock: systemClock,
  random: { fraction: () => 0.5 } as never,
});

/** How many events the log has from now on. */
async function grow(upTo: number): Promise<void> {
  log.send({ upTo });
  await once(log, 'message');
}

const timeOf = (index: number): number => FIRST_MS + index * SPACING_MS;

/** Windows over devices and users, with and without a condition. */
function evaluatorOfWindows(): Evaluator {
  const filters: [string, string][] = [
    ['device', '{">=":[{"event_count":{"severity":"ERROR","within":"14d"}},20]}'],
    ['device', '{">":[{"event_distinct":{"of":"user_principal.client.ip_address","within":"13d"}},9]}'],
    ['user', '{"<":[{"since_last_event":{"type":"Access","within":"14d"}},60]}'],
  ];
  const traits = new Map([['notify', NOTIFY]]);
  return compileRules(
    filters.map(([subject, when], index) => {
      const text = `{"id":"rule-${index}","subject":"${subject}","when":${when},"then":"notify"}`;
      const parsed = parseRule(text, `${index}.json`, { traits });
      if ('problems' in parsed) throw new Error(parsed.problems.map(({ message }) => message).join('; '));
      return parsed.rule;
    }),
  );
}

interface Product {
  db: SqliteDb;
  evaluator: Evaluator;
  known: Coverage[];
}

function openProduct(name: string): Product {
  const db = openDatabase(join(dir, `${name}.db`));
  migrate(db, readMigrations());
  return { db, evaluator: evaluatorOfWindows(), known: [] };
}

/** What a run does about events (`src/engine/run/pull-snapshot.ts`). */
async function pull(product: Product, upTo: number): Promise<number> {
  const nowMs = timeOf(upTo);
  const pulled = await pullEvents({
    api,
    clock: systemClock,
    nowMs,
    windowMs: WINDOW_MS,
    triedMs: WINDOW_MS,
    known: product.known,
    asksForServices: false,
    trust: TRUST_DEFAULT,
    settings: { ...EVENT_PULL_DEFAULT, pagesMax: 2_000, retainedMax: Number.POSITIVE_INFINITY },
  });
  const { events, coverage, reading } = pulled;
  if (!reading.trusted) throw new Error(reading.reasons.map(({ text }) => text).join('; '));
  const observed = { events, coverage, forgetBeforeMs: nowMs - WINDOW_MS - 300_000 };
  const { added } = product.db.transaction(() => answered(product.db, (db) => saveEvents(db, observed)));
  product.evaluator.observe(events);
  product.evaluator.advance(nowMs);
  product.known = answered(product.db, readCoverage);
  return added;
}

/** What the same events cost the floor. */
async function floor(from: number): Promise<Timed<void>> {
  floorProcess.send({ from });
  const [took] = (await once(floorProcess, 'message')) as [Timed<void>];
  return took;
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] as number;

/** What a run after 1,000 new events costs. */
async function afterNew(product: Product, stored: number): Promise<number> {
  const took: number[] = [];
  for (let repeat = 1; repeat <= REPEATS; repeat++) {
    const upTo = stored + repeat * NEW;
    await grow(upTo);
    took.push((await timed(() => pull(product, upTo))).ms);
  }
  return median(took);
}

const loadAtStart = loadavg()[0] ?? 0;
const small = openProduct('small');
await grow(NEW);
await pull(small, NEW);
const whenSmall = await afterNew(small, NEW);
small.db.close();

const large = openProduct('large');
const [floorMs, ourMs, passed]: number[][] = [[], [], []];
let added = 0;
for (let upTo = STEP; upTo <= EVENTS; upTo += STEP) {
  await grow(upTo);
  const least = await floor(upTo - STEP);
  const ours = await timed(() => pull(large, upTo));
  added += ours.value;
  floorMs?.push(least.ms);
  ourMs?.push(ours.ms);
  passed?.push(least.passedMs / ours.passedMs);
}
if (added !== EVENTS) throw new Error(`${added} of ${EVENTS} events were stored`);
const whenLarge = await afterNew(large, EVENTS);
// As a fresh process, which has no other windows.
large.evaluator = evaluatorOfWindows();
const primed = await timed(async () => {
  for await (const batch of eventsFrom(new SqliteWork(large.db), FIRST_MS)) large.evaluator.observe(batch);
});

const sum = (values: readonly number[] | undefined): number => (values ?? []).reduce((all, each) => all + each, 0);
const perSecond = (ms: number): string => `${Math.round((EVENTS / ms) * 1_000)} events a second`;
process.stdout.write(
  `${EVENTS} events in steps of ${STEP}, Node ${process.version}, load ${loadAtStart.toFixed(1)}: floor `,
);
process.stdout.write(`${perSecond(sum(floorMs))}, trustward ${perSecond(sum(ourMs))} (processor time)\n`);
const figure = (what: string, value: number, unit: string, goal: { atMost?: number; atLeast?: number } = {}): void =>
  report({ bench: 'events', what, value, unit, ...goal });
figure("speed of taking events in ÷ the floor's, processor time", sum(floorMs) / sum(ourMs), '×', { atLeast: 0.6 });
figure('the same, time that passed (median of the steps)', median(passed ?? []), '×');
figure(`a pull of ${NEW} new events, ${EVENTS} stored ÷ ${NEW} stored`, whenLarge / whenSmall, '×', { atMost: 1.5 });
figure(`filling the windows of a fresh process from ${EVENTS} stored events, processor time`, primed.ms / 1_000, 's');
figure('peak memory', process.resourceUsage().maxRSS / 1_024, 'MiB', { atMost: 400 });

large.db.close();
await api.close();
floorProcess.disconnect();
log.disconnect();
await once(floorProcess, 'exit');
rmSync(dir, { recursive: true, force: true });
