// The person who is banned, from the mail to the mended device, with a whole process, a real mail server and a real browser: on a phone, without
// JavaScript. Each state has no fault of access, light and dark. With TRUSTWARD_SHOTS=FOLDER each is kept as a picture.
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { hasNoBrowser, NEEDS_BROWSER, openPage, startBrowser } from '../../support/browser.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../../support/organization.ts';
import { freePort } from '../../support/postgres-cluster.ts';
import { type Started, startTrustward } from '../../support/trustward.ts';
import { violationsOf } from './axe.ts';

const SHOTS = process.env.TRUSTWARD_SHOTS;
const TOKEN = 'a-token-of-this-test-0123456789';
const PHONE = { width: 390, height: 844 };
const DESK = { width: 1000, height: 900 };
/** Warned of first. */
const WARNS = `
id: disk-not-encrypted
title: The disk is not encrypted
severity: high
subject: device
when:
  "==": [{ var: MdmData.CompliantStatus }, "FALSE"]
then: ban_device
mode: enforce
revert: true
limits: { max: 20, percent: 100 }
notice: { before: 24h, remind: [4h] }
fix:
  text: "Open System Settings, then Privacy & Security, and turn on FileVault. Leave the laptop plugged in for an hour."
  url: https://help.example.com/filevault
tests:
  - { name: not encrypted, given: { MdmData: { CompliantStatus: "FALSE" } }, expect: match }
`;
const BANS = BAN_COMPROMISED.replace(
  'Ban devices that MDM reports as compromised',
  'The device was tampered with',
).replace(
  'revert: true',
  'revert: true\nlimits: { max: 20, percent: 100 }\nfix: { text: Restart it and run the check of the help page }',
);
const PEOPLE = ['ana', 'ben', 'cyd', 'dan'] as const;
type Person = (typeof PEOPLE)[number];
const FACTORS = [
  {
    ...{ Name: 'disk', Value: 'off', Type: 'mdm', Source: 'mdm', Description: 'Disk' },
    RemediationDescription: 'Encrypt the disk <a href="https://evil.example">here</a>',
    RemediationURL: 'https://vendor.example/help',
  },
];

