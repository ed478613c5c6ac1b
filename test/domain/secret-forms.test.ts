// test: the forms of a known secret, and addresses as messages repeat them.
import { describe, expect, it } from 'vitest';
import { patternOf } from '../../src/base/secret-texts.ts';
import { shownAddress } from '../../src/domain/secrets.ts';
import { Redactor } from '../../src/platform/client/redactor.ts';

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
