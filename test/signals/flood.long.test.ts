// test: 100,000 forged, replayed, reordered, future and ancient SETs have no effect but what is honest among them once, and hold up nothing else of the process. In: SETs for a
// receiver over a SQLite file. Out: rows, answers, and how late a timer was meanwhile.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { SIGNAL_EVENTS } from '../../src/domain/signal.ts';
import { linkEntry } from '../../src/engine/audit/signing-key.ts';
import { migrate, openDatabase } from '../../src/store/sqlite/database.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { FakeClock } from '../support/platform.ts';
import { idp, receiverOf, startIdp } from '../support/transmitter.ts';

const SETS = 100_000;
const AT_ONCE = 200;
const EVENT = SIGNAL_EVENTS.get('session-revoked') as string;

it(`of ${SETS} SETs only the honest ones count, each once, and nothing else waits`, { timeout: 300_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'signals-flood-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const clock = new FakeClock();
  const db = openDatabase(join(folder, 'trustward.db'));
  migrate(db);
  const store = new SqliteStore(db, linkEntry, clock);
  onTestFinished(() => store.close());
  const [own, stranger] = [await startIdp(clock), await startIdp(clock)];
  const receiver = receiverOf(store, own, clock, { list: [idp()] });
  const DAY_S = 86_400;
  const honest = await Promise.all(
    // Reordered: events of the last day, the newest first.
    Array.from({ length: 50 }, (_, at) =>
      own.set(`honest ${at}`, { events: { [EVENT]: { event_timestamp: clock.now / 1_000 - at * 600 } } }),
    ),
  );
  const nowS = clock.now / 1_000;
  const bad = [
    await stranger.set('forged').then((text) => text.replace(/^[^.]+/, honest[0]?.split('.')[0] as string)),
    await own.set('future', { iat: nowS + 3_600 }),
    await own.set('ancient', { iat: nowS - 30 * DAY_S }),
    `${(honest[1] as string).slice(0, -10)}AAAAAAAAAA`,
    'not.a.set',
  ];
  const texts = (at: number) => (at % 4 === 0 ? honest[(at / 4) % honest.length] : bad[at % bad.length]) as string;
  let isOver = false;
  let lateMs = 0;
  const watching = (async () => {
    while (!isOver) {
      const before = performance.now();
      await sleep(10);
      lateMs = Math.max(lateMs, performance.now() - before - 10);
    }
  })();
  const begun = performance.now();
  const statuses = new Map<number, number>();
  for (let at = 0; at < SETS; at += AT_ONCE) {
    const some = Array.from({ length: AT_ONCE }, (_, index) =>
      receiver.receive('idp', texts(at + index), { type: 'application/secevent+jwt' }),
    );
    for (const { status } of await Promise.all(some)) statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  const seconds = (performance.now() - begun) / 1_000;
  isOver = true;
  await watching;
  process.stdout.write(`${SETS} SETs in ${seconds.toFixed(1)} s, a timer was ${lateMs.toFixed(0)} ms late at most\n`);
  expect(Object.fromEntries(statuses)).toEqual({ 202: SETS / 4, 400: (SETS * 3) / 4 });
  const events = (await store.newSignals()).events;
  expect(new Set(events.map(({ id }) => id)).size).toBe(50);
  expect(events).toHaveLength(50);
  expect(lateMs).toBeLessThan(1_000);
});
