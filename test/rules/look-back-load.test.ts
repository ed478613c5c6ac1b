// test: what is refused of the operators that look back, each with the way to write it.
import { expect, it } from 'vitest';
import { problemsOf } from './sample-traits.ts';

it.each<[string, unknown, string]>([
  [
    'a value instead of a path',
    { changed_within: [{ var: 'Model' }, '1d'] },
    'write {"changed_within": ["Model", "1d"]}',
  ],
  ['a misspelt path', { unchanged_for: ['Modle', '1d'] }, 'did you mean `Model`?'],
  ['a duration in words', { changed_within: ['Model', '1 day'] }, 'did you mean "1d"?'],
  ['a time longer than a year', { changed_within: ['Model', '400d'] }, 'looks back at most "365d"'],
  ['a whole record', { changed_within: ['TrustData', '1d'] }, 'is a record'],
  ['an element of a list', { changed_within: ['Emails.0', '1d'] }, 'takes `Emails`'],
  ['what is joined', { changed_within: ['$owners', '1d'] }, 'and `$owners` is none'],
  ['a value that the field cannot have', { '==': [{ previous: 'TrustData.Level' }, 'high'] }, 'did you mean "High"?'],
  ['an element of a loop', { some: [{ var: '$owners' }, { changed_within: ['Email', '1d'] }] }, 'cannot stand inside'],
])('%s is refused, with what to write', (_, when, message) => {
  expect(JSON.stringify(problemsOf(when))).toContain(JSON.stringify(message).slice(1, -1));
});
