// bench: each page of a database of 1,000,000 decisions, over HTTP on loopback, with a platform that answers at once. In: nothing. Out: for each
// page milliseconds of its first answer, of ten the median of processor time, the median and the 95th percentile, and the first paint in
// Chromium; then the HTML report of the last run. A file that exists is used again. Usage: npm run bench:pages-large [-- FILE]. Reach: each median ≤ 200, each paint ≤ 300.
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import type { RunRecord } from '../src/domain/store.ts';
import { listen } from '../src/faces/http/listen.ts';
import { writeReport } from '../src/faces/report/index.ts';
import { systemClock } from '../src/runtime/system/clock.ts';
import { migrate, openDatabase } from '../src/store/sqlite/database.ts';
import type { SqliteStore } from '../src/store/sqlite/sqlite-store.ts';
import { hasNoBrowser, openPage, startBrowser } from '../test/support/browser.ts';
import { TOKENS } from '../test/support/endpoint.ts';
import { banRule, startOnPlatform } from '../test/support/engine-on-platform.ts';
import { fillLarge, idOf, LARGE, LARGE_END_MS, LARGE_RULES } from '../test/support/large-database.ts';
import { pagesOnPlatform } from '../test/support/pages-on-platform.ts';
import { RULE_REPORT } from '../test/support/rule-samples.ts';

const TIMES = 10;
const PAINTS = 3;
const PAGE_MS_MAX = 200;
const PAINT_MS_MAX = 300;
const folder = mkdtempSync(join(tmpdir(), 'trustward-pages-'));
const file = process.argv[2] ?? join(folder, 'large.db');
const say = (text: string) => void process.stdout.write(`${text}\n`);

const [plan, device, rule] = [idOf('plan', 1), 'device-000123', LARGE_RULES[0] as string];
/** It has a decision in force, a claim, and an intent of the plan that waits. */
const PATHS: { [title: string]: string } = {
  overview: '/',
  runs: '/runs',
  'runs of one status': '/runs?status=aborted',
  'the last run': `/runs/${LARGE.runs}`,
  'the last run, filtered': `/runs/${LARGE.runs}?q=person7`,
  'an earlier run': `/runs/${LARGE.runs / 2}`,
  'a group of the last run': '',
  plans: '/plans',
  'a plan of 10,000 intents': `/plans/${plan}`,
  'the same, filtered': `/plans/${plan}?q=person7`,
  rules: '/rules',
  'a rule': `/rules/${rule}`,
  'decisions of a rule': `/rules/${rule}/decisions`,
  'trying a rule': `/rules/${rule}/try`,
  'in force': '/in-force',
  'in force, of a rule': `/in-force?rule=${rule}`,
  exemptions: '/exemptions',
  health: '/health',
  'an intent': `/intents/${idOf('intent', 7)}`,
  audit: '/audit',
  'audit of a kind': '/audit?kind=plan.approved',
  'audit of a target': '/audit?target=SN000123',
  'an entry of the audit': '/audit/600000',
  'a search': '/search?q=person7%40example.com',
  'a search for nothing': '/search?q=nothing-is-called-so',
  'a device with a plan that waits': `/subjects/device/${device}`,
  'its history': `/subjects/device/${device}/history`,
  'why a rule matches it': `/subjects/device/${device}/rules/${rule}`,
  'a device without': '/subjects/device/device-099999',
  tokens: '/tokens',
};

function fill(): void {
  if (existsSync(file)) return;
  const db = openDatabase(file);
  migrate(db);
  fillLarge(db, LARGE);
  db.close();
}

function openLarge() {
  const rules = LARGE_RULES.map((id) => banRule({ id }));
  const db = openDatabase(file);
  const on = startOnPlatform({ rules, db });
  on.clock.now = LARGE_END_MS + 60_000;
  for (const number of [123, 99_999]) {
    const id = String(number).padStart(6, '0');
    const Emails = [`person${Math.floor(number / 2)}@example.com`];
    on.platform.addDevice(`device-${id}`, { SerialNumber: `SN${id}`, Emails, MdmData: { CompromisedStatus: 'TRUE' } });
  }
  const ruleDetail = async (id: string) => ({
    rule: rules.find((one) => one.id === id) ?? (rules[0] as (typeof rules)[0]),
    text: `id: ${id}\n`,
    report: { ...RULE_REPORT, rule: id },
  });
  return { on, pages: pagesOnPlatform(on, rules, { ruleDetail }) };
}

