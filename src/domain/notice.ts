// domain: what a person is told before something of theirs is acted on, how a message ends, and who sends it; and what is known of that: whom a
// match warned, whether it arrived, and from when on the action is due. Pure.
import { spellHidden } from '../base/text.ts';
import { elapsedMs, type SteadyReading } from '../base/time.ts';
import type { ActionName } from './action.ts';
import type { RuleFix, RuleNotice } from './rule.ts';
import type { RuleSeverity, SubjectRef } from './subjects.ts';

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
    fix: RuleFix | undefined;
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

/** What of a message is known when the rule matches. */
export type NoticeContent = Pick<PersonMessage, 'rule' | 'device' | 'since' | 'action' | 'factors'>;

/**
 * sending: committed before the mail is handed over; one that is found later is in doubt. cancelled: nothing of it counts any longer. mended: the
 * match was over before anything was done.
 */
export const NOTICE_STATUSES = ['waiting', 'sending', 'delivered', 'refused', 'doubt', 'cancelled', 'mended'] as const;
export type NoticeStatus = (typeof NOTICE_STATUSES)[number];

/** One message to one owner for one episode. */
export interface Notice {
  id: string;
  episodeId: string;
  rule: string;
  subject: SubjectRef;
  /** Of the first action that it is about. */
  target: string;
  /** In lower case. */
  address: string;
  /** Of the rule's notice and actions. */
  print: string;
  /** How often this owner was begun to be warned for this episode: after a change of the owner or the rule once more. */
  round: number;
  /** What the rule said when it was begun. */
  beforeMs: number;
  /** How long before the deadline; 0: the first, which sets it. */
  aheadMs: number;
  status: NoticeStatus;
  createdAt: number;
  /** The deadline that it names, as of its last attempt; after delivery the final one. Undefined: not attempted yet. */
  dueAt: number | undefined;
  /** Not attempted after this: the first deadline that it named. */
  until: number | undefined;
  deliveredAt: number | undefined;
  attempts: number;
  /** Of the next attempt; of a `sending` one, when it is in doubt. */
  nextAt: number;
  note: string | undefined;
}

/** A new one, with what it will say, and what its reminders are made of. */
export interface NewNotice extends Notice {
  content: NoticeContent;
  remindMs: readonly number[];
}

/** Those of an episode that are over. */
export interface EndedNotices {
  ids: readonly string[];
  status: 'cancelled' | 'mended' | undefined;
  /** The match is over: they are read no more. */
  isClosed: boolean;
}

export interface Unwarned {
  /** Empty: it has no owner, or nobody knows who owns it. */
  address: string;
  why: string;
}

/** What stands in the way of an action whose rule warns first. Both empty: it is due. */
export interface NoticeState {
  beforeMs: number;
  unwarned: readonly Unwarned[];
  waits: readonly { address: string; notice: Notice | undefined; dueAt: number | undefined }[];
}

/** Of an effect: who an approval knows could not be warned. */
export const NOBODY = 'nobody';

export function nameOfUnwarned({ address }: Unwarned): string {
  return address === '' ? NOBODY : address;
}

/** The first message to this owner that counts for the rule as it is. */
export function firstNotice(notices: readonly Notice[], print: string, address: string): Notice | undefined {
  return notices.find(
    (one) => one.aheadMs === 0 && one.print === print && one.address === address && isInForce(one.status),
  );
}

function isInForce(status: NoticeStatus): boolean {
  return status !== 'cancelled' && status !== 'mended';
}

export function noticesByEpisode(all: readonly Notice[]): ReadonlyMap<string, readonly Notice[]> {
  const byEpisode = new Map<string, Notice[]>();
  for (const notice of all) {
    const own = byEpisode.get(notice.episodeId);
    if (own) own.push(notice);
    else byEpisode.set(notice.episodeId, [notice]);
  }
  return byEpisode;
}

/** Addresses in lower case, each once. */
export function addressesOf(owners: readonly string[]): string[] {
  return [...new Set(owners.map((owner) => owner.trim().toLowerCase()).filter((owner) => owner !== ''))].sort();
}

