// rule-set: the rules to copy from: they load, their tests notice every mutant, none acts as it is, and judging a whole made-up
// organization by them ends in no error.
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { command } from '../../support/in-process.ts';
import { type Organization, startOrganization } from '../../support/organization.ts';

const FOLDER = 'rules/examples';
const rules = (...args: string[]) => command(['rules', ...args, '--rules', FOLDER], {});

const LOOKING_BACK = ['report-changed-owner', 'report-fallen-trust', 'report-silent-mdm'];

describe('the example rules', () => {
  let org: Organization;
  beforeAll(async () => {
    org = await startOrganization({ devices: 400, compromised: 4, env: { TRUSTWARD_RULES: FOLDER } });
  });
  afterAll(() => org.close());

  it('load, are fifteen, and are all in the docs', async () => {
    expect(await rules('check')).toMatchObject({ code: 0, out: '15 rules can be loaded\n' });
    const ids = readdirSync(FOLDER).map((name) => name.replace('.yaml', ''));
    expect(ids).toHaveLength(15);
    const rows = [...readFileSync('docs/rules.md', 'utf8').matchAll(/^\| `((?:ban|report)-[a-z-]+)` \|/gm)];
    expect(rows.map(([, id]) => id).sort()).toEqual(ids.sort());
  });

  it('pass their tests, which see every condition and notice every mutant', async () => {
    const { code, out } = await rules('test', '--mutate', '--format', 'json');
    expect(code).toBe(0);
    for (const rule of JSON.parse(out).rules) {
      expect([rule.rule, rule.coveredPercent, rule.mutants.survivors]).toEqual([rule.rule, 100, []]);
      expect(rule.mutants.tried).toBeGreaterThan(0);
    }
  });

  it('are not among the active rules, and change nothing once they are', async () => {
    const active = JSON.parse((await command(['rules', 'list', '--format', 'json'], {})).out);
    const examples = JSON.parse((await rules('list', '--format', 'json')).out);
    const ids = active.map(({ id }: { id: string }) => id);
    expect(ids).toHaveLength(6);
    expect(examples.filter(({ id }: { id: string }) => ids.includes(id))).toEqual([]);
    expect(new Set(examples.map(({ mode }: { mode: string }) => mode))).toEqual(new Set(['dry-run']));
  });

  it('judge a whole organization without an error', async () => {
    const { run } = await org.run('dry-run');
    const tallies = run.findings?.tallies ?? [];
    expect(tallies).toHaveLength(15);
    for (const { rule, error, match, no_match } of tallies) {
      expect([rule, error]).toEqual([rule, 0]);
      // In a first run nothing is known of the past.
      const looksBack = LOOKING_BACK.includes(rule);
      expect(looksBack || match + no_match > 0, `${rule} judged somebody`).toBe(true);
    }
    const matched = tallies.filter(({ match }) => match > 0).map(({ rule }) => rule);
    expect(matched.length, `matched: ${matched}`).toBeGreaterThan(5);
  });
});
