// web: a person registers a passkey in a browser whose authenticator is a virtual one, and approves a plan with it, at a daemon that runs by its settings: by the
// browser's own rules about hosts, origins and what a script may ask. Then the audit is verified offline, by another process.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasNoBrowser, NEEDS_BROWSER, openPage, startBrowser } from '../../support/browser.ts';
import { CLIENT, type IdentityProvider, openIdentityProvider } from '../../support/identity-provider.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../../support/organization.ts';
import { type Started, startTrustward, trustward } from '../../support/trustward.ts';
import { violationsOf } from './axe.ts';

const SHOTS = process.env.TRUSTWARD_SHOTS;
const APPROVALS = 'approvals:\n  - { people: 1, groups: [security], touch: true }\n';
const AUTHENTICATOR = {
  ...{ hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
};

describe.skipIf(hasNoBrowser)(`a passkey in a browser${NEEDS_BROWSER}`, { timeout: 120_000 }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'trustward-passkey-'));
  let [browser, context, page] = [] as unknown as [Browser, BrowserContext, Page];
  let [serve, provider, org] = [] as unknown as [Started, IdentityProvider, Organization];
  let devtools: CDPSession;
  let [complaints, base, authenticatorId] = [[] as string[], '', ''];

  beforeAll(async () => {
    base = `http://localhost:${await freePort()}`;
    provider = await openIdentityProvider({ base });
    writeFileSync(join(dir, 'secret'), `${CLIENT.secret}\n`, { mode: 0o600 });
    org = await startOrganization({
      ...{ devices: 20, rules: { ban: BAN_COMPROMISED.replace('mode: enforce', 'mode: approve') } },
      env: {
        ...{
          TRUSTWARD_LISTEN: `127.0.0.1:${new URL(base).port}`,
          TRUSTWARD_SCHEDULE: '0 0 1 1 *',
          TRUSTWARD_PUBLIC_URL: base,
        },
        ...{ TRUSTWARD_OIDC_ISSUER: provider.settings.issuer, TRUSTWARD_OIDC_CLIENT_ID: CLIENT.id },
        TRUSTWARD_OIDC_CLIENT_SECRET_FILE: join(dir, 'secret'),
        TRUSTWARD_OIDC_SCOPES: 'security=approve, staff=read',
      },
    });
    writeFileSync(join(org.env.TRUSTWARD_RULES ?? '', 'approvals.yaml'), APPROVALS);
    for (const at of [1, 2])
      org.console.fleet.addDevice(
        { serial: `KEY-${at}`, friendly_name: `Laptop ${at}`, mdm_compromised: 'TRUE' } as never,
        [],
      );
    await org.composition.close();
    serve = startTrustward(['serve'], org.env);
    await serve.says(`:${new URL(base).port}`);
    browser = await startBrowser();
    ({ page, context, complaints } = await openPage(browser));
    devtools = await context.newCDPSession(page);
    await devtools.send('WebAuthn.enable');
    ({ authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: { ...AUTHENTICATOR, protocol: 'ctap2', transport: 'internal' },
    }));
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    serve?.child.kill('SIGTERM');
    await serve?.ended;
    await org?.close();
    await provider?.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const shot = async (name: string) => {
    for (const colorScheme of SHOTS ? (['light', 'dark'] as const) : [])
      for (const width of [390, 1000]) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 900 });
        await page.screenshot({ path: join(SHOTS ?? '', `${name}-${colorScheme}-${width}.png`), fullPage: true });
      }
  };
  const openPlan = async () => {
    await page.goto(`${base}/inbox`);
    await page.getByRole('row').filter({ hasText: 'proposed by' }).getByRole('link').first().click();
    await page.getByRole('button', { name: /^Approve 2/ }).waitFor();
  };
  const approve = async () => {
    const word = page.locator('#ask b');
    if (await word.isVisible()) await page.locator('#ask input').fill((await word.textContent()) ?? '');
    await page.getByRole('button', { name: /^Approve 2/ }).click();
  };

  it('is asked for by the file: without one the plan says how to register, and a yes is refused', async () => {
    const ran = await trustward(['run', '--mode', 'enforce'], org.env);
    expect([ran.code, ran.err]).toEqual([expect.any(Number), expect.any(String)]);
    await page.goto(`${base}/inbox`);
    await page.getByRole('link', { name: 'Sign in at' }).click();
    await page.getByRole('link', { name: 'u-ana' }).click();
    await page.getByText('Sign out').waitFor();
    await openPlan();
    await page.getByText('Only a yes with a passkey counts here').waitFor();
    await shot('plan-none');
    await approve();
    await page.getByText('register one on the page').waitFor();
  });

  it('is registered with a name, and listed', async () => {
    await page.getByRole('link', { name: 'register one' }).first().click();
    await shot('passkeys-none');
    await page.getByLabel('Name, such as that of the device').fill('Ana’s laptop');
    await page.getByRole('button', { name: 'Register' }).click();
    await page.getByRole('row').filter({ hasText: 'Ana’s laptop' }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await shot('passkeys');
  });

  it('that does not answer, or a browser that has none, sends nothing; that answers approves, and the page says so', async () => {
    await openPlan();
    const read = 'PublicKeyCredential.parseRequestOptionsFromJSON';
    await page.evaluate(`globalThis.kept = ${read}; delete ${read}`);
    await approve();
    await page.getByText('Nothing was sent: this browser cannot use passkeys here. Use a newer one.').waitFor();
    await page.evaluate(`${read} = kept`);
    await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
    await approve();
    await page.getByText('Nothing was sent, since the passkey was not used').waitFor();
    await shot('plan-refused');
    await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });
    await approve();
    await page.getByText(/^approved by ana@example.com.* with a passkey, /).waitFor();
    expect(await page.locator('#plan').getByText('ana@example.com').count()).toBe(1);
    await shot('plan-approved');
    expect(await violationsOf(page)).toEqual([]);
    // A refused answer is a load that failed.
    expect(complaints.filter((text) => !text.includes('409'))).toEqual([]);
  });

  it('removed, is asked for a last time; the audit verifies all that it signed', async () => {
    await page.goto(`${base}/passkeys`);
    await page.getByText('Remove…').click();
    page.once('dialog', (dialog) => void dialog.accept());
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('You have none.').waitFor();
    await page.goto(`${base}/audit`);
    for (const words of ['registered the passkey Ana’s laptop', 'with a passkey', 'removed the passkey Ana’s laptop'])
      await page.getByText(words).first().waitFor();
    const verified = await trustward(['audit', 'verify'], org.env);
    expect([verified.code, verified.out]).toEqual([0, expect.stringContaining('the audit is whole')]);
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
