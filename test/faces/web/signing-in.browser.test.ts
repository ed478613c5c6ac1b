// A person signs in with a link in a real browser; the page they see has no fault of access, and its scripts run under its own policy.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listen } from '../../../src/faces/http/listen.ts';
import { hasNoBrowser, NEEDS_BROWSER, openPage, startBrowser } from '../../support/browser.ts';
import { openPages } from '../../support/pages.ts';
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
