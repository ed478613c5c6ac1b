// test: the daemon reads sources of facts beside its runs, and a single run before it begins; what was read outlasts both, and doctor shows it.
import { mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { guardsOf } from '../../../src/domain/guards.ts';
import { startDaemon } from '../../../src/runtime/daemon/daemon.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { command } from '../../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../../support/organization.ts';

const SOURCES = `sources:
  inventory:
    key: { serial_number: serial }
    fresh: 1h
    every: 10s
    fields: { owner: text, battery: number }
    file: { path: fleet.csv }
`;
let [data, org]: [string, Organization | undefined] = ['', undefined];
beforeEach(async () => {
  data = mkdtempSync(join(tmpdir(), 'given-data-'));
  org = await startOrganization({
    rules: { ban: BAN_COMPROMISED, sources: SOURCES },
    env: { TRUSTWARD_SOURCES: data },
  });
});
afterEach(async () => {
  await org?.close();
  rmSync(data, { recursive: true, force: true });
});

function put(text: string): void {
  const at = (systemClock.nowMs() - 120_000) / 1_000;
  writeFileSync(join(data, 'fleet.csv'), text);
  utimesSync(join(data, 'fleet.csv'), at, at);
}

it('a daemon reads them, the next one goes on with the table, and doctor names what was left out', async () => {
  const one = org as Organization;
  put('serial,owner,battery\nC1,Ada,n/a\nC2,"B\u202eob",7\nC2,Bob,7\n');
  const daemon = await startDaemon(one.composition);
  const table = async () => {
    const sources = guardsOf(one.composition.rules.all())?.sources ?? [];
    return (await one.composition.given.facts.readings(sources)).get('inventory')?.table;
  };
  while (!(await table())) await systemClock.sleep(20);
  await daemon.stop();
  const before = await table();
  expect(before?.rows.get('c1')).toEqual({ owner: 'Ada' });
  rmSync(join(data, 'fleet.csv'));
  await one.restart();
  expect(await table()).toEqual(before);
  expect(statSync(`${one.dbFile}.sources`).mode & 0o777).toBe(0o700);
  const { out } = await command(['doctor'], one.env);
  expect(out.replace(/\s+/g, ' ')).toContain('warning source inventory 3 rows, age 2 min');
  expect(out.replace(/\s+/g, ' ')).toContain(
    'left out: 1 key of several rows, 1 of another type in battery (row 2: `battery`: expected a number, found `"n/a"`; row 4: the key `"C2"` is there already',
  );
});

it('a single run reads what is due before it begins, and doctor names what failed', async () => {
  const { composition, env } = org as Organization;
  await composition.close();
  expect((await command(['run', '--mode', 'dry-run'], env)).code).toBe(0);
  const { out } = await command(['doctor'], env);
  expect(out.replace(/\s+/g, ' ')).toMatch(
    /problem +source inventory +it could not be read: `fleet.csv` cannot be read \(ENOENT\)/,
  );
});
