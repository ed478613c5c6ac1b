// http: one open stream. In: a position, a filter, what cuts its connection. Out: bytes, made when the client takes them: a slow one
// holds no more than what is on its way. It ends when its token is no longer good, at shutdown, and when its client does not read.
import { lineOf } from '../../domain/errors.ts';
import { giveWay } from '../../domain/give-way.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import type { EventFeed, FedStream } from './event-feed.ts';
import { beatFrame, openingFrame, resetFrame } from './frames.ts';
import type { KindFilter } from './kind-filter.ts';

const UNREAD_MAX_MS = 60_000;

export interface StreamParts {
  feed: EventFeed;
  /** The last entry that the client has; undefined: it begins at the head. */
  after: number | undefined;
  filter: KindFilter;
  token: string;
  /** Whether the caller may still read. Rejects when nobody can say. */
  isAllowed(): boolean | Promise<boolean>;
  /** Closes the connection without waiting for the client. */
  cut(): void;
  clock: Clock;
  log: Log;
}

export class EventStream implements FedStream {
  readonly token: string;
  readonly body: ReadableStream<Uint8Array>;
  private after: number;
  private shownProgress: number;
  private isBeatDue = false;
  private isOver = false;
  /** Since when the client has not taken what it was given. */
  private unreadSinceMs: number | undefined;
  private wakeUp = () => {};
  private next: Uint8Array | undefined;

  /** @param head the present one. */
  constructor(
    private readonly parts: StreamParts,
    head: number,
  ) {
    const { feed, after = head, token, clock } = parts;
    this.token = token;
    // A position beyond the head is of another database, or of this one before a restore.
    this.after = Math.min(after, head);
    this.next = Buffer.from(openingFrame(this.after) + (after > head ? resetFrame(head) : ''));
    this.shownProgress = feed.progress.count;
    this.unreadSinceMs = clock.monotonicMs();
    this.body = new ReadableStream(
      { pull: (controller) => this.pull(controller), cancel: () => this.end() },
      { highWaterMark: 0 },
    );
    feed.add(this);
  }

  wake(): void {
    this.wakeUp();
  }

  beat(): void {
    this.isBeatDue = true;
    const unreadMs = this.unreadSinceMs === undefined ? 0 : this.parts.clock.monotonicMs() - this.unreadSinceMs;
    if (unreadMs >= UNREAD_MAX_MS) this.end();
    else void this.endUnlessAllowed();
  }

  /** Where nobody can say, nothing new can be read either: the next beat asks again. */
  private async endUnlessAllowed(): Promise<void> {
    try {
      if (!(await this.parts.isAllowed())) this.end();
    } catch (error) {
      this.parts.log.warn({}, `it is not known whether a stream may go on: ${lineOf(error)}`);
    }
  }

  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.parts.feed.remove(this);
    if (this.unreadSinceMs !== undefined) this.parts.cut();
    this.wakeUp();
  }

  private async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    this.unreadSinceMs = undefined;
    const bytes = await this.take();
    if (this.isOver || bytes === undefined) {
      this.end();
      close(controller);
      return;
    }
    this.unreadSinceMs = this.parts.clock.monotonicMs();
    controller.enqueue(bytes);
  }

  /** Waits for the next bytes; undefined when there are no more. */
  private async take(): Promise<Uint8Array | undefined> {
    try {
      while (!this.isOver) {
        const found = this.look();
        if (found === undefined) {
          await this.untilWoken();
          continue;
        }
        const bytes = await found;
        if (bytes.length > 0) return bytes;
        await giveWay(); // the filter shows nothing of a page
      }
    } catch (error) {
      this.parts.log.warn({}, `a stream ended, since the audit cannot be read: ${lineOf(error)}`);
    }
    return undefined;
  }

  /** INVARIANT: it returns undefined at once when nothing is new: no wake-up is lost between the look and the wait. */
  private look(): Uint8Array | Promise<Uint8Array> | undefined {
    const { feed, filter } = this.parts;
    if (this.next) {
      const bytes = this.next;
      this.next = undefined;
      return bytes;
    }
    if (this.after < feed.head) return this.page();
    if (feed.progress.count > this.shownProgress && (filter.has('progress') || filter.has(feed.progress.kind))) {
      this.shownProgress = feed.progress.count;
      return feed.progress.bytes;
    }
    if (!this.isBeatDue) return undefined;
    this.isBeatDue = false;
    return Buffer.from(beatFrame(this.after));
  }

  private async page(): Promise<Uint8Array> {
    const { feed, filter } = this.parts;
    const page = await feed.pages.after(this.after, feed.head);
    if (page) {
      this.after = page.upTo;
      return page.bytes(filter);
    }
    this.after = feed.head;
    return Buffer.from(resetFrame(this.after));
  }

  private untilWoken(): Promise<void> {
    return new Promise((resolve) => {
      this.wakeUp = resolve;
    });
  }
}

/** A client that is gone has closed it already. */
function close(controller: ReadableStreamDefaultController<Uint8Array>): void {
  try {
    controller.close();
  } catch {
    // closed
  }
}
