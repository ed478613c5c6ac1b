// Notifications, put together: alerts are checked when a run or a plan is over, deliveries run beside. In: a
// configuration and the store. Out: something to call afterwards, and to run beside a daemon. No action waits for it.
import type { Config } from '../config/config.ts';
import { lineOf } from '../domain/errors.ts';
import type { Alert } from '../domain/notification.ts';
import type { Clock, Log } from '../domain/ports.ts';
import { Alerts } from '../notify/alerts.ts';
import { DatabaseAlert } from '../notify/database-alert.ts';
import { Deliveries } from '../notify/delivery.ts';
import { type FeedState, Feeds } from '../notify/feeds.ts';
import { QuietHours } from '../notify/quiet-hours.ts';
import { views } from '../report/index.ts';
import type { SqlStore } from '../store/sql-store.ts';
import type { StoreHealth } from '../store/store-health.ts';
import { systemIds, systemRandom } from '../system/ids.ts';

/** A command that ends waits at most this long for due deliveries; the next process delivers the rest. */
const LAST_ROUND_MS = 5_000;

type Conditions = () => Alert[] | Promise<Alert[]>;

export interface Notifications {
  /** Before anything is written. Errors: AppError `store_failed`. */
  begin(): Promise<void>;
  /** Of the webhooks that receive decisions and outcomes. */
  feeds(): Promise<FeedState[]>;
  /** Checks what needs a person now. Never throws. */
  afterwards(): Promise<void>;
  /** Beside a daemon, until `signal` aborts. Never throws. */
  start(signal: AbortSignal): Promise<void>;
  /** From now on these conditions are alerts, too. */
  alsoAlert(conditions: Conditions): void;
  /** Attempts once what is due, for a process that ends; not beyond `cut`. Never throws. */
  deliverDue(cut: AbortSignal): Promise<void>;
}

export interface NotificationParts {
  config: Config;
  store: SqlStore;
  health: StoreHealth;
  clock: Clock;
  log: Log;
}

export function composeNotifications(parts: NotificationParts): Notifications {
  const { store, health, clock, log } = parts;
  const { webhooks, alertsTo, publicUrl, silenceMs } = parts.config.notify;
  // Workers keep the schedule there, and none of their compositions lasts.
  const isShared = parts.config.database.kind === 'postgres';
  const recordedSilenceMs = isShared ? silenceMs : 0;
  const outbox = store.outbox();
  const deliveries = new Deliveries({ outbox, webhooks, clock, random: systemRandom, log, publicUrl });
  const ids = systemIds(clock);
  const ending = new AbortController();
  const database = new DatabaseAlert({ fault: () => health.fault(), webhooks, ids, clock, log, signal: ending.signal });
  const exemptions = { warnMs: parts.config.timing.exemptionWarnMs, unusedMs: parts.config.timing.exemptionUnusedMs };
  const quietHours = new QuietHours(parts.config.windows.quietHours, clock);
  const feedParts = {
    reader: store,
    positions: store.feedPositions(),
    view: views.liveEvent,
    isShared,
    ids,
    clock,
    log,
  };
  const feeds = new Feeds({ ...feedParts, random: systemRandom }, webhooks.values());
  store.onAudited(() => feeds.poke());
  const others: Conditions[] = [() => feeds.alerts()];
  const beside = async () => (await Promise.all(others.map((conditions) => conditions()))).flat();
  const alerts = new Alerts({
    reader: store,
    outbox,
    ids,
    clock,
    to: alertsTo,
    exemptions,
    database,
    beside,
    quietHours,
    recordedSilenceMs,
  });
  const failed = (error: unknown) => log.error({}, `people could not be alerted: ${lineOf(error)}`);
  return {
    begin: () => feeds.begin(),
    feeds: () => feeds.states(),
    afterwards: async () => {
      await alerts.look().catch(failed);
      deliveries.poke();
    },
    alsoAlert: (conditions) => void others.push(conditions),
    start: async (signal) => {
      signal.addEventListener('abort', () => ending.abort(), { once: true });
      const look = () =>
        alerts.look().then(
          () => deliveries.poke(),
          (error) => failed(error),
        );
      await Promise.all([
        deliveries.run(signal),
        feeds.run(signal),
        alerts.watchSilence(silenceMs, signal, failed),
        quietHours.watch(look, signal),
      ]);
    },
    deliverDue: async (cut) => {
      const limit = AbortSignal.any([cut, AbortSignal.timeout(LAST_ROUND_MS)]);
      const flushed = feeds.flush(limit);
      while (!limit.aborted && (await deliveries.round(limit)) === 'more');
      await flushed;
    },
  };
}
