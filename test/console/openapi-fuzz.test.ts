// test console: requests made from the console's OpenAPI document: a few thousand here, a hundred thousand in openapi-fuzz.long. In: the document. Out:
// tests that no request fails or crashes the server, and that enough of them are accepted.
import { expect, it } from 'vitest';
import { fuzzDocument } from './openapi-fuzzing.ts';

it('requests made from the document get a status that it lists, a Message if refused, and never a 5xx', async () => {
  const { accepted, refused } = await fuzzDocument(3_000, 5);
  expect(accepted, 'requests that were taken').toBeGreaterThan(700);
  expect(refused, 'requests that were refused').toBeGreaterThan(700);
}, 300_000);
