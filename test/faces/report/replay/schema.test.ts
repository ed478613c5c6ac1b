// report: a replay as JSON is as its published schema has it.
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { replayJsonSchema, replaySchema } from '../../../../src/contract/replay.ts';
import { replayDocument } from '../../../../src/faces/report/replay/build.ts';
import { difference, replay, wrongForty } from '../../../support/replays.ts';

const ROOT = new URL('../../../..', import.meta.url).pathname;
const published = z.fromJSONSchema(replayJsonSchema() as never);

describe('the schema of a replay', () => {
  it('is in the docs as the types have it (`npm run docs:report` writes it)', async () => {
    const text = `${JSON.stringify(replayJsonSchema(), null, 2)}\n`;
    await expect(text).toMatchFileSnapshot(join(ROOT, 'docs/replay.schema.json'));
  });

  it('describes a replay with all there can be, and one of nothing', () => {
    for (const found of [
      wrongForty(),
      wrongForty({ way: 'as_was', differences: [difference()] }),
      replay({ runs: 0 }),
    ]) {
      const read = JSON.parse(JSON.stringify(replayDocument(found)));
      published.parse(read);
      replaySchema.parse(read);
    }
  });

  it('refuses a replay that lacks a name', () => {
    const { gaps: _, ...rest } = replayDocument(wrongForty());
    expect(published.safeParse(rest).success).toBe(false);
  });
});
