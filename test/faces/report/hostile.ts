// Tests of report/: names that a hostile device could have.
import fc from 'fast-check';

const NASTY = [
  '|',
  '`',
  '\\',
  '[x](http://evil.example)',
  '![x](//evil)',
  '<script>alert(1)</script>',
  '<!-- ',
  '&lt;',
  '\n',
  '\r\n# heading',
  '\n| a | b |',
  '@admin',
  '#12',
  'www.evil.example',
  '**',
  '__',
  '~~~',
  '$x$',
  '\u202e',
  '\u2066',
  '\u200b',
  '\u2028',
  '\u001b[31m',
  '\u009b2J',
  '\u0007',
  '\u0000',
  '\ud800',
  '\u{e0041}',
  'é',
  '日本語',
  '🦊',
];

export const hostileText = fc
  .array(fc.oneof(fc.constantFrom(...NASTY), fc.string({ unit: 'binary', maxLength: 8 })), {
    minLength: 1,
    maxLength: 8,
  })
  .map((pieces) => pieces.join(''));
