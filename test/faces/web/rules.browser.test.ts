// The pages of a rule in a real browser: the chart is drawn from its table, and who tries a change sees how far that is.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TriedRule } from '../../../src/domain/decision.ts';
import type { WorkProgress } from '../../../src/domain/replay.ts';
import { listen } from '../../../src/faces/http/listen.ts';
import { hasNoBrowser, NEEDS_BROWSER, openPage, startBrowser } from '../../support/browser.ts';
import { addRun, decision, START_MS } from '../../support/filled-store.ts';
import { type OpenedPages, openPages } from '../../support/pages.ts';
import { RULE, TRIED } from '../../support/rule-samples.ts';
import { violationsOf } from './axe.ts';

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
      await addRun(pages.store, { id: `run-${at}`, decisions, startedAt: START_MS + at * 900_000 });
    }
    const { page, complaints, end, url } = await signedIn(pages, { colorScheme });
    await page.goto(url);
    await page.getByRole('img', { name: 'Matches in the last 30 runs' }).locator('canvas').waitFor();
    expect(await page.locator('#matches').isVisible()).toBe(false);
    await page.getByText('the numbers').click();
    expect(await page.locator('#matches tbody tr').count()).toBe(30);
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
