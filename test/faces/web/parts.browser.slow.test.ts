// Single pages in a real browser: signing in, the bar of a plan, choosing an organization, the chart of a rule, and a page whose process ended.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TriedRule } from '../../../src/domain/decision.ts';
import type { WorkProgress } from '../../../src/domain/replay.ts';
import { type Listening, listen } from '../../../src/faces/http/listen.ts';
import { hasNoBrowser, NEEDS_BROWSER, openPage, startBrowser } from '../../support/browser.ts';
import { TOKENS } from '../../support/endpoint.ts';
import { addRun, decision, START_MS } from '../../support/filled-store.ts';
import { type Organizations, openOrganizations } from '../../support/organizations.ts';
import { type OpenedPages, openPages } from '../../support/pages.ts';
import { openPlan, planned } from '../../support/plan-pages.ts';
import { RULE, TRIED } from '../../support/rule-samples.ts';
import { violationsOf } from './axe.ts';

describe.skipIf(hasNoBrowser)(`signing in to the page${NEEDS_BROWSER}`, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser.close());

  it.each(['light', 'dark'] as const)('leads from a link to the overview (%s)', async (colorScheme) => {
    const { app, signIn } = openPages({ demo: true });
    const listening = await listen(app, { host: '127.0.0.1', port: 0 });
    const { code } = await signIn.link({ name: 'ana (page)', scope: 'admin' });
    const { page, context, complaints } = await openPage(browser, { colorScheme });
    await page.goto(`${listening.url}/sign-in?code=${code}`);
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(await page.getByText('ana (page)').count()).toBe(1);
    expect(await violationsOf(page)).toEqual([]);
    await page.keyboard.press('/');
    expect(await page.evaluate('document.activeElement.id')).toBe('find');
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('r');
    await page.getByRole('heading', { name: 'Runs' }).waitFor();
    expect(complaints.filter((line) => !line.includes('/api/stream') && !line.includes('404'))).toEqual([]);
    await context.close();
    await listening.close(0);
  });

  it('lasts when a link of another site is followed, as in a message', async () => {
    const { app, signIn } = openPages();
    const listening = await listen(app, { host: '127.0.0.1', port: 0 });
    const { code } = await signIn.link({ name: 'ana (page)', scope: 'read' });
    const { page, context } = await openPage(browser);
    await page.goto(`${listening.url}/sign-in?code=${code}`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await context.route('http://chat.example/', (route) =>
      route.fulfill({ contentType: 'text/html', body: `<a href="${listening.url}/">the plan</a>` }),
    );
    await page.goto('http://chat.example/');
    await page.getByRole('link', { name: 'the plan' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await context.close();
    await listening.close(0);
  });
});

describe.skipIf(hasNoBrowser)(`the bar of a plan${NEEDS_BROWSER}`, () => {
  it('counts what is ticked, and asks for a word while that is large or switches a service off', async () => {
    const browser = await startBrowser();
    const off = { action: 'disable_service', target: 'crm.eu', effect: { text: 'disable it', devices: [] } };
    const { app } = await openPlan([planned(0, off), ...Array.from({ length: 59 }, (_, at) => planned(at + 1))]);
    const listening = await listen(app, { host: '127.0.0.1', port: 0 });
    const { page, complaints } = await openPage(browser);
    await page.goto(`${listening.url}/sign-in?to=/plans/plan1`);
    await page.getByLabel('Token').fill(TOKENS.admin);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const bar = async () => [await page.locator('button[data-of]').innerText(), await page.locator('#ask').innerText()];
    expect(await bar()).toEqual(['Approve 60 of 60', 'Type 60 to approve']);
    await page.getByLabel('more that this page does not show').uncheck();
    expect(await bar()).toEqual(['Approve 51 of 60', 'Type 51 to approve']);
    await page.locator('#group-1 [data-ticks]').uncheck();
    expect(await bar()).toEqual(['Approve 1 of 60', 'Type crm.eu to approve']);
    await page.getByLabel('Tick ban_device SERIAL-7', { exact: true }).check();
    expect(await bar()).toEqual(['Approve 2 of 60', 'Type 2 to approve']);
    await page.getByLabel('Tick disable_service crm.eu').uncheck();
    expect(await page.locator('#ask').isVisible()).toBe(false);
    await page.locator('button[data-of]').click();
    await page.getByRole('heading', { name: 'Ban 1 device', exact: true }).first().waitFor();
    expect(complaints.filter((line) => !line.includes('/api/stream') && !line.includes('404'))).toEqual([]);
    await browser.close();
    await listening.close(0);
  });
});

const SHOTS = process.env.TRUSTWARD_SHOTS;
const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 390, height: 844 };
const IDS = ['acme', 'globex', ...Array.from({ length: 30 }, (_, at) => `customer-${at + 10}`)];

