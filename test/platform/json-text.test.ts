// The bytes of an answer as text of one byte per character: it must parse to the same value as the bytes, and be
// refused when they are not JSON.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonTextOf } from '../../src/platform/client/page-parts.ts';

const parsed = (text: string): unknown => {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return 'refused';
  }
};

describe('the text of an answer', () => {
  it('has the same meaning as the bytes, whatever they contain', () => {
    const name = fc.string({ unit: 'binary', maxLength: 20 });
    const values = fc.oneof(name, fc.integer(), fc.constant('x'.repeat(1_030)));
    const records = fc.array(fc.array(fc.tuple(name, values), { maxLength: 6 }), { maxLength: 6 });
    fc.assert(
      fc.property(records, (value) => {
        const bytes = Buffer.from(JSON.stringify(value));
        expect(JSON.parse(jsonTextOf(bytes))).toEqual(value);
      }),
    );
  });

  it('is accepted and refused like the bytes themselves, even where they are broken', () => {
    const piece = fc.constantFrom(
      '"',
      '\\',
      'é',
      '日本',
      '😀',
      'a',
      '1',
      '[',
      ']',
      ',',
      ' ',
      '\\u00',
      '\\u00e9',
      '\u2028',
    );
    const broken = fc.constantFrom([0xff], [0xc3], [0xe6, 0x97], [0xf0, 0x9f, 0x98], [0x80], [0xed, 0xa0, 0x80]);
    const bytes = fc.array(
      fc.oneof(
        piece.map((text) => [...Buffer.from(text)]),
        broken,
      ),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(bytes, fc.boolean(), (parts, isQuoted) => {
        const inner = Buffer.from(parts.flat());
        const whole = isQuoted ? Buffer.concat([Buffer.from('"'), inner, Buffer.from('"')]) : inner;
        expect(parsed(jsonTextOf(whole))).toEqual(parsed(whole.toString('utf8')));
      }),
      { numRuns: 2_000 },
    );
  });

  it('does not make an escape of what must not be escaped, wherever a block of it ends', () => {
    for (const length of [0, 1_021, 1_022, 1_023, 1_024]) {
      const wrong = Buffer.from(`"${'x'.repeat(length)}\\é"`);
      expect(parsed(jsonTextOf(wrong))).toBe('refused');
      const right = Buffer.from(`"${'x'.repeat(length)}\\\\é"`);
      expect(JSON.parse(jsonTextOf(right))).toBe(`${'x'.repeat(length)}\\é`);
    }
  });

  it('is of one byte a character, so that names of other letters do not make all of it twice as large', () => {
    const bytes = Buffer.from(JSON.stringify(Array.from({ length: 200 }, (_, index) => `Jürgen ${index} 日本 😀`)));
    expect(Buffer.from(jsonTextOf(bytes), 'latin1').toString('latin1')).toBe(jsonTextOf(bytes));
    expect(JSON.parse(jsonTextOf(bytes))).toEqual(JSON.parse(bytes.toString('utf8')));
  });

  it('keeps a character whole that lies across two blocks', () => {
    for (let length = 1_018; length < 1_026; length++) {
      const text = `${'x'.repeat(length)}日本😀${'y'.repeat(1_100)}é`;
      expect(JSON.parse(jsonTextOf(Buffer.from(JSON.stringify(text))))).toBe(text);
    }
  });
});
