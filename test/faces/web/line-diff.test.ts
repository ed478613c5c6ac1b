// What a person changed in a text, line by line: put together again, the lines give both texts.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diffLines } from '../../../src/faces/web/pages/try.tsx';

const shown = (before: string[], after: string[]) =>
  diffLines(before, after).map(({ before, after, lines }) => [
    before,
    after,
    lines.map(({ kind, text }) => `${{ same: ' ', removed: '-', added: '+' }[kind]}${text}`).join('|'),
  ]);

describe('the difference of two texts', () => {
  it('is empty for equal texts', () => {
    expect(shown(['a', 'b'], ['a', 'b'])).toEqual([]);
  });

  it('shows three lines around a change, and where it is in each text', () => {
    const before = ['1', '2', '3', '4', '5', '6', '7', '8', '9'];
    const after = before.with(4, 'five');
    expect(shown(before, after)).toEqual([[2, 2, ' 2| 3| 4|-5|+five| 6| 7| 8']]);
  });

  it('separates changes that are far from each other', () => {
    const before = Array.from({ length: 30 }, (_, at) => `${at}`);
    const after = ['new', ...before.with(29, 'last')];
    expect(shown(before, after)).toEqual([
      [1, 1, '+new| 0| 1| 2'],
      [27, 28, ' 26| 27| 28|-29|+last'],
    ]);
  });

  it('has every line of both texts that differs, in order', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 12 });
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        let rebuilt: string[] = [...before];
        for (const hunk of diffLines(before, after).reverse()) {
          const old = hunk.lines.filter(({ kind }) => kind !== 'added').map(({ text }) => text);
          const now = hunk.lines.filter(({ kind }) => kind !== 'removed').map(({ text }) => text);
          expect(rebuilt.slice(hunk.before - 1, hunk.before - 1 + old.length)).toEqual(old);
          rebuilt = [...rebuilt.slice(0, hunk.before - 1), ...now, ...rebuilt.slice(hunk.before - 1 + old.length)];
        }
        expect(rebuilt).toEqual(after);
      }),
    );
  });

  it('stays quick for long texts that have nothing in common', () => {
    const before = Array.from({ length: 20_000 }, (_, at) => `old ${at}`);
    const after = Array.from({ length: 20_000 }, (_, at) => `new ${at}`);
    expect(diffLines(before, after)).toHaveLength(1);
  });
});
