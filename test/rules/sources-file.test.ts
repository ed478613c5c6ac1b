// rules: `sources.yaml` is a part of its rule set, as guards are: checked with file, line and column, in the hash, kept with what was decided.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { guardsOf } from '../../src/domain/guards.ts';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import { problemLine } from '../../src/rules/language/problem.ts';
import { filesOf } from '../../src/rules/load/guards-file.ts';
import { loadRules, parseRuleSet } from '../../src/rules/load/read-rule.ts';
import { readSources } from '../../src/rules/load/sources-file.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'sources-'));
  put('a/one.yaml', 'id: one\nsubject: device\nwhen: { "==": [{ var: SerialNumber }, C1] }\nthen: ban_device\n');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function put(file: string, text: string): void {
  mkdirSync(dirname(join(dir, file)), { recursive: true });
  writeFileSync(join(dir, file), text);
}
const load = (...names: string[]) =>
  loadRules(
    names.map((name) => ({ dir: join(dir, name), label: `${name}/` })),
    { traits: ACTIONS },
  );
const linesOf = (text: string) => readSources([['sources.yaml', text]]).problems.map(problemLine);

const FLEET = `sources:
  fleet:
    key: { serial_number: hardware_serial }
    fresh: 2h
    every: 15m
    fields:
      encrypted: { type: boolean, from: disk.encrypted }
      seen: { type: time, unit: iso }
      os: version
    http:
      url: https://fleet.example.com/hosts
      list: hosts
      pages: link
      auth: { file: fleet.token }
`;

describe('sources', () => {
  it('are with every rule of the set, change its hash and no rule, and are read again from a stored set', async () => {
    const bare = await load('a');
    put('a/sources.yaml', FLEET);
    const { rules, problems, hash } = await load('a');
    expect(problems).toEqual([]);
    const sources = guardsOf(rules)?.sources;
    expect(sources).toEqual([
      {
        name: 'fleet',
        key: { is: 'serial_number', from: 'hardware_serial' },
        fields: [
          { name: 'encrypted', type: 'boolean', from: 'disk.encrypted' },
          { name: 'seen', type: 'time', from: 'seen', unit: 'iso' },
          { name: 'os', type: 'version', from: 'os' },
        ],
        freshMs: 7_200_000,
        everyMs: 900_000,
        rowsMax: 1_000_000,
        origin: {
          by: 'http',
          url: 'https://fleet.example.com/hosts',
          format: 'json',
          list: 'hosts',
          pages: { by: 'link' },
          auth: { scheme: 'Bearer', secret: { file: 'fleet.token' }, token: undefined },
          timeoutMs: 60_000,
        },
      },
    ]);
    put('a/sources.yaml', FLEET.replace('fresh: 2h', 'fresh: 3h'));
    expect(new Set([bare.hash, hash, (await load('a')).hash]).size).toBe(3);
    expect(rules[0]?.hash).toBe(bare.rules[0]?.hash);
    expect(guardsOf(parseRuleSet(filesOf(rules), { traits: ACTIONS }).rules)?.sources).toEqual(sources);
    put('a/sources.yaml', '# none yet\n');
    expect((await load('a')).hash).toBe(bare.hash);
  });

  it('of several folders add up; a name twice, and a file below the top, are refused', async () => {
    put('a/sources.yaml', FLEET);
    put('b/sources.yaml', FLEET.replace('  fleet:', '  jamf:'));
    expect(guardsOf((await load('a', 'b')).rules)?.sources?.map(({ name }) => name)).toEqual(['fleet', 'jamf']);
    put('b/sources.yaml', FLEET);
    put('b/deeper/sources.yaml', FLEET);
    expect((await load('a', 'b')).problems.map(problemLine)).toEqual([
      'b/deeper/sources.yaml:1:1: guards, approvals, sources and signals are read at the top of a folder of rules alone: move the file there, or give it another name if it is a rule',
      'b/sources.yaml:2:3: there is a source `fleet` already; names of sources are unique',
    ]);
  });

  it.each([
    [
      'a misspelt member',
      ['every: 15m', 'evry: 15m'],
      /sources.yaml:5:5: `sources.fleet` has an unknown member: `evry`; did you mean `every`\?/,
    ],
    ['a type that is none', ['os: version', 'os: verson'], /:9:7: .*os.* did you mean `version`/],
    ['a time without its unit', [', unit: iso', ''], /:8:7: .*a time needs its unit.*iso, utc, s, ms, us, ns$/],
    [
      'two keys',
      ['{ serial_number: ', '{ email: mail, serial_number: '],
      /:3:12: .*expected one of serial_number.*found 2$/,
    ],
    ['a key that is none', ['serial_number', 'serial'], /:3:12: .*expected one of serial_number, .* found `serial`$/],
    ['no origin', [/ {4}http:[\s\S]*/, ''], /:2:3: .*expected one of `file`, `http` or `postgres`, found none$/],
    ['fresh below every', ['fresh: 2h', 'fresh: 1m'], /:4:5: .*fresh is 1m, shorter than every \(15m\)/],
    [
      'paging that NDJSON does not show',
      ['pages: link', 'pages: { number: page }\n      format: ndjson'],
      /:13:7: .*pages of ndjson are found by `pages: link` alone/,
    ],
    ['no duration', ['every: 15m', 'every: 15 min'], /:5:5: .*expected 10s to 366d, such as 1h, found `15 min`$/],
    ['a password in the address', ['https://', 'https://me:pw@'], /:11:7: .*without user name, password or #$/],
    [
      'a way out of the folder',
      ['file: fleet.token', 'file: ../token'],
      /:14:15: .*below the folder of sources.*without `\.\.`/,
    ],
    [
      'a variable of something else',
      ['file: fleet.token', 'env: AWS_SECRET_ACCESS_KEY'],
      /:14:15: .*begins with SOURCE_/,
    ],
    ['texts in a cell without separator', ['os: version', 'os: texts'], /:9:7: .*need their separator/],
  ])('%s is refused with its place', (_, [from, to], expected) => {
    const csv = FLEET.replace('list: hosts', 'format: csv');
    const lines = linesOf((to === 'os: texts' ? csv : FLEET).replace(from as string, to as string));
    expect(lines.join('\n')).toMatch(expected as RegExp);
    expect(lines.join('\n')).not.toContain('pw@');
  });
});
