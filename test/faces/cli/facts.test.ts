// commands: `facts`: every fact that a rule can read and no other, as the docs have them; how often each is missing in
// records that are read now; and nothing is stored for it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { factsMarkdown, factsOfKind } from '../../../src/faces/cli/facts.ts';
import { FACT_KINDS, type FactKind, factRows } from '../../../src/rules/facts/fact-list.ts';
import { problemsOf } from '../../rules/sample-traits.ts';
import { command } from '../../support/in-process.ts';
import { type Organization, startOrganization } from '../../support/organization.ts';

const ROOT = join(import.meta.dirname, '../../..');

const INTRO = `# Facts

This page lists every fact that a rule can read, with an example. It is made from the schemas that check the rules (\`npm run docs:facts\`).
\`trustward facts\` prints the same, and how often each fact is missing in up to 1,000 records of your server. [rules.md](rules.md) describes the types.

- What stands behind \`[]\` is read of an element, inside \`some\`, \`all\`, \`none\`, \`count\`, \`filter\`, \`map\` or \`reduce\`.
- \`$owners\` is a list of users and \`$devices\` a list of devices: their elements have the facts of those.
- \`whole list only\`: the specification gives it in the list without pages only.
- \`in v2 lists\`: the name of the fact in lists of version 2; \`–\`: these do not have it ([what that means](operating.md#lists-of-version-2)).
- The values of a text are the known ones. A server may have others.
- Fields of the record that are no records themselves, lists included, are also read of the past: \`previous\`, \`changed_within\` and \`unchanged_for\`.
- Facts of an event are read in \`where\` and \`of\` of \`event_count\`, \`event_distinct\` and \`since_last_event\`.
- A field that is not listed can be declared in a rule (\`declares\`).
`;

describe('the list of facts', () => {
  it('is in the docs as the schemas have it (`npm run docs:facts` writes it)', async () => {
    const text = `${INTRO}\n${factsMarkdown(FACT_KINDS.map((kind) => factsOfKind(kind)))}\n`;
    await expect(text).toMatchFileSnapshot(join(ROOT, 'docs/facts.md'));
  });

  it.each(FACT_KINDS)('names each fact of a %s by a path that a rule can read', (kind) => {
    const facts = factRows(kind, undefined).map(({ fact }) => fact);
    expect(new Set(facts).size).toBe(facts.length);
    const refused = facts.filter((fact) => fact !== '$now' && problemsOf(...readingOf(kind, fact)).length > 0);
    expect(refused).toEqual([]);
  });

  it('has an example of each fact that is a number, a time, a flag, a boolean or one of known texts', () => {
    const rows = FACT_KINDS.flatMap((kind) => factRows(kind, undefined));
    const without = rows.filter(({ example }) => example === undefined);
    expect(without.filter(({ type, values }) => values.length > 0 || !/^(text|any|list)/.test(type))).toEqual([]);
    expect(without.length * 4).toBeLessThan(rows.length);
  });
});

/** A rule that asks whether the fact is missing. */
function readingOf(kind: FactKind, fact: string): Parameters<typeof problemsOf> {
  const [list, element] = fact.split('[].');
  const asked = { missing: [element ?? fact] };
  const when = element === undefined ? asked : { some: [{ var: list }, asked] };
  if (kind !== 'event') return [when, {}, kind];
  return [{ '>': [{ event_count: { within: '1h', where: when } }, 1] }];
}

