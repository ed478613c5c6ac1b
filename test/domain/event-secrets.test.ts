// test: the cheap look at an event gives what looking through it gives, whatever its names and texts are.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { comparable } from '../../src/base/secret-texts.ts';
import type { Fact, Facts } from '../../src/domain/facts.ts';
import { eventWithoutSecrets, withoutSecrets } from '../../src/domain/secrets.ts';

const word = fc.constantFrom(
  ...[
    'user',
    'a@b.example',
    'token',
    'pass',
    'pwd=',
    'x1y2z3w4',
    '@',
    ':',
    '://',
    ' ',
    '"',
    '{',
    'basic ',
    'bearer ',
    '=',
  ],
  ...[
    'AKIAABCDEFGHIJKLMNOP',
    'eyJabcdefghijk.abcdefghijkl',
    'glpat-abcdefghijklmnopqrst',
    '-----BEGIN PRIVATE KEY-----',
    'value',
  ],
  ...['secret', 'name', 'Authorization', 'passcode', '\\u0070wd', 'psk', 'Passw0rd', '.', '-', '[dropped]'],
);
const text = fc.array(word, { maxLength: 5 }).map((words) => words.join(''));
const { event } = fc.letrec<{ event: Facts; fact: Fact }>((tie) => ({
  event: fc.dictionary(text, tie('fact'), { maxKeys: 4 }) as fc.Arbitrary<Facts>,
  fact: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    text,
    fc.integer(),
    fc.constant(null),
    fc.array(tie('fact'), { maxLength: 3 }),
    tie('event'),
  ),
}));

it('an event without secrets is the same by the cheap look as by looking through it', () => {
  fc.assert(
    fc.property(event, (value) => {
      const thorough = withoutSecrets(value, { instead: comparable, isCut: true, needsForm: true });
      expect(eventWithoutSecrets(value)).toEqual(thorough);
    }),
    { numRuns: 5_000 },
  );
});
