// http: a few thousand random requests, made from the document. TRUSTWARD_FUZZ_REQUESTS and TRUSTWARD_FUZZ_SEED change how many and which.
import { expect, it } from 'vitest';
import { fuzz } from './openapi-fuzz.ts';

const REQUESTS = Number(process.env.TRUSTWARD_FUZZ_REQUESTS ?? 800);
const SEED = Number(process.env.TRUSTWARD_FUZZ_SEED ?? 14);

it('random requests, good and bad, are answered as the document describes, and never with 5xx', {
  timeout: 120_000 + REQUESTS * 60,
}, async () => {
  const { faults, answers } = await fuzz(REQUESTS, SEED);
  expect(faults).toEqual([]);
  const counts = new Map<string, number>();
  for (const [key, count] of answers) {
    const status = key.split(' ')[1] as string;
    counts.set(status, (counts.get(status) ?? 0) + count);
  }
  const line = [...counts].sort().map(([status, count]) => `${status}: ${count}`);
  process.stdout.write(
    `${REQUESTS} requests made from the document, ${answers.size} pairs of operation and status: ${line.join(', ')}\n`,
  );
  const statuses = [...counts.keys()];
  for (const status of ['200', '400', '404', '409']) expect(statuses).toContain(status);
});
