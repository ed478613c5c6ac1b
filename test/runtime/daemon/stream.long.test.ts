// test: as many streams as may be open while a run acts: each sees every entry in order, and the run does not wait for them.
import { expect, it } from 'vitest';
import { startDaemon } from '../../../src/runtime/daemon/daemon.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { type EventClient, openStream } from '../../support/event-client.ts';
import { BAN_COMPROMISED, DISABLE_FAILING, startOrganization } from '../../support/organization.ts';

const BAN = BAN_COMPROMISED.replace('revert: true', 'revert: true\nlimits: { max: 1000, percent: 100 }');
const ADMIN = 'admin-token-0123456789';

/** How long a run takes that bans up to 100 devices of 2,000, while this many streams are open. */
async function runWith(streams: number): Promise<number> {
  const org = await startOrganization({
    devices: 2_000,
    compromised: 100,
    env: {
      TRUSTWARD_LISTEN: '127.0.0.1:0',
      TRUSTWARD_SCHEDULE: '0 0 1 1 *',
      TRUSTWARD_TOKEN: ADMIN,
    },
    rules: { other: DISABLE_FAILING },
  });
  const daemon = await startDaemon(org.composition);
  const ask = async (path: string, body: object) =>
    (await fetch(`${daemon.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN}` },
      body: JSON.stringify(body),
    }).then((answer) => answer.json())) as { token: string };
  const watching: EventClient[] = [];
  for (let name = 0; watching.length < streams; name += 1) {
    const { token } = await ask('/api/tokens', { name: `page${name}`, scope: 'read' });
    const some = Array.from({ length: 50 }, () => openStream(daemon.url, { token, path: '/api/stream?after=0' }));
    watching.push(...(await Promise.all(some)));
  }
  expect(await org.rule('ban', BAN)).toBeUndefined();
  const beganMs = systemClock.monotonicMs();
  await ask('/api/runs', { mode: 'enforce', wait: true });
  const tookMs = systemClock.monotonicMs() - beganMs;
  const { seq } = await org.composition.engine.store.auditHead();
  const upTo = Array.from({ length: seq }, (_, index) => index + 1);
  await Promise.all(watching.map((client) => client.until(({ last }) => (last ?? 0) >= seq)));
  for (const { events } of watching) expect(events.flatMap(({ id }) => id ?? []).slice(0, seq)).toEqual(upTo);
  expect(org.effects('device_banned').length).toBeGreaterThan(20);
  await daemon.stop();
  await org.close();
  return tookMs;
}

it('500 streams see every entry of a run, which takes no more than a few times as long', async () => {
  const alone = await runWith(0);
  expect(await runWith(500)).toBeLessThan(10_000 + 5 * alone);
});
