import { expect, test } from 'vitest';
import { givenTime } from '../../src/domain/given-time.ts';

const at = (text: string) => givenTime(text, '--at', 0, 'before');

test.each([
  ['2026-12-01', '2026-12-01T00:00:00Z'],
  ['2026-12-01T18:00Z', '2026-12-01T18:00:00Z'],
  ['2026-12-01T18:00:30.5+01:00', '2026-12-01T17:00:30.5Z'],
  ['2026-12-01 18:00:30 UTC', '2026-12-01T18:00:30Z'],
  ['2026-12-01 18:00:30Z', '2026-12-01T18:00:30Z'],
])('a time as people and as reports write it is read: %s', (text, same) => {
  expect(at(text)).toBe(Date.parse(same));
});

test.each(['2026-12-01 18:00', '2026-13-01', '2026-12-01T25:00Z', 'yesterday', '10000-01-01', '2026-12-01 UTC'])(
  'a time without its zone, or that is none, is refused with an example: %s',
  (text) => {
    expect(() => at(text)).toThrow(/expected a duration such as 30d, or a time in UTC such as 2027-01-31/);
  },
);
