// cli: `mail preview`, `mail test` and `mail templates`: the mail that warns people, seen before anybody gets it. In: the settings of mail, and a made-up
// match whose device has a name that attacks. Out: the mail, or how sending it ended. It reads and writes no database.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shellWord } from '../../base/text.ts';
import { DAY_MS, HOUR_MS } from '../../base/time.ts';
import { AppError } from '../../domain/errors.ts';
import type { PersonMessage } from '../../domain/notice.ts';
import { banDevice } from '../../engine/act/actions/switches.ts';
import { ACTIONS } from '../../engine/act/actions.ts';
import { SmtpMailer } from '../../runtime/notify/mail.ts';
import { mailText, shippedTemplates } from '../../runtime/notify/mail-text.ts';
import { systemClock } from '../../runtime/system/clock.ts';
import { systemIds } from '../../runtime/system/ids.ts';
import { showHidden } from '../report/fact-text.ts';
import { configOf } from './config-of.ts';
import { type CommonOptions, type Io, outputOf, write, writeText } from './io.ts';

interface MailOptions extends CommonOptions {
  stage: PersonMessage['stage'];
}

/** Whoever looks at it sees what becomes of markup, hidden characters and addresses that a device reports. */
function madeUp(to: string, stage: PersonMessage['stage'], publicUrl: string | undefined): PersonMessage {
  const nowMs = systemClock.nowMs();
  return {
    id: `preview-${systemIds(systemClock).next()}`,
    stage,
    to,
    person: { email: to, name: 'Ana Example' },
    rule: {
      id: 'preview',
      title: 'Ban devices with an outdated operating system',
      severity: 'high',
      fix: {
        problem: 'PREVIEW: the operating system is out of date',
        text: 'Open the settings.\nInstall the updates, and restart.',
        url: 'https://wiki.example.com/updates',
      },
    },
    device: {
      id: 'preview',
      name: 'Ana’s <b>laptop</b> \u202egnp.exe https://trustward.example.com.evil.example',
      serial: 'PREVIEW-1',
      platform: 'macOS',
      model: 'MacBookPro18,1',
    },
    since: nowMs - 2 * HOUR_MS,
    dueAt: nowMs + DAY_MS,
    action: banDevice.name,
    factors: [{ text: 'Update the operating system.', url: 'https://vendor.example/help' }],
    link: `${publicUrl ?? 'https://trustward.example.com'}/mine/preview`,
  };
}

export async function mailPreviewCommand(io: Io, options: MailOptions): Promise<number> {
  const format = outputOf(options, ['text', 'html'] as const, 'text');
  const { mail, notify } = await configOf(io, options);
  const message = madeUp('ana@example.com', options.stage, notify.publicUrl);
  const { subject, text, html } = mailText(message, { ...mail, contact: mail.replyTo, actions: ACTIONS });
  write(io, { ...options, format }, format === 'html' ? html : `Subject: ${subject}\n\n${text}`);
  return 0;
}

export async function mailTestCommand(io: Io, address: string, options: MailOptions): Promise<number> {
  const { mail, notify } = await configOf(io, options);
  const { smtp } = mail;
  if (!smtp)
    throw new AppError(
      'config',
      'no mail server is set: give it in TRUSTWARD_SMTP_URL, such as smtp://USER:PASSWORD@HOST:587',
    );
  const mailer = new SmtpMailer({ settings: { ...mail, smtp }, actions: ACTIONS, clock: systemClock });
  const ending = new AbortController();
  void io.untilStopped().then(() => ending.abort());
  const end = await mailer.send(madeUp(address, options.stage, notify.publicUrl), ending.signal);
  if (end.how === 'delivered') {
    writeText(io, `the mail server accepted the mail to ${showHidden(address)}\n`);
    return 0;
  }
  const how = { refused: 'refused', not_sent: 'not sent', doubt: 'in doubt' }[end.how];
  throw new AppError('conflict', `the mail is ${how}: ${end.why}`);
}

export async function mailTemplatesCommand(io: Io, folder: string): Promise<number> {
  const files = shippedTemplates().map(({ name, text }) => ({ file: join(folder, name), text }));
  const taken = files.find(({ file }) => existsSync(file));
  if (taken) throw new AppError('usage', `\`${taken.file}\` exists: give another folder, nothing is overwritten`);
  try {
    mkdirSync(folder, { recursive: true });
    for (const { file, text } of files) writeFileSync(file, text, { flag: 'wx' });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new AppError('usage', `\`${folder}\` cannot be written (${code}): give a folder that can be`);
  }
  writeText(
    io,
    `${files.map(({ file }) => file).join('\n')}\n\nSet TRUSTWARD_MAIL_TEMPLATES=${shellWord(folder)}, and see the result with \`trustward mail preview\`.\n`,
  );
  return 0;
}
