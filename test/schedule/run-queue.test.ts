// schedule: one run at a time, in order; missed times become one; a failure does not end what follows.
import { describe, expect, it } from 'vitest';
import { RunQueue } from '../../src/schedule/run-queue.ts';

interface Work {
  run: () => Promise<string>;
  begun: Promise<void>;
  finish: (answer?: string) => void;
  fail: (message: string) => void;
}

/** Work that begins in its turn and ends when the test ends it. */
function work(): Work {
  let [begin, finish, fail] = [() => {}, (_?: string) => {}, (_: string) => {}];
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const ended = new Promise<string>((resolve, reject) => {
    finish = (answer = 'done') => resolve(answer);
    fail = (message) => reject(new Error(message));
  });
  const run = () => {
    begin();
    return ended;
  };
  return { run, begun, finish: (answer) => finish(answer), fail: (message) => fail(message) };
}

describe('the queue of runs', () => {
  it('begins a run only when the one before it has ended, in the order of requests', async () => {
    const queue = new RunQueue();
    const order: string[] = [];
    const [first, second] = [work(), work()];
    const one = queue.inTurn(() => first.run().finally(() => order.push('first ended')));
    const two = queue.inTurn(() => {
      order.push('second began');
      return second.run();
    });
    await first.begun;
    expect(order).toEqual([]);
    first.finish('one');
    await second.begun;
    second.finish('two');
    expect(await Promise.all([one, two])).toEqual(['one', 'two']);
    expect(order).toEqual(['first ended', 'second began']);
  });

  it('reports a failed run to its caller, and continues with the next one', async () => {
    const queue = new RunQueue();
    const failing = queue.inTurn(() => Promise.reject(new Error('the API is away')));
    const next = queue.inTurn(async () => 'came');
    await expect(failing).rejects.toThrow('the API is away');
    expect(await next).toBe('came');
  });

  it('treats work that throws before it awaits like any failure', async () => {
    const queue = new RunQueue();
    const thrown = queue.inTurn(() => {
      throw new Error('at once');
    });
    await expect(thrown).rejects.toThrow('at once');
    expect(await queue.inTurn(async () => 'came')).toBe('came');
  });

  it('merges five scheduled times missed during a long run into one', async () => {
    const queue = new RunQueue();
    const long = work();
    let runs = 0;
    const count = async () => {
      runs += 1;
    };
    const first = queue.scheduled(long.run);
    await long.begun;
    const missed = [1, 2, 3, 4, 5].map(() => queue.scheduled(count));
    long.finish();
    await Promise.all([first, ...missed]);
    expect(runs).toBe(1);
    await queue.scheduled(count);
    expect(runs).toBe(2);
  });

  it('continues the schedule after a failing run', async () => {
    const queue = new RunQueue();
    await expect(queue.scheduled(() => Promise.reject(new Error('no answer')))).rejects.toThrow('no answer');
    let came = false;
    await queue.scheduled(async () => {
      came = true;
    });
    expect(came).toBe(true);
  });

  it('accepts later scheduled times after one that a full queue refused', async () => {
    const queue = new RunQueue(2);
    const [one, two] = [work(), work()];
    const taken = [queue.inTurn(one.run), queue.inTurn(two.run)];
    await expect(queue.scheduled(async () => {})).rejects.toMatchObject({ code: 'conflict' });
    one.finish();
    two.finish();
    await Promise.all(taken);
    let came = false;
    await queue.scheduled(async () => {
      came = true;
    });
    expect(came).toBe(true);
  });

  it('refuses too many waiting runs in one line, until a place is free again', async () => {
    const queue = new RunQueue(1);
    const one = work();
    const running = queue.inTurn(one.run);
    await expect(queue.inTurn(async () => {})).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('try again later'),
    });
    one.finish();
    await running;
    expect(await queue.inTurn(async () => 'free')).toBe('free');
  });

  it('waits for the run under way when stopped, and begins no waiting one', async () => {
    const queue = new RunQueue();
    const underWay = work();
    let begun = false;
    const running = queue.inTurn(underWay.run);
    const waiting = queue.inTurn(async () => {
      begun = true;
    });
    const refused = expect(waiting).rejects.toMatchObject({ code: 'stopped' });
    await underWay.begun;
    let stopped = false;
    const stop = queue.stop().then(() => {
      stopped = true;
    });
    expect(stopped).toBe(false);
    underWay.finish();
    await Promise.all([running, refused, stop]);
    expect({ stopped, begun }).toEqual({ stopped: true, begun: false });
    await expect(queue.scheduled(async () => {})).rejects.toMatchObject({ code: 'stopped' });
  });
});
