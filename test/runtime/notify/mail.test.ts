// test: mail to a person, against a real mail server on loopback: what counts as delivered, refused, not sent and in doubt; what stands in the mail; and
// the templates and settings that it is made of.
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { MessageEnd, PersonMessage } from '../../../src/domain/notice.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { readConfig } from '../../../src/runtime/config/config.ts';
import { type MailSettings, SmtpMailer, type SmtpSettings } from '../../../src/runtime/notify/mail.ts';
import { mailText, PLACEHOLDERS, parseTemplate } from '../../../src/runtime/notify/mail-text.ts';
import { stillClock } from '../../engine/pull/scripted-api.ts';
import { CERTIFICATE, KEY } from '../../support/receiver.ts';

const NOW_MS = 1_800_000_000_000;
const never = new AbortController().signal;

const MESSAGE: PersonMessage = {
  id: '01m8notice-first',
  stage: 'first',
  to: 'ana@example.com',
  person: { email: 'ana@example.com', name: 'Ana' },
  rule: {
    id: 'old-os',
    title: 'Ban Macs with an old system',
    severity: 'high',
    fix: {
      problem: 'macOS is out of date',
      text: 'Open Settings.\nInstall the update.',
      url: 'https://wiki.example.com/update?a=1&b=2',
    },
  },
  device: { id: 'd1', name: 'Ana’s MacBook', serial: 'C02XL', platform: 'macOS', model: 'MacBookPro18,1' },
  since: Date.UTC(2027, 0, 14, 9, 30),
  dueAt: Date.UTC(2027, 0, 16, 9, 30),
  action: 'ban_device',
  factors: [{ text: 'Update the system', url: 'https://vendor.example/help' }],
  link: 'https://trustward.example.com/mine/x?t=1',
};

const HOSTILE =
  '<img src=x onerror=alert(1)> "\'&\u202egnp\r\nBcc: all@example.com\r\n\r\nhttps://trustward.example.com.evil.example/mine www.evil.example @all';

/** Addresses that the platform names, and that are to look like that of our page, or be it. */
const LOOKALIKES = [
  'https://trustward.example.com/mine/of-another',
  'https://trustward.example.com.evil.example/mine/x',
  'https://trustw\u0430rd.example.com/mine/x',
  'https://trustward.example.com\u200b.evil.example/mine/x',
  'https://trustward\u3002example\u3002com/mine/x',
  'HTTPS:\\\\EVIL.EXAMPLE\\trustward.example.com/mine/x',
  'https://evil.example/?https://trustward.example.com/mine/x',
  'https://evil.example/\u202emoc.elpmaxe.drawtsurt//:sptth',
  'data:text/html,<script>alert(1)</script>',
  'ftp://evil.example/mine/x',
  `https://evil.example/${'x'.repeat(10_000)}`,
];

function settingsOf(smtp: Partial<SmtpSettings> & { url: string }, more: Partial<MailSettings> = {}) {
  const from = { name: 'Trustward', address: 'trustward@example.com' };
  const whole: SmtpSettings = { tls: 'required', ca: CERTIFICATE, from, ...smtp };
  return { replyTo: 'desk@example.com', templates: new Map(), timeZone: 'Europe/Berlin', ...more, smtp: whole };
}

function mailerTo(smtp: Partial<SmtpSettings> & { url: string }, timeouts = { connect: 5_000, whole: 5_000 }) {
  return new SmtpMailer({ settings: settingsOf(smtp), actions: ACTIONS, clock: stillClock(NOW_MS), timeouts });
}

