// endpoint: signals over PostgreSQL: one that is pushed to an organization at an endpoint, which never acts, bans its device by a worker, and nothing in another organization.
import { mkdirSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { BAN_BY_PAGES } from '../../support/organization.ts';
import { FakeClock } from '../../support/platform.ts';
import { hasNoPostgres, NEEDS_POSTGRES } from '../../support/postgres.ts';
import { IDP, type Idp, startIdp, US } from '../../support/transmitter.ts';
import { type Installation, install, PROVIDER } from './installation.ts';

describe.skipIf(hasNoPostgres)(`signals of two organizations${NEEDS_POSTGRES}`, { timeout: 300_000 }, () => {
  let on: Installation;
  let url: string;
  let own: Idp;

  beforeAll(async () => {
    on = await install(['alpha', 'beta'], { TRUSTWARD_WATCH: '1h' });
    const clock = new FakeClock();
    clock.now = systemClock.nowMs();
    own = await startIdp(clock);
    mkdirSync(on.path('signals'));
    writeFileSync(on.path('signals/idp.jwks'), JSON.stringify({ keys: [own.key.publicKey] }));
    writeFileSync(on.path('rules/ban.yaml'), `${BAN_BY_PAGES}limits: { max: 20, percent: 100 }\n`);
    const idp = {
      issuer: IDP,
      audience: US,
      jwks: { file: 'idp.jwks' },
      delivery: 'push',
      subjects: { device: 'serial' },
    };
    writeFileSync(on.path('rules/signals.json'), JSON.stringify({ transmitters: { idp } }));
    for (const id of ['alpha', 'beta'])
      on.write(id, 'enforce', { others: `signals: { folder: ${on.path('signals')} }\n` });
    [url] = await Promise.all([on.serve(), on.work()]);
    for (const id of ['alpha', 'beta']) {
      const headers = { authorization: `Bearer ${PROVIDER}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ mode: 'enforce', wait: true });
      expect((await fetch(`${url}/api/orgs/${id}/runs`, { method: 'POST', headers, body })).status).toBe(200);
    }
  }, 300_000);
  afterAll(() => on?.close(), 120_000);

  it('a pushed one bans its device there, by a worker, and nothing in the other organization', async () => {
    const ids: Record<string, string> = {};
    for (const [id, { fleet }] of Object.entries(on.consoles)) {
      const facts = {
        serial: 'OF-BOTH',
        mdm_compromised: 'TRUE',
        mdm_timestamp: BigInt(systemClock.nowMs()) * 1_000_000n,
      };
      ids[id] = fleet.addDevice(facts as never, ['ada@people.example']);
    }
    const body = await own.set('one', { sub_id: { format: 'complex', device: { format: 'opaque', id: 'OF-BOTH' } } });
    const headers = { 'content-type': 'application/secevent+jwt' };
    const begunMs = systemClock.nowMs();
    expect((await fetch(`${url}/orgs/alpha/signals/idp`, { method: 'POST', headers, body })).status).toBe(202);
    const banned = (id: string) =>
      on.consoles[id]?.effects().flatMap(({ kind, target }) => (kind === 'device_banned' ? [target] : []));
    await expect.poll(() => banned('alpha'), { timeout: 30_000, interval: 50 }).toContain(ids.alpha);
    process.stdout.write(`signal to ban by a worker: ${((systemClock.nowMs() - begunMs) / 1_000).toFixed(1)} s\n`);
    expect(banned('beta')).not.toContain(ids.beta);
  });
});
