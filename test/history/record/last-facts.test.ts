// What was recorded last is packed: values that many records share have a number each, until a path has too many of them.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FactPaths } from '../../../src/domain/fact-prints.ts';
import { LastFacts } from '../../../src/history/record/last-facts.ts';
import { PRINT_KEY } from '../../support/print-key.ts';

/** More than a path has numbers for. */
const MANY = 6_000;
/** Values by path: of few, of two with the same first words, and of many. */
const values = (turn: number): number[][] => [
  [turn % 7, -1, 3, 4],
  [5, 6, 7, turn % 2],
  [turn | 0x8000_0000, turn, -turn, 1],
];

it('gives each subject the values that it was given, and the print of those that a form shows', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ id: fc.integer({ min: 0, max: 40 }), turn: fc.nat(), has: fc.subarray([0, 1, 2]) })),
      fc.boolean(),
      (steps, isFull) => {
        const last = new LastFacts(new FactPaths(PRINT_KEY));
        const all = [0, 1, 2];
        const set = (id: string, turn: number, has: number[]) =>
          last.set(id, {
            paths: Uint32Array.from(has),
            values: Int32Array.from(has.flatMap((no) => values(turn)[no] as number[])),
          });
        if (isFull) for (let turn = 0; turn < MANY; turn += 1) set(`many ${turn % 50}`, turn, all);
        const expected = new Map<string, { turn: number; has: number[] }>();
        for (const { id, turn, has } of steps) {
          expected.set(`${id}`, { turn, has });
          if (has.length === 0) expected.delete(`${id}`);
          if (has.length === 0) last.delete(`${id}`);
          else set(`${id}`, turn, has);
        }
        const { prints, atOf } = last.printsById(new Set([0, 2]));
        for (const [id, { turn, has }] of expected) {
          const { paths, values: found } = last.get(id) ?? {};
          expect([[...(paths ?? [])], [...(found ?? [])]]).toEqual([
            has,
            has.flatMap((no) => Int32Array.from(values(turn)[no] as number[])).flatMap((one) => [...one]),
          ]);
          const shown = has.filter((no) => no !== 1).map((no) => values(turn)[no] as number[]);
          const sums = [0, 1, 2, 3].map((word) => shown.reduce((sum, one) => (sum + (one[word] as number)) | 0, 0));
          expect([...prints.subarray(atOf(id), atOf(id) + 4)]).toEqual(sums);
        }
        for (let id = 0; id <= 40; id += 1) if (!expected.has(`${id}`)) expect(last.get(`${id}`)).toBeUndefined();
      },
    ),
    { numRuns: 30 },
  );
});
