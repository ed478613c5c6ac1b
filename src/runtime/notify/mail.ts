// notify: mail to a person, over SMTP. In: a message, settings. Out: how it ended. INVARIANT: `delivered` is the server's 250 to the whole message, and
// `not_sent` means that the message itself was never handed over; whatever is in between is a doubt, which is never tried again.
import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import type { SMTPConnectionOptions } from 'nodemailer/lib/smtp-connection';
import { isLoopback } from '../../base/hosts.ts';
import { clip, spellHidden } from '../../base/text.ts';
import type { KnownTraits } from '../../domain/action.ts';
import { lineOf } from '../../domain/errors.ts';
import { type MessageEnd, mailboxFault, type PersonMailer, type PersonMessage } from '../../domain/notice.ts';
import type { Clock } from '../../domain/ports.ts';
import { type MailTemplates, mailText, readTemplates } from './mail-text.ts';

const TLS = ['required', 'unverified', 'off'] as const;

interface SmtpServer {
  host: string;
  port: number;
  /** TLS from the first byte; otherwise STARTTLS. */
  isImplicit: boolean;
  auth: { user: string; pass: string } | undefined;
}

export interface SmtpSettings {
  /** With its password; replaced when its file changes. */
  url: string;
  tls: (typeof TLS)[number];
  /** A private certificate authority, as PEM. */
  ca: string | undefined;
  from: { name: string; address: string };
}

export interface MailSettings {
  /** Undefined: no mail can be sent. */
  smtp: SmtpSettings | undefined;
  /** The service desk: answers go there. */
  replyTo: string | undefined;
  templates: MailTemplates;
  timeZone: string;
}

interface Names {
  text(name: string): string | undefined;
  secret(name: string): string | undefined;
  choice<const T extends string>(name: string, choices: readonly T[], fallback: T): T;
  fault(of: string | readonly string[], text: string): void;
}

const URL_NAME = 'TRUSTWARD_SMTP_URL';
const FROM = 'TRUSTWARD_SMTP_FROM';
const REPLY_TO = 'TRUSTWARD_SMTP_REPLY_TO';
const TLS_NAME = 'TRUSTWARD_SMTP_TLS';
const CA = 'TRUSTWARD_SMTP_CA';

export function readMailSettings(names: Names, timeZone: string): MailSettings {
  const replyTo = names.text(REPLY_TO);
  const wrong = replyTo === undefined ? undefined : mailboxFault(replyTo);
  if (wrong !== undefined) names.fault(REPLY_TO, `${REPLY_TO}: ${wrong}`);
  return { smtp: readSmtp(names), replyTo, templates: readTemplates(names), timeZone };
}

function readSmtp(names: Names): SmtpSettings | undefined {
  const text = names.secret(URL_NAME);
  const [from, ca] = [readFrom(names), readCa(names)];
  const tls = names.choice(TLS_NAME, TLS, 'required');
  if (text === undefined) return undefined;
  const server = smtpServerOf(text, tls);
  if (typeof server === 'string') names.fault([URL_NAME, `${URL_NAME}_FILE`, TLS_NAME], `${URL_NAME} ${server}`);
  if (from === undefined && names.text(FROM) === undefined)
    names.fault(
      FROM,
      `${FROM} is not set: give the address that mail comes from, such as Trustward <trustward@example.com>`,
    );
  return from && { url: text, tls, ca, from };
}

/** What is wrong never repeats it: it may hold a password. */
export function smtpServerOf(text: string, tls: SmtpSettings['tls']): SmtpServer | string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === '')
    return 'is no address of a mail server: expected smtp://USER:PASSWORD@HOST:587 or smtps://…';
  if (/^\/?[^/]/.test(url.pathname) || url.search || url.hash)
    return 'has something behind the port: leave it out, and write `/`, `?`, `#` and `@` in a password as %2F, %3F, %23 and %40';
  if ((url.username === '') !== (url.password === '')) return 'has a user or a password alone: give both, or none';
  const isImplicit = url.protocol === 'smtps:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (tls === 'off' && (isImplicit || !isLoopback(host)))
    return `${isImplicit ? 'begins with smtps://' : 'is not on this machine (127.0.0.1, ::1 or localhost)'}, and ${TLS_NAME} is \`off\`: set it to required`;
  try {
    const [user, pass] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
    const auth = user === '' ? undefined : { user, pass };
    return { host, port: Number(url.port) || (isImplicit ? 465 : 587), isImplicit, auth };
  } catch {
    return 'has a `%` in its user or password that begins no character: write it as %25';
  }
}