describe('over a real mail server', () => {
  let closing: (() => Promise<unknown>)[] = [];
  let received: { from: string; to: string[]; raw: string; isSecure: boolean; user: unknown }[] = [];
  beforeEach(() => {
    [closing, received] = [[], []];
  });
  afterEach(() => Promise.all(closing.map((close) => close())));

  async function startServer(options: SMTPServerOptions = {}, host = '127.0.0.1'): Promise<number> {
    const server = new SMTPServer({
      key: KEY,
      cert: CERTIFICATE,
      authOptional: true,
      logger: false,
      onAuth: ({ username, password }, _, done) =>
        password === 'p@ss/word' ? done(null, { user: username }) : done(new Error('wrong password')),
      onData: (stream, session, done) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const { mailFrom, rcptTo } = session.envelope;
          received.push({
            from: mailFrom ? mailFrom.address : '',
            to: rcptTo.map(({ address }) => address),
            raw: Buffer.concat(chunks).toString(),
            isSecure: session.secure,
            user: session.user,
          });
          done();
        });
      },
      ...options,
    });
    server.on('error', () => {}); // a client that goes away
    server.listen(0, host);
    await once(server.server, 'listening');
    closing.push(() => new Promise<void>((resolve) => server.close(() => resolve())));
    return (server.server.address() as AddressInfo).port;
  }

  /** For faults that a mail server does not have: answers each line by what `answer` makes of it. */
  async function startFaulty(
    answer: (line: string, socket: Socket) => void,
    greeting = '220 hello\r\n',
  ): Promise<number> {
    const sockets = new Set<Socket>();
    const server: Server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.write(greeting);
      let rest = '';
      socket.on('data', (chunk) => {
        const lines = `${rest}${chunk}`.split('\r\n');
        rest = lines.pop() ?? '';
        for (const line of lines) answer(line, socket);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push(() => {
      for (const socket of sockets) socket.destroy();
      return new Promise<void>((resolve) => server.close(() => resolve()));
    });
    return (server.address() as AddressInfo).port;
  }

  const plain = (port: number) => ({ url: `smtp://127.0.0.1:${port}`, tls: 'off' as const });
  const secure = (port: number) => ({ url: `smtp://localhost:${port}` });
  const answers =
    (atEnd: (socket: Socket) => void) =>
    (line: string, socket: Socket): void => {
      if (line === 'DATA') socket.write('354 go on\r\n');
      else if (line === '.') atEnd(socket);
      else if (/^(EHLO|MAIL|RCPT)/.test(line)) socket.write('250 fine\r\n');
    };

  it('is delivered over STARTTLS with a verified certificate, signed in, with what machines need and nothing that tracks', async () => {
    const port = await startServer({ authOptional: false });
    const mailer = mailerTo({ url: `smtp://ana%40corp:p%40ss%2Fword@localhost:${port}` });
    expect(await mailer.send(MESSAGE, never)).toEqual({ how: 'delivered' });
    const [mail] = received;
    expect(mail).toMatchObject({
      from: 'trustward@example.com',
      to: ['ana@example.com'],
      isSecure: true,
      user: 'ana@corp',
    });
    const [head = ''] = mail?.raw.split('\r\n\r\n') ?? [];
    const names = head.replace(/\r\n[ \t]/g, ' ').split('\r\n');
    expect(names).toEqual(
      expect.arrayContaining([
        'From: Trustward <trustward@example.com>',
        'To: ana@example.com',
        'Reply-To: desk@example.com',
        'Message-ID: <01m8notice-first@example.com>',
        'Auto-Submitted: auto-generated',
        `Date: ${new Date(NOW_MS).toUTCString().replace('GMT', '+0000')}`,
      ]),
    );
    expect(mail?.raw).not.toMatch(/nodemailer|X-Mailer|<img/i);
  });

  it('is delivered over TLS from the first byte', async () => {
    const port = await startServer({ secure: true });
    expect(await mailerTo({ url: `smtps://localhost:${port}` }).send(MESSAGE, never)).toEqual({ how: 'delivered' });
  });

  it.each<[string, (port: number) => Partial<SmtpSettings> & { url: string }, SMTPServerOptions, RegExp]>([
    [
      'a certificate that nobody vouches for',
      (port) => ({ ...secure(port), ca: undefined }),
      {},
      /self-signed certificate/,
    ],
    ['no STARTTLS', secure, { hideSTARTTLS: true, disabledCommands: ['STARTTLS'] }, /STARTTLS/],
    ['a wrong password', (port) => ({ url: `smtp://ana:wrong@localhost:${port}` }), {}, /Invalid login/],
    [
      'a sender that it refuses',
      secure,
      { onMailFrom: (_, __, done) => done(new Error('not from you')) },
      /not from you/,
    ],
    ['a recipient that is to come later', secure, { onRcptTo: (_, __, done) => done(late()) }, /450 come later/],
    ['a message that is to come later', secure, { onData: refuseData(late) }, /450 come later/],
  ])('is not sent with %s, and may be tried again', async (_, smtp, options, why) => {
    const port = await startServer(options);
    expect(await mailerTo(smtp(port)).send(MESSAGE, never)).toEqual({
      how: 'not_sent',
      why: expect.stringMatching(why),
    });
    expect(received).toEqual([]);
  });

  it('is not sent to a server with the certificate of another one', async () => {
    const port = await startServer({}, '127.0.0.2');
    const end = await mailerTo({ url: `smtp://127.0.0.2:${port}` }).send(MESSAGE, never);
    expect(end).toEqual({ how: 'not_sent', why: expect.stringMatching(/127\.0\.0\.2 is not in the cert/) });
  });

  it('an unverified certificate counts only where the setting says so', async () => {
    const port = await startServer();
    const mailer = mailerTo({ ...secure(port), ca: undefined, tls: 'unverified' });
    expect(await mailer.send(MESSAGE, never)).toEqual({ how: 'delivered' });
    expect(received[0]?.isSecure).toBe(true);
  });

  it.each<[string, SMTPServerOptions, RegExp]>([
    ['the recipient', { onRcptTo: (_, __, done) => done(new Error('nobody of that name')) }, /nobody of that name/],
    ['the message', { onData: refuseData(() => Object.assign(new Error('spam'), { responseCode: 554 })) }, /spam/],
  ])('is refused for good when the server refuses %s', async (_, options, why) => {
    const port = await startServer(options);
    expect(await mailerTo(secure(port)).send(MESSAGE, never)).toEqual({
      how: 'refused',
      why: expect.stringMatching(why),
    });
  });

  it('is delivered by a later attempt, under the same Message-ID', async () => {
    let attempts = 0;
    const port = await startServer({ onRcptTo: (_, __, done) => (++attempts === 1 ? done(late()) : done()) });
    const mailer = mailerTo(secure(port));
    expect((await mailer.send(MESSAGE, never)).how).toBe('not_sent');
    expect((await mailer.send(MESSAGE, never)).how).toBe('delivered');
    expect(received[0]?.raw).toContain('Message-ID: <01m8notice-first@example.com>');
  });

  it.each([
    'ana@example.com\r\nRCPT TO:<all@example.com>',
    'ana@example.com, bo@example.com',
    'Ana <ana@example.com>',
    '',
  ])('asks no server for the address %j', async (to) => {
    const port = await startServer();
    expect((await mailerTo(secure(port)).send({ ...MESSAGE, to }, never)).how).toBe('refused');
    expect(received).toEqual([]);
  });

  describe('that fails within the exchange', () => {
    it('and hangs before the message is not sent; after it, it is a doubt', async () => {
      const quick = { connect: 5_000, whole: 300 };
      const mute = await startFaulty(() => {}, '');
      expect(await mailerTo(plain(mute), quick).send(MESSAGE, never)).toEqual({
        how: 'not_sent',
        why: 'no answer within 300 ms',
      });
      const hanging = await startFaulty(answers(() => {}));
      expect(await mailerTo(plain(hanging), quick).send(MESSAGE, never)).toEqual({
        how: 'doubt',
        why: 'no answer within 300 ms',
      });
    });
    const HANGS = '';
    it.each<[step: string, answer: string, how: MessageEnd['how']]>([
      ['greeting', '421 too busy', 'not_sent'],
      ['greeting', '554 not you', 'not_sent'],
      ['EHLO', HANGS, 'not_sent'],
      ['EHLO', '550 never', 'not_sent'],
      ['STARTTLS', HANGS, 'not_sent'],
      ['STARTTLS', '454 not now', 'not_sent'],
      ['STARTTLS', '220 go on', 'not_sent'],
      ['STARTTLS', '220 go on\r\n250 fine\r\n250 fine\r\n354 go on\r\n250 taken', 'not_sent'],
      ['MAIL', HANGS, 'not_sent'],
      ['MAIL', '452 full', 'not_sent'],
      ['MAIL', '550 not from you', 'not_sent'],
      ['RCPT', HANGS, 'not_sent'],
      ['RCPT', '421 closing', 'not_sent'],
      ['DATA', HANGS, 'not_sent'],
      ['DATA', '451 later', 'not_sent'],
      ['DATA', '554 no recipients', 'refused'],
    ])('and answers %s with %j: it is %s', async (step, answer, how) => {
      const takes = answers((socket) => socket.write('250 taken\r\n'));
      const faulty = (line: string, socket: Socket): void => {
        if (line.startsWith(step) || (step === 'EHLO' && line.startsWith('HELO')))
          return void (answer !== HANGS && socket.write(`${answer}\r\n`));
        if (step === 'STARTTLS' && line.startsWith('EHLO')) return void socket.write('250-hello\r\n250 STARTTLS\r\n');
        takes(line, socket);
      };
      const port = await startFaulty(faulty, step === 'greeting' ? `${answer}\r\n` : undefined);
      const smtp = step === 'STARTTLS' ? secure(port) : plain(port);
      expect((await mailerTo(smtp, { connect: 5_000, whole: 300 }).send(MESSAGE, never)).how).toBe(how);
    });
    it('and ends the connection before the message is not sent; after it, it is a doubt', async () => {
      const before = await startFaulty((_, socket) => socket.destroy());
      expect((await mailerTo(plain(before)).send(MESSAGE, never)).how).toBe('not_sent');
      const after = await startFaulty(answers((socket) => socket.resetAndDestroy()));
      expect((await mailerTo(plain(after)).send(MESSAGE, never)).how).toBe('doubt');
    });
    it('and answers the message with anything but 250 has not accepted it', async () => {
      const odd = await startFaulty(answers((socket) => socket.write('251 perhaps\r\n')));
      expect(await mailerTo(plain(odd)).send(MESSAGE, never)).toMatchObject({
        how: 'doubt',
        why: expect.stringMatching(/251/),
      });
      const garbage = await startFaulty(answers((socket) => socket.write('what?\r\n')));
      expect((await mailerTo(plain(garbage), { connect: 5_000, whole: 500 }).send(MESSAGE, never)).how).toBe('doubt');
      const closing421 = await startFaulty(answers((socket) => socket.end('421 closing\r\n')));
      expect((await mailerTo(plain(closing421)).send(MESSAGE, never)).how).toBe('not_sent');
    });
    it('and nobody listens is not sent', async () => {
      const port = await startFaulty(() => {});
      await closing.pop()?.();
      expect(await mailerTo(plain(port)).send(MESSAGE, never)).toMatchObject({
        how: 'not_sent',
        why: expect.stringMatching(/ECONNREFUSED/),
      });
    });
    it('and is cut off by our own end is a doubt only once the message was handed over', async () => {
      const ending = new AbortController();
      const port = await startFaulty(answers(() => ending.abort()));
      expect((await mailerTo(plain(port)).send(MESSAGE, ending.signal)).how).toBe('doubt');
      expect((await mailerTo(plain(port)).send(MESSAGE, ending.signal)).how).toBe('not_sent');
    });
    it('and answers with control characters cannot steer a terminal', async () => {
      const port = await startFaulty((_, socket) => socket.write('550 \u001b[2Jgone\r\n'));
      expect(await mailerTo(plain(port)).send(MESSAGE, never)).toMatchObject({
        why: expect.stringContaining('⟨U+001B⟩'),
      });
    });
  });

  it('is checked without a mail: connected, TLS verified, signed in', async () => {
    const port = await startServer();
    expect(await mailerTo({ url: `smtp://a:p%40ss%2Fword@localhost:${port}` }).check(never)).toBeUndefined();
    expect(await mailerTo({ url: `smtp://a:other@localhost:${port}` }).check(never)).toMatch(/Invalid login/);
    expect(received).toEqual([]);
  });

  it.each(['ana@bücher.example', 'jürgen@example.com'])('is sent to %s, which is not ASCII', async (to) => {
    const port = await startServer();
    expect(await mailerTo(secure(port)).send({ ...MESSAGE, to }, never)).toEqual({ how: 'delivered' });
    expect(received[0]?.to).toEqual([to]);
  });

  it('no name of a device makes a header, a recipient or a line of the exchange', async () => {
    const port = await startServer();
    const device = { ...MESSAGE.device, name: HOSTILE, model: `.\r\n.\r\n${HOSTILE}` };
    expect(await mailerTo(secure(port)).send({ ...MESSAGE, device, id: HOSTILE }, never)).toEqual({ how: 'delivered' });
    expect(received).toHaveLength(1);
    expect(received[0]?.to).toEqual(['ana@example.com']);
    expect(received[0]?.raw.split('\r\n\r\n')[0]).not.toMatch(/^Bcc:/im);
  });
});

