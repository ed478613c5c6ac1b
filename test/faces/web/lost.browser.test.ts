// A page that stays open when the process behind it ends, in a real browser: it does not go on to say that all is well as if that were now. And times,
// which name no zone by themselves.

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listen } from '../../../src/faces/http/listen.ts';
import { hasNoBrowser, NEEDS_BROWSER, openPage, startBrowser } from '../../support/browser.ts';
import { TOKENS } from '../../support/endpoint.ts';
import { openPages } from '../../support/pages.ts';

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
