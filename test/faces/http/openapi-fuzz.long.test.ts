// http: the longer run: a hundred thousand requests made from the document. Not part of the normal run.
import { expect, it } from 'vitest';
import { fuzz } from './openapi-fuzz.ts';

it('100,000 random requests are answered as the document describes, and never with 5xx', {
  timeout: 3_600_000,
}, async () => {
  expect((await fuzz(100_000, 100)).faults).toEqual([]);
});
