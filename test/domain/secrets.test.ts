// test: what counts as a secret of an event, in which forms a known one may stand, and addresses as messages repeat them.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { comparable, patternOf } from '../../src/base/secret-texts.ts';
import type { Fact, Facts } from '../../src/domain/facts.ts';
import { eventWithoutSecrets, shownAddress, withoutSecrets } from '../../src/domain/secrets.ts';
import { Redactor } from '../../src/platform/client/redactor.ts';

describe('the cheap look at an event gives what looking through it gives, whatever its names and texts are', () => {
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
});

const SECRET = 'k9"V\\z/Q3+w<7=&Xe!m';
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('a text of a server that repeats the credential', () => {
  const redactor = new Redactor();
  redactor.add(SECRET);
  it.each(
    Object.entries({
      'as it is': SECRET,
      'in small letters': SECRET.toLowerCase(),
      'in a query': encodeURIComponent(SECRET),
      'in JSON': JSON.stringify(SECRET),
      'in JSON within JSON': JSON.stringify(JSON.stringify(SECRET)),
      'in HTML': SECRET.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;'),
      'in hexadecimal': Buffer.from(SECRET).toString('hex').toUpperCase(),
      'in base64': base64(SECRET),
      'in base64 after one character': base64(`u${SECRET}.`),
      'in base64 after two characters': base64(`u:${SECRET}.`),
      'in base64url': Buffer.from(SECRET).toString('base64url'),
    }),
  )('%s shows none of it', (_, form) => {
    const clean = redactor.clean(`you sent ${form} today`);
    expect(clean).toMatch(/^you sent .{0,4}\[secret\].{0,6} today$/);
  });

  it('is otherwise the text that came', () => {
    expect(redactor.clean('the device is unknown')).toBe('the device is unknown');
    expect(patternOf([''])).toBeUndefined();
  });
});

describe('an address in a message', () => {
  it.each([
    ['console.example', 'console.example'],
    ['ftp://x/api', 'ftp://x/api'],
    ['ftp://ana:p?w@x/', '…'],
    ['ftp://ana:pw@x/', '…@x/'],
    ['ana:pw@x', '…@x'],
    ['https://x/?k=pw', 'https://x/?…'],
    ['https://x/?k=p@w', '…'],
  ])('%s is shown as %s', (text, shown) => expect(shownAddress(text)).toBe(shown));
});
