// commands: `mail`: what people would get is seen before anybody gets it, and one real mail proves that the server takes it; `doctor` connects and sends none.
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SMTPServer } from 'smtp-server';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { mailChecks } from '../../../src/faces/cli/doctor/database.ts';
import { credentialFiles } from '../../../src/runtime/compose/compose.ts';
import { readConfig } from '../../../src/runtime/config/config.ts';
import { banRule } from '../../support/engine-on-platform.ts';
import { command } from '../../support/in-process.ts';
import { BAN_COMPROMISED, startOrganization } from '../../support/organization.ts';
import { CERTIFICATE, KEY } from '../../support/receiver.ts';

let folder: string;
let server: SMTPServer;
let raw: string[];
let env: Record<string, string>;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'mail-'));
  raw = [];
  server = new SMTPServer({
    key: KEY,
    cert: CERTIFICATE,
    authOptional: true,
    logger: false,
    onRcptTo: ({ address }, _, done) => (address === 'nobody@example.com' ? done(new Error('no such user')) : done()),
    onData: (stream, _, done) => {
      let text = '';
      stream.on('data', (chunk: Buffer) => (text += chunk));
      stream.on('end', () => {
        raw.push(text);
        done();
      });
    },
  });
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  writeFileSync(join(folder, 'ca.pem'), CERTIFICATE);
  env = {
    TRUSTWARD_SMTP_URL: `smtp://localhost:${(server.server.address() as AddressInfo).port}`,
    TRUSTWARD_SMTP_FROM: 'trustward@example.com',
    TRUSTWARD_SMTP_REPLY_TO: 'desk@example.com',
    TRUSTWARD_SMTP_CA: join(folder, 'ca.pem'),
  };
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await new Promise<void>((resolve) => server.close(() => resolve()));
});

it('a preview shows the mail with a name that attacks, and needs no server', async () => {
  const text = await command(['mail', 'preview', '--stage', 'reminder'], {});
  expect(text).toMatchObject({ code: 0, err: '' });
  expect(text.out).toMatch(/^Subject: Reminder: Ana’s <b>laptop<\/b> ⟨U\+202E⟩gnp/);
  const html = await command(['mail', 'preview', '--format', 'html'], {});
  expect(html.out).toMatch(/^<!doctype html>/);
  expect(html.out).not.toContain('<b>laptop');
  expect((await command(['mail', 'preview', '--stage', 'last'], {})).code).toBe(2);
});

it('the shipped templates are copied to be changed, a mistake in one is named, and nothing is overwritten', async () => {
  const own = join(folder, 'templates');
  expect(await command(['mail', 'templates', own], {})).toMatchObject({ code: 0, err: '' });
  expect(readdirSync(own)).toEqual(['notice.html', 'notice.txt', 'subject.txt']);
  const changed = { TRUSTWARD_MAIL_TEMPLATES: own };
  const shipped = (await command(['mail', 'preview'], {})).out.replace(/\d{4}-.*/g, '');
  expect((await command(['mail', 'preview'], changed)).out.replace(/\d{4}-.*/g, '')).toBe(shipped);
  const again = await command(['mail', 'templates', own], {});
  expect(again).toMatchObject({ code: 2, err: expect.stringContaining('nothing is overwritten') });
  const file = join(own, 'notice.txt');
  writeFileSync(file, `${readFileSync(file, 'utf8')}{{devise.name}}`);
  const wrong = await command(['mail', 'preview'], changed);
  expect(wrong).toMatchObject({
    code: 2,
    err: expect.stringMatching(/notice\.txt`:\d+:1: .*did you mean `device\.name`/),
  });
});

it('a test sends one mail, and says how it ended', async () => {
  expect(await command(['mail', 'test', 'ana@example.com'], env)).toEqual({
    code: 0,
    out: 'the mail server accepted the mail to ana@example.com\n',
    err: '',
  });
  expect(raw).toHaveLength(1);
  const refused = await command(['mail', 'test', 'nobody@example.com'], env);
  expect(refused).toMatchObject({ code: 1, err: expect.stringMatching(/the mail is refused: .*no such user/) });
  const none = await command(['mail', 'test', 'ana@example.com'], {});
  expect(none).toMatchObject({ code: 2, err: expect.stringContaining('TRUSTWARD_SMTP_URL') });
});

it('doctor connects to the mail server and sends nothing', async () => {
  const check = (more: Record<string, string> = {}) => mailChecks(readConfig({ ...env, ...more }));
  expect(await mailChecks(readConfig({}))).toEqual([]);
  const rule = banRule({ more: 'notice: { before: 24h }' });
  expect(await mailChecks(readConfig({}), [rule])).toMatchObject([
    { state: 'warning', text: 'ban would warn people, and no mail server is set: what they do waits for a person' },
  ]);
  expect(await check()).toMatchObject([{ state: 'ok', text: expect.stringContaining('with a verified certificate') }]);
  expect(await check({ TRUSTWARD_SMTP_TLS: 'unverified' })).toMatchObject([{ state: 'warning' }]);
  expect(await check({ TRUSTWARD_SMTP_REPLY_TO: '' })).toMatchObject([{ state: 'warning' }]);
  expect(await check({ TRUSTWARD_SMTP_CA: '' })).toMatchObject([
    { state: 'problem', text: expect.stringContaining('self-signed') },
  ]);
  expect(raw).toEqual([]);
});

it('a run warns the owner over the mail server that the settings name, and bans nobody yet', async () => {
  const notice = BAN_COMPROMISED.replace(
    'revert: true',
    'revert: true\nnotice: { before: 24h }\nfix: { problem: It is compromised, text: Ask }',
  );
  const org = await startOrganization({ devices: 20, compromised: 1, rules: { ban: notice }, env });
  try {
    const { of } = await org.run('enforce');
    expect(of('act')).toEqual([]);
    await org.composition.close(); // what is due is delivered first
    expect(raw.length).toBeGreaterThan(0);
    expect(raw[0]?.replace(/\r\n /g, ' ')).toMatch(/^Subject: .*: It is compromised; please act before /m);
    expect(org.effects('device_banned')).toEqual([]);
  } finally {
    await org.close();
  }
});

it('a changed file of the mail server is in force for the next mail, unless what it has is none', async () => {
  const file = join(folder, 'url');
  writeFileSync(file, 'smtp://localhost:1');
  const { TRUSTWARD_SMTP_URL: url = '', ...others } = env;
  const config = readConfig({ ...others, TRUSTWARD_SMTP_URL_FILE: file });
  const [watched] = credentialFiles(config, { api: () => {}, token: () => {} });
  expect(watched).toMatchObject({ name: 'TRUSTWARD_SMTP_URL_FILE', file });
  expect(watched?.current()).toBe('smtp://localhost:1');
  expect(watched?.fault('mail.example.com')).toMatch(/^is no address/);
  expect(watched?.fault(url)).toBeUndefined();
  watched?.take(url);
  expect(await mailChecks(config)).toMatchObject([{ state: 'ok' }]);
});
