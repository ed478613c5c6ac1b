// Exact JSON: no digit of a large integer is lost, and no text that looks like one is touched.
import fc from 'fast-check';
import { parse as parseLossless } from 'lossless-json';
import { describe, expect, test } from 'vitest';
import { causeOf } from '../../src/platform/client/fault.ts';
import { parseExact, stringifyExact } from '../../src/platform/contract.ts';

/** The oracle: slow and obvious. */
function oracle(text: string): unknown {
  return parseLossless(text, undefined, {
    parseNumber: (digits) => {
      const value = Number(digits);
      return /^-?\d+$/.test(digits) && !Number.isSafeInteger(value) ? BigInt(digits) : value;
    },
    onDuplicateKey: ({ newValue }) => newValue,
  });
}

describe('a large integer keeps its digits', () => {
  test.each([
    ['as a member', '{"a":1763700000123456789}', { a: 1763700000123456789n }],
    ['below zero', '{"a":-1763700000123456789}', { a: -1763700000123456789n }],
    ['between white space', '{ "a" :\n\t1763700000123456789 }', { a: 1763700000123456789n }],
    ['in a list', '[1763700000123456789,-9007199254740993]', [1763700000123456789n, -9007199254740993n]],
    ['alone', '1763700000123456789', 1763700000123456789n],
    [
      'after an odd key',
      '{"a b\\"":1763700000123456789,"":9007199254740992}',
      { 'a b"': 1763700000123456789n, '': 9007199254740992n },
    ],
    ['after a key of other letters', '{"ключ":1763700000123456789}', { ключ: 1763700000123456789n }],
    ['with a hundred digits', `{"a":${'7'.repeat(100)}}`, { a: BigInt('7'.repeat(100)) }],
  ])('%s', (_, text, value) => {
    expect(parseExact(text)).toEqual(value);
  });

  test('and one that is safe stays a number', () => {
    const text = '{"a":9007199254740991,"b":-9007199254740991,"c":9007199254740992}';
    expect(parseExact(text)).toEqual({ a: 9007199254740991, b: -9007199254740991, c: 9007199254740992n });
  });
});

describe('a number of more than 400 digits', () => {
  const million = '7'.repeat(1_000_000);
  test.each([
    ['a whole one', `[${million}]`, [Number.POSITIVE_INFINITY]],
    ['one below zero', `[-${million}]`, [Number.NEGATIVE_INFINITY]],
    ['one with a fraction', `[${million}.5]`, [Number.POSITIVE_INFINITY]],
    ['one in a document with escapes', `{"\\u0061":${million}}`, { a: Number.POSITIVE_INFINITY }],
    ['an exponent', '[1e999999999]', [Number.POSITIVE_INFINITY]],
  ])('is no number at all: %s', (_, text, value) => {
    expect(parseExact(text)).toEqual(value);
  });

  test('is kept whole with one digit less', () => {
    expect(parseExact(`[${'7'.repeat(400)}]`)).toEqual([BigInt('7'.repeat(400))]);
  });
});

describe('a text stays as it is', () => {
  test.each([
    ':1234567890123456789,',
    '":1234567890123456789,"',
    '"a":1234567890123456789,',
    'a":1234567890123456789}',
    '1234567890123456789',
    ' 1234567890123456789 ',
    ',1234567890123456789]',
    'C02-1234567890123456',
    '\x7f1234567890123456789',
    '\x7f',
    '\\":1234567890123456789,',
    'ends in a backslash \\',
  ])('%j', (name) => {
    const value = { DeviceFriendlyName: name, LastLogin: 1763700000123456789n, [name]: 1 };
    const text = stringifyExact(value);
    expect(parseExact(text)).toEqual(value);
    expect(parseExact(text.replaceAll('\x7f', '\\u007f'))).toEqual(value);
    expect(parseExact(text.replaceAll('\x7f', '\\u007F'))).toEqual(value);
  });
});

test.each([
  ['{"a":0,"\\\\u":0}', '{"a":0,"\\u0078y":0}', 'xy'],
  ['{"a":0,"\\\\":0}', '{"a":0,"\\"":0}', '"'],
  ['{"a":0,"\\\\":0}', '[{"a":"b\\\\"},{"a":0,"\\n" :0}]', '\n'],
])('a key with an escape keeps its name, whatever keys came before it: %s', (before, text, key) => {
  parseExact(before);
  expect([parseExact(text)].flat().at(-1)).toEqual({ a: 0, [key]: 0 });
});

