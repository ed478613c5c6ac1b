// notify: the one alert that cannot wait in the outbox: the database that holds the outbox fails. In: the current
// fault. Out: one delivery to each webhook, without the outbox, tried again at each check until it is accepted. It
// never throws, and leaves no entry in the audit, which cannot be written either.
import { lineOf } from '../domain/errors.ts';
import type { Alert } from '../domain/notification.ts';
import type { Clock, Ids, Log } from '../domain/ports.ts';
import type { StoreFault } from '../domain/store-fault.ts';
import { isoTime, timeText } from '../domain/time-text.ts';
import type { Webhook } from './settings.ts';
import { deliver } from './webhook.ts';

export interface DatabaseAlertDeps {
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
