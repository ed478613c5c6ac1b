// history/record: whoever keeps the recording of a database: a thread of its own, or this one. In: nothing. Out: the port, and the forms that
// travel between threads.
import type { TrustEvent } from '../../domain/event.ts';
import type { PresentPrints } from '../../domain/identity.ts';
import type { Packs } from '../../domain/packed-list.ts';
import type { RecordForm, SeenRun, SeenSubjects } from '../../domain/recorded-history.ts';
import type { SubjectKind } from '../../domain/subjects.ts';

/** A run for the desk: without records, which are packed beside it. Plain data, of this moment. */
export interface SentRun {
  run: Uint8Array;
  seen: (Omit<SeenSubjects, 'changed'> & { changed: Omit<Packs, 'buffers'> })[];
  /** What the packs of `seen` lie in. */
  buffers: ArrayBuffer[];
}

/** The part of it that `run` has, by `node:v8`. */
export type SentFrame = Omit<SeenRun, 'seen'>;

/** The number of a run, and of the newest event that it knows. */
export interface EventsOfRun {
  seq: number;
  eventsTo: number;
}

/** All in order: each answer is of what was recorded before it was asked for. Errors: AppError `store_failed`, `internal` of a thread. */
export interface RecordingDesk {
  presentPrints(kind: SubjectKind, form: RecordForm): Promise<PresentPrints>;
  eventsAfter(run: EventsOfRun): Promise<number>;
  /** Of the run that is recorded next. */
  events(batch: readonly TrustEvent[]): Promise<void>;
  record(run: SentRun): Promise<void>;
  tidy(nowMs: number): Promise<void>;
  /** How many steps its work has made; undefined: not known. While the number grows, the disk answers. */
  readonly steps?: number;
  /** What is under way fails, and is lost: its disk does not answer. The next call begins anew. */
  restart(): void;
  /** INVARIANT: when it is closed, nothing more is written, now or later: each call after it fails. */
  close(): Promise<void>;
}
