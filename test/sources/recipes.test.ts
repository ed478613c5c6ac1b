// docs/sources: each recipe, as it stands there, reads a server that speaks the vendor's format, with the secret that it names.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { NOW, served, sourcesIn, world } from '../support/given-sources.ts';
import { listening, VENDORS } from '../support/vendors.ts';

const ms = (text: string) => Date.parse(text);

it.each([
  [
    'fleet',
    { 'fleet.token': 'fleet-token' },
    1,
    { c0124fxasd6g: { encrypted: true, failing_policies: 2, mdm: 'On (automatic)', seen: ms('2026-11-28T11:03:39Z') } },
  ],
  [
    'jamf',
    { 'jamf.client': 'trustward:se:cret' },
    0,
    {
      c02q7khtgfwf: {
        managed: true,
        filevault: 'ENCRYPTED',
        firewall: false,
        os: '15.1.1',
        contact: ms('2026-11-28T11:04:13.123Z'),
      },
      c02q7khtgfwg: { managed: false },
    },
  ],
  [
    'intune',
    { 'intune.client': 'trustward:se:cret' },
    0,
    {
      pf0abcde: {
        compliance: 'noncompliant',
        encrypted: false,
        jailbroken: 'Unknown',
        os: '10.0.26100.2314',
        sync: ms('2026-11-28T09:00:00Z'),
      },
      pf0fghij: { compliance: 'compliant', encrypted: true, jailbroken: 'False', os: '18.1.1' },
    },
  ],
  [
    'crowdstrike',
    { 'crowdstrike.client': 'trustward:se:cret' },
    0,
    {
      'vmware-56 4d': {
        status: 'normal',
        reduced: 'no',
        sensor: '7.19.18913.0',
        prevention: true,
        seen: ms('2026-11-28T11:59:00Z'),
      },
      c02q7khtgfwg: {
        status: 'contained',
        reduced: 'yes',
        sensor: '7.10.1',
        prevention: false,
        seen: ms('2026-11-20T11:59:00Z'),
      },
    },
  ],
  [
    'okta',
    { 'okta.token': 'okta-token' },
    0,
    {
      'isaac.brock@example.com': {
        status: 'ACTIVE',
        department: 'Sales',
        login: ms('2026-11-27T08:00:00Z'),
        password: ms('2026-01-02T21:36:25.344Z'),
      },
      'eric.judy@example.com': { status: 'LOCKED_OUT' },
    },
  ],
] as const)('the recipe for %s reads all pages with its credential', async (name, secrets, keyless, expected) => {
  const doc = readFileSync(`docs/sources/${name}.md`, 'utf8');
  const yaml = /```yaml\n([\s\S]*?)```/.exec(doc)?.[1] ?? '';
  const hosts = new Set([...yaml.matchAll(/url: https:\/\/([^/\s]+)/g)].map(([, host]) => host));
  expect((/TRUSTWARD_SOURCE_HOSTS=([\w.,-]+)/.exec(doc)?.[1] ?? '').split(',').sort()).toEqual([...hosts].sort());
  const url = await served(listening(VENDORS[name]));
  const place = world();
  for (const [file, secret] of Object.entries(secrets)) {
    expect(doc).toContain(`\`${file}\``);
    place.put(file, `${secret}\n`);
  }
  const [source] = sourcesIn(yaml.replaceAll(/url: https:\/\/[^/\s]+/g, `url: ${url}`));
  const { table, fault } = await place.read(source as NonNullable<typeof source>);
  expect(fault).toBeUndefined();
  expect(Object.fromEntries(table?.rows ?? [])).toEqual(expected);
  expect(table).toMatchObject({ atMs: NOW, found: { keyless, wrong: {} } });
  place.put(Object.keys(secrets)[0] as string, 'another:secret\n');
  place.nowMs += 3_600_000;
  expect((await place.read(source as NonNullable<typeof source>)).fault?.text).toMatch(/refused/);
});
