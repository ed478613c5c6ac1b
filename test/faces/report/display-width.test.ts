// report: the width of a text.
import { expect, it } from 'vitest';
import { charactersOf, textWidth } from '../../../src/faces/report/terminal-table.ts';

/** Whatever is plain by itself is measured letter by letter beside a letter that is not. */
it('measures each letter alone as it does among others', () => {
  const letters = Array.from({ length: 0x3000 - 0x20 }, (_, at) => String.fromCharCode(at + 0x20));
  const different = letters.filter((letter) => textWidth(letter) !== textWidth(`${letter}\n日`) - textWidth('\n日'));
  expect(different).toEqual([]);
});

it('finds the same characters in a plain text as among others', () => {
  const text = 'Ørjan’s “iPhone” — 3 ≥ 2 → done…';
  const among = [...charactersOf(`${text}日`)];
  expect([...charactersOf(text), { text: '日', width: 2 }]).toEqual(among);
});
