// base: long work in turns, so that a stop, a probe and other requests are answered meanwhile. In: pieces of text in
// order. Out: the same text in larger chunks, the event loop given way to between them.
import { setImmediate } from 'node:timers/promises';

/** Lets everything else that waits go first. */
export async function giveWay(): Promise<void> {
  await setImmediate();
}

/** Work in steps, none of which takes long, done at once. */
export function drained<T>(steps: Iterator<unknown, T>): T {
  for (let step = steps.next(); ; step = steps.next()) if (step.done) return step.value;
}

const ITEMS_OF_STEP = 100;

/** Work on each item of a long list, in steps. */
export function* eachInSteps<T>(all: Iterable<T>, work: (one: T) => void): Generator<void, void> {
  let done = 0;
  for (const one of all) {
    work(one);
    done += 1;
    if (done % ITEMS_OF_STEP === 0) yield;
  }
}

/** The same in turns: between two steps others go first. */
export async function drainedInTurns<T>(steps: Iterator<unknown, T>): Promise<T> {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done) return step.value;
    await giveWay();
  }
}

/** Characters written between two turns: a few milliseconds, also for tables. */
export const TURN_MAX = 65_536;
/** What a piece costs beside its characters. An empty piece is work without text. */
const PIECE_COST = 256;

/** INVARIANT: no piece takes long by itself; whoever makes pieces sees to that. */
export async function* inTurns(pieces: Iterable<string>, rest: () => Promise<void> = giveWay): AsyncGenerator<string> {
  let chunk: string[] = [];
  let cost = 0;
  for (const piece of pieces) {
    chunk.push(piece);
    cost += PIECE_COST + piece.length;
    if (cost < TURN_MAX) continue;
    yield chunk.join('');
    await rest();
    chunk = [];
    cost = 0;
  }
  if (chunk.length > 0) yield chunk.join('');
}

/** Runs jobs ahead, at most `concurrency` at once, and returns their results in the order of the jobs. */
export async function* inOrder<J, T>(
  jobs: Iterable<J> | AsyncIterable<J>,
  concurrency: number,
  run: (job: J) => Promise<T>,
): AsyncGenerator<T, void> {
  const waiting: Promise<T>[] = [];
  const iterator = Symbol.asyncIterator in jobs ? jobs[Symbol.asyncIterator]() : jobs[Symbol.iterator]();
  try {
    let next = await iterator.next();
    while (!next.done || waiting.length > 0) {
      while (!next.done && waiting.length < concurrency) {
        const promise = run(next.value);
        promise.catch(() => undefined); // reported when its turn comes; until then it is not unhandled
        waiting.push(promise);
        next = await iterator.next();
      }
      yield await (waiting.shift() as Promise<T>);
    }
  } finally {
    await iterator.return?.();
  }
}
