// test: the daemon reads sources of facts beside its runs, and a single run before it begins; what was read outlasts both, and doctor shows it.
import { mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { guardsOf } from '../../../src/domain/guards.ts';
import { startDaemon } from '../../../src/runtime/daemon/daemon.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { command } from '../../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../../support/organization.ts';
import { CERTIFICATE, startReceiver } from '../../support/receiver.ts';

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
    env: { TRUSTWARD_SOURCES: data, TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *' },
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
  expect(before?.rows.get('c1')).toEqual({ owner: 'Ada', battery: {} });
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
  const report = JSON.parse((await command(['report', '--format', 'json'], env)).out);
  expect(report.snapshot.sources['$facts.inventory']).toMatchObject({ state: 'failed', trusted: false });
  const { out } = await command(['doctor'], env);
  expect(out.replace(/\s+/g, ' ')).toMatch(
    /problem +source inventory +it could not be read: `fleet.csv` cannot be read \(ENOENT\)/,
  );
});

it('a source that cannot be read at all is alerted once, with its reason', async () => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const one = org as Organization;
  writeFileSync(join(data, 'ca.pem'), CERTIFICATE);
  writeFileSync(join(data, 'secret'), 'a-secret-of-the-receiver');
  const webhook = {
    url: `https://localhost:${receiver.port}/`,
    secretFile: join(data, 'secret'),
    allowPrivate: true,
    caFile: join(data, 'ca.pem'),
  };
  writeFileSync(join(data, 'webhooks.json'), JSON.stringify({ ops: webhook }));
  const settings = {
    TRUSTWARD_WEBHOOKS: join(data, 'webhooks.json'),
    TRUSTWARD_WEBHOOK_HOSTS: 'localhost',
    TRUSTWARD_ALERTS_TO: 'ops',
  };
  Object.assign(one.env, settings);
  await one.restart();
  const { given, notifications, ending } = one.composition;
  await given.readDue(ending.asked);
  for (let looks = 0; looks < 2; looks += 1) await notifications.afterwards();
  await one.restart();
  expect(
    receiver.received.map(({ body }) => JSON.parse(body)).filter(({ about }) => about.alert === 'facts_stale'),
  ).toEqual([
    expect.objectContaining({
      text: 'source inventory: it could not be read: `fleet.csv` cannot be read (ENOENT); rules that read it are unknown until it is read',
      about: expect.objectContaining({ source: 'inventory' }),
    }),
  ]);
});
