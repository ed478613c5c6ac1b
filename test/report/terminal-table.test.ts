// report, tables: their time grows with their text, ids stay whole, and no line is wider than the terminal.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { clip, shownName } from '../../src/domain/clip.ts';
import { textWidth } from '../../src/report/display-width.ts';
import { paragraph, terminalTable } from '../../src/report/terminal-table.ts';

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

describe('a long name', () => {
  it('is cut to 120 characters, between whole ones', () => {
    expect([...shownName('x'.repeat(100_000))]).toHaveLength(120);
    expect(shownName('x'.repeat(120))).toBe('x'.repeat(120));
    expect(shownName('🦊'.repeat(121))).toBe(`${'🦊'.repeat(119)}…`);
    expect(clip('ab👨‍👩‍👧', 5)).toBe('ab…');
    expect([...shownName(`a${'\u0301'.repeat(1_000)}`)]).toHaveLength(120);
  });
});
