// history/record: the thread that records, as the main thread has it. In: calls. Out: its answers, in order. It begins with the first call; one
// that fails or dies fails the calls under way, and the next call begins another one.
import { Worker } from 'node:worker_threads';
import { AppError } from '../../domain/errors.ts';
import type { TrustEvent } from '../../domain/event.ts';
import type { PresentPrints } from '../../domain/identity.ts';
import type { RecordForm } from '../../domain/recorded-history.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import type { FolderSettings } from './folder-recording.ts';
import type { EventsOfRun, RecordingDesk, SentRun } from './recording-desk.ts';

export interface DeskCall {
  number: number;
  method: Exclude<keyof RecordingDesk, 'close'>;
  args: unknown[];
}

export interface DeskAnswer {
  number: number;
  value?: unknown;
  fault?: string;
}

/** A first recording of a large fleet needs the most. */
const LIMITS = { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 512 };

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export class ThreadDesk implements RecordingDesk {
  private worker: Worker | undefined;
  private readonly waiting = new Map<number, Waiting>();
  private calls = 0;

  constructor(private readonly settings: FolderSettings) {}

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

  async close(): Promise<void> {
    const { worker } = this;
    this.lose('the thread that records was ended');
    await worker?.terminate();
  }

  private call<T>(method: DeskCall['method'], args: unknown[]): Promise<T> {
    this.worker ??= this.start();
    const { worker } = this;
    const number = ++this.calls;
    return new Promise<T>((resolve, reject) => {
      if (this.waiting.size === 0) worker.ref();
      this.waiting.set(number, { resolve: resolve as Waiting['resolve'], reject });
      worker.postMessage({ number, method, args } satisfies DeskCall);
    });
  }

  private start(): Worker {
    // From sources the loader is needed there, too; what is built needs none.
    const isSource = import.meta.url.endsWith('.ts');
    const url = new URL(`./recording-thread.${isSource ? 'ts' : 'js'}`, import.meta.url);
    const execArgv = isSource ? ['--import', 'tsx'] : [];
    const worker = new Worker(url, { execArgv, resourceLimits: LIMITS, workerData: this.settings });
    worker.unref();
    worker.on('message', (answer: DeskAnswer) => this.settle(answer));
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
