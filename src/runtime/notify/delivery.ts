// notify: delivers what is due in the outbox, again and again with growing pauses, until it is accepted or given up.
// In: the outbox and the webhooks. Out: nothing that anybody waits for: no action waits for a notification. At least
// once: a crash between a delivery and its record delivers again, under the same delivery id. One process at a time attempts one.

import { createHmac } from 'node:crypto';
import { canonicalJson } from '../../base/json.ts';
import { isoTime, timeText } from '../../base/time.ts';
import { type ChangeWindow, windowAt } from '../../domain/change-window.ts';
import type { StoreFault } from '../../domain/database.ts';
import { lineOf } from '../../domain/errors.ts';
import { type Fact, isFacts } from '../../domain/facts.ts';
import type {
  Alert,
  AlertCode,
  ClaimedNotification,
  LinkedNotification,
  Notification,
  Outbox,
  WaitingNotification,
} from '../../domain/notification.ts';
import type { Clock, Ids, Log, Random } from '../../domain/ports.ts';
import { chatBody } from './chat.ts';
import { type Delivery, type Resolve, sendChecked, type Webhook } from './settings.ts';

/** `publicUrl`: without a slash at its end. */
export function linkOf({ about }: Pick<Notification, 'about'>, publicUrl: string): string | undefined {
  if (typeof about.plan === 'string') return `${publicUrl}/plans/${encodeURIComponent(about.plan)}`;
  if (typeof about.request === 'string') return `${publicUrl}/exemptions/requests/${encodeURIComponent(about.request)}`;
  const subjects = new Set(subjectsIn(about).flatMap((path) => path ?? []));
  const [only] = subjects;
  return subjects.size === 1 ? `${publicUrl}/subjects/${only}` : undefined;
}

/** An alert has its subject, and a notification of rules its matches. */
function subjectsIn({ subject = null, matches = [] }: Notification['about']): (string | undefined)[] {
  const matched = Array.isArray(matches) ? matches.filter(isFacts) : [];
  return [
    isFacts(subject) ? pathOf(subject.kind, subject.id) : undefined,
    ...matched.map((match) => pathOf(match.kind, match.subject)),
  ];
}

function pathOf(kind: Fact | undefined, id: Fact | undefined): string | undefined {
  if (typeof kind !== 'string' || typeof id !== 'string') return undefined;
  return `${encodeURIComponent(kind)}/${encodeURIComponent(id)}`;
}

// One delivery to a webhook: one signed POST over https.

/** The body's stable form; its version changes when the meaning of a member does. */
export function bodyOf({ id, kind, at, text, about, link }: LinkedNotification): string {
  return canonicalJson({ version: 1, delivery: id, kind, at: isoTime(at), text, about, link });
}

function bodyFor({ chat }: Pick<Webhook, 'chat'>, notification: LinkedNotification): string {
  return chat === undefined ? bodyOf(notification) : chatBody(chat, notification);
}

/** `t=SECONDS,v1=HEX`: HMAC-SHA256 over `SECONDS.BODY`, so that an old body cannot be sent again as a new one. */
function signatureOf(secret: string, body: string, nowMs: number): string {
  const seconds = Math.floor(nowMs / 1_000);
  const mac = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
  return `t=${seconds},v1=${mac}`;
}

const SECRET_UNREAD = 'the file of its secret cannot be read';

/** As `send`. */
export function deliver(
  webhook: Webhook,
  notification: LinkedNotification,
  nowMs: number,
  signal: AbortSignal,
  resolve?: Resolve,
): Promise<Delivery> {
  return send(webhook, { id: notification.id, body: bodyFor(webhook, notification) }, nowMs, signal, resolve);
}

export interface Sent {
  id: string;
  body: string;
  /** Beside those of every delivery, or instead of them. */
  headers?: Record<string, string>;
}

/** Never throws: the note describes the failure. Only the status of the answer counts. INVARIANT: nothing is sent without a signature that counts. */
export function send(
  webhook: Webhook,
  { id, body, headers }: Sent,
  nowMs: number,
  signal: AbortSignal,
  resolve?: Resolve,
): Promise<Delivery> {
  if (webhook.secret === '') return Promise.resolve({ ok: false, note: SECRET_UNREAD });
  const all = { ...headersOf(webhook, id, body, nowMs), ...headers };
  return sendChecked(webhook, { method: 'POST', headers: all, body }, signal, resolve);
}

function headersOf(webhook: Webhook, id: string, body: string, nowMs: number): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    'User-Agent': 'trustward',
    'X-Trustward-Delivery': id,
    'X-Trustward-Signature': signatureOf(webhook.secret, body, nowMs),
  };
}

interface DeliveryDeps {
  outbox: Outbox;
  webhooks: ReadonlyMap<string, Webhook>;
  clock: Clock;
  random: Random;
  log: Log;
  /** The address under which people reach the pages of this Trustward: messages link there. */
  publicUrl?: string | undefined;
  send?: typeof deliver;
}

export const BATCH = 16;
const PAUSE_FIRST_MS = 5_000;
const PAUSE_MAX_MS = 3_600_000;
/** For a full database or a clock that jumps: the outbox is checked again after this long, whatever it returned. */
const LOOK_AGAIN_MS = 60_000;

/** Attempts what is due, waits until the next is, and again. */
export abstract class DeliveryLoop {
  private wake = new AbortController();

  constructor(private readonly loop: { clock: Clock; log: Log; what: string }) {}

