// report, tables: their time grows with their text, ids stay whole, and no line is wider than the terminal.
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { clip, shownName } from '../../../src/base/text.ts';
import { marked, whole } from '../../../src/faces/report/fact-text.ts';
import { type Cell, paragraph, terminalTable, textWidth } from '../../../src/faces/report/terminal-table.ts';

const ID = '7d2f3a54-1111-2222-3333-444455556666';
const RULE = 'ban-compromised-device';
const ROW = [['Ana laptop', ID], 'C02XL0GYJGH5', 'MdmData.CompromisedStatus = "TRUE"', [RULE, 'ban_device'], 'held'];
const HEAD = ['Who', 'Serial number', 'Why', 'Rule', 'Outcome'];

afterEach(() => vi.restoreAllMocks());

/** Characters that were measured while a table of cells of this length was made. */
function measuredFor(length: number): number {
  const spy = vi.spyOn(Intl.Segmenter.prototype, 'segment');
  terminalTable(['Who', 'Why'], [['雪'.repeat(length), '雪の端末 '.repeat(length / 5)]], { width: 60 });
  const measured = spy.mock.calls.reduce((sum, [text]) => sum + text.length, 0);
  spy.mockRestore();
  return measured;
}

describe('a table', () => {
  it('costs twice as much for cells twice as long', () => {
    const once = measuredFor(1_500);
    const twice = measuredFor(3_000);
    expect(once).toBeGreaterThan(3_000);
    expect(twice / once).toBeLessThan(2.2);
  });

  it.each([60, 72, 80, 90, 100, 120, 160])('breaks no id in %s columns, and is no wider', (width) => {
    const table = terminalTable(HEAD, [ROW, ROW], { width });
    for (const whole of [ID, 'C02XL0GYJGH5', RULE, 'ban_device']) expect(table.split(whole)).toHaveLength(3);
    expect(Math.max(...table.split('\n').map(textWidth))).toBeLessThanOrEqual(width);
  });

  it('becomes a block for each row where the columns do not fit', () => {
    expect(terminalTable(HEAD, [ROW], { width: 72 })).toContain(`│ Who            Ana laptop`);
    expect(terminalTable(HEAD, [ROW], { width: 160 })).toContain('│ Who   ');
  });

  it.each([
    ['雪', 2],
    ['🦊', 2],
    ['👨‍👩‍👧', 2],
    ['🇩🇪', 2],
    ['❤️', 2],
    ['e\u0301', 1],
    ['한', 2],
    ['\u1112\u1161\u11ab', 2],
    ['©', 1],
  ])('measures %s as %s columns', (text, width) => {
    expect(textWidth(text)).toBe(width);
  });

  it('keeps a command in backticks on one line', () => {
    expect(paragraph('It continues with the next run after `trustward resume --reason x`.', { width: 50 })).toContain(
      '`trustward resume --reason x`',
    );
  });
});

const letters = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...'abcdefgh0123456789ABC'), minLength, maxLength });
/** What is never broken: marked ids with any punctuation, and what looks like an id, an address or a command. */
const token = fc.oneof(
  fc.uuid().map((text): [string, Cell] => [text, text]),
  letters(26, 26).map((text): [string, Cell] => [text, `done by intent ${text} at noon`]),
  fc
    .tuple(letters(1, 60), letters(1, 12))
    .map(([a, b]): [string, Cell] => [`${a}@${b}.example`, `owner ${a}@${b}.example,`]),
  fc
    .constantFrom('ban-compromised-device', 'wiki.eu-west.tw', 'MdmData.CompromisedStatus')
    .map((text): [string, Cell] => [text, [text, 'and more']]),
  letters(26, 26).map((id): [string, Cell] => [
    `\`trustward approve ${id}\``,
    `To decide: \`trustward approve ${id}\`.`,
  ]),
  fc
    .array(letters(1, 9), { minLength: 1, maxLength: 9 })
    .map((parts) => `VMware={${parts.join(' ')}}`)
    .map((text): [string, Cell] => [text, marked('Ana laptop (', whole(text), '), and one more')]),
);
const prose = fc
  .array(fc.oneof(letters(1, 20), fc.constantFrom('雪の端末', 'event_count({"action":"Unauthorized"})', '')), {
    maxLength: 12,
  })
  .map((words): [undefined, Cell] => [undefined, words.join(' ')]);

describe('a table of any cells, in any width', () => {
  it('has each id, address and command whole on one line, and no wider line than one of these needs', () => {
    const tables = fc.integer({ min: 1, max: 6 }).chain((columns) =>
      fc.record({
        head: fc.array(letters(1, 18), { minLength: columns, maxLength: columns }),
        rows: fc.array(fc.array(fc.oneof(token, prose), { minLength: columns, maxLength: columns }), {
          minLength: 1,
          maxLength: 4,
        }),
        width: fc.integer({ min: 60, max: 200 }),
      }),
    );
    fc.assert(
      fc.property(tables, ({ head, rows, width }) => {
        const lines = terminalTable(
          head,
          rows.map((row) => row.map(([, cell]) => cell)),
          { width },
        ).split('\n');
        const tokens = rows.flat().flatMap(([text]) => text ?? []);
        for (const text of tokens) expect(lines.some((line) => line.includes(text))).toBe(true);
        const needed = Math.max(width, ...tokens.map((text) => textWidth(text) + 6));
        expect(Math.max(...lines.map(textWidth))).toBeLessThanOrEqual(needed);
      }),
      { seed: 20_261_122, numRuns: 1_000 },
    );
  });

  it('leaves out a column without any text', () => {
    const table = terminalTable(
      ['Source', 'Notes', 'Count'],
      [
        ['devices', '', '400'],
        ['users', [], '12'],
      ],
    );
    expect(table).not.toContain('Notes');
    expect(table).toContain('│ devices │ 400   │');
  });
});

describe('a long name', () => {
  it('is cut to 120 characters, between whole ones', () => {
    expect([...shownName('x'.repeat(100_000))]).toHaveLength(120);
    expect(shownName('x'.repeat(120))).toBe('x'.repeat(120));
    expect(shownName('🦊'.repeat(121))).toBe(`${'🦊'.repeat(119)}…`);
    expect(clip('ab👨‍👩‍👧', 5)).toBe('ab…');
    expect([...shownName(`a${'\u0301'.repeat(1_000)}`)]).toHaveLength(120);
  });
});
