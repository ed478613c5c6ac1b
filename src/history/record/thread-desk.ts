// history/record: the desk of one database whose recording is in a thread. In: calls. Out: the thread's answers, in order. By default the
// thread is its own, and ends with it.
import type { TrustEvent } from '../../domain/event.ts';
import type { PresentPrints } from '../../domain/identity.ts';
import type { RecordForm } from '../../domain/recorded-history.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import { type DeskMethod, DeskThread } from './desk-thread.ts';
import type { FolderSettings } from './folder-recording.ts';
import type { EventsOfRun, RecordingDesk, SentRun } from './recording-desk.ts';

export class ThreadDesk implements RecordingDesk {
  private readonly number: number;

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

  record(run: SentRun): Promise<void> {
    return this.call('record', [run]);
  }

  tidy(nowMs: number): Promise<void> {
    return this.call('tidy', [nowMs]);
  }

  close(): Promise<void> {
    return this.thread.leave(this.number);
  }

  private call<T>(method: DeskMethod, args: unknown[]): Promise<T> {
    const { number: desk, settings } = this;
    return this.thread.call<T>({ desk, settings, method, args });
  }
}
