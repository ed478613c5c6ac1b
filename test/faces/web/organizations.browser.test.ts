// Several organizations in a real browser: signing in, choosing one with and without JavaScript, and pages that follow their own organization
// alone. With TRUSTWARD_SHOTS=FOLDER each is kept as a picture.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Listening, listen } from '../../../src/faces/http/listen.ts';
import { hasNoBrowser, NEEDS_BROWSER, openPage, startBrowser } from '../../support/browser.ts';
import { type Organizations, openOrganizations } from '../../support/organizations.ts';
import { violationsOf } from './axe.ts';

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
