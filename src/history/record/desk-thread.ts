// history/record: a thread that records, as the main thread has it, for one database or for several. In: calls of desks. Out: its answers, in order
// for each desk. It begins with the first call; one that fails or dies fails the calls under way, and the next call begins another one.
import { Worker } from 'node:worker_threads';
import { AppError } from '../../domain/errors.ts';
import type { FolderSettings } from './folder-recording.ts';
import type { RecordingDesk } from './recording-desk.ts';

export type DeskMethod = Exclude<keyof RecordingDesk, 'close' | 'restart' | 'steps'>;

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
