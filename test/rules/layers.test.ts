// test: the order of the rooms of rules/, and that what is special about an operator stands in its family alone.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LANGUAGE } from '../../src/rules/operators/operators.ts';

const ROOT = new URL('../../src/rules', import.meta.url).pathname;

/** Each imports from itself and from those before it. */
const ORDER = [
  'record-types',
  'language',
  'check',
  'compile',
  'operators',
  'load',
  'facts',
  'windows',
  'look-back',
  'judge',
  'explain',
  'rule-tests',
  'active',
];

const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(join(ROOT, name), 'utf8') }));
const folderOf = (name: string): string => (name.split('/')[0] as string).replace('.ts', '');

describe('the rooms of rules', () => {
  it('are all in the order', () => {
    expect([...new Set(files.map(({ name }) => folderOf(name)))].sort()).toEqual([...ORDER].sort());
  });

  it('import only from those before them', () => {
    const imports = files.flatMap(({ name, text }) =>
      [...text.matchAll(/from '(\.[^']+)'/g)].map(([, path]) => {
        const target = relative(ROOT, join(ROOT, dirname(name), path as string));
        return { name, target };
      }),
    );
    const inside = imports.filter(({ target }) => !target.startsWith('..'));
    expect(inside.length).toBeGreaterThan(100);
    const against = inside.filter(
      ({ name, target }) => ORDER.indexOf(folderOf(target)) > ORDER.indexOf(folderOf(name)),
    );
    expect(against.map(({ name, target }) => `${name} → ${target}`)).toEqual([]);
  });
});

describe('an operator', () => {
  /** Words that also mean something else in code. Counts of events are facts, which other files read by what they count. */
  const ambiguous = [
    'all',
    'none',
    'min',
    'max',
    'matches',
    'in',
    '==',
    '!=',
    '<',
    '<=',
    '>',
    '>=',
    '+',
    '-',
    '*',
    '/',
    '%',
  ];
  const names = [...LANGUAGE.keys()].filter((name) => !ambiguous.includes(name) && !/^event_|_event$/.test(name));

  it('is named only by the file of its family', () => {
    expect(names.length).toBeGreaterThan(25);
    const named = files
      .filter(({ name }) => folderOf(name) !== 'operators')
      .flatMap(({ name, text }) =>
        names.filter((each) => text.includes(`'${each}'`)).map((each) => `${name}: ${each}`),
      );
    expect(named).toEqual([]);
  });
});
