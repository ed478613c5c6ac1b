// notify: delivers what is due in the outbox, again and again with growing pauses, until it is accepted or given up.
// In: the outbox and the webhooks. Out: nothing that anybody waits for: no action waits for a notification. At least
// once: a crash between a delivery and its record delivers again, under the same delivery id. One process at a time attempts one.
import { lineOf } from '../domain/errors.ts';
import type { ClaimedNotification, LinkedNotification, Outbox, WaitingNotification } from '../domain/notification.ts';
import type { Clock, Log, Random } from '../domain/ports.ts';
import type { Delivery } from './checked-request.ts';
import { linkOf } from './link.ts';
import type { Webhook } from './settings.ts';
import { deliver, SECRET_UNREAD } from './webhook.ts';

export interface DeliveryDeps {
  outbox: Outbox;
  webhooks: ReadonlyMap<string, Webhook>;
  clock: Clock;
  random: Random;
  log: Log;
  /** The address under which people reach the pages of this Trustward: messages link there. */
  publicUrl?: string | undefined;
  send?: typeof deliver;
}

const BATCH = 16;
const PAUSE_FIRST_MS = 5_000;
const PAUSE_MAX_MS = 3_600_000;
/** For a full database or a clock that jumps: the outbox is checked again after this long, whatever it returned. */
const LOOK_AGAIN_MS = 60_000;

export class Deliveries {
  private wake = new AbortController();

  constructor(private readonly deps: DeliveryDeps) {}

  /** Something may be due now. */
  poke(): void {
    this.wake.abort();
  }

  /** Until `signal` aborts. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.wake = new AbortController();
      const rest = await this.round(signal);
      if (rest === 'more' || signal.aborted) continue;
      await this.pause(rest === 'failed', AbortSignal.any([signal, this.wake.signal]));
    }
  }

  /**
   * Attempts once what is due now; failures stay in the outbox. Returns whether more may be due, or that the outbox
   * itself failed. Never throws.
   */
  async round(signal: AbortSignal): Promise<'more' | 'done' | 'failed'> {
    const { outbox, clock, log } = this.deps;
    try {
      const nowMs = clock.nowMs();
      const due = await outbox.claim(nowMs, nowMs + claimMsOf(this.deps.webhooks.values()), BATCH);
      const tried = await Promise.allSettled(due.map((notification) => this.tryOnce(notification, signal)));
      const broken = tried.find((one) => one.status === 'rejected');
      if (broken) throw broken.reason;
      return due.length === BATCH ? 'more' : 'done';
    } catch (error) {
      log.error({}, `the outbox cannot be delivered: ${lineOf(error)}`);
      return 'failed';
    }
  }

  /**
   * INVARIANT: a delivery that was sent and could not be recorded is still due: without a pause it would be sent again
   * and again.
   */
  private async pause(hasFailed: boolean, signal: AbortSignal): Promise<void> {
    const { outbox, clock } = this.deps;
    const nextAt = hasFailed ? undefined : await outbox.nextDueAt().catch(() => undefined);
    const waitMs = nextAt === undefined ? LOOK_AGAIN_MS : Math.min(Math.max(nextAt - clock.nowMs(), 1), LOOK_AGAIN_MS);
    await clock.sleep(waitMs, signal).catch(() => {}); // poked, or being stopped
  }

  private async tryOnce(notification: ClaimedNotification, signal: AbortSignal): Promise<void> {
    const { outbox, webhooks, clock, random, log, send = deliver } = this.deps;
    const { id, to } = notification;
    const webhook = webhooks.get(to);
    if (webhook?.secret === '') {
      // Nothing was attempted: what waits is delivered once the secret is there, however long that takes.
      log.error({ notification: id, to }, `a notification to ${to} waits: ${SECRET_UNREAD}`);
      return outbox.giveBack(notification, clock.nowMs() + LOOK_AGAIN_MS);
    }
    const result: Delivery = webhook
      ? await send(webhook, this.linked(notification), clock.nowMs(), signal)
      : { ok: false, note: `webhook \`${to}\` is no longer configured` };
    if (result.ok) return outbox.end(notification, 'delivered', result.note);
    if (signal.aborted) return outbox.giveBack(notification, clock.nowMs()); // aborted by us: not its failure
    const attempts = notification.attempts + 1;
    if (attempts >= (webhook?.attemptsMax ?? 1)) {
      log.error({ notification: id, to, attempts }, `a notification to ${to} is given up: ${result.note}`);
      return outbox.end(notification, 'given_up', result.note);
    }
    log.warn({ notification: id, to, attempts }, `a notification to ${to} was not delivered: ${result.note}`);
    await outbox.postpone(notification, clock.nowMs() + pauseAfter(attempts, random), result.note);
  }

  private linked(notification: WaitingNotification): LinkedNotification {
    const { publicUrl } = this.deps;
    return publicUrl === undefined ? notification : { ...notification, link: linkOf(notification, publicUrl) };
  }
}

/** An attempt begins with its claim, and is recorded within the margin: a database that does not answer in it has failed. */
const MARGIN_MS = 60_000;

/** Longer than an attempt and its record take. */
export function claimMsOf(webhooks: Iterable<Pick<Webhook, 'timeoutMs'>>): number {
  return Math.max(0, ...[...webhooks].map(({ timeoutMs }) => timeoutMs)) + MARGIN_MS;
}

/** 5 s, 10 s, 20 s … up to an hour, each between half and all of it, so that many do not return at once. */
export function pauseAfter(attempts: number, random: Random): number {
  const whole = Math.min(PAUSE_FIRST_MS * 2 ** (attempts - 1), PAUSE_MAX_MS);
  return Math.round(whole * (0.5 + random.next() / 2));
}
