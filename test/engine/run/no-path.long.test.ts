// test: the long form of no-path.test.ts: WALKS and WALK_SEED choose another number of walks, or others.
import { describe, expect, it } from 'vitest';
import { figuresLine, walkMany } from './walk.ts';

const WALKS = Number(process.env.WALKS ?? 3_000);
const SEED = Number(process.env.WALK_SEED ?? 2);

describe('random walks, for long', () => {
  it('find no call beyond a ceiling or a mode, against a claim, a person, an exemption or a stop, or on what is unknown', async () => {
    const figures = await walkMany(WALKS, SEED);
    process.stdout.write(`${figuresLine(figures)}\n`);
    expect(figures).toMatchObject({ walks: WALKS, violations: 0 });
  });
});
