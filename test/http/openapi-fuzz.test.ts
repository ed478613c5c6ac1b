// http: a few thousand random requests, made from the document. TRUSTWARD_FUZZ_REQUESTS and TRUSTWARD_FUZZ_SEED change how many and which.
import { expect, it } from 'vitest';
import { fuzz } from './openapi-fuzz.ts';

const REQUESTS = Number(process.env.TRUSTWARD_FUZZ_REQUESTS ?? 2_000);
const SEED = Number(process.env.TRUSTWARD_FUZZ_SEED ?? 14);

it('random requests, good and bad, are answered as the document describes, and never with 5xx', {
  timeout: 120_000 + REQUESTS * 60,
}, async () => {
  const { faults, answers } = await fuzz(REQUESTS, SEED);
  expect(faults).toEqual([]);
  const statuses = [...answers.keys()].map((key) => key.split(' ')[1]);
  for (const status of ['200', '400', '404', '409']) expect(statuses).toContain(status);
});
