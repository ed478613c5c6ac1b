// history/record: a thread that records, as the main thread has it, for one database or for several. In: calls of desks. Out: its answers, in order
// for each desk. It begins with the first call; one that fails or dies fails the calls under way, and the next call begins another one.

import { deserialize } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { AS_VALUES, buffersOf, type Pack, PackedList, PackList } from '../../base/packed-list.ts';
import { AppError } from '../../domain/errors.ts';
import type { TrustEvent } from '../../domain/event.ts';
import type { PresentPrints } from '../../domain/identity.ts';
import type { RecordForm } from '../../domain/recorded-history.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import {
  type EventsOfRun,
  FolderRecording,
  type FolderSettings,
  type RecordingDesk,
  type SentFrame,
  type SentRun,
} from './folder-recording.ts';

type DeskMethod = Exclude<keyof RecordingDesk, 'close' | 'restart' | 'steps'>;

export interface DeskCall {
  number: number;
  desk: number;
  settings: FolderSettings;
  method: DeskMethod;
  args: unknown[];
}

/** Nothing more comes of it: what is known of it is dropped. */
export interface DeskEnd {
  ended: number;
}

export interface DeskAnswer {
  number: number;
  value?: unknown;
  fault?: string;
}

/** It counts its steps there. */
export type ThreadData = Int32Array<SharedArrayBuffer>;

/** A first recording of a large fleet needs the most; several desks may have one at the same time. */
const LIMITS = { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 512 };
const SHARED_LIMITS = { ...LIMITS, maxOldGenerationSizeMb: 1_024 };

interface Waiting {
  desk: number;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export class DeskThread {
  private worker: Worker | undefined;
  private readonly waiting = new Map<number, Waiting>();
  private calls = 0;
  private desks = 0;
  private readonly counter: ThreadData = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

  /** `isShared`: whoever has a desk leaves it running. */
  constructor(readonly isShared = false) {}

  get steps(): number {
    return Atomics.load(this.counter, 0);
  }

  /** The number of a new desk. */
  newDesk(): number {
    this.desks += 1;
    return this.desks;
  }

  /** `moved`: buffers of the arguments that the thread has from now on, and nobody else. */
  call<T>(call: Omit<DeskCall, 'number'>, moved: ArrayBuffer[] = []): Promise<T> {
    this.worker ??= this.start();
    const { worker } = this;
    const number = ++this.calls;
    return new Promise<T>((resolve, reject) => {
      if (this.waiting.size === 0) worker.ref();
      this.waiting.set(number, { desk: call.desk, resolve: resolve as Waiting['resolve'], reject });
      worker.postMessage({ ...call, number } satisfies DeskCall, moved);
    });
  }

  /** INVARIANT: a desk that is left while it is waited for hangs: the thread ends with it, for it may hold all others up. */
  async leave(desk: number): Promise<void> {
    const hangs = [...this.waiting.values()].some((one) => one.desk === desk);
    if (!this.isShared || hangs) return this.close();
    this.worker?.postMessage({ ended: desk } satisfies DeskEnd);
  }

  /** Resolves when the thread has ended; the next call begins another one. */
  async close(): Promise<void> {
    const { worker } = this;
    this.lose('the thread that records was ended');
    await worker?.terminate();
  }

  private start(): Worker {
    // From sources the loader is needed there, too; what is built needs none.
    const isSource = import.meta.url.endsWith('.ts');
    const url = new URL(`./recording-thread.${isSource ? 'ts' : 'js'}`, import.meta.url);
    const execArgv = isSource ? ['--import', 'tsx'] : [];
    const resourceLimits = this.isShared ? SHARED_LIMITS : LIMITS;
    const worker = new Worker(url, { execArgv, resourceLimits, workerData: this.counter });
    worker.unref();
    // One that was ended may answer late: then it says nothing of the one that runs now.
    worker.on('message', (answer: DeskAnswer) => this.worker === worker && this.settle(answer));
    worker.on(
      'error',
      (error) => this.worker === worker && this.lose(`the thread that records failed: ${error.message}`),
    );
    worker.on('exit', () => this.worker === worker && this.lose('the thread that records ended'));
    return worker;
  }

  private settle({ number, value, fault }: DeskAnswer): void {
    const one = this.waiting.get(number);
    this.waiting.delete(number);
    if (this.waiting.size === 0) this.worker?.unref();
    if (fault === undefined) one?.resolve(value);
    else one?.reject(new AppError('store_failed', fault));
  }

  private lose(why: string): void {
    this.worker = undefined;
    const lost = [...this.waiting.values()];
    this.waiting.clear();
    for (const { reject } of lost) reject(new AppError('internal', why));
  }
}

// History/record: the desk of one database whose recording is in a thread.

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

  open(): Promise<void> {
    return this.call('open', []);
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

  ahead(kind: SubjectKind, pack: Pack, isFirst: boolean): Promise<void> {
    return this.call('ahead', [kind, pack, isFirst], buffersOf([pack]));
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

// History/record: the recording in this thread: of the thread that records, and of tests.

export class DirectDesk implements RecordingDesk {
  private readonly recording: FolderRecording;
  private waiting = new PackedList<TrustEvent>(AS_VALUES);

  constructor(settings: FolderSettings) {
    this.recording = new FolderRecording(settings);
  }

  open(): Promise<void> {
    return this.recording.prepare();
  }

  presentPrints(kind: SubjectKind, form: RecordForm) {
    return this.recording.presentPrints(kind, form);
  }

  eventsAfter(run: EventsOfRun): Promise<number> {
    this.waiting = new PackedList<TrustEvent>(AS_VALUES);
    return this.recording.eventsAfter(run);
  }

  async events(batch: readonly TrustEvent[]): Promise<void> {
    for (const event of batch) this.waiting.add({ ...event });
  }

  ahead(kind: SubjectKind, pack: Pack, isFirst: boolean): Promise<void> {
    return this.recording.ahead(kind, PackList.of([pack]), isFirst);
  }

  record({ run, seen }: SentRun): Promise<void> {
    const events = this.waiting;
    this.waiting = new PackedList<TrustEvent>(AS_VALUES);
    const unpacked = seen.map((one) => ({ ...one, changed: PackList.of(one.changed) }));
    return this.recording.record({ ...(deserialize(run) as SentFrame), seen: unpacked }, events);
  }

  tidy(nowMs: number): Promise<void> {
    return this.recording.tidy(nowMs);
  }

  restart(): void {}

  async close(): Promise<void> {
    this.recording.close();
  }
}