describe('other numbers are what JSON.parse makes of them', () => {
  test.each([
    '{"a":1e400}',
    '{"a":-0}',
    '{"a":0.12345678901234567890}',
    '{"a":1234567890123456789.5}',
    '{"a":1234567890123456789e3}',
    '{"a":1e1234567890123456789}',
    '{"a":1.5e-7}',
  ])('%s', (text) => {
    const { a } = parseExact(text) as { a: number };
    expect(Object.is(a, (JSON.parse(text) as { a: number }).a)).toBe(true);
  });
});

describe('what is not JSON is refused without being quoted', () => {
  test.each([
    '',
    '{"a":01234567890123456789}',
    '{"a":-01234567890123456789}',
    '{"a":1234567890123456789',
    '{"a":+1234567890123456789}',
    '{"a":- 1234567890123456789}',
    '["a":1234567890123456789]',
    '{"a":abc":1234567890123456789,"}',
    '{"a":1234567890123456789 5}',
    '{"secret-canary": oops}',
  ])('%j', (text) => {
    let caught: unknown;
    try {
      parseExact(text);
    } catch (error) {
      caught = error;
    }
    expect(causeOf(caught)).toBe('garbage');
    expect(String(caught)).not.toContain('canary');
  });
});

test.each([
  `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
  `${'{"a":'.repeat(100_000)}1234567890123456789${'}'.repeat(100_000)}`,
  `${'[":1234567890123456789,",'.repeat(1_000)}1${']'.repeat(1_000)}`,
])('a depth bomb is named, whatever way is taken', (text) => {
  expect(() => parseExact(text)).toThrow('nested deeper than 200 levels');
});

test('a member called `__proto__` is a member, and changes no prototype', () => {
  for (const text of [
    '{"__proto__":{"polluted":1763700000123456789}}',
    '{"__proto__":1763700000123456789}',
    '{"x":[1763700000123456789],"constructor":{"prototype":{"polluted":1}}}',
  ]) {
    const value = parseExact(text) as object;
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(stringifyExact(value)).toBe(text);
  }
});

describe('for random documents', () => {
  const digits = fc.stringMatching(/^-?[1-9][0-9]{14,24}$/);
  const tricky = fc.oneof(
    digits,
    digits.map((text) => `:${text},`),
    digits.map((text) => `":${text}`),
    digits.map((text) => `a":${text}}`),
    digits.map((text) => `\\${text}`),
    fc.constantFrom('\x7f', '\\u007f', '"', '\\', '\\"'),
    fc.string({ unit: 'binary' }),
  );
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.oneof(
        fc.bigInt(),
        fc.integer(),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        tricky,
        fc.boolean(),
        fc.constant(null),
      ),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fc.oneof(fc.constantFrom('LastLogin', 'a.b', '__x'), tricky), tie('value'), { maxKeys: 4 }),
    ),
  }));

  test('it equals the slow and obvious parser', () => {
    fc.assert(
      fc.property(value, fc.constantFrom('', ' ', '\n\t'), (document, space) => {
        const text = stringifyExact(document).replace(/(?<=[a-z]"):(?=[-\d[{])/g, `${space}:${space}`);
        let expected: unknown;
        try {
          expected = oracle(text);
        } catch {
          return; // the spaces fell into a string and broke nothing, or the text is no JSON: not this property's matter
        }
        expect(parseExact(text)).toEqual(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  test('writing and parsing gives the value again, and the same text', () => {
    fc.assert(
      fc.property(value, (document) => {
        const text = stringifyExact(document);
        expect(stringifyExact(parseExact(text))).toBe(text);
      }),
      { numRuns: 1_000 },
    );
  });

  test('mutated into anything, it is what JSON.parse accepts or refuses, too', () => {
    fc.assert(
      fc.property(
        value,
        fc.nat(),
        fc.constantFrom('"', '\\', ':', ',', '0', '{', ']', ' ', ''),
        (document, at, insert) => {
          const text = stringifyExact(document);
          const place = at % (text.length + 1);
          const mutated = text.slice(0, place) + insert + text.slice(place + (insert === '' ? 1 : 0));
          let accepted = true;
          try {
            JSON.parse(mutated);
          } catch {
            accepted = false;
          }
          if (!accepted) expect(() => parseExact(mutated)).toThrow('not valid JSON');
          else expect(parseExact(mutated)).toEqual(oracle(mutated));
        },
      ),
      { numRuns: 3_000 },
    );
  });
});

test('writing is what JSON.stringify does, but for bigints', () => {
  const odd = { a: undefined, b: [undefined, Number.NaN, () => 1], c: -0, d: 'é\u2028"', e: null, f: { g: [] } };
  expect(stringifyExact(odd)).toBe(JSON.stringify(odd));
  expect(stringifyExact(undefined)).toBe('null');
});
