// test: a long list of a column is what was written, and is read with turns for others.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { canonicalJson } from '../../src/base/json.ts';
import { storedList } from '../../src/store/stored-json.ts';

const FILLING = 'x'.repeat(70_000);

it('a long list comes back as it was written, whatever its texts hold', async () => {
  const item = fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }), fc.constantFrom('"', '\\', '[{,}]', '\\"]', ''));
  await fc.assert(
    fc.asyncProperty(fc.array(item, { maxLength: 8 }), async (items) => {
      const text = canonicalJson([FILLING, ...items, [FILLING, { a: FILLING }], FILLING, ...items]);
      expect(await storedList(text, async () => {})).toEqual(JSON.parse(text));
    }),
    { numRuns: 200 },
  );
});

it('others get their turn after every few characters, and not in a short list', async () => {
  const restsIn = async (count: number) => {
    let rests = 0;
    await storedList(canonicalJson(Array.from({ length: count }, () => ({ text: 'y'.repeat(1_000) }))), async () => {
      rests += 1;
    });
    return rests;
  };
  expect(await restsIn(10)).toBe(0);
  expect(await restsIn(10_000)).toBeGreaterThan(30);
});

it('a list that the disk has damaged is reported as damage', async () => {
  const text = canonicalJson(Array.from({ length: 10 }, () => FILLING));
  const cut = text.slice(0, -1);
  const joined = text.replace('","', '""');
  const quoted = `${text.slice(0, 300_000)}"${text.slice(300_000)}`;
  for (const damaged of [cut, joined, quoted])
    await expect(storedList(damaged, async () => {})).rejects.toMatchObject({ code: 'store_damaged' });
});
