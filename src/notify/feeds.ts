// notify: all webhooks that receive decisions and outcomes. In: the webhooks and the audit. Out: one feed for each, which never waits for
// another, and what a person must know of one that is behind.
import type { Alert } from '../domain/notification.ts';
import { isoTime, timeText } from '../domain/time-text.ts';
import { type FedWebhook, Feed, type FeedDeps } from './feed.ts';
import type { Webhook } from './settings.ts';

export interface FeedState {
  webhook: string;
  /** Audit entries that it has not got, or that are not for it. */
  behind: number;
  /** The time of the oldest event that could not be delivered, epoch ms; undefined: the last delivery was accepted. */
  failingSince: number | undefined;
}

/** A receiver that is down for this long needs a person. */
const ALERT_AFTER_MS = 15 * 60_000;

/** Reading the audit takes no longer, or goes on at the next look. */
const LOOK_MS = 5_000;

export class Feeds {
  private readonly feeds: Feed[];

  constructor(
    private readonly deps: FeedDeps,
    webhooks: Iterable<Webhook>,
  ) {
    this.feeds = [...webhooks].filter(isFed).map((webhook) => new Feed(deps, webhook));
  }

  /** INVARIANT: before anything else is written: a new webhook gets what comes from then on. Errors: AppError `store_failed`. */
  async begin(): Promise<void> {
    for (const feed of this.feeds) await feed.begin();
  }

  /** The audit has grown. */
  poke(): void {
    for (const feed of this.feeds) feed.poke();
  }

  /** Until `signal` aborts. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.feeds.map((feed) => feed.run(signal)));
  }

  /** Delivers once what there is, for a process that ends. Never throws. */
  async flush(signal: AbortSignal): Promise<void> {
    await Promise.all(this.feeds.map((feed) => feed.flush(signal)));
  }

  async states(): Promise<FeedState[]> {
    if (this.feeds.length === 0) return [];
    const { seq } = await this.deps.reader.auditHead();
    return this.feeds.map((feed) => ({
      webhook: feed.webhook.name,
      behind: Math.max(seq - feed.position, 0),
      failingSince: feed.failingSince(),
    }));
  }

  async alerts(): Promise<Alert[]> {
    const nowMs = this.deps.clock.nowMs();
    if (this.deps.isShared) for (const feed of this.feeds) await feed.look(AbortSignal.timeout(LOOK_MS));
    return (await this.states()).flatMap(({ webhook, behind, failingSince }): Alert[] => {
      if (failingSince === undefined || nowMs - failingSince < ALERT_AFTER_MS) return [];
      const text = `webhook ${webhook} has accepted no decision or outcome since ${timeText(failingSince)}: ${behind} audit entries wait, and none is lost while they are not archived`;
      const about = { webhook, behind, since: isoTime(failingSince) };
      return [{ key: `webhook ${webhook}`, code: 'webhook_behind', text, about }];
    });
  }
}

function isFed(webhook: Webhook): webhook is FedWebhook {
  return webhook.feed !== undefined;
}
