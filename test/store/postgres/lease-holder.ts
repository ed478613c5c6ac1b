// test: a process that takes the lease of an organization and acts for it until it loses it. Arguments: URL, organization, lease and quiet
// period in ms. Answers on standard output, one JSON a line. It is killed or paused from outside.
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { lineOf } from '../../../src/domain/errors.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { PostgresLeases } from '../../../src/store/postgres/lease.ts';
import { memoryPositions, open } from './lease-world.ts';

const [, , url, organization, leaseMs, quietMs] = process.argv as [string, string, string, string, string, string];

function say(value: object): void {
  writeSync(1, `${JSON.stringify(value)}\n`);
}

const leases = new PostgresLeases({
  open: (name) => open(url, name),
  clock: systemClock,
  holder: `process ${process.pid}`,
  leaseMs: Number(leaseMs),
  positions: memoryPositions(),
});
const lease = await leases.take(organization, { waitMs: 60_000, quietMs: Number(quietMs) });
say({ fence: lease.fence });
const act = () =>
  lease.transaction((client) =>
    client.query("INSERT INTO trustward.acts (fence, what) VALUES ($1, 'sent')", [lease.fence]),
  );
for (let lastMs = systemClock.monotonicMs(); !lease.lost.aborted; lastMs = systemClock.monotonicMs()) {
  await act().catch(() => {});
  await sleep(10);
  const gapMs = systemClock.monotonicMs() - lastMs;
  // INVARIANT: in the turn in which the process goes on, before anything of its connection is read.
  if (gapMs > Number(leaseMs)) say({ gapMs, mayWrite: lease.mayWrite() });
}
say({ lost: lineOf(lease.lost.reason), mayWrite: lease.mayWrite(), commit: await act().then(() => 'made', lineOf) });
