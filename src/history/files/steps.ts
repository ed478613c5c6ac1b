// history files: how far long work has come. In: each group of rows that was read or written. Out: a number that grows, which another thread can share: as
// long as it does, the disk answers.

let counter: Int32Array<ArrayBufferLike> = new Int32Array(1);

/** `shared`: memory of whoever waits. */
export function countStepsIn(shared: Int32Array<SharedArrayBuffer>): void {
  counter = shared;
}

export function stepDone(): void {
  Atomics.add(counter, 0, 1);
}
