// notify: sends what people are told before something of theirs is acted on. In: notices whose time has come, a mailer. Out: how each ended.
// INVARIANT: `sending` is committed before the mail is handed over, and nothing that may have been sent is sent again.

import { lineOf } from '../../domain/errors.ts';
import { type IdentityReader, nameKey } from '../../domain/identity.ts';
import {
  type ClaimedNotice,
  type MessageEnd,
  NO_MAILER,
  type NoticeBox,
  type NoticeSending,
  type PersonLinks,
  type PersonMailer,
  type PersonMessage,
} from '../../domain/notice.ts';
import type { Clock, Ids, Log, Random } from '../../domain/ports.ts';
import { attemptEach, BATCH, DeliveryLoop, pauseAfter } from './delivery.ts';

export interface NoticeDeps {
  box: NoticeBox;
  /** Undefined: no mail server is configured. */
  mailer?: PersonMailer | undefined;
  links?: PersonLinks | undefined;
  freeFrom?: NoticeSending['freeFrom'];
  /** What is under way goes on until this: a message that is cut off may have been sent. */
  cut?: AbortSignal;
  reader: Pick<IdentityReader, 'identitiesOf'>;
  /** A daemon that changes nothing warns nobody. */
  maySend(): boolean;
  ids: Ids;
  clock: Clock;
  random: Random;
  log: Log;
}

/** One message takes less than this, or is cut. */
const SEND_MS = 120_000;
/** Longer than an attempt and its record take. */
const CLAIM_MS = SEND_MS + 60_000;
/** Without a mail server, so many are marked at once. */
const MARKED_MAX = 1_000;

export class NoticeDeliveries extends DeliveryLoop {
  constructor(private readonly deps: NoticeDeps) {
    super({ clock: deps.clock, log: deps.log, what: 'notices to people' });
  }

  protected async attempt(signal: AbortSignal): Promise<'more' | 'done'> {
    const { box, clock, maySend, mailer, freeFrom } = this.deps;
    if (!maySend()) return 'done';
    const nowMs = clock.nowMs();
    const by = { hasNoMailer: mailer === undefined, ...(freeFrom && { freeFrom }) };
    const due = await box.claim(nowMs, nowMs + CLAIM_MS, mailer ? BATCH : MARKED_MAX, by);
    return attemptEach(due, (notice) => this.sendOne(notice, signal));
  }

  protected async nextDueAt(): Promise<number | undefined> {
    return this.deps.maySend() && this.deps.mailer ? this.deps.box.nextDueAt() : undefined;
  }

  private async sendOne(notice: ClaimedNotice, signal: AbortSignal): Promise<void> {
    const { box, clock, random, log, ids, cut = signal } = this.deps;
    const end = await this.sent(notice, AbortSignal.any([cut, AbortSignal.timeout(SEND_MS)]));
    if (end.how !== 'delivered')
      log.warn({ notice: notice.id, rule: notice.rule }, `a notice was not delivered (${end.how}): ${end.why}`);
    // What the end of this process cut off before it was sent is due to the next one at once.
    const pauseMs = signal.aborted ? 0 : pauseAfter(notice.attempts, random);
    await box.end(notice, end, clock.nowMs() + pauseMs, () => ids.next());
  }

  private async sent(notice: ClaimedNotice, signal: AbortSignal): Promise<MessageEnd> {
    const { mailer } = this.deps;
    if (!mailer) return { how: 'not_sent', why: NO_MAILER };
    let message: PersonMessage;
    try {
      message = await this.messageOf(notice);
    } catch (error) {
      return { how: 'not_sent', why: lineOf(error) };
    }
    try {
      return await mailer.send(message, signal);
    } catch (error) {
      return { how: 'doubt', why: lineOf(error) };
    }
  }

  /** Names as the last trusted list of users had them. */
  private async messageOf({ id, episodeId, address, aheadMs, dueAt, content }: ClaimedNotice): Promise<PersonMessage> {
    const { reader, links } = this.deps;
    const known = await reader.identitiesOf([address]);
    const user = known.find((one) => one.kind === 'user' && nameKey(one.id) === address);
    const email = user?.id ?? address;
    return {
      ...content,
      id,
      stage: aheadMs === 0 ? 'first' : 'reminder',
      to: email,
      person: { email, name: user?.name || undefined },
      dueAt,
      link: await links?.of(address, episodeId),
    };
  }
}