describe('facts', () => {
  let org: Organization;
  beforeAll(async () => {
    org = await startOrganization({ devices: 200, compromised: 2 });
  });
  afterAll(() => org.close());

  interface Shown {
    kind: string;
    sampled: number | null;
    noSample: string | null;
    facts: {
      fact: string;
      missing: { count: number; of: number } | null;
      found: { value: string; count: number }[] | null;
    }[];
  }
  const env = (more: Record<string, string> = {}): Record<string, string> => ({
    ...org.env,
    TRUSTWARD_DB: join(org.dir, 'other.db'),
    ...more,
  });
  const facts = (args: string[], given = env()) => command(['facts', ...args], given);
  const shown = async (args: string[], given = env()): Promise<Shown[]> =>
    JSON.parse((await facts([...args, '--format', 'json'], given)).out);
  const missingOf = (all: Shown[], kind: string, fact: string) =>
    all.find((each) => each.kind === kind)?.facts.find((row) => row.fact === fact)?.missing;

  it('counts where each is missing in the records of the API, and stores nothing', async () => {
    const all = await shown([]);
    expect(all.map(({ kind, sampled }) => [kind, sampled])).toEqual([
      ['device', 200],
      ['user', 120],
      ['service', 6],
      ['event', expect.any(Number)],
    ]);
    const records: { MdmData: { Timestamp: number }; OS: string; TrustData: { Factors: object[] } }[] = [];
    const key = { authorization: `Bearer ${org.env.TRUSTWARD_API_KEY}` };
    const answer = await fetch(`${org.console.address}/api/v1/devices`, { headers: key });
    records.push(...((await answer.json()) as typeof records));
    const never = records.filter(({ MdmData }) => MdmData.Timestamp === 0).length;
    const noOs = records.filter(({ OS }) => OS === '').length;
    const factors = records.flatMap(({ TrustData }) => TrustData.Factors).length;
    expect(Math.min(never, noOs, factors)).toBeGreaterThan(0);
    expect(missingOf(all, 'device', 'MdmData.Timestamp')).toEqual({ count: never, of: 200 });
    expect(missingOf(all, 'device', 'OS')).toEqual({ count: noOs, of: 200 });
    expect(missingOf(all, 'device', 'TrustData.Factors[].Name')).toEqual({ count: 0, of: factors });
    expect(missingOf(all, 'device', '$owners')).toBeNull();
    expect(missingOf(all, 'service', '$spec.metadata.name')).toEqual({ count: 0, of: 6 });
    expect(missingOf(all, 'service', 'DeletedAt')).toEqual({ count: 6, of: 6 });
    expect(missingOf(all, 'event', 'severity')).toMatchObject({ count: 0 });
    expect(existsSync(join(org.dir, 'other.db'))).toBe(false);
  });

  it('shows the values that a fact has most often, where they repeat', async () => {
    const all = await shown(['device']);
    const foundOf = (fact: string) => all[0]?.facts.find((row) => row.fact === fact)?.found ?? [];
    const key = { authorization: `Bearer ${org.env.TRUSTWARD_API_KEY}` };
    const answer = await fetch(`${org.console.address}/api/v1/devices`, { headers: key });
    const records = (await answer.json()) as { Platform: string; Roles: string[] }[];
    const macs = records.filter(({ Platform }) => Platform === 'macOS').length;
    expect(foundOf('Platform')).toContainEqual({ value: 'macOS', count: macs });
    expect(foundOf('Roles').length).toBeGreaterThan(0);
    expect(foundOf('Platform').map(({ count }) => count)).toEqual(
      foundOf('Platform')
        .map(({ count }) => count)
        .sort((a, b) => b - a),
    );
    expect(foundOf('SerialNumber')).toEqual([]);
    const { out } = await facts(['device']);
    expect(out).toMatch(new RegExp(`^ +found: .*macOS \\(${macs}\\)`, 'm'));
    expect((await facts(['device', '--format', 'md'])).out).toContain(`macOS (${macs})`);
  });

  it('shows them as text and Markdown', async () => {
    const { code, out } = await facts(['device']);
    expect(code).toBe(0);
    expect(out).toContain('Facts of a device (how often each is missing in 200 records, read now)');
    expect(out).toMatch(
      / {2}MdmData\.Timestamp +time \(nanoseconds\) +\d+ % \(\d+ of 200\)\n {6}such as 1768474800000000000 \(2026-01-15\)\n/,
    );
    expect(out.split('\n').filter((line) => line.length > 100)).toEqual([]);
    expect(out).not.toContain('Facts of a user');
    const event = (await facts(['event', '--format', 'md'])).out;
    expect(event).toContain('| fact | type | unit | values | example | missing | found |');
    expect(event).toContain('| Registration | Device | Unregister | WARN |');
    expect(event).toMatch(/\nTypes: Registration, Identity, .*\.\n/);
  });

  it('says why a source has no sample, and lists its facts all the same', async () => {
    const { TRUSTWARD_API_URL: _, TRUSTWARD_API_KEY: __, ...embedded } = env();
    const cases: [Record<string, string>, RegExp][] = [
      [embedded, /TRUSTWARD_API_URL is not set/],
      [env({ TRUSTWARD_API_URL: 'http://127.0.0.1:9' }), /127\.0\.0\.1:9: /],
      [env({ TRUSTWARD_API_KEY: 'wrong' }), /\(TRUSTWARD_API_KEY\)/],
      [env({ TRUSTWARD_API_KEY: org.console.issueApiKey('services', 'ServiceAuthor') }), /403/],
    ];
    for (const [given, why] of cases) {
      const all = await shown([], given);
      const [devices] = all;
      expect(devices).toMatchObject({ sampled: null, noSample: expect.stringMatching(why) });
      expect(devices?.facts.every(({ missing }) => missing === null)).toBe(true);
      expect(all[1]?.facts.map(({ fact }) => fact)).toContain('$devices');
      const { code, out } = await facts(['device'], given);
      const line = out.split('\n  DeviceID')[0]?.replaceAll('\n', ' ');
      expect([code, line]).toEqual([0, `Facts of a device (no records could be read: ${devices?.noSample})`]);
    }
  });

  it('needs no setting when no record is to be read', async () => {
    const bad = { NODE_ENV: 'production', TRUSTWARD_SCHEDULE: 'never' };
    expect(await facts([], bad)).toMatchObject({ code: 2, out: '' });
    const { code, out } = await facts(['user', '--no-sample'], bad);
    expect([code, out]).toEqual([0, expect.stringContaining('(no records were read)')]);
  });

  it('of one subject are its own, read now; of one that is not known the mistake says so, and what else there is', async () => {
    await org.run('dry-run');
    const serial = 'FACTS-1';
    const id = org.console.fleet.addDevice({ serial, mdm_compromised: 'TRUE' });
    await org.run('dry-run');
    const { code, out } = await facts([serial], org.env);
    expect([code, out]).toEqual([0, expect.stringMatching(new RegExp(`^device ${id} as read 20`))]);
    expect(out).toContain('  MdmData.CompromisedStatus = "TRUE"\n');
    expect(out).not.toContain('Facts of a device');
    const { record } = JSON.parse((await facts([serial, '--format', 'json'], org.env)).out);
    expect(record).toMatchObject({ SerialNumber: serial, MdmData: { CompromisedStatus: 'TRUE' } });
    expect(await facts(['FACTS-2'], org.env)).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(
        /nothing is known as `FACTS-2`.*`trustward facts KIND` lists .* device, user, service/,
      ),
    });
  });

  it('of something else is a mistake in one line', async () => {
    const { code, err } = await facts(['devices']);
    expect([code, err]).toEqual([
      2,
      'trustward: `devices` has no facts: expected device, user, service, event; did you mean `device`?\n',
    ]);
  });
});
