// test: a signal that is pushed to a daemon bans its device within moments, though the next look and the next run are an hour away. In: a real daemon over
// loopback, a SET signed by a real key whose public half is a file. Out: the ban at the console.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { databaseChecks } from '../../src/faces/cli/doctor/database.ts';
import { type Daemon, startDaemon } from '../../src/runtime/daemon/daemon.ts';
import { BAN_BY_PAGES, type Organization, startOrganization } from '../support/organization.ts';
import { FakeClock } from '../support/platform.ts';
import { IDP, type Idp, startIdp, US } from '../support/transmitter.ts';

const SIGNALS = `transmitters:
  idp:
    issuer: ${IDP}
    audience: ${US}
    jwks: { file: idp.jwks }
    delivery: push
    push_bearer: { file: idp.token }
    subjects: { device: serial }
`;

let org: Organization;
let own: Idp;
let daemon: Daemon | undefined;
let folder: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'signals-'));
  const clock = new FakeClock();
  clock.now = Date.now();
  own = await startIdp(clock);
  writeFileSync(join(folder, 'idp.jwks'), JSON.stringify({ keys: [own.key.publicKey] }));
  writeFileSync(join(folder, 'idp.token'), 'a-token-of-the-transmitter\n');
  org = await startOrganization({
    devices: 50,
    rules: { ban: BAN_BY_PAGES, signals: SIGNALS },
    env: {
      TRUSTWARD_LISTEN: '127.0.0.1:0',
      TRUSTWARD_TOKEN: 'a-token-of-this-test-0123456789',
      TRUSTWARD_SCHEDULE: '0 0 1 1 *',
      TRUSTWARD_WATCH: '1h',
      TRUSTWARD_SIGNALS: folder,
    },
  });
});
afterEach(async () => {
  await daemon?.stop();
  await org.close();
  rmSync(folder, { recursive: true, force: true });
});

it('a pushed signal bans its device within moments', async () => {
  daemon = await startDaemon(org.composition);
  const { engine } = org.composition;
  await expect.poll(async () => (await engine.store.latestRun())?.status, { timeout: 20_000 }).toBe('completed');
  const id = org.console.fleet.addDevice({}, ['ana@example.com']);
  const { SerialNumber: serial } = (await engine.api.device(id, 10)) as { SerialNumber: string };
  org.console.fleet.patchDevice(id, { mdm_compromised: 'TRUE', mdm_timestamp: BigInt(Date.now()) * 1_000_000n });
  const device = { format: 'opaque', id: serial };
  const push = async (token: string) =>
    fetch(`${daemon?.url}/signals/idp`, {
      method: 'POST',
      headers: { 'content-type': 'application/secevent+jwt', authorization: `Bearer ${token}` },
      body: await own.set('one', { sub_id: { format: 'complex', device } }),
    });
  expect((await push('another')).status).toBe(401);
  expect((await push('a-token-of-the-transmitter')).status).toBe(202);
  await expect.poll(() => org.effects('device_banned'), { timeout: 10_000 }).toEqual([id]);
  expect(await engine.store.hasNewSignals()).toBe(false);
  const checks = await databaseChecks(org.composition.config, org.composition.rules.all());
  expect(checks.find(({ name }) => name === 'transmitter idp')?.text).toMatch(
    /^last heard of: .*; 1 signal accepted \(1 about nobody known, 0 repeated\); refused: 1 for bearer; nothing proves that none is missing$/,
  );
});
