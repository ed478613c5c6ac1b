// Every page in a real browser: in both themes, wide and narrow, and with JavaScript off. It has no fault of access, none of a script, and little
// weight. With TRUSTWARD_SHOTS=FOLDER each is kept as a picture: `npm run shots`.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HistoryGap } from '../../../src/domain/recorded-history.ts';
import { stopEverything } from '../../../src/engine/operate/commands.ts';
import { type Listening, listen } from '../../../src/faces/http/listen.ts';
import { replayDocument } from '../../../src/faces/report/replay/build.ts';
import { hasNoBrowser, NEEDS_BROWSER, type OpenedPage, openPage, startBrowser } from '../../support/browser.ts';
import { TOKENS } from '../../support/endpoint.ts';
import { openPages } from '../../support/pages.ts';
import { DAY_MS, FROM, wrongForty } from '../../support/replays.ts';
import { violationsOf } from './axe.ts';
import { startWhole, WHOLE_PAGES, type WholeOrganization, type WholePage } from './whole-organization.ts';

type State = Awaited<ReturnType<BrowserContext['storageState']>>;

interface Reader extends OpenedPage {
  plain: Page;
  /** Received since the last page began. */
  bytes: number;
}

const SHOTS = process.env.TRUSTWARD_SHOTS;
const BYTES_MAX = 150_000;
const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 390, height: 844 };
/** A chart follows its place in the frame after. */
const SETTLED_WIDTH = `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() =>
  setTimeout(() => resolve(document.documentElement.scrollWidth)))))`;
/** The rules of axe that the theme, and the width, can change the answer of. */
const OF_COLOURS = ['color-contrast', 'link-in-text-block'];
const OF_LAYOUT = ['scrollable-region-focusable', 'target-size', 'focus-order-semantics'];
/** A DEMO in which nothing has happened, and that is stopped. */
const NEW =
  '/ /runs /plans /devices /users /services /rules /in-force /exemptions /inbox /audit /health /tokens /search'.split(
    ' ',
  );
const GAPS = [
  { fromMs: FROM + 3 * DAY_MS, toMs: FROM + 5 * DAY_MS, cause: 'damaged', text: 'a <b>file</b> is damaged' },
] as const satisfies HistoryGap[];
const REFUSED: [path: string, status: number][] = [
  ['/runs/4711', 404],
  ['/no-such-page', 404],
  ['/audit?limit=%3Cb%3E', 400],
  ['/subjects/device/%3Cscript%3E', 404],
];