const sorted = (times: number[]) => times.toSorted((one, other) => one - other);
const percentile = (times: number[], part: number) => sorted(times)[Math.ceil(times.length * part) - 1] as number;
const figure = (ms: number) => ms.toFixed(1).padStart(8);

async function timeOf(address: string, cookie: string): Promise<{ ms: number; cpuMs: number; bytes: number }> {
  const start = systemClock.monotonicMs();
  const used = process.cpuUsage();
  const answer = await fetch(address, { headers: { cookie } });
  const html = await answer.text();
  if (answer.status !== 200) throw new Error(`${address} answered ${answer.status}: ${html.slice(0, 2_000)}`);
  const { user, system } = process.cpuUsage(used);
  return { ms: systemClock.monotonicMs() - start, cpuMs: (user + system) / 1_000, bytes: Buffer.byteLength(html) };
}

/** With nothing in the browser's cache. */
async function paintOf(browser: Browser, address: string, cookie: string): Promise<number> {
  const { page, context } = await openPage(browser, { extraHTTPHeaders: cookie === '' ? {} : { cookie } });
  await page.goto(address);
  const ms = (await page.evaluate(
    `new Promise((resolve) => new PerformanceObserver((list) => resolve(list.getEntries()[0].startTime)).observe({ type: 'paint', buffered: true }))`,
  )) as number;
  await context.close();
  return ms;
}

async function measureReport(browser: Browser, reader: SqliteStore): Promise<void> {
  const run = (await reader.run(String(LARGE.runs))) as RunRecord;
  const report = join(folder, 'report.html');
  const start = systemClock.monotonicMs();
  await writeFile(report, (await writeReport(reader, run, 'html')) as AsyncIterable<string>);
  const writtenMs = systemClock.monotonicMs() - start;
  const { page, context } = await openPage(browser);
  await page.goto('about:blank');
  const opening = systemClock.monotonicMs();
  await page.goto(pathToFileURL(report).href);
  const openedMs = systemClock.monotonicMs() - opening;
  await context.close();
  const paintMs = await paintOf(browser, pathToFileURL(report).href, '');
  say(`\nthe HTML report of the last run, ${(statSync(report).size / 1e6).toFixed(1)} MB:`);
  say(`written in ${figure(writtenMs)} ms, opened in ${figure(openedMs)} ms, first paint ${figure(paintMs)} ms`);
}

fill();
const { on, pages } = openLarge();
const listening = await listen(pages.app, { host: '127.0.0.1', port: 0 });
const browser = hasNoBrowser ? undefined : await startBrowser();
try {
  const signedIn = await pages.signIn.withToken(TOKENS.admin);
  const cookie = signedIn ? (pages.signIn.cookie(signedIn).split(';')[0] as string) : '';
  const shown = await (await fetch(`${listening.url}/runs/${LARGE.runs}`, { headers: { cookie } })).text();
  const group = /"(\/runs\/[^"]*\/group[^"]*)"/.exec(shown)?.[1];
  if (group === undefined) throw new Error('the page of the last run has no link to a group');
  PATHS['a group of the last run'] = group.replaceAll('&amp;', '&');
  say(`${''.padEnd(34)}   first  processor  median      p95          paint            kB`);
  for (const [title, path] of Object.entries(PATHS)) {
    const address = `${listening.url}${path}`;
    const first = await timeOf(address, cookie);
    const times: number[] = [];
    const cpuTimes: number[] = [];
    for (let round = 0; round < TIMES; round += 1) {
      const { ms, cpuMs } = await timeOf(address, cookie);
      times.push(ms);
      cpuTimes.push(cpuMs);
    }
    const paints: number[] = [];
    for (let round = 0; browser && round < PAINTS; round += 1) paints.push(await paintOf(browser, address, cookie));
    const median = percentile(times, 0.5);
    const paint = browser ? percentile(paints, 0.5) : 0;
    const isOver = median > PAGE_MS_MAX || paint > PAINT_MS_MAX;
    const [html] = [(first.bytes / 1_000).toFixed(0).padStart(6)];
    say(
      `${title.padEnd(34)}${figure(first.ms)} ${figure(percentile(cpuTimes, 0.5))} ${figure(median)} ${figure(percentile(times, 0.95))} ≤ ${PAGE_MS_MAX} ${figure(paint)} ≤ ${PAINT_MS_MAX} ${html}${isOver ? '  OVER' : ''}`,
    );
  }
  if (browser) await measureReport(browser, on.store);
  say(`load ${loadavg()[0]?.toFixed(1)}`);
} finally {
  await browser?.close();
  await listening.close(0);
  await on.close();
  rmSync(folder, { recursive: true, force: true });
}
