// history/record: the desk of one database whose recording is in a thread. In: calls. Out: the thread's answers, in order. By default the
// thread is its own, and ends with it.
import { AppError } from '../../domain/errors.ts';
import type { TrustEvent } from '../../domain/event.ts';
import type { PresentPrints } from '../../domain/identity.ts';
import type { RecordForm } from '../../domain/recorded-history.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import { type DeskMethod, DeskThread } from './desk-thread.ts';
import type { FolderSettings } from './folder-recording.ts';
import type { EventsOfRun, RecordingDesk, SentRun } from './recording-desk.ts';

export class ThreadDesk implements RecordingDesk {
  private readonly number: number;
  private isEnded = false;
  /** Threads of it that were given up: one that hangs in a write may finish that write. */
  private readonly givenUp: Promise<void>[] = [];

  constructor(
    private readonly settings: FolderSettings,
    private readonly thread = new DeskThread(),
  ) {
    this.number = thread.newDesk();
  }

  presentPrints(kind: SubjectKind, form: RecordForm): Promise<PresentPrints> {
    return this.call('presentPrints', [kind, form]);
  }

  eventsAfter(run: EventsOfRun): Promise<number> {
    return this.call('eventsAfter', [run]);
  }

  events(batch: readonly TrustEvent[]): Promise<void> {
    return this.call('events', [batch.map((event) => ({ ...event }))]);
  }

  /** What its records lie in goes to the thread: a first list of a large fleet is not held twice. */
  record({ buffers, ...run }: SentRun): Promise<void> {
    return this.call('record', [{ ...run, buffers: [] } satisfies SentRun], buffers);
  }

  tidy(nowMs: number): Promise<void> {
    return this.call('tidy', [nowMs]);
  }

  get steps(): number {
    return this.thread.steps;
  }

  restart(): void {
    this.givenUp.push(this.thread.close());
  }

  async close(): Promise<void> {
    this.isEnded = true;
    await this.thread.leave(this.number);
    await Promise.all(this.givenUp);
  }

  private call<T>(method: DeskMethod, args: unknown[], moved: ArrayBuffer[] = []): Promise<T> {
    if (this.isEnded) return Promise.reject(new AppError('store_failed', 'the recording was ended'));
    const { number: desk, settings } = this;
    return this.thread.call<T>({ desk, settings, method, args }, moved);
  }
}
