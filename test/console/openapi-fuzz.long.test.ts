// test console: the longer run: a hundred thousand requests made from the OpenAPI document. Not part of the normal run.
// In: the same properties as in openapi-fuzz. Out: one test that takes a few minutes.
import { it } from 'vitest';
import { fuzzDocument } from './openapi-fuzzing.ts';

it('no request of 100,000 made from the document crashes the server', () => fuzzDocument(100_000, 2_000), 3_600_000);
