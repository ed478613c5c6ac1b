// domain: what a person is told before something of theirs is acted on, how a message ends, and who sends it.
import { spellHidden } from '../base/text.ts';
import type { ActionName } from './action.ts';
import type { RuleSeverity } from './subjects.ts';

/** What a person is told before something of theirs is acted on. Names and texts in it are hostile. */
export interface PersonMessage {
  /** Stable over attempts: the Message-ID is made of it. */
  id: string;
  stage: 'first' | 'reminder';
  /** The address it goes to. */
  to: string;
  person: { email: string; name: string | undefined };
  rule: {
    id: string;
    title: string;
    severity: RuleSeverity;
    fix: { text: string; url: string | undefined } | undefined;
  };
  device: { id: string; name: string; serial: string; platform: string; model: string };
  /** Epoch ms: since when the rule matches. */
  since: number;
  /** Epoch ms: when the action becomes due. */
  dueAt: number;
  /** What happens then. */
  action: ActionName;
  /** The platform's own advice: `Factors[].RemediationDescription` and `RemediationURL`. */
  factors: readonly { text: string; url: string | undefined }[];
  /** The person's own page; absent where none is configured. */
  link: string | undefined;
}

/** refused: for good. not_sent: surely not sent, it may be tried again. doubt: it may have been sent; never tried again. */
export type MessageEnd = { how: 'delivered' } | { how: 'refused' | 'not_sent' | 'doubt'; why: string };

export interface PersonMailer {
  send(message: PersonMessage, signal: AbortSignal): Promise<MessageEnd>;
}

/** Undefined: no page for persons is configured (no public URL). `person`: e-mail address. */
export interface PersonLinks {
  of(person: string, episodeId: string): Promise<string | undefined>;
}

/** Of a whole address, as the protocol allows it. */
const ADDRESS_MAX = 254;
const MAILBOX = /^[^\s@,;:<>()[\]\\"]+@[^\s@,;:<>()[\]\\"]+$/;

/** Why mail cannot go to an address; undefined when it can. It is one bare mailbox: no list, no name, no line break. */
export function mailboxFault(address: string): string | undefined {
  if (address === '') return 'there is no address';
  if (address.length > ADDRESS_MAX) return `the address is longer than ${ADDRESS_MAX} characters`;
  if (spellHidden(address) !== address) return 'the address holds a line break or a character that is not shown';
  return MAILBOX.test(address) ? undefined : 'the address is not one mailbox such as ana@example.com';
}