describe.skipIf(hasNoBrowser)(`organizations${NEEDS_BROWSER}`, () => {
  let browser: Browser;
  let on: Organizations;
  let served: Listening;

  beforeAll(async () => {
    if (SHOTS) mkdirSync(SHOTS, { recursive: true });
    browser = await startBrowser();
    on = await openOrganizations(IDS, { address: () => served.url });
    (on.lines[1] as { name: string }).name =
      'Globex <b>GmbH</b> 請求 and a name that is far too long for the head of any page';
    (on.lines[2] as { problem: string }).problem =
      'the file of its credential cannot be read: `/etc/trustward/customer-10.key`';
    served = await listen(on.app, { host: '127.0.0.1', port: 0 });
  });
  afterAll(async () => {
    await browser?.close();
    await served?.close(0);
  });

  async function signedIn(token: string, options = {}): Promise<{ page: Page; complaints: string[] }> {
    const { page, complaints } = await openPage(browser, { viewport: WIDE, ...options });
    page.setDefaultTimeout(20_000);
    await page.goto(`${served.url}/`);
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    return { page, complaints };
  }

  async function isGood(page: Page, name: string): Promise<void> {
    for (const [size, viewport] of Object.entries({ 1280: WIDE, 390: NARROW })) {
      await page.setViewportSize(viewport);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(viewport.width);
      expect(await violationsOf(page)).toEqual([]);
      if (SHOTS) await page.screenshot({ path: join(SHOTS, `${name}-${size}.png`), fullPage: true });
    }
    await page.setViewportSize(WIDE);
  }

  it('are chosen from a list that is searched, and each page names its own', async () => {
    const { page, complaints } = await signedIn(on.provider.admin);
    await page.getByRole('heading', { name: 'Organizations' }).waitFor();
    await isGood(page, 'organizations');
    await page.getByLabel('Name or id').fill('glob');
    await page.getByRole('button', { name: 'Show' }).click();
    await isGood(page, 'organizations-found');
    await page.getByRole('link', { name: /Globex/ }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/orgs/globex/');
    await isGood(page, 'organization-overview');
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.waitForURL('**/orgs/globex/runs');
    await isGood(page, 'organization-runs');
    await page.getByRole('link', { name: 'Other organizations' }).click();
    await page.getByRole('heading', { name: 'Organizations' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('are chosen and signed out of without JavaScript', async () => {
    const { page } = await signedIn(on.provider.read, { javaScriptEnabled: false });
    await page.getByRole('link', { name: 'acme Ltd.' }).click();
    expect(new URL(page.url()).pathname).toBe('/orgs/acme/');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.goto(`${served.url}/orgs/globex/`);
    expect(new URL(page.url()).pathname).toBe('/orgs/globex/sign-in');
  });

  it('show who has a token of one nothing of another, and what happens in their own at once', async () => {
    const { page, complaints } = await signedIn(on.of('acme').tokens.admin);
    await page.waitForURL('**/orgs/acme/');
    await page.goto(`${served.url}/orgs`);
    expect(await page.getByRole('row').count()).toBe(2);
    await page.goto(`${served.url}/orgs/acme/runs`);
    const rows = async () => page.locator('#runs [data-row]').count();
    const before = await rows();
    const run = (id: string) =>
      fetch(`${served.url}/api/orgs/${id}/runs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${on.of(id).tokens.admin}` },
        body: JSON.stringify({ mode: 'dry-run' }),
      });
    expect((await run('globex')).status).toBe(202);
    expect((await run('acme')).status).toBe(202);
    await page.locator('#runs [data-row]').nth(before).waitFor();
    expect(await rows()).toBe(before + 1);
    expect(complaints).toEqual([]);
    await page.goto(`${served.url}/orgs/globex/runs`);
    expect(new URL(page.url()).pathname).toBe('/orgs/globex/sign-in');
    await isGood(page, 'organization-sign-in');
  });
});

describe.skipIf(hasNoBrowser)(`the pages of a rule${NEEDS_BROWSER}`, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser.close());

  async function signedIn({ app, signIn }: OpenedPages, options = {}) {
    const listening = await listen(app, { host: '127.0.0.1', port: 0 });
    const { code } = await signIn.link({ name: 'ana (page)', scope: 'trigger' });
    const opened = await openPage(browser, options);
    await opened.page.goto(`${listening.url}/sign-in?code=${code}`);
    await opened.page.getByRole('button', { name: 'Sign in' }).click();
    await opened.page.getByRole('heading', { name: 'Overview' }).waitFor();
    const end = async () => {
      await opened.context.close();
      await listening.close(0);
    };
    return { ...opened, end, url: `${listening.url}/rules/${RULE.id}` };
  }

  it.each(['light', 'dark'] as const)('draw matches over time above their numbers (%s)', async (colorScheme) => {
    const pages = openPages();
    for (let at = 0; at < 30; at += 1) {
      const decisions = [decision({ id: `decision-${at}` })];
      await addRun(pages.store, { id: `run-${at}`, decisions, startedAt: START_MS - (30 - at) * 900_000 });
    }
    const { page, complaints, end, url } = await signedIn(pages, { colorScheme });
    await page.goto(url);
    await page.getByRole('img', { name: /^Matches: last 1; the same since 7 h ago/ }).waitFor();
    await page.getByText('The numbers').click();
    expect(await page.getByRole('table', { name: /^Verdicts of 2\d runs, newest first/ }).isVisible()).toBe(true);
    await page.getByRole('link', { name: '30 d' }).click();
    await page.locator('.ranges [aria-current]', { hasText: '30 d' }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await end();
  });

  it('show a trial while it is under way', async () => {
    let show: (progress: WorkProgress | undefined) => void = () => {};
    let answer: (tried: TriedRule) => void = () => {};
    const stream = {
      onAudited: () => {},
      onProgress: (listener: typeof show) => {
        show = listener;
      },
      ending: new AbortController().signal,
    };
    const tryRule = () =>
      new Promise<TriedRule>((resolve) => {
        answer = resolve;
        show({ run: 'other', phase: 'acting' });
        show({ trial: 'another-rule', phase: 'reading', what: 'users' });
        show({ trial: RULE.id, phase: 'reading', what: 'devices', done: 40, total: 100 });
      });
    const { page, end, url } = await signedIn(openPages({ stream, tryRule }));
    const listening = page.waitForResponse((response) => response.url().includes('/api/stream'));
    await page.goto(`${url}/try`);
    await listening;
    expect(await page.getByRole('status').isVisible()).toBe(false);
    // Nothing can be asked of a page that waits for its answer: it reports by itself.
    await page.evaluate(`new MutationObserver(([{ target }]) => {
      if (target.checkVisibility()) fetch('/healthz?seen=' + target.textContent);
    }).observe(document.getElementById('progress'), { childList: true })`);
    const seen = page.waitForRequest((request) => request.url().includes('seen='));
    await page.getByRole('button', { name: 'Try' }).click({ noWaitAfter: true });
    expect(decodeURIComponent((await seen).url())).toMatch(/seen=reading devices 40 of 100$/);
    answer(TRIED);
    await page.getByRole('heading', { name: 'Added: 1' }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await end();
  });
});

describe.skipIf(hasNoBrowser)(`an open page${NEEDS_BROWSER}`, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser?.close());

  it('names the zone of its times, and says so when it gets no more news', { timeout: 200_000 }, async () => {
    const served = await listen(openPages().app, { host: '127.0.0.1', port: 0 });
    const { page } = await openPage(browser);
    await page.goto(`${served.url}/sign-in`);
    await page.getByLabel('Token').fill(TOKENS.admin);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('All is well.').waitFor();
    expect(await page.locator('#zone').innerText()).toContain('the zone of this browser, Europe/Berlin.');
    expect(await page.locator('#lost').count()).toBe(0);
    await served.close(0);
    await page.getByRole('alert').getByText('Load it again.').waitFor();
    expect(await page.locator('#lost').innerText()).toMatch(
      /^This page has had no news from Trustward since \d\d:\d\d:\d\d: /,
    );
  });
});