function readFrom(names: Names): SmtpSettings['from'] | undefined {
  const text = names.text(FROM);
  if (text === undefined) return undefined;
  const [, name = '', address = text] = /^([^<>"@,;:]*)<([^<>]*)>$/.exec(text) ?? [];
  const wrong = mailboxFault(address) ?? (spellHidden(name) === name ? undefined : 'the name holds a line break');
  if (wrong !== undefined)
    names.fault(FROM, `${FROM}: ${wrong}; expected an address such as Trustward <trustward@example.com>`);
  return { name: name.trim(), address };
}

function readCa(names: Names): string | undefined {
  const file = names.text(CA);
  try {
    return file === undefined ? undefined : readFileSync(file, 'utf8');
  } catch (error) {
    names.fault(CA, `${CA}: \`${file}\` cannot be read (${(error as NodeJS.ErrnoException).code})`);
    return undefined;
  }
}

// The adapter.

/** ms. */
export interface MailTimeouts {
  connect: number;
  /** From the first byte to the end. */
  whole: number;
}

const TIMEOUTS: MailTimeouts = { connect: 10_000, whole: 30_000 };

interface MailFault extends Error {
  responseCode?: number | undefined;
  command?: string | undefined;
}

export class SmtpMailer implements PersonMailer {
  constructor(
    private readonly parts: {
      settings: MailSettings & { smtp: SmtpSettings };
      actions: KnownTraits;
      clock: Clock;
      timeouts?: MailTimeouts;
    },
  ) {}

  /** Never throws. */
  async send(message: PersonMessage, signal: AbortSignal): Promise<MessageEnd> {
    const wrong = mailboxFault(message.to);
    if (wrong !== undefined) return { how: 'refused', why: wrong };
    try {
      const { raw, envelope } = await this.composed(message);
      return await this.exchange(signal, { raw, envelope });
    } catch (error) {
      return { how: 'not_sent', why: lineOf(error) };
    }
  }

  /** Connects and signs in, and sends nothing. Never throws. Undefined: it works. */
  async check(signal: AbortSignal): Promise<string | undefined> {
    const end = await this.exchange(signal);
    return end.how === 'delivered' ? undefined : end.why;
  }

  private async composed(message: PersonMessage) {
    const { default: MailComposer } = await import('nodemailer/lib/mail-composer');
    const { smtp, replyTo, templates, timeZone } = this.parts.settings;
    const { address } = smtp.from;
    const mail = new MailComposer({
      from: smtp.from,
      to: { name: '', address: message.to },
      ...(replyTo !== undefined && { replyTo: { name: '', address: replyTo } }),
      ...mailText(message, { templates, timeZone, contact: replyTo, actions: this.parts.actions }),
      messageId: messageIdOf(message.id, address),
      date: new Date(this.parts.clock.nowMs()),
      headers: { 'Auto-Submitted': 'auto-generated' },
      textEncoding: 'quoted-printable',
      disableFileAccess: true,
      disableUrlAccess: true,
    }).compile();
    return { raw: await mail.build(), envelope: mail.getEnvelope() };
  }

  private async exchange(
    signal: AbortSignal,
    mail?: { raw: Buffer; envelope: { from: string | false; to: string[] } },
  ): Promise<MessageEnd> {
    const { default: SMTPConnection } = await import('nodemailer/lib/smtp-connection');
    const { settings, timeouts = TIMEOUTS } = this.parts;
    const server = smtpServerOf(settings.smtp.url, settings.smtp.tls);
    if (typeof server === 'string') return { how: 'not_sent', why: `${URL_NAME} ${server}` };
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeouts.whole)]);
    const connection = new SMTPConnection(optionsOf(server, settings.smtp, timeouts));
    let isHandedOver = false;
    // It is read once the server has accepted sender and recipient, and asks for the message.
    const body = Readable.from(
      (function* () {
        isHandedOver = true;
        yield mail?.raw ?? Buffer.alloc(0);
      })(),
    );
    return new Promise((resolve) => {
      const failed = (error: MailFault) => {
        resolve(endOf(error, isHandedOver));
        connection.close();
      };
      const late = () =>
        failed(new Error(signal.aborted ? 'this process is ending' : `no answer within ${timeouts.whole} ms`));
      limit.addEventListener('abort', late, { once: true });
      if (limit.aborted) return late();
      connection.once('end', () => limit.removeEventListener('abort', late));
      // Late ones, too: an event that nobody listens to would end the process.
      connection.on('error', failed);
      const done = () => {
        resolve({ how: 'delivered' });
        connection.quit();
      };
      const sending = () => {
        if (!mail) return done();
        const envelope = { from: mail.envelope.from || '', to: mail.envelope.to };
        connection.send(envelope, body, (error, info) => {
          if (error) return failed(error);
          if (/^250\b/.test(info?.response ?? '')) return done();
          failed(new Error(`the server answered \`${info?.response}\` to the message, and not 250`));
        });
      };
      connection.connect((error) => {
        if (error) return failed(error);
        const { auth } = server;
        if (!auth) return sending();
        connection.login({ credentials: auth }, (refused) => (refused ? failed(refused) : sending()));
      });
    });
  }
}

function optionsOf(server: SmtpServer, { tls, ca }: SmtpSettings, timeouts: MailTimeouts): SMTPConnectionOptions {
  return {
    host: server.host,
    port: server.port,
    secure: server.isImplicit,
    requireTLS: !server.isImplicit && tls !== 'off',
    ignoreTLS: tls === 'off',
    // The server proves its identity, whatever the environment says of certificates.
    tls: { rejectUnauthorized: tls !== 'unverified', minVersion: 'TLSv1.2', ...(ca !== undefined && { ca }) },
    connectionTimeout: timeouts.connect,
    greetingTimeout: timeouts.connect,
    socketTimeout: timeouts.whole,
    // A server on this machine is one, too.
    allowInternalNetworkInterfaces: true,
  };
}

/** The same for all attempts, so that a mailbox can tell two copies from two messages. */
function messageIdOf(id: string, from: string): string {
  const safe = id.replace(/[^\w.-]/gu, (found) => `=${found.codePointAt(0)?.toString(16)}=`);
  return `<${safe}@${from.slice(from.indexOf('@') + 1)}>`;
}

/** What a server refuses for good is this recipient or this message; another setting may mend the rest. */
function endOf({ message, responseCode = 0, command }: MailFault, isHandedOver: boolean): MessageEnd {
  const why = spellHidden(clip(message.replace(/\s+/g, ' ').trim(), 300));
  const isAnswer = isHandedOver || command === 'RCPT TO' || command === 'DATA';
  if (responseCode >= 500 && isAnswer) return { how: 'refused', why };
  return { how: isHandedOver && responseCode < 400 ? 'doubt' : 'not_sent', why };
}