  /** Attempts once what is due now. Returns whether more may be due. Errors: those of the store. */
  protected abstract attempt(signal: AbortSignal): Promise<'more' | 'done'>;
  protected abstract nextDueAt(): Promise<number | undefined>;

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
   * Attempts once what is due now; failures stay. Returns whether more may be due, or that the store itself failed. Never throws.
   */
  async round(signal: AbortSignal): Promise<'more' | 'done' | 'failed'> {
    try {
      return await this.attempt(signal);
    } catch (error) {
      this.loop.log.error({}, `${this.loop.what} cannot be delivered: ${lineOf(error)}`);
      return 'failed';
    }
  }

  /**
   * INVARIANT: a delivery that was sent and could not be recorded is still due: without a pause it would be sent again
   * and again.
   */
  private async pause(hasFailed: boolean, signal: AbortSignal): Promise<void> {
    const { clock } = this.loop;
    const nextAt = hasFailed ? undefined : await this.nextDueAt().catch(() => undefined);
    const waitMs = nextAt === undefined ? LOOK_AGAIN_MS : Math.min(Math.max(nextAt - clock.nowMs(), 1), LOOK_AGAIN_MS);
    await clock.sleep(waitMs, signal).catch(() => {}); // poked, or being stopped
  }
}

/** Each of these, at once. Errors: the first failure, when all are over. */
export async function attemptEach<T>(due: readonly T[], attempt: (one: T) => Promise<void>): Promise<'more' | 'done'> {
  const tried = await Promise.allSettled(due.map(attempt));
  const broken = tried.find((one) => one.status === 'rejected');
  if (broken) throw broken.reason;
  return due.length === BATCH ? 'more' : 'done';
}

export class Deliveries extends DeliveryLoop {
  constructor(private readonly deps: DeliveryDeps) {
    super({ clock: deps.clock, log: deps.log, what: 'the outbox' });
  }

  protected async attempt(signal: AbortSignal): Promise<'more' | 'done'> {
    const { outbox, clock, webhooks } = this.deps;
    const nowMs = clock.nowMs();
    const due = await outbox.claim(nowMs, nowMs + claimMsOf(webhooks.values()), BATCH);
    return attemptEach(due, (notification) => this.tryOnce(notification, signal));
  }

  protected nextDueAt(): Promise<number | undefined> {
    return this.deps.outbox.nextDueAt();
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

// The one alert that cannot wait in the outbox: the database that holds the outbox fails.

interface DatabaseAlertDeps {
  fault(): StoreFault | undefined;
  webhooks: ReadonlyMap<string, Webhook>;
  ids: Ids;
  clock: Clock;
  log: Log;
  /** Aborted when the process is to end. */
  signal: AbortSignal;
  send?: typeof deliver;
}

export class DatabaseAlert {
  private describeDeletion: StoreFault | undefined;
  private readonly taken = new Set<string>();

  constructor(private readonly deps: DatabaseAlertDeps) {}

  /** While it fails. */
  condition(): Alert | undefined {
    const fault = this.deps.fault();
    if (!fault) return undefined;
    const { kind, since, text } = fault;
    return {
      key: 'database',
      code: 'database',
      text: `the database fails since ${timeText(since)}: ${text}`,
      about: { fault: kind, since: isoTime(since) },
    };
  }

  /**
   * When the outbox failed. Returns false for a failure that has nothing to do with the disk: it is not reported here.
   */
  async describePast(names: readonly string[]): Promise<boolean> {
    const { fault, webhooks, ids, clock, log, signal, send = deliver } = this.deps;
    const alert = this.condition();
    if (!alert) return false;
    // The same outage may change its kind: it is reported once.
    if (this.describeDeletion?.since !== fault()?.since) this.taken.clear();
    this.describeDeletion = fault();
    for (const name of names.filter((one) => !this.taken.has(one))) {
      const webhook = webhooks.get(name);
      if (!webhook) continue;
      const { key, code, text, about } = alert;
      const notification = { id: ids.next(), to: name, kind: 'alert', at: clock.nowMs(), text } as const;
      const full = { ...notification, about: { ...about, alert: code, key } };
      const { ok, note } = await send(webhook, full, clock.nowMs(), signal).catch((error: unknown) => ({
        ok: false,
        note: lineOf(error),
      }));
      if (ok) this.taken.add(name);
      else log.warn({ to: name }, `${name} could not be alerted that the database fails: ${note}`);
    }
    return true;
  }
}

// Quiet hours: alerts that would go out wait, and go out at the end if their condition still lasts.

/** Told at any hour: the protection is off, or a person changed what it may do. */
const AT_ONCE: ReadonlySet<AlertCode> = new Set(['database', 'silence', 'stopped', 'resumed', 'break_glass']);

/** A clock may be set: it is asked again at least this often. */
const LOOK_EVERY_MS = 60_000;

export class QuietHours {
  constructor(
    private readonly windows: readonly ChangeWindow[],
    private readonly clock: Clock,
  ) {}

  /** Whether it waits at this moment. */
  holds({ code }: Pick<Alert, 'code'>): boolean {
    return !AT_ONCE.has(code) && this.endsAtMs() !== undefined;
  }

  /** An event of this long ago may still wait to be told: the most time that quiet hours can take between two free moments. */
  get longestMs(): number {
    return this.windows.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
  }

  /** Calls `ended` at each end of quiet hours until `signal` aborts. Never throws. */
  async watch(ended: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
    if (this.windows.length === 0) return;
    for (let was = this.endsAtMs(); !signal.aborted; ) {
      const leftMs = was === undefined ? LOOK_EVERY_MS : was - this.clock.nowMs();
      await this.clock.sleep(Math.min(Math.max(leftMs, 1), LOOK_EVERY_MS), signal).catch(() => {}); // being stopped
      if (signal.aborted) return;
      const now = this.endsAtMs();
      if (was !== undefined && now === undefined) await ended();
      was = now;
    }
  }

  private endsAtMs(): number | undefined {
    return windowAt(this.windows, this.clock.nowMs())?.endsAtMs;
  }
}
