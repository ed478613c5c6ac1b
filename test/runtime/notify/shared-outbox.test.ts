// test: several processes deliver what waits in one database: each message is attempted by one of them, and what one knows no other undoes.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ClaimedNotification } from '../../../src/domain/notification.ts';
import { claimMsOf, Deliveries } from '../../../src/runtime/notify/delivery.ts';
import { type FedWebhook, Feeds } from '../../../src/runtime/notify/feed.ts';
import type { SqlStore } from '../../../src/store/sql-store.ts';
import { countingIds } from '../../support/engine-on-platform.ts';
import { silentLog } from '../../support/organization.ts';
import type { FakeClock } from '../../support/platform.ts';
import { databases, InPostgres } from '../../support/stores.ts';

const never = new AbortController().signal;
const random = { next: () => 0.5 };
const OPS: FedWebhook = {
  name: 'ops',
  url: new URL('https://hooks.example.com/x'),
  secret: 'a secret of some length',
  timeoutMs: 1_000,
  attemptsMax: 3,
  allowPrivate: false,
  ca: undefined,
  feed: { events: ['decision', 'outcome'], rules: undefined, most: 2, waitMs: 0 },
};
const webhooks = new Map([['ops', OPS]]);

describe.each(databases())('processes that deliver from one database: $name', (database) => {
  let [one, other]: SqlStore[] = [];
  let clock: FakeClock;

  beforeAll(() => (database.isMissing ? undefined : database.prepare()), 180_000);
  afterAll(() => (database.isMissing ? undefined : database.end()));
  beforeEach(async ({ skip }) => {
    if (database.isMissing) skip();
    const opened = await database.open();
    ({ store: one, clock } = opened);
    other =
      database instanceof InPostgres
        ? await database.openAs((opened as { organization?: string }).organization as string, clock)
        : one;
  });

  const processes = () => [one, other] as [SqlStore, SqlStore];
  const waiting = (count: number) => {
    const alerts = Array.from({ length: count }, (_, at) => ({ key: `k${at}`, code: 'parked', text: 't', about: {} }));
    return one?.outbox().raise(alerts as never, ['ops'], countingIds().next);
  };
  const claimed = async (store: SqlStore) =>
    store.outbox().claim(clock.nowMs(), clock.nowMs() + 1_000, 100) as Promise<[ClaimedNotification]>;
  const stored = async () => (await one?.notifications({ statuses: ['waiting', 'delivered', 'given_up'] }, 100)) ?? [];
  const ends = async () =>
    ((await one?.audit({ limit: 100 })) ?? [])
      .map(({ kind }) => kind)
      .filter((kind) => kind.startsWith('notification'));

  it('send each notification once, though all look at once', async () => {
    await waiting(40);
    const sent: string[] = [];
    const send = async (_: unknown, { id }: { id: string }) => {
      sent.push(id);
      return { ok: true, note: 'status 200' };
    };
    const deps = { webhooks, clock, random, log: silentLog, send };
    await Promise.all(
      processes().map(async (store) => {
        const deliveries = new Deliveries({ ...deps, outbox: store.outbox() });
        while ((await deliveries.round(never)) === 'more');
      }),
    );
    expect(sent).toHaveLength(40);
    expect(new Set(sent).size).toBe(40);
    expect(await ends()).toEqual(Array(40).fill('notification.delivered'));
  });

  it('leave to another one what one of them claimed and never ended, after its claim', async () => {
    await waiting(1);
    const [dead] = await claimed(processes()[0]);
    expect(await claimed(processes()[1])).toEqual([]);
    clock.now += 1_000;
    expect((await claimed(processes()[1])).map(({ id }) => id)).toEqual([dead.id]);
  });

  it('give back what was cut off, so that it is due at once', async () => {
    await waiting(1);
    const cut = new AbortController();
    const send = async () => {
      cut.abort();
      return { ok: false, note: 'cut off' };
    };
    const deps = { webhooks, clock, random, log: silentLog, send };
    await new Deliveries({ ...deps, outbox: processes()[0].outbox() }).round(cut.signal);
    expect((await claimed(processes()[1])).map(({ attempts }) => attempts)).toEqual([0]);
  });

  it('never give up or postpone what another one delivered, nor what another one is delivering', async () => {
    await waiting(1);
    const [late] = await claimed(processes()[0]);
    clock.now += 1_000;
    const [present] = await claimed(processes()[1]);
    await processes()[0]
      .outbox()
      .postpone(late, clock.nowMs() + 5, 'too late');
    await processes()[0].outbox().end(late, 'given_up', 'too late');
    expect(await stored()).toMatchObject([{ status: 'waiting', attempts: 0, nextAt: present.claimedUntil }]);
    await processes()[1].outbox().end(present, 'delivered', 'status 200');
    await processes()[0].outbox().end(late, 'given_up', 'too late');
    await processes()[0]
      .outbox()
      .postpone(late, clock.nowMs() + 5, 'too late');
    await processes()[0].outbox().end(late, 'delivered', 'again');
    expect(await stored()).toMatchObject([{ status: 'delivered', attempts: 1, note: 'status 200' }]);
    expect(await ends()).toEqual(['notification.delivered']);
  });

  it('send each event once and in order, though all flush at once, and a position never goes backwards', async () => {
    const seqs: number[] = [];
    const answers: boolean[] = [];
    const send = async (_: unknown, { body }: { body: string }) => {
      const ok = answers.shift() ?? true;
      if (ok) for (const { seq } of JSON.parse(body).events) seqs.push(seq);
      await new Promise((resolve) => setImmediate(resolve));
      return { ok, note: '' };
    };
    const feedsOf = (store: SqlStore) => {
      const view = ({ entry }: { entry: { seq: number } }) => ({ seq: entry.seq });
      const deps = {
        reader: store,
        positions: store.feedPositions(),
        view,
        isShared: true,
        clock,
        ids: countingIds(),
        random,
      };
      return new Feeds({ ...deps, log: silentLog, send }, [OPS]);
    };
    // Each began when nothing had been sent, as workers do whose jobs overlap.
    const feeds = processes().map(feedsOf);
    for (const one of feeds) await one.begin();
    const settled = { intent: 'i', outcome: 'succeeded' };
    const notes = Array.from({ length: 9 }, () => ({ kind: 'intent.settled' as const, body: settled }));
    await one?.appendAudit(notes);
    const wanted = (await one?.audit({ afterSeq: 0, limit: 100 }))?.map(({ seq }) => seq);
    await Promise.all(feeds.map((one) => one.flush(never)));
    for (const one of feeds) await one.flush(never);
    expect(seqs).toEqual(wanted);
    expect(await one?.feedPositions().positionOf('ops')).toBe(wanted?.at(-1));
    // What is refused at one is sent by the other.
    await one?.appendAudit(notes.slice(0, 1));
    answers.push(false);
    for (const one of feeds) await one.flush(never);
    expect(seqs).toHaveLength(10);
    // Each process alerts of a receiver that refuses, whichever was refused, and no longer when another one delivered.
    await one?.appendAudit(notes.slice(0, 1));
    answers.push(false);
    await feeds[0]?.flush(never);
    const codes = async () => {
      const found: string[] = [];
      for (const one of [...feeds, ...processes().map(feedsOf)])
        found.push(...(await one.alerts()).map(({ code }) => code));
      return found;
    };
    expect(await codes()).toEqual([]);
    clock.now += 15 * 60_000;
    expect(await codes()).toEqual(Array(4).fill('webhook_behind'));
    await feeds[1]?.flush(never);
    expect(await codes()).toEqual([]);
  });

  it('have a claim that outlasts an attempt', () => {
    expect(claimMsOf(webhooks.values())).toBeGreaterThan(OPS.timeoutMs);
  });
});
