// A person does the whole job in a browser, as at two in the morning: signs in with the link that `serve` printed at the terminal, reads a
// dry run, sees why one device would be banned and another not, approves all but one, watches it applied, finds it in the audit, sees a
// clean device unbanned, stops and resumes. Real processes but for the console, whose effects are asked for at the end of each step.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { hasNoBrowser, NEEDS_BROWSER, openPage, startBrowser } from '../../support/browser.ts';
import { BIN } from '../../support/built.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../../support/organization.ts';
import { violationsOf } from './axe.ts';

const hasTerminal = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;
/** Five match, and two are allowed: a person decides. What is over is undone without one. */
const BAN = BAN_COMPROMISED.replace('revert: true', 'revert: true\nlimits: { max: 2, percent: 100 }');
const NAMES = ['Ada', 'Bo', 'Cy', '陳大文', 'Эва'] as const;
const SPARED = 2;
const CLEAN = 0;

describe.skipIf(hasNoBrowser || !hasTerminal)(`a person at work in a browser${NEEDS_BROWSER}`, () => {
  let org: Organization;
  let browser: Browser;
  let serve: ChildProcess;
  let page: Page;
  let complaints: string[];
  let said = '';
  /** Of the devices that match, in the order of their names. */
  const ids: string[] = [];

  beforeAll(async () => {
    browser = await startBrowser();
    org = await startOrganization({
      devices: 40,
      rules: { ban: BAN },
      env: { TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '*/2 * * * * *' },
    });
    NAMES.forEach((name, at) => {
      org.console.fleet.addUser(`owner${at}@acme.example`, name);
      const facts = { serial: `JRN-${at}`, friendly_name: `${name}'s laptop`, mdm_compromised: 'TRUE' };
      ids.push(org.console.fleet.addDevice(facts as never, [`owner${at}@acme.example`]));
    });
    org.console.fleet.addDevice({ serial: 'JRN-FINE', friendly_name: 'Fine laptop' } as never, []);
    await org.composition.close();
    serve = spawn('script', ['-qefc', `${process.execPath} ${join(BIN, 'trustward')} serve`, '/dev/null'], {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...org.env, NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    serve.stdout?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    ({ page, complaints } = await openPage(browser));
  });
  afterAll(async () => {
    await browser?.close();
    if (serve?.exitCode === null) {
      const ended = once(serve, 'close');
      serve.kill('SIGTERM');
      await ended;
    }
    await org?.close();
  });

  const isSo = async (holds: () => boolean | Promise<boolean>) => {
    while (!(await holds())) await systemClock.sleep(50);
  };
  const shows = (text: string | RegExp) => page.getByText(text).first().waitFor();
  const find = async (what: string) => {
    await page.keyboard.press('/');
    await page.keyboard.type(what);
    await page.keyboard.press('Enter');
  };

  it('signs in with the link that was printed at the terminal', async () => {
    await isSo(() => /sign-in\?code=[\w-]+/.test(said));
    const link = /http:\/\/\S+sign-in\?code=[\w-]+/.exec(said)?.[0] as string;
    await page.goto(link);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.goto(link);
    await shows(/was used already/);
    await page.goto(new URL('/', link).href);
  });

  it('reads a dry-run report', async () => {
    await page.getByRole('button', { name: 'Dry run' }).click();
    await page.waitForURL(/\/runs\/\d+/);
    await shows("Ada's laptop");
    await shows("陳大文's laptop");
    expect(org.effects('device_banned')).toEqual([]);
    expect(await violationsOf(page)).toEqual([]);
  });

  it('sees why one device would be banned, and another not', async () => {
    await find('jrn-1');
    await page.getByRole('heading', { name: "Bo's laptop" }).waitFor();
    await shows(/it would not match if MdmData.CompromisedStatus/);
    await find('Fine laptop');
    await page.getByRole('heading', { name: 'Fine laptop' }).waitFor();
    await shows(/it would match if MdmData.CompromisedStatus/);
    expect(await violationsOf(page)).toEqual([]);
  });

  it('approves all but one, and watches it applied', async () => {
    await page.getByRole('link', { name: /^Inbox/ }).click();
    const row = page.getByRole('row').filter({ hasText: 'proposed by' }).filter({ hasNotText: 'dry run' });
    await row.getByRole('link').first().click();
    const approved = NAMES.length - 1;
    await page.getByRole('button', { name: `Approve ${NAMES.length} of ${NAMES.length}` }).waitFor();
    await page.getByLabel(new RegExp(`^Tick .*JRN-${SPARED}`)).uncheck();
    await page.getByPlaceholder('Reason (optional)').first().fill('seen on the page');
    await page.getByRole('button', { name: `Approve ${approved} of ${NAMES.length}` }).click();
    await isSo(() => org.effects('device_banned').length >= approved);
    // Once these are done, the one that is left is within the limit: the next run may ban it.
    expect(org.effects('device_banned').slice(0, approved).sort()).toEqual(ids.toSpliced(SPARED, 1).sort());
    // An answer that comes late is named on the plan, which waits on without it.
    const own = page.getByRole('link', { name: 'plan of its own' });
    await page
      .getByText(/4 of 4 done/)
      .or(own)
      .first()
      .waitFor();
    if (await own.isVisible()) await own.click();
    await shows(/4 of 4 done/);
    expect(await violationsOf(page)).toEqual([]);
  });

  it('finds it in the audit, with who approved it', async () => {
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByLabel('Kind').fill('plan.approved');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await shows('seen on the page');
    await page.getByLabel('Kind').fill('intent.settled');
    await page.getByLabel('About the target').fill('jrn-1');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await shows(/JRN-1/);
    await page.getByRole('button', { name: 'Verify the audit' }).click();
    await shows(/the audit is whole/);
  });

  it('sees a device unbanned when it is clean', async () => {
    org.console.fleet.patchDevice(ids[CLEAN] as string, { mdm_compromised: 'FALSE' });
    await isSo(() => org.effects('device_unbanned').includes(ids[CLEAN] as string));
    await find(`JRN-${CLEAN}`);
    await page.getByRole('heading', { name: "Ada's laptop" }).waitFor();
    await isSo(async () => {
      await page.reload();
      return (await page.getByText(/unban_device JRN-0: (succeeded|confirmed)/).count()) > 0;
    });
    expect(org.effects('device_unbanned')).toEqual([ids[CLEAN]]);
  });

  it('stops everything, and resumes', async () => {
    await page.goto(new URL('/', page.url()).href);
    await page.getByText('Stop', { exact: true }).click();
    await page.getByLabel('Reason to stop everything').first().fill('a strange ban');
    await page.getByRole('button', { name: 'Stop everything' }).click();
    await page.locator('.stop-line').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByLabel('Reason to resume').first().fill('understood');
    await page.getByRole('button', { name: 'Resume' }).click();
    await isSo(async () => (await page.locator('.stop-line').count()) === 0);
  });

  it('has not seen one error of a script, nor a refusal of the content policy', () => {
    expect(complaints).toEqual([]);
    expect(said).not.toContain('"code"');
  });
});