/** `owners`: undefined where nobody read them. `notices`: those of the episode. */
export function noticeStateOf(
  { beforeMs, print }: RuleNotice,
  { owners, notices }: { owners: readonly string[] | undefined; notices: readonly Notice[] },
  { nowMs, steady, hasNoMailer }: { nowMs: number; steady: SteadyReading; hasNoMailer?: boolean | undefined },
): NoticeState {
  const unwarned: Unwarned[] = [];
  const waits: NoticeState['waits'][number][] = [];
  const addresses = addressesOf(owners ?? []);
  if (owners === undefined) unwarned.push({ address: '', why: 'who owns its devices was not read' });
  else if (addresses.length === 0) unwarned.push({ address: '', why: 'it has no owner' });
  for (const address of addresses) {
    const notice = firstNotice(notices, print, address);
    const why = notice ? whyUnwarned(notice, nowMs) : (mailboxFault(address) ?? (hasNoMailer ? NO_MAILER : undefined));
    if (why !== undefined) unwarned.push({ address, why });
    else if (notice?.deliveredAt === undefined) waits.push({ address, notice, dueAt: notice?.dueAt });
    else {
      // INVARIANT: a clock that jumped ahead makes nothing due.
      const leftMs = beforeMs - elapsedMs(steady, notice.deliveredAt);
      const dueAt = Math.max(notice.dueAt ?? 0, leftMs > 0 ? nowMs + leftMs : 0);
      if (nowMs < dueAt) waits.push({ address, notice, dueAt });
    }
  }
  return { beforeMs, unwarned, waits };
}

function whyUnwarned({ status, note = '', until, nextAt }: Notice, nowMs: number): string | undefined {
  if (status === 'refused' || (status === 'waiting' && note === NO_MAILER)) return note;
  const isDoubt = status === 'doubt' || (status === 'sending' && (nextAt <= nowMs || isOfOtherClock(nextAt, nowMs)));
  if (isDoubt) return note === '' ? IN_DOUBT : note;
  if (status === 'waiting' && until !== undefined && nowMs >= until)
    return `it was not delivered by the deadline${note === '' ? '' : `: ${note}`}`;
  return undefined;
}

/** No attempt is further ahead: such a time was written before the clock was set back. Reminders are. */
export const AHEAD_MAX_MS = 7_200_000;

function isOfOtherClock(nextAt: number, nowMs: number): boolean {
  return nextAt > nowMs + AHEAD_MAX_MS;
}

const NOT_DELIVERED: { readonly [how: string]: string } = {
  not_sent: 'was not sent, and is tried again',
  doubt: 'may have been sent, or not',
  cancelled: 'is not sent',
  postponed: 'is sent later',
};

/** What is said of a message after `notice.failed`. */
export function notDelivered(how: string | undefined): string {
  return NOT_DELIVERED[how ?? ''] ?? 'was not delivered';
}

/** The note of what waits for one. */
export const NO_MAILER = 'no mail server is configured';

export const IN_DOUBT = 'whether it was sent is not known: the process ended while it was sent';

// The state as it is kept.

/** A notice that this process sends: in doubt when its claim ends. */
export interface ClaimedNotice extends Notice {
  content: NoticeContent;
  dueAt: number;
}

/** What a claim has to know of whoever sends. */
export interface NoticeSending {
  /** It cannot send: what waits is marked with `NO_MAILER`, and is sent with the whole time once somebody can. */
  hasNoMailer?: boolean;
  /** From when on a rule may act, at this time or later: no deadline is named that will not be kept. */
  freeFrom?(rule: string, atMs: number): number;
}

/** What the store keeps of notices. Each method is one unit of work, with its audit entries. Errors: AppError `store_failed`. */
export interface NoticeBox {
  /**
   * Those whose time has come, each committed as `sending` until `untilMs`, with its deadline. What an ended process left is in doubt from then
   * on, reminders that come too late are cancelled, and those whose deadline cannot be kept wait for another. None while everything is stopped.
   */
  claim(nowMs: number, untilMs: number, limit: number, by?: NoticeSending): Promise<ClaimedNotice[]>;
  /** Epoch ms; undefined: none waits. */
  nextDueAt(): Promise<number | undefined>;
  /** How an attempt ended. One that was not sent is tried again at `nextAt`, if that is before its deadline. Nothing changes when it is not ours any more. */
  end(claimed: ClaimedNotice, how: MessageEnd, nextAt: number, newId: () => string): Promise<void>;
}

/** A notice as people read it. */
export interface StoredNotice extends Notice {
  content: NoticeContent;
}

export interface NoticeFilter {
  statuses?: readonly NoticeStatus[];
  subjectId?: string;
  /** In any case. */
  address?: string;
  /** The id of the last one of the page before. */
  before?: string;
}
