// notify: a notification as a message of a chat. In: a notification, whose text has names that devices chose. Out: the body that the chat's incoming webhook
// takes, with one link, to the plan or subject that it is about. INVARIANT: no text makes a mention, a link or markup that calls somebody.
import { clip, spellHidden, unlinked } from '../../base/text.ts';
import type { LinkedNotification } from '../../domain/notification.ts';

export const CHATS = ['slack', 'teams'] as const;
export type Chat = (typeof CHATS)[number];

/** Slack takes 3,000 characters of a section, after escaping; Teams 28 KB of a message. */
const TEXT_MAX = 500;

export function chatBody(chat: Chat, notification: LinkedNotification): string {
  const text = unlinked(spellHidden(clip(notification.text, TEXT_MAX)));
  const { link, about } = notification;
  const label = typeof about.plan === 'string' ? 'Open the plan' : 'Open the page';
  return JSON.stringify(chat === 'slack' ? slackBody(text, label, link) : teamsBody(text, label, link));
}

/** `verbatim`: Slack makes no link, channel or mention of the text by itself. `text` is shown by notifications of the desktop, and where blocks are not. */
function slackBody(text: string, label: string, link: string | undefined): object {
  const section = (mrkdwn: string) => ({ type: 'section', text: { type: 'mrkdwn', text: mrkdwn, verbatim: true } });
  const escaped = slackText(text);
  const target = link === undefined ? [] : [section(`<${slackText(link).replaceAll('|', '%7C')}|${label}>`)];
  const quiet = { mrkdwn: false, unfurl_links: false, unfurl_media: false };
  return { text: escaped, blocks: [section(escaped), ...target], ...quiet };
}

/** The three characters with which all markup of Slack that links or mentions begins or ends. */
function slackText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Of the cards' parts a text run alone knows no Markdown. A mention needs an entity beside the text, and there is none. */
function teamsBody(text: string, label: string, link: string | undefined): object {
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [{ type: 'RichTextBlock', inlines: [{ type: 'TextRun', text }] }],
    ...(link !== undefined && { actions: [{ type: 'Action.OpenUrl', title: label, url: link }] }),
  };
  const card = { contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content };
  return { type: 'message', attachments: [card] };
}
