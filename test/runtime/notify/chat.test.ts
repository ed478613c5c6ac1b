// test: notifications as messages of chats, in the forms that Slack's incoming webhooks and the workflows of Teams document; hostile text in them is text.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { LinkedNotification } from '../../../src/domain/notification.ts';
import { readConfig } from '../../../src/runtime/config/config.ts';
import { chatBody } from '../../../src/runtime/notify/chat.ts';
import { deliver } from '../../../src/runtime/notify/delivery.ts';
import { CERTIFICATE, startReceiver } from '../../support/receiver.ts';

const WAITING: LinkedNotification = {
  id: 'd1',
  to: 'chat',
  kind: 'alert',
  at: 1_800_000_000_000,
  text: 'plan 01m7 waits for a yes: 6 actions & more, until 2027-01-15 08:00:00 UTC',
  about: { alert: 'plan_waits', plan: '01m7' },
  link: 'https://trustward.example.com/plans/01m7',
};
const HOSTILE: LinkedNotification = {
  ...WAITING,
  text: '<!channel> <@U1> <https://evil.example|here> @all [here](https://evil.example) &lt;!here&gt; www.evil.example \u202egnp\nnext',
  about: {},
  link: 'https://trustward.example.com/a|b>c/subjects/device/1',
};

it('Slack gets blocks with the text, a link that opens exactly that plan, and a fallback', () => {
  expect(JSON.parse(chatBody('slack', WAITING))).toEqual({
    text: 'plan 01m7 waits for a yes: 6 actions &amp; more, until 2027-01-15 08:00:00 UTC',
    blocks: [
      {
        type: 'section',
        text: {
          type: 'mrkdwn',
          text: 'plan 01m7 waits for a yes: 6 actions &amp; more, until 2027-01-15 08:00:00 UTC',
          verbatim: true,
        },
      },
      {
        type: 'section',
        text: { type: 'mrkdwn', text: '<https://trustward.example.com/plans/01m7|Open the plan>', verbatim: true },
      },
    ],
    mrkdwn: false,
    unfurl_links: false,
    unfurl_media: false,
  });
});

it('Teams gets a message with an Adaptive Card whose button opens exactly that plan', () => {
  expect(JSON.parse(chatBody('teams', WAITING))).toEqual({
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [{ type: 'RichTextBlock', inlines: [{ type: 'TextRun', text: WAITING.text }] }],
          actions: [{ type: 'Action.OpenUrl', title: 'Open the plan', url: WAITING.link }],
        },
      },
    ],
  });
  const { link: _, ...unlinked } = WAITING;
  expect(chatBody('teams', unlinked)).not.toContain('actions"');
});

it('no text of a device mentions anybody, is a link or breaks one', () => {
  const { text, blocks } = JSON.parse(chatBody('slack', HOSTILE));
  for (const each of [text, blocks[0].text.text]) {
    expect(each).not.toMatch(/[<>\u202e\n]|https?:\/\/|www\.evil|@all|@U1/);
    expect(each).toContain('&amp;lt;!here&amp;gt;');
  }
  expect(blocks[1].text.text).toBe('<https://trustward.example.com/a%7Cb&gt;c/subjects/device/1|Open the page>');
  const teams = chatBody('teams', HOSTILE);
  expect(teams).not.toMatch(/"TextBlock"|FactSet|entities|@all|https?:\/\/evil/);
});

it('a text as long as it likes fits into what chats take', () => {
  const body = chatBody('slack', { ...WAITING, text: '&'.repeat(100_000) });
  expect(JSON.parse(body).blocks[0].text.text.length).toBeLessThan(3_000);
});

it('a webhook of a chat is delivered to, signed as all are', async () => {
  const receiver = await startReceiver();
  try {
    const webhook = {
      ...{ name: 'chat', url: new URL(`https://localhost:${receiver.port}/services/T/B/x`), chat: 'slack' as const },
      ...{ secret: 'a secret of some length', timeoutMs: 60_000, attemptsMax: 3, allowPrivate: true, ca: CERTIFICATE },
    };
    const delivered = await deliver(webhook, WAITING, WAITING.at, new AbortController().signal);
    expect(delivered).toEqual({ ok: true, note: 'status 200', status: 200 });
    expect(receiver.received[0]?.body).toBe(chatBody('slack', WAITING));
    expect(receiver.received[0]?.headers['x-trustward-signature']).toMatch(/^t=\d+,v1=/);
  } finally {
    await receiver.close();
  }
});

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chat-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

it.each<[string, string | undefined | RegExp]>([
  ['{}', undefined],
  ['{ format: json }', undefined],
  ['{ format: teams }', 'teams'],
  ['{ format: irc }', /chat\.format: /],
  ['{ format: slack, events: [decision] }', /webhook `chat`: events is set, and format is slack/],
])('the settings %s give %s', (more, expected) => {
  const file = join(folder, 'webhooks.yaml');
  const own = more.replace('{', '{ url: "https://hooks.example/x", secretEnv: HOOK, ').replace(', }', ' }');
  writeFileSync(file, `chat: ${own}`);
  const env = { TRUSTWARD_WEBHOOKS: file, TRUSTWARD_WEBHOOK_HOSTS: 'hooks.example', HOOK: 'a secret of some length' };
  const read = () => readConfig(env).notify.webhooks.get('chat')?.chat;
  if (expected instanceof RegExp) expect(read).toThrow(expected);
  else expect(read()).toBe(expected);
});
