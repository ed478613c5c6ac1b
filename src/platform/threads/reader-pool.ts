// platform: the reading threads of a process, as the main thread has them. In: passes and pieces of a list. Out: each piece read by some
// thread. Threads begin with the first pass and end with the process; a thread that fails ends all of them, and its pieces fail.

import { availableParallelism } from 'node:os';
import { serialize } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { AppError } from '../../domain/errors.ts';
import type { TrustEvent } from '../../domain/event.ts';
import type { ListPiece, PieceRead } from '../../domain/lists.ts';
import type { Log } from '../../domain/ports.ts';
import type { PartReaders, PassSetup, RecordPart } from '../../domain/record-part.ts';
import type { Evaluator, PortableRules } from '../../domain/verdict.ts';

/** `plain`: everything that is not shared, serialized once for all threads. */
export interface SentSetup
  extends Pick<PassSetup, 'flipsLeft' | 'isExampleWanted' | 'prints' | 'recordPrints' | 'given'> {
  plain: Uint8Array;
}

export type ToThread =
  /** From now on this rule set is known by a number; the oldest of more than two is forgotten. */
  | { kind: 'rules'; evaluator: number; rules: PortableRules }
  | { kind: 'events'; evaluator: number; events: readonly TrustEvent[] }
  /** Ends the pass before. */
  | { kind: 'pass'; evaluator: number; setup: SentSetup }
  | { kind: 'piece'; number: number; piece: ListPiece };

export type FromThread =
  | { kind: 'read'; number: number; read: PieceRead<RecordPart> }
  | { kind: 'failed'; number: number; words: string };

/** What a thread begins with. `isOnce`: its first pass is its last. */
export interface ThreadStart {
  isOnce: boolean;
}

const THREADS_MAX = 4;
const RECORDS_MIN = 5_000;
/** A thread with so many pieces more than another one has enough to do. */
const BEHIND_MAX = 2;
/** Records live as long as their batch: a larger nursery only takes memory. The old generation has room for the windows of EVENTS_MAX. */
const LIMITS = { maxYoungGenerationSizeMb: 12, maxOldGenerationSizeMb: 256 };
/** Each thread holds the windows of its own: beyond this many events, the main thread's are enough. */
const EVENTS_MAX = 250_000;

interface Thread {
  worker: Worker;
  waiting: Map<number, { resolve(read: PieceRead<RecordPart>): void; reject(error: Error): void }>;
}

/** A rule set that the threads know. */
interface Known {
  number: number;
  events: number;
  latestMs: number;
}

export class ReaderPool implements PartReaders {
  private threads: Thread[] = [];
  private known = new Map<Evaluator, Known>();
  private readonly followed = new WeakSet<Evaluator>();
  private evaluators = 0;
  private pieces = 0;

  /** `isOnce`: its first pass is its last. */
  constructor(
    private readonly log: Log,
    private readonly isOnce = false,
    private readonly size = Math.max(1, Math.min(THREADS_MAX, availableParallelism())),
    readonly recordsMin = RECORDS_MIN,
  ) {}

  prepare(): void {
    if (this.threads.length === 0) this.start();
  }

  async rest(isFirst: boolean): Promise<void> {
    if (this.isOnce || isFirst) await this.end();
  }

  async begin(evaluator: Evaluator, events: () => AsyncIterable<TrustEvent[]>, setup: PassSetup) {
    this.prepare();
    const known = this.known.get(evaluator) ?? (await this.open(evaluator, events));
    if (known.events > EVENTS_MAX) return undefined;
    // Set back: the windows of the main thread reach further than what was read for these.
    if (setup.nowMs < known.latestMs) return undefined;
    known.latestMs = Math.max(known.latestMs, setup.nowMs);
    this.tellAll({ kind: 'pass', evaluator: known.number, setup: sent(setup) });
    return (piece: ListPiece) => this.read(piece);
  }

  async close(): Promise<void> {
    await this.end();
  }

