// test: undelivered notifications can be listed: which, how old, how often attempted, and with the result of the last
// attempt.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { notificationListCommand } from '../../../src/faces/cli/operator-lists.ts';
import { bodyOf, type Endpoint, openEndpoint } from '../../support/endpoint.ts';
import { fakeClock, openStore } from '../../support/filled-store.ts';

interface Listed {
  notifications: { id: string; status: string; ageSeconds: number; attempts: number; lastAnswer: string | null }[];
}

/** Three alerts: one is delivered, one given up, one fails and waits. */
async function fill({ store, clock }: Pick<Endpoint, 'store' | 'clock'>): Promise<void> {
  const outbox = store.outbox();
  const ids = ['a-delivered', 'b-lost', 'c-waiting'];
  const alerts = ids.map((id) => ({ key: id, code: 'parked' as const, text: `alert \u001b[31m${id}`, about: {} }));
  await outbox.raise(alerts, ['ops'], () => ids.shift() as string);
  const due = await outbox.claim(clock.nowMs(), clock.nowMs() + 1_000, 10);
  const of = (id: string) => due.find((one) => one.id === id) as (typeof due)[number];
  await outbox.end(of('a-delivered'), 'delivered', 'HTTP 200');
  await outbox.end(of('b-lost'), 'given_up', 'HTTP 410');
  await outbox.postpone(of('c-waiting'), clock.nowMs() + 60_000, 'the connection was refused');
}

describe('GET /api/notifications', () => {
  let endpoint: Endpoint;
  beforeEach(async () => {
    endpoint = openEndpoint();
    await fill(endpoint);
  });
  afterEach(() => endpoint.store.close());

  const listed = async (query: string) =>
    (await bodyOf<Listed>(endpoint.ask('GET', `/api/notifications${query}`, { scope: 'read' }))).notifications;

  it('shows the age and last answer of waiting and given-up ones', async () => {
    endpoint.clock.advance(7_200_000);
    expect(await listed('?status=waiting')).toMatchObject([
      { id: 'c-waiting', ageSeconds: 7_200, attempts: 1, lastAnswer: 'the connection was refused' },
    ]);
    expect(await listed('?status=given_up')).toMatchObject([{ id: 'b-lost', attempts: 1, lastAnswer: 'HTTP 410' }]);
    expect((await listed('')).map(({ id }) => id)).toEqual(['c-waiting', 'b-lost', 'a-delivered']);
    expect(await listed('?limit=1')).toHaveLength(1);
  });

  it('refuses an unknown status', async () => {
    expect((await endpoint.ask('GET', '/api/notifications?status=failed')).status).toBe(400);
  });
});

describe('trustward notifications', () => {
  let dir: string;
  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'trustward-'));
    const clock = fakeClock();
    const store = openStore(clock, join(dir, 'trustward.db'));
    await fill({ store, clock });
    await store.close();
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  async function shown(options: { all?: boolean; format?: string }): Promise<string> {
    let said = '';
    const out = (text: string) => {
      said += text;
    };
    const io = { env: { TRUSTWARD_DB: join(dir, 'trustward.db') }, out, err: out, untilStopped: async () => {} };
    expect(await notificationListCommand(io, { limit: '50', ...options })).toBe(0);
    return said;
  }

  it('lists undelivered ones, and with --all the rest; none of their text controls the terminal', async () => {
    const text = await shown({});
    expect(text).toContain('given up');
    expect(text).toContain('HTTP 410');
    expect(text).toContain('the connection was');
    expect(text).not.toContain('delivered');
    expect(text).not.toContain('\u001b[31m');
    const all = JSON.parse(await shown({ all: true, format: 'json' })) as Listed;
    expect(all.notifications.map(({ status }) => status)).toEqual(['waiting', 'given_up', 'delivered']);
  });
});
