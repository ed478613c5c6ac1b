// test console: the longer run: over a hundred thousand generated and mutated requests. Not part of the normal run.
// In: the same properties as in fuzz. Out: one test that takes about half a minute.
import { it } from 'vitest';
import { fuzz } from './fuzzing.ts';

it('no request of 120,000 crashes the server', () => fuzz(120_000, 1_000), 3_600_000);