  private async open(evaluator: Evaluator, events: () => AsyncIterable<TrustEvent[]>): Promise<Known> {
    this.evaluators += 1;
    const known: Known = { number: this.evaluators, events: 0, latestMs: Number.NEGATIVE_INFINITY };
    this.tellAll({ kind: 'rules', evaluator: known.number, rules: evaluator.portable() });
    this.known.set(evaluator, known);
    const [oldest] = this.known.keys();
    if (this.known.size > 2) this.known.delete(oldest as Evaluator);
    if (evaluator.needs.windowMs === 0 && evaluator.needs.signalWindowMs === 0) return known;
    // First what comes from now on, then what came before: windows count each event once, in any order.
    if (!this.followed.has(evaluator)) evaluator.onObserved((fresh) => this.observe(evaluator, fresh));
    this.followed.add(evaluator);
    for await (const batch of events()) this.observe(evaluator, batch);
    return known;
  }

  private observe(evaluator: Evaluator, events: readonly TrustEvent[]): void {
    const known = this.known.get(evaluator);
    if (!known || events.length === 0) return;
    known.events += events.length;
    if (known.events <= EVENTS_MAX) this.tellAll({ kind: 'events', evaluator: known.number, events });
  }

  private read(piece: ListPiece): Promise<PieceRead<RecordPart>> {
    const thread = this.threadFor(piece);
    if (!thread) return Promise.reject(new AppError('internal', 'a reading thread ended'));
    const number = ++this.pieces;
    return new Promise((resolve, reject) => {
      if (thread.waiting.size === 0) thread.worker.ref();
      thread.waiting.set(number, { resolve, reject });
      tell(thread, { kind: 'piece', number, piece }, [piece.bytes.buffer]);
    });
  }

  /** Mostly the one that read these records the last time, and knows them by their bytes. */
  private threadFor({ at }: ListPiece): Thread | undefined {
    const { threads } = this;
    const usual = threads[at % threads.length];
    const least = Math.min(...threads.map(({ waiting }) => waiting.size));
    if (usual && usual.waiting.size <= least + BEHIND_MAX) return usual;
    return threads.find(({ waiting }) => waiting.size === least);
  }

  private start(): void {
    // From sources the loader is needed there, too; what is built needs none.
    const isSource = import.meta.url.endsWith('.ts');
    const url = new URL(`./reading-thread.${isSource ? 'ts' : 'js'}`, import.meta.url);
    const execArgv = isSource ? ['--import', 'tsx'] : [];
    this.threads = Array.from({ length: this.size }, () => {
      const worker = new Worker(url, {
        execArgv,
        resourceLimits: LIMITS,
        workerData: { isOnce: this.isOnce } satisfies ThreadStart,
      });
      const thread: Thread = { worker, waiting: new Map() };
      worker.unref();
      worker.on('message', (message: FromThread) => settle(thread, message));
      const failed = (fault: string) => {
        // Of those that run now: the others are ended already.
        if (!this.threads.includes(thread)) return;
        this.log.warn({ fault }, 'a reading thread failed: the list is read by the main thread');
        void this.end();
      };
      worker.on('error', (error) => failed(error.message));
      // INVARIANT: whoever waits for a thread is answered, however it ends: an ended one keeps no process alive.
      worker.on('exit', () => failed('it ended'));
      return thread;
    });
  }

  private async end(): Promise<void> {
    const ended = this.threads;
    this.threads = [];
    this.known = new Map();
    for (const { waiting } of ended) {
      for (const { reject } of waiting.values()) reject(new AppError('internal', 'a reading thread ended'));
      waiting.clear();
    }
    await Promise.all(ended.map(({ worker }) => worker.terminate()));
  }

  private tellAll(message: ToThread): void {
    for (const thread of this.threads) tell(thread, message);
  }
}

function sent({ flipsLeft, isExampleWanted, prints, recordPrints, given, ...plain }: PassSetup): SentSetup {
  const bytes = serialize(plain);
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  return { flipsLeft, isExampleWanted, prints, recordPrints, given, plain: shared };
}

function tell({ worker }: Thread, message: ToThread, buffers: ArrayBuffer[] = []): void {
  worker.postMessage(message, buffers);
}

function settle({ worker, waiting }: Thread, message: FromThread): void {
  const waiter = waiting.get(message.number);
  // INVARIANT: a thread that is being ended keeps the process alive until it has ended, also when it answers late.
  if (!waiting.delete(message.number)) return;
  if (waiting.size === 0) worker.unref();
  if (message.kind === 'read') waiter?.resolve(message.read);
  else waiter?.reject(new AppError('api_answer', message.words));
}
