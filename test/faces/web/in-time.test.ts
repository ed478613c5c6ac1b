// A page waits for the platform only so long; who asks again for the same joins what is under way.
import { expect, it } from 'vitest';
import type { Waiting } from '../../../src/faces/web/address.ts';
import { InTime } from '../../../src/faces/web/answer.tsx';
import { systemClock } from '../../../src/runtime/system/clock.ts';

const waiting = (sleep: Waiting['clock']['sleep'], ending = new AbortController().signal): Waiting => ({
  clock: { sleep },
  stream: { ending },
});

it('answers undefined when the wait is over, and joins the work that is under way when it is asked again', async () => {
  let isOver = () => {};
  const inTime = new InTime(waiting(() => new Promise<void>((resolve) => (isOver = resolve))));
  let begun = 0;
  let answer: (text: string) => void = () => {};
  const work = () => {
    begun += 1;
    return new Promise<string>((resolve) => (answer = resolve));
  };
  const first = inTime.of('d1', work, 1);
  isOver();
  expect(await first).toBeUndefined();
  const second = inTime.of('d1', work, 1);
  answer('done');
  expect(await second).toBe('done');
  expect(begun).toBe(1);
});

it('fails as the work does, and leaves nothing to fail when nobody waits any more', async () => {
  const inTime = new InTime(waiting(async () => {}));
  let fail: (error: Error) => void = () => {};
  const late = () => new Promise<string>((_, reject) => (fail = reject));
  expect(await inTime.of('d1', late, 1)).toBeUndefined();
  fail(new Error('nobody waits'));
  const broken = new InTime(waiting(() => new Promise(() => {})));
  await expect(broken.of('d2', () => Promise.reject(new Error('broken')), 1)).rejects.toThrow('broken');
});

it('waits no longer when the process is to end, and leaves no timer that keeps it alive', async () => {
  const ending = new AbortController();
  const inTime = new InTime(waiting(systemClock.sleep, ending.signal));
  const asked = inTime.of('d1', () => new Promise<string>(() => {}), 60_000);
  ending.abort();
  expect(await asked).toBeUndefined();
  expect(await inTime.of('d1', () => new Promise<string>(() => {}), 60_000)).toBeUndefined();
});
