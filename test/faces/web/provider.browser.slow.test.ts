// web: a person signs in at the identity provider in a browser, to a daemon that runs by its settings: with the cookies, redirects and content policy
// that a browser really has.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasNoBrowser, NEEDS_BROWSER, openPage, startBrowser } from '../../support/browser.ts';
import { CLIENT, type IdentityProvider, openIdentityProvider } from '../../support/identity-provider.ts';
import { type Started, startTrustward, trustward } from '../../support/trustward.ts';

const SHOTS = process.env.TRUSTWARD_SHOTS;

describe.skipIf(hasNoBrowser)(`signing in at the identity provider${NEEDS_BROWSER}`, { timeout: 120_000 }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'trustward-provider-'));
  let [browser, context, page] = [] as unknown as [Browser, BrowserContext, Page];
  let [serve, provider] = [] as unknown as [Started, IdentityProvider];
  let complaints: string[];
  let env: Record<string, string>;
  let base = '';

  beforeAll(async () => {
    base = `http://127.0.0.1:${await freePort()}`;
    provider = await openIdentityProvider({ base });
    writeFileSync(join(dir, 'secret'), `${CLIENT.secret}\n`, { mode: 0o600 });
    env = {
      TRUSTWARD_DB: join(dir, 'trustward.db'),
      TRUSTWARD_SCHEDULE: '0 0 1 1 *',
      TRUSTWARD_LISTEN: new URL(base).host,
      TRUSTWARD_LINKS: 'off',
      TRUSTWARD_OIDC_ISSUER: provider.settings.issuer,
      TRUSTWARD_OIDC_CLIENT_ID: CLIENT.id,
      TRUSTWARD_OIDC_CLIENT_SECRET_FILE: join(dir, 'secret'),
      TRUSTWARD_OIDC_SCOPES: 'security=approve, staff=read',
    };
    serve = startTrustward(['serve'], env);
    await serve.says(base);
    browser = await startBrowser();
    ({ page, context, complaints } = await openPage(browser));
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    serve?.child.kill('SIGTERM');
    await serve?.ended;
    await provider?.close();
    rmSync(dir, { recursive: true, force: true });
  });

  async function signIn(sub: string, path: string): Promise<void> {
    await page.goto(`${base}${path}`);
    if (SHOTS) await page.screenshot({ path: join(SHOTS, 'sign-in-provider.png') });
    await page.getByRole('link', { name: 'Sign in at' }).click();
    await page.getByRole('link', { name: sub }).click();
    await page.getByText('Sign out').waitFor();
  }

  it('leads to the provider and back to the page that was asked for, with a session that the browser sends from then on', async () => {
    await signIn('u-ana', '/audit');
    expect(new URL(page.url()).pathname).toBe('/audit');
    expect(await page.locator('.who-name').textContent()).toBe('ana@example.com (approve)');
    if (SHOTS) await page.screenshot({ path: join(SHOTS, 'signed-in-person.png') });
    const cookies = await context.cookies(base);
    const ours = cookies.filter(({ name }) => name.startsWith('trustward-'));
    expect(ours.map(({ httpOnly, sameSite }) => [httpOnly, sameSite])).toEqual([[true, 'Strict']]);
    await page.goto(`${base}/plans`);
    expect(await page.locator('.who-name').textContent()).toContain('ana@example.com');
    expect(complaints).toEqual([]);
  });

  it('what she does has her name, and a logout at the provider ends it here', async () => {
    await page.getByText('Stop', { exact: true }).first().click();
    await page.getByLabel('Reason to stop everything').fill('a drill');
    await page.getByRole('button', { name: 'Stop everything' }).click();
    await page.getByText('ana@example.com stopped everything').first().waitFor();
    await page.goto(`${provider.settings.issuer}/session/end`);
    await page.getByRole('button').first().click();
    await expect.poll(async () => (await context.request.get(`${base}/runs`, { maxRedirects: 0 })).status()).toBe(303);
  });

  it('the command line stops and resumes while the provider is gone, and the page says why nobody signs in there', async () => {
    await provider.close();
    const resumed = await trustward(['resume', '--reason', 'over'], env);
    expect([resumed.code, resumed.out]).toEqual([0, expect.stringContaining('ana@example.com: a drill')]);
    expect((await trustward(['stop', '--reason', 'again'], env)).code).toBe(0);
    await page.goto(`${base}/sign-in`);
    await page.getByRole('link', { name: 'Sign in at' }).click();
    expect(await page.getByRole('alert').textContent()).toContain('everything else goes on');
    const link = await trustward(['open', '--print'], env);
    expect(serve.said().out).not.toContain('trustward open');
    expect([link.code, link.err]).toEqual([2, expect.stringContaining('TRUSTWARD_LINKS=off')]);
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