describe.skipIf(hasNoBrowser)(`a person whose device is wrong${NEEDS_BROWSER}`, () => {
  let org: Organization;
  let post: SMTPServer;
  let serve: Started;
  let url: string;
  let browser: Browser;
  let phone: Page;
  let reader: Page;
  let operator: Page;
  let complaints: string[];
  const seen: string[] = [];
  const mails = new Map<string, string>();
  const devices = new Map<Person, string>();

  beforeAll(async () => {
    if (SHOTS) mkdirSync(SHOTS, { recursive: true });
    post = postOffice(mails);
    await once(post.server, 'listening');
    url = `http://127.0.0.1:${await freePort()}`;
    org = await startOrganization({
      devices: 40,
      rules: { warns: WARNS, bans: BANS },
      env: {
        TRUSTWARD_LISTEN: new URL(url).host,
        TRUSTWARD_PUBLIC_URL: url,
        TRUSTWARD_TOKEN: TOKEN,
        TRUSTWARD_SCHEDULE: '0 0 1 1 *',
        TRUSTWARD_WATCH: '0s',
        TRUSTWARD_SMTP_URL: `smtp://127.0.0.1:${(post.server.address() as AddressInfo).port}`,
        TRUSTWARD_SMTP_TLS: 'off',
        TRUSTWARD_SMTP_FROM: 'trustward@acme.example',
        TRUSTWARD_SMTP_REPLY_TO: 'desk@acme.example',
      },
    });
    for (const person of PEOPLE) {
      const name = person[0]?.toUpperCase() + person.slice(1);
      org.console.fleet.addUser(`${person}@acme.example`, name);
      const facts = {
        ...{ serial: `MINE-${person}`, friendly_name: `${name}’s MacBook`, model: 'MacBook Pro', platform: 'macOS' },
        ...{
          mdm_compliant: 'FALSE',
          mdm_compromised: 'FALSE',
          mdm_timestamp: nowNs(),
          factors: JSON.stringify(FACTORS),
        },
      };
      devices.set(person, org.console.fleet.addDevice(facts as never, [`${person}@acme.example`]));
    }
    await org.composition.close();
    serve = startTrustward(['serve'], org.env);
    browser = await startBrowser();
    ({ page: phone, complaints } = await openPage(browser, { viewport: PHONE, javaScriptEnabled: false }));
    ({ page: reader } = await openPage(browser));
    ({ page: operator } = await openPage(browser, { viewport: DESK }));
  });
  afterAll(async () => {
    await browser?.close();
    serve?.child.kill('SIGTERM');
    await serve?.ended;
    await org?.close();
    await new Promise<void>((resolve) => (post ? post.close(() => resolve()) : resolve()));
  });

  const until = async (holds: () => boolean | Promise<boolean>) => {
    while (!(await holds())) await systemClock.sleep(50);
  };
  const linkTo = async (person: Person) => {
    await until(() => mails.has(`${person}@acme.example`));
    return /http:\/\/\S+\/mine\/[\w-]+/.exec(mails.get(`${person}@acme.example`) ?? '')?.[0] ?? '';
  };
  const patch = (person: Person, facts: object) => {
    const fields = { ...facts, mdm_timestamp: nowNs() };
    org.console.fleet.patchDevice(devices.get(person) as string, fields as never);
  };
  const run = async () => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const answer = await fetch(`${url}/api/runs`, { method: 'POST', headers, body: '{"mode":"enforce","wait":true}' });
    expect(answer.status, await answer.text()).toBe(200);
  };
  const text = () => phone.locator('main').innerText();
  const reads = async (...words: string[]) => {
    await phone.locator('main').waitFor();
    for (const one of words) expect(await text()).toContain(one);
  };

  /** What the person sees now is good to read, on a phone and on a wide screen, by day and by night. Axe is a script: it reads the same in another browser. */
  async function isGood(name: string): Promise<void> {
    const html = await phone.content();
    await reader.route(`${url}/seen`, (route) => route.fulfill({ contentType: 'text/html', body: html }));
    await reader.goto(`${url}/seen`);
    for (const size of [DESK, PHONE]) {
      await reader.setViewportSize(size);
      for (const colorScheme of ['dark', 'light'] as const) {
        await reader.emulateMedia({ colorScheme });
        expect(await violationsOf(reader), `${name}, ${colorScheme}, ${size.width}`).toEqual([]);
      }
      if (SHOTS) await reader.screenshot({ path: join(SHOTS, `${name}-${size.width}.png`), fullPage: true });
    }
    expect(await reader.evaluate('document.documentElement.scrollWidth'), name).toBeLessThanOrEqual(PHONE.width);
    expect(await reader.locator('main h1').count(), name).toBe(1);
    seen.push(name);
  }

  it('is warned, mends it, has it checked again, and the deadline is lifted', async () => {
    const link = await linkTo('ana');
    await phone.goto(link);
    await reads('Ana’s MacBook', 'The disk is not encrypted', 'turn on FileVault', 'If it is not mended by');
    expect(await phone.locator('a[href*="evil"], a[href*="vendor"]').count()).toBe(0);
    await isGood('warned');
    await phone.getByRole('button', { name: 'Check again' }).click();
    await reads('still wrong.');
    await isGood('still-wrong');
    const other = await linkTo('ben');
    patch('ben', { mdm_compliant: 'TRUE' });
    await phone.goto(other);
    await phone.getByRole('button', { name: 'Check again' }).click();
    await reads('mended. That is over.');
    await isGood('deadline-lifted');
    await phone.goto(other);
    await reads('This link opens nothing');
    await isGood('over');
  });

  it('is banned, mends it, has it checked again, and it works within a minute', async () => {
    patch('cyd', { mdm_compromised: 'TRUE' });
    await run();
    expect(org.effects('device_banned')).toEqual([devices.get('cyd')]);
    await phone.goto(await linkTo('cyd'));
    await reads('Your device is blocked', 'The device was tampered with');
    await isGood('banned');
    patch('cyd', { mdm_compromised: 'FALSE', mdm_compliant: 'TRUE' });
    const mendedAt = systemClock.nowMs();
    await phone.getByRole('button', { name: 'Check again' }).click();
    await reads('mended, and the block is lifted.');
    const took = systemClock.nowMs() - mendedAt;
    expect(org.effects('device_unbanned')).toEqual([devices.get('cyd')]);
    expect(took).toBeLessThan(60_000);
    process.stdout.write(`mended, checked again, unbanned: ${(took / 1_000).toFixed(1)} s\n`);
    await isGood('unbanned');
  });

  it.each([
    ['dan', 'Refuse', 'Bring it to the desk, floor 2.', 'refused'],
    ['ana', 'Grant', 'Fine until your trip is over.', 'granted'],
  ] as const)('asks for an exemption, waits, and reads the answer: %s, %s', async (person, button, say, state) => {
    await phone.goto(await linkTo(person));
    await phone.getByText('Ask for an exemption').click();
    if (state === 'refused') await isGood('asking');
    await phone.getByLabel('Why you need it').fill('I am in court until Friday.');
    await phone.getByLabel('For how long').selectOption({ label: '7 days' });
    await phone.getByRole('button', { name: 'Ask', exact: true }).click();
    await reads('You asked for an exemption of 7 days.');
    await isGood(`waiting-${person}`);
    await operator.goto(`${url}/inbox`);
    if (await operator.getByLabel('Token').isVisible()) {
      await operator.getByLabel('Token').fill(TOKEN);
      await operator.getByRole('button', { name: 'Sign in' }).click();
      await operator.goto(`${url}/inbox`);
    }
    await operator.locator('a[href*="/exemptions/requests/"]').first().click();
    await operator.getByLabel(`What the person reads to ${button.toLowerCase()}`).fill(say);
    if (state === 'granted') await operator.getByLabel('For').selectOption({ label: '30 days' });
    await operator.getByRole('button', { name: button, exact: true }).click();
    await operator.getByText(say).waitFor();
    await phone.goto(await linkTo(person));
    await reads(say);
    // What holds it back is said, and nothing else is threatened with.
    expect((await text()).includes('If it is not mended by')).toBe(state === 'refused');
    await isGood(state);
  });

  it('has read every state without a fault of access or of a script', () => {
    process.stdout.write(`${seen.length} states, light and dark, at ${PHONE.width} and ${DESK.width} pixels\n`);
    expect(complaints.filter((line) => !line.includes('status of 404'))).toEqual([]);
  });
});

const nowNs = () => BigInt(systemClock.nowMs()) * 1_000_000n;

/** What it takes: the text of a mail, by whom it is for. */
function postOffice(mails: Map<string, string>): SMTPServer {
  const server = new SMTPServer({
    ...{ authOptional: true, disabledCommands: ['STARTTLS', 'AUTH'], logger: false },
    onData: (stream, { envelope }, done) => {
      let raw = '';
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        raw += chunk;
      });
      stream.on('end', () => {
        const plain = raw.replaceAll('=\r\n', '').replaceAll('=3D', '=');
        for (const { address } of envelope.rcptTo) mails.set(address, plain);
        done();
      });
    },
  });
  server.listen(0, '127.0.0.1');
  return server;
}
