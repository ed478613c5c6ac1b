// support: the end of a process at a chosen await. Every call of a port has a step before it and a step after it; at
// the chosen step a Crash is thrown, and from then on every port throws, so that nothing can swallow it and continue.
// In: a port. Out: the same port, that may end the process. A commit that was made stays; anything else is lost.

export class Crash extends Error {
  override readonly name = 'Crash';
}

/** One life of the process. */
export class Life {
  ended = false;
  /** Steps taken so far. */
  steps = 0;

  /** `endAt`: the step at which it ends; undefined: it does not. */
  constructor(private readonly endAt: number | undefined) {}

  step(): void {
    if (this.ended) throw new Crash('the process has ended');
    this.steps += 1;
    if (this.steps !== this.endAt) return;
    this.ended = true;
    throw new Crash('the process ends here');
  }
}

const PLAIN = new Set(['nowMs', 'monotonicMs', 'skewMs', 'latency', 'unansweredMs']);

/** The port with a step on either side of each of its calls. */
export function mortal<Port extends object>(port: Port, life: Life): Port {
  const wrapped = new Map<PropertyKey, unknown>();
  return new Proxy(port, {
    get(target, name) {
      const known = wrapped.get(name);
      if (known !== undefined) return known;
      const value = Reflect.get(target, name, target);
      if (typeof value !== 'function' || PLAIN.has(String(name))) return value;
      const call = (...given: unknown[]) => guarded(life, () => value.apply(target, given));
      wrapped.set(name, call);
      return call;
    },
  });
}

function guarded(life: Life, call: () => unknown): unknown {
  if (life.ended) return rejectLater(new Crash('the process has ended'));
  const peek = stepInto(life);
  if (peek) return rejectLater(peek);
  const answer = call();
  if (isIterable(answer)) return steppedItems(answer, life);
  return Promise.resolve(answer).then((value) => {
    life.step();
    return value;
  });
}

function stepInto(life: Life): Crash | undefined {
  try {
    life.step();
    return undefined;
  } catch (crash) {
    return crash as Crash;
  }
}

/** Fits where a promise is expected, and where items are. */
function rejectLater(crash: Crash): unknown {
  const rejected = Promise.reject(crash);
  rejected.catch(() => undefined);
  return Object.assign(rejected, { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(crash) }) });
}

function isIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

async function* steppedItems(items: AsyncIterable<unknown>, life: Life): AsyncIterable<unknown> {
  for await (const item of items) {
    life.step();
    yield item;
  }
  life.step();
}
