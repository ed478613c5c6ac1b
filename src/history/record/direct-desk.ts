// history/record: the recording in this thread: of the thread that records, and of tests. In: runs as they travel. Out: what the folder answers.
import { deserialize } from 'node:v8';
import type { TrustEvent } from '../../domain/event.ts';
import type { Facts } from '../../domain/facts.ts';
import { AS_VALUES, PackedList } from '../../domain/packed-list.ts';
import type { RecordForm } from '../../domain/recorded-history.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import { FolderRecording, type FolderSettings } from './folder-recording.ts';
import type { EventsOfRun, RecordingDesk, SentFrame, SentRun } from './recording-desk.ts';

export class DirectDesk implements RecordingDesk {
  private readonly recording: FolderRecording;
  private waiting = new PackedList<TrustEvent>(AS_VALUES);

  constructor(settings: FolderSettings) {
    this.recording = new FolderRecording(settings);
  }

  presentPrints(kind: SubjectKind, form: RecordForm) {
    return this.recording.presentPrints(kind, form);
  }

  eventsAfter(run: EventsOfRun): Promise<number> {
    this.waiting = new PackedList(AS_VALUES);
    return this.recording.eventsAfter(run);
  }

  async events(batch: readonly TrustEvent[]): Promise<void> {
    for (const event of batch) this.waiting.add({ ...event });
  }

  record({ run, seen }: SentRun): Promise<void> {
    const events = this.waiting;
    this.waiting = new PackedList(AS_VALUES);
    const unpacked = seen.map((one) => ({ ...one, changed: PackedList.ofPacks<Facts>(AS_VALUES, one.changed) }));
    return this.recording.record({ ...(deserialize(run) as SentFrame), seen: unpacked }, events);
  }

  tidy(nowMs: number): Promise<void> {
    return this.recording.tidy(nowMs);
  }

  restart(): void {}

  async close(): Promise<void> {}
}