function late(): Error {
  return Object.assign(new Error('come later'), { responseCode: 450 });
}

function refuseData(error: () => Error): NonNullable<SMTPServerOptions['onData']> {
  return (stream, _, done) => {
    stream.resume();
    stream.on('end', () => done(error()));
  };
}

describe('the text of a mail', () => {
  const said = { templates: new Map(), timeZone: 'Europe/Berlin', contact: 'desk@example.com', actions: ACTIONS };

  it('says what is wrong, since when, what happens when, how to mend it, and where to go', () => {
    const { subject, text } = mailText(MESSAGE, said);
    expect(subject).toBe('Ana’s MacBook: macOS is out of date; please act before Sat 2027-01-16 10:30 Europe/Berlin');
    expect(text).toMatchSnapshot();
  });

  it('a reminder says that it is one, and what is not known has no line', () => {
    const bare: PersonMessage = {
      ...MESSAGE,
      stage: 'reminder',
      rule: { ...MESSAGE.rule, fix: undefined },
      factors: [],
      link: undefined,
      device: { ...MESSAGE.device, model: '', serial: '' },
    };
    const { subject, text, html } = mailText(bare, { ...said, contact: undefined });
    expect(subject).toMatch(/^Reminder: Ana’s MacBook: found by the check “Ban Macs with an old system”; please act/);
    expect(text).toMatch(/^This is a reminder\.\n/);
    for (const each of [text, html])
      expect(each).not.toMatch(/How to mend|advice|access platform|Model|Serial|page|Questions|\{\{/);
  });

  it('no text of a device or the platform is markup, hides characters, makes a line or is made a link', () => {
    const hostile: PersonMessage = {
      ...MESSAGE,
      person: { email: 'ana@example.com', name: HOSTILE },
      device: { id: HOSTILE, name: HOSTILE, serial: HOSTILE, platform: HOSTILE, model: HOSTILE },
      factors: [
        { text: HOSTILE, url: 'https://trustward.example.com@evil.example/' },
        { text: 'two', url: 'javascript:alert(1)' },
        { text: 'three', url: 'https://bücher.example/"><img src=x>' },
        ...LOOKALIKES.map((url) => ({ text: 'as ours', url })),
      ],
    };
    const { subject, text, html } = mailText(hostile, said);
    for (const each of [subject, text, html]) {
      expect(each).not.toMatch(/[\r\u202e]|javascript:|\/\/[^/]*@/);
      expect(each).toContain('⟨U+202E⟩');
      // As mail programs find links: a scheme, www., a domain, an address.
      const known = each.replaceAll(
        /https:\/\/(trustward\.example\.com\/mine\/x\?t=1|wiki\.example\.com\/update)|desk@example\.com/g,
        '',
      );
      expect(known.replaceAll(/<(style|body|head|meta|p|td|li|h1|h2|div|table)[^>]*>/g, '')).not.toMatch(
        /https?:[/\\]|www\.[a-z]|\bevil\.[a-z]|@all|trustward\.example|data:|ftp:/i,
      );
    }
    expect(text).not.toMatch(/^Bcc/m);
    expect(html).not.toMatch(/<img|<script/);
    expect(html.match(/<a /g)).toHaveLength(1);
    expect(html).toContain('href="https://trustward.example.com/mine/x?t=1"');
  });
});

describe('templates', () => {
  it.each([
    ['{{device.name}', { line: 1, column: 1, text: '`{{` is not closed: write `{{device.name}}`, on one line' }],
    [
      'a\nb {{device.nme}}',
      { line: 2, column: 3, text: '`device.nme` is not a placeholder; did you mean `device.name`?' },
    ],
    ['{{constructor}}', { line: 1, column: 1, text: expect.stringMatching(/^`constructor` is not a placeholder/) }],
    ['{{#fix}}x', { line: 1, column: 1, text: '`{{#fix}}` is not ended: add `{{/fix}}`' }],
    ['{{#fix}}x{{/link}}', { line: 1, column: 10, text: '`{{/link}}` ends no section: `{{#fix}}` is open' }],
    ['x{{/fix}}', { line: 1, column: 2, text: '`{{/fix}}` ends no section: none is open' }],
    ['{{factor.text}}', { line: 1, column: 1, text: '`factor.text` stands outside of `{{#factors}}…{{/factors}}`' }],
    ['{{fix}}', { line: 1, column: 1, text: '`fix` has no text: write `{{#fix}}…{{/fix}}`' }],
  ])('%j has its mistake named with its place', (text, fault) => {
    expect(parseTemplate(text)).toEqual(fault);
  });

  it('of an organization replace the shipped ones file by file, and a mistake names file, line and column', () => {
    const folder = mkdtempSync(join(tmpdir(), 'mail-'));
    try {
      const file = (name: string, text: string) => writeFileSync(join(folder, name), text);
      const env = { TRUSTWARD_MAIL_TEMPLATES: folder };
      file('subject.txt', 'Act on {{device.name}}\n');
      file('reminder.html', '<p>{{rule.title}}</p>');
      const { mail } = readConfig(env);
      const reminder = { ...MESSAGE, stage: 'reminder', rule: { ...MESSAGE.rule, title: 'a < b' } } as const;
      const made = mailText(reminder, { ...mail, contact: undefined, actions: ACTIONS });
      expect(made).toMatchObject({ subject: 'Act on Ana’s MacBook', html: '<p>a &lt; b</p>' });
      expect(made.text).toContain('This is a reminder.');
      file('notice.txt', 'Hello\n{{persn.name}}');
      file('notices.txt', '');
      file('notice.html', 'x'.repeat(65_537));
      expect(() => readConfig(env)).toThrow(
        `configuration: TRUSTWARD_MAIL_TEMPLATES: \`${folder}/notice.html\` is larger than 64 KiB
configuration: TRUSTWARD_MAIL_TEMPLATES: \`${folder}/notice.txt\`:2:1: \`persn.name\` is not a placeholder; did you mean \`person.name\`?
configuration: TRUSTWARD_MAIL_TEMPLATES: \`${folder}/notices.txt\` is not a template: the names are subject.txt, notice.txt, notice.html, reminder.txt, reminder.html`,
      );
      expect(() => readConfig({ TRUSTWARD_MAIL_TEMPLATES: join(folder, 'none') })).toThrow(/cannot be read \(ENOENT\)/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('have the placeholders that the docs list', () => {
    const rows = Object.entries(PLACEHOLDERS).map(([name, { what }]) => `| \`${name}\` | ${what} |`);
    expect(readFileSync(new URL('../../../docs/mail.md', import.meta.url), 'utf8')).toContain(rows.join('\n'));
  });
});

describe('the settings of mail', () => {
  const FROM = { TRUSTWARD_SMTP_FROM: 'Trustward <trustward@example.com>' };
  const read = (env: Record<string, string>) => readConfig({ ...FROM, ...env }).mail.smtp;

  it('are read, and nothing is sent without a server', () => {
    expect(read({})).toBeUndefined();
    expect(read({ TRUSTWARD_SMTP_URL: 'smtp://mail.example.com' })).toEqual({
      url: 'smtp://mail.example.com',
      tls: 'required',
      ca: undefined,
      from: { name: 'Trustward', address: 'trustward@example.com' },
    });
  });

  it.each<[Record<string, string>, RegExp]>([
    [{ TRUSTWARD_SMTP_URL: 'mail.example.com' }, /TRUSTWARD_SMTP_URL is no address of a mail server/],
    [{ TRUSTWARD_SMTP_URL: 'https://mail.example.com' }, /is no address of a mail server/],
    [{ TRUSTWARD_SMTP_URL: 'smtp://ana:se/cret@mail.example.com' }, /TRUSTWARD_SMTP_URL /],
    [{ TRUSTWARD_SMTP_URL: 'smtp://ana@mail.example.com' }, /has a user or a password alone/],
    [{ TRUSTWARD_SMTP_URL: 'smtp://ana:se%cret@mail.example.com' }, /has a `%`/],
    [{ TRUSTWARD_SMTP_URL: 'smtp://mail.example.com', TRUSTWARD_SMTP_TLS: 'off' }, /is not on this machine/],
    [{ TRUSTWARD_SMTP_URL: 'smtps://127.0.0.1', TRUSTWARD_SMTP_TLS: 'off' }, /begins with smtps/],
    [{ TRUSTWARD_SMTP_URL: 'smtp://mail.example.com', TRUSTWARD_SMTP_FROM: '' }, /TRUSTWARD_SMTP_FROM is not set/],
    [{ TRUSTWARD_SMTP_FROM: 'a@example.com, b@example.com' }, /TRUSTWARD_SMTP_FROM: the address is not one mailbox/],
    [{ TRUSTWARD_SMTP_REPLY_TO: 'the desk' }, /TRUSTWARD_SMTP_REPLY_TO: the address is not one mailbox/],
    [{ TRUSTWARD_SMTP_CA: '/nowhere/ca.pem' }, /TRUSTWARD_SMTP_CA: `\/nowhere\/ca.pem` cannot be read/],
  ])('that are wrong are named, and no password is repeated: %j', (env, fault) => {
    expect(() => read(env)).toThrow(fault);
    expect(() => read(env)).not.toThrow(/cret/);
  });
});
