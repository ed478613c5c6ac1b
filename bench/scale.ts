// bench: many organizations on two workers, which share the machine with their PostgreSQL and all APIs. Each has 1,000 devices and runs every five
// minutes, all at the same second. In every second period one organization's API accepts and never answers. Lag is counted from the time that
// a run was due, by the stored runs. Args: organizations (300), minutes (30), minutes of a period (5); `--spread`: due one after another. `--idle`: one
// worker whose organizations have nothing to do for so many minutes; what it costs to have them.
import { mkdtempSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { report } from './figures.ts';
import { Installation, idOf, type Used } from './scale/setting.ts';

const [organizations = 300, minutes = 30, everyMinutes = 5] = process.argv.slice(2).map(Number).filter(Number.isFinite);
const isSpread = process.argv.includes('--spread');
const isIdle = process.argv.includes('--idle');
const history = process.argv.includes('--no-history') ? '0d' : '30d';
const bench = 'scale';
const WORKERS = isIdle ? 1 : 2;
const DEVICES = 1_000;
const PERIOD_MS = everyMinutes * 60_000;
const PERIODS = Math.floor(minutes / everyMinutes);
const FIRST_MS_MAX = 30 * 60_000;
/** Its API stops to answer so long before its run is due. */
const HANGS_BEFORE_MS = 2_000;
const HANGING = 0;
/** What follows the first runs is over by then. */
const SETTLED_MS = 60_000;
const DAY_MS = 86_400_000;

interface StoredRun {
  org: string;
  status: string;
  started: number;
  finished: number | null;
}

const folder = mkdtempSync(join(tmpdir(), 'trustward-scale-'));
const say = (text: string) => process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
const installation = await Installation.start({
  folder,
  organizations,
  devices: DEVICES,
  workers: WORKERS,
  schedule: (number) => scheduleOf(number),
  history,
  eventEveryMs: isIdle ? DAY_MS : 30_000,
});
try {
  await firstRuns();
  if (isIdle) await idle();
  else await busy();
} finally {
  for (const line of installation.logs()) if (line !== '') say(line.slice(0, 300));
  await installation.close();
}

async function busy(): Promise<void> {
  const fromMs = (Math.floor((Date.now() + 2 * HANGS_BEFORE_MS) / PERIOD_MS) + 1) * PERIOD_MS;
  await sleep(fromMs - Date.now() - HANGS_BEFORE_MS);
  const before = await installation.used();
  for (let period = 0; period < PERIODS; period += 1) {
    installation.tell({ hangs: isHanging(period) ? HANGING : null });
    await sleep(fromMs + (period + 1) * PERIOD_MS - HANGS_BEFORE_MS - Date.now());
    const done = await runsSince(fromMs + period * PERIOD_MS);
    say(`period ${period + 1} of ${PERIODS}: ${done.length} runs, load ${loadavg()[0]?.toFixed(1)}`);
  }
  const after = await installation.used();
  // The last ones to end.
  await sleep(HANGS_BEFORE_MS);
  await show(await runsSince(fromMs), fromMs, before, after);
}

async function idle(): Promise<void> {
  await sleep(SETTLED_MS);
  const before = await installation.used();
  await sleep(minutes * 60_000);
  const after = await installation.used();
  const aMinute = (of: 'workersMs' | 'postgresMs' | 'transactions' | 'wakeUps') => (after[of] - before[of]) / minutes;
  const show = (what: string, value: number, unit: string) => report({ bench, what, value, unit });
  show(`${organizations} idle organizations: memory of the worker`, after.workerMb, 'MB');
  show('processor time of the worker', aMinute('workersMs'), 'ms/min');
  show('… of PostgreSQL', aMinute('postgresMs'), 'ms/min');
  show('times that a thread of the worker woke up', aMinute('wakeUps'), '/min');
  show('transactions', aMinute('transactions'), '/min');
}

function isHanging(period: number): boolean {
  return period % 2 === 1;
}

/** Where each has its own second, as many begin in each second. */
function dueMs(number: number): number {
  return isSpread ? Math.floor((number / organizations) * (PERIOD_MS / 1_000)) * 1_000 : 0;
}

function scheduleOf(number: number): string {
  if (isIdle) return '0 0 0 1 1 *';
  const [minute, second] = [Math.floor(dueMs(number) / 60_000), (dueMs(number) / 1_000) % 60];
  return `${second} ${minute}-59/${everyMinutes} * * * *`;
}

function runsSince(ms: number): Promise<StoredRun[]> {
  return installation.rows(
    `SELECT org, status, started_at::float8 AS started, finished_at::float8 AS finished FROM trustward.runs WHERE started_at >= ${ms} ORDER BY started_at`,
  );
}

/** Each organization is new: its first run is asked for at once, and makes its keys and the names of its devices. */
async function firstRuns(): Promise<void> {
  const from = performance.now();
  for (;;) {
    const [row] = await installation
      .rows<{ n: string }>("SELECT count(DISTINCT org) AS n FROM trustward.runs WHERE status = 'completed'")
      .catch(() => []);
    if (Number(row?.n) === organizations) break;
    if (performance.now() - from > FIRST_MS_MAX) throw new Error(`only ${row?.n} organizations had a first run`);
    await sleep(500);
  }
  report({ bench, what: 'all first runs', value: (performance.now() - from) / 1_000, unit: 's' });
}

interface Lag {
  begin: number;
  end: number;
}

async function show(runs: readonly StoredRun[], fromMs: number, before: Used, after: Used): Promise<void> {
  const byOrganization = new Map<string, StoredRun[]>();
  for (const run of runs) byOrganization.set(run.org, [...(byOrganization.get(run.org) ?? []), run]);
  const lags: Record<'quiet' | 'hanging', Lag[]> = { quiet: [], hanging: [] };
  let [due, late] = [0, 0];
  const nowMs = Date.now();
  for (let number = 0; number < organizations; number += 1)
    for (let period = 0; period < PERIODS; period += 1) {
      if (number === HANGING && isHanging(period)) continue;
      due += 1;
      const atMs = fromMs + period * PERIOD_MS + dueMs(number);
      const run = (byOrganization.get(idOf(number)) ?? []).find(
        ({ status, started }) => status === 'completed' && started >= atMs,
      );
      // What has not ended by now has waited until now at least.
      const lag = { begin: (run?.started ?? nowMs) - atMs, end: (run?.finished ?? nowMs) - atMs };
      lags[isHanging(period) ? 'hanging' : 'quiet'].push(lag);
      if (lag.end >= PERIOD_MS) late += 1;
    }
  const all = [...lags.quiet, ...lags.hanging];
  const s = (list: readonly Lag[], of: keyof Lag, share: number) =>
    quantile(
      list.map((lag) => lag[of]),
      share,
    ) / 1_000;
  const show = (what: string, value: number, unit: string, goal: { atMost?: number } = {}) =>
    report({ bench, what, value, unit, ...goal });
  show(`${organizations} organizations × ${DEVICES} devices every ${everyMinutes} min: runs due`, due, '');
  show('runs that were not done within their period', late, '', { atMost: 0 });
  show('lag from due to begin, p50', s(all, 'begin', 0.5), 's');
  show('lag from due to begin, p99', s(all, 'begin', 0.99), 's');
  show('lag from due to end, p50', s(all, 'end', 0.5), 's');
  show('lag from due to end, p99', s(all, 'end', 0.99), 's', { atMost: PERIOD_MS / 1_000 });
  if (lags.hanging.length > 0) {
    show('p99 of the others, no organization hangs', s(lags.quiet, 'end', 0.99), 's');
    show('p99 of the others, one hangs', s(lags.hanging, 'end', 0.99), 's');
    show('… as a ratio', s(lags.hanging, 'end', 0.99) / s(lags.quiet, 'end', 0.99), '×', { atMost: 1.1 });
  }
  const wallMs = PERIODS * PERIOD_MS;
  const ms = (of: 'workersMs' | 'postgresMs' | 'apisMs') => after[of] - before[of];
  show('processor time a run with its looks, workers', ms('workersMs') / runs.length, 'ms');
  show('processor time a run, PostgreSQL', ms('postgresMs') / runs.length, 'ms');
  show('processor time a run, APIs', ms('apisMs') / runs.length, 'ms');
  const total = ms('workersMs') + ms('postgresMs') + ms('apisMs');
  show('of two cores', (total / wallMs / 2) * 100, '%', { atMost: 100 });
  show('transactions a run with its looks', (after.transactions - before.transactions) / runs.length, '');
  show('memory of a worker', after.workerMb, 'MB');
  show('memory of PostgreSQL', after.postgresMb, 'MB');
  const writes = (await installation.seen()).organizations.map((one) => one.writes);
  show('bans and unbans', writes.flat().length, '');
  show(
    '… that were sent twice',
    writes.map(repeated).reduce((sum, one) => sum + one, 0),
    '',
    { atMost: 0 },
  );
  show('load of the machine', loadavg()[0] ?? 0, '');
}

/** Each device is banned and released by turns. */
function repeated(writes: readonly { serial: string; banned: string }[]): number {
  const last = new Map<string, string>();
  return writes.filter(({ serial, banned }) => {
    const isSame = last.get(serial) === banned;
    last.set(serial, banned);
    return isSame;
  }).length;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