describe.skipIf(hasNoBrowser)(`every page${NEEDS_BROWSER}`, () => {
  let browser: Browser;
  let whole: WholeOrganization;
  let fresh: Listening;
  let replayed: Listening;
  let ofWhole: Reader;
  let ofFresh: Reader;
  let nobody: Reader;

  beforeAll(async () => {
    if (SHOTS) mkdirSync(SHOTS, { recursive: true });
    browser = await startBrowser();
    whole = await startWhole();
    const { app, store, clock } = openPages({ demo: true, rules: () => [] });
    await stopEverything({ store, clock }, { by: 'ana', reason: 'a <b>strange</b> ban' });
    fresh = await listen(app, { host: '127.0.0.1', port: 0 });
    const found = replayDocument(
      wrongForty({ gaps: GAPS, neverRecorded: [{ path: 'OS', rules: ['ban-jailbroken'] }] }),
    );
    const asked = { way: 'what_if', since: '30d', rule: undefined } as const;
    const last = { asked, by: 'ana', startedAt: 0, finishedAt: 60_000, found, fault: undefined };
    const withReplay = openPages({ replays: { begin: async () => {}, current: async () => last } });
    replayed = await listen(withReplay.app, { host: '127.0.0.1', port: 0 });
    ofWhole = await asWho(await signIn(whole.url, whole.token));
    ofFresh = await asWho(await signIn(fresh.url, TOKENS.admin));
    nobody = await asWho(undefined);
  });
  afterAll(async () => {
    await browser?.close();
    await fresh?.close(0);
    await replayed?.close(0);
    await whole?.close();
  });

  async function signIn(url: string, token: string): Promise<State> {
    const { page, context } = await openPage(browser);
    await page.goto(`${url}/sign-in`);
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    const state = await context.storageState();
    await context.close();
    return state;
  }

  /** A browser of somebody: with JavaScript, without it. What was loaded once is loaded again, so that each page is weighed as a first one. */
  async function asWho(state: State | undefined): Promise<Reader> {
    const who = state ? { storageState: state } : {};
    const withScripts = await openPage(browser, { ...who, viewport: WIDE });
    const without = await openPage(browser, { ...who, viewport: WIDE, javaScriptEnabled: false });
    const reader = { ...withScripts, plain: without.page, bytes: 0 };
    const session = await withScripts.context.newCDPSession(withScripts.page);
    await session.send('Network.enable');
    await session.send('Network.setCacheDisabled', { cacheDisabled: true });
    session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      reader.bytes += encodedDataLength;
    });
    return reader;
  }

  async function isGood(name: string, address: string, reader: Reader, status = 200): Promise<void> {
    const { page, complaints, plain } = reader;
    await page.setViewportSize(WIDE);
    await page.emulateMedia({ colorScheme: 'light' });
    complaints.length = 0;
    reader.bytes = 0;
    const answer = await page.goto(address);
    await page.locator('.htmx-request').first().waitFor({ state: 'detached' });
    if (!address.startsWith('file:')) {
      expect(answer?.status()).toBe(status);
      expect(reader.bytes).toBeGreaterThan(1_000);
      expect(reader.bytes).toBeLessThanOrEqual(BYTES_MAX);
    }
    expect(await violationsOf(page)).toEqual([]);
    await keep(page, `${name}-light-1280`);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await violationsOf(page, OF_COLOURS)).toEqual([]);
    await keep(page, `${name}-dark-1280`);
    await page.setViewportSize(NARROW);
    await page.emulateMedia({ colorScheme: 'light' });
    expect(await page.evaluate(SETTLED_WIDTH)).toBeLessThanOrEqual(NARROW.width);
    expect(await violationsOf(page, OF_LAYOUT)).toEqual([]);
    await keep(page, `${name}-light-390`);
    const isStatus = (line: string) => status !== 200 && line.includes(`status of ${status}`);
    expect(complaints.filter((line) => !isStatus(line))).toEqual([]);
    await isWhole(plain, address);
  }

  async function isWhole(plain: Page, address: string): Promise<void> {
    await plain.goto(address);
    expect(await plain.locator('main h1').count()).toBe(1);
    expect((await plain.locator('main').innerText()).length).toBeGreaterThan(20);
    // What only a script would show must not hold what a person needs.
    expect(await plain.locator('main [hidden] form[method=post], main [hidden] table').count()).toBe(0);
    expect(await plain.locator('form[method=post]:not(:has([type=submit]))').count()).toBe(0);
  }

  async function keep(page: Page, name: string): Promise<void> {
    if (!SHOTS) return;
    const file = `${name.replace(/[^a-z0-9-]+/gi, '-').replace(/^-/, '')}.png`;
    await page.screenshot({ path: join(SHOTS, file), fullPage: true });
  }

  it.each(Object.keys(WHOLE_PAGES))('is good to read where everything has happened: %s', async (title) => {
    await isGood(title, `${whole.url}${whole.paths[title as WholePage]}`, ofWhole);
  });

  it.each(NEW)('is good to read in a stopped DEMO where nothing has happened: %s', async (path) => {
    await isGood(`new-${path}`, `${fresh.url}${path}`, ofFresh);
  });

  it.each(REFUSED)('is good to read when it is refused: %s', async (path, status) => {
    await isGood(`refused-${path}`, `${whole.url}${path}`, ofWhole, status);
  });

  it.each(['/sign-in', '/sign-in?code=used'])('is good to read for who is not signed in: %s', async (path) => {
    await isGood(`nobody-${path}`, `${whole.url}${path}`, nobody);
  });

  it('is good to read with the result of a replay', async () => {
    const reader = await asWho(await signIn(replayed.url, TOKENS.admin));
    await isGood('a result of a replay', `${replayed.url}/replay`, reader);
    expect(await reader.page.locator('figure.picture svg').count()).toBeGreaterThan(0);
  });

  it('is good to read as the file of a report', async () => {
    await isGood('report-file', whole.reportFile, nobody);
  });
});
