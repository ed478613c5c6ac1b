// test: the outbox: written with the outcome that it reports, delivered at least once, listed while it waits; and the alert that needs no outbox.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StoreFault } from '../../../src/domain/database.ts';
import type { Notification, WaitingNotification } from '../../../src/domain/notification.ts';
import type { Random } from '../../../src/domain/ports.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { notificationListCommand } from '../../../src/faces/cli/operator-lists.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { Alerts } from '../../../src/runtime/notify/alerts.ts';
import { claimMsOf, DatabaseAlert, Deliveries, pauseAfter } from '../../../src/runtime/notify/delivery.ts';
import type { Webhook } from '../../../src/runtime/notify/settings.ts';
import { bodyOf, type Endpoint, openEndpoint } from '../../support/endpoint.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';
import { fakeClock, openStore } from '../../support/filled-store.ts';
import { silentLog } from '../../support/organization.ts';

describe('the outbox', () => {
  const never = new AbortController().signal;
  const half: Random = { next: () => 0.5 };
  const OPS: Webhook = {
    name: 'ops',
    url: new URL('https://hooks.example.com/x'),
    secret: 'a secret of some length',
    timeoutMs: 60_000,
    attemptsMax: 3,
    allowPrivate: false,
    ca: undefined,
  };

  function notifyRule(mode = 'enforce') {
    const parsed = parseRule(
      `
id: tell
subject: device
when: { "==": [{ var: MdmData.CompromisedStatus }, "TRUE"] }
then: { action: notify, with: { to: ops } }
mode: ${mode}
tests: [{ name: trouble, given: { MdmData: { CompromisedStatus: "TRUE" } }, expect: match }]
`,
      'tell.yaml',
      { traits: ACTIONS },
    );
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    return parsed.rule;
  }

  let dir: string;
  let on: OnPlatform;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'trustward-'));
    on = startOnPlatform({ rules: [notifyRule()], file: join(dir, 'trustward.db') });
    on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
  });
  afterEach(async () => {
    await on.close();
    rmSync(dir, { recursive: true, force: true });
  });

  /** Deliveries whose sends are recorded; each takes its answer from `answers`, and succeeds when none is left. */
  function deliveries(answers: boolean[] = [], outbox = on.store.outbox(), ops = OPS) {
    const sent: WaitingNotification[] = [];
    const worker = new Deliveries({
      outbox,
      webhooks: new Map([['ops', ops]]),
      clock: on.clock,
      random: half,
      log: silentLog,
      publicUrl: 'https://tw.example',
      send: async (_webhook, notification) => {
        sent.push(notification as WaitingNotification);
        const ok = answers.shift() ?? true;
        return { ok, note: ok ? 'status 200' : 'status 500' };
      },
    });
    return { sent, worker };
  }

  const auditKinds = async () => (await on.store.audit({ limit: 100 })).map(({ kind }) => kind);

  describe('a notification', () => {
    it('is written with the outcome of its intent, has the facts, and is delivered once', async () => {
      await on.run();
      const { sent, worker } = deliveries();
      await worker.round(never);
      await worker.round(never);
      expect(sent).toMatchObject([
        {
          to: 'ops',
          kind: 'notify',
          link: 'https://tw.example/subjects/device/d1',
          about: {
            rules: ['tell'],
            target: 'd1',
            matches: [{ rule: 'tell', kind: 'device', subject: 'd1', facts: { 'MdmData.CompromisedStatus': 'TRUE' } }],
          },
        },
      ]);
      expect(await auditKinds()).toContain('notification.delivered');
    });

    it('is not made by a dry run', async () => {
      await on.run('dry-run');
      expect(await on.store.outbox().nextDueAt()).toBeUndefined();
    });

    it('is not lost when the process dies before its outcome is written: the next runs make it, once', async () => {
      const settle = on.store.settle.bind(on.store);
      on.store.settle = (given) =>
        given.outcome === 'succeeded' ? Promise.reject(new Error('killed')) : settle(given);
      await expect(on.run()).rejects.toThrow('killed');
      on.store.settle = settle;
      for (let run = 0; run < 3; run += 1) {
        on.clock.pass(QUIET_MS);
        await on.run();
      }
      const { sent, worker } = deliveries();
      await worker.round(never);
      expect(sent).toHaveLength(1);
      expect(await on.intents()).toMatchObject([{ action: 'notify', outcome: 'succeeded' }]);
    });

    it('that cannot be delivered delays no action, and is tried again after growing pauses', async () => {
      await on.run();
      expect(await on.intents()).toMatchObject([{ action: 'notify', outcome: 'succeeded' }]);
      const { sent, worker } = deliveries([false, false]);
      await worker.round(never);
      await worker.round(never);
      expect(sent).toHaveLength(1);
      on.clock.pass(3_750);
      await worker.round(never);
      expect(sent).toHaveLength(2);
      on.clock.pass(3_750);
      await worker.round(never);
      expect(sent).toHaveLength(2);
      on.clock.pass(3_750);
      await worker.round(never);
      expect(sent.map(({ id }) => id)).toEqual([sent[0]?.id, sent[0]?.id, sent[0]?.id]);
    });

    it('that nobody accepts is given up after the allowed attempts, with an audit entry', async () => {
      await on.run();
      const { sent, worker } = deliveries([false, false, false]);
      for (let round = 0; round < 5; round += 1) {
        await worker.round(never);
        on.clock.pass(3_600_000);
      }
      expect(sent).toHaveLength(3);
      const given = (await on.store.audit({ limit: 100 })).find(({ kind }) => kind === 'notification.given_up');
      expect(JSON.parse(given?.bytes as string).body).toMatchObject({ to: 'ops', attempts: 3, note: 'status 500' });
    });

    it('is delivered again under the same id when the process died before recording it', async () => {
      await on.run();
      const outbox = on.store.outbox();
      outbox.end = () => Promise.reject(new Error('killed'));
      const first = deliveries([], outbox);
      await first.worker.round(never);
      const reopened = on.openStore();
      const second = deliveries([], reopened.outbox());
      await second.worker.round(never);
      // Nobody can know yet whether the process still delivers it.
      expect(second.sent).toEqual([]);
      on.clock.pass(claimMsOf([OPS]));
      await second.worker.round(never);
      expect(second.sent.map(({ id }) => id)).toEqual(first.sent.map(({ id }) => id));
      await reopened.close();
    });

    it('that was sent and could not be recorded is not sent again without a pause', async () => {
      await on.run();
      const outbox = on.store.outbox();
      outbox.end = () => Promise.reject(new Error('the disk is full'));
      const { sent, worker } = deliveries([], outbox);
      const stop = new AbortController();
      const waits: number[] = [];
      on.clock.sleep = async (ms) => {
        waits.push(ms);
        stop.abort();
      };
      await worker.run(stop.signal);
      expect(sent).toHaveLength(1);
      expect(waits).toEqual([60_000]);
    });

    it('to a webhook whose secret cannot be read waits without an attempt, and is delivered once it can', async () => {
      await on.run();
      const unread = deliveries([], undefined, { ...OPS, secret: '', attemptsMax: 1 });
      for (let count = 0; count < 3; count += 1) {
        await unread.worker.round(never);
        on.clock.pass(60_000);
      }
      expect(unread.sent).toEqual([]);
      const { sent, worker } = deliveries();
      await worker.round(never);
      expect(sent).toMatchObject([{ to: 'ops', attempts: 0 }]);
    });

    it('to a webhook that is no longer configured is given up', async () => {
      await on.run();
      const worker = new Deliveries({
        outbox: on.store.outbox(),
        webhooks: new Map(),
        clock: on.clock,
        random: half,
        log: silentLog,
      });
      await worker.round(never);
      expect(await auditKinds()).toContain('notification.given_up');
    });

    it('that arrives while the worker rests is delivered when it is poked', async () => {
      const stop = new AbortController();
      const { sent, worker } = deliveries();
      let resting: () => void = () => {};
      const rests = new Promise<void>((resolve) => {
        resting = resolve;
      });
      on.clock.sleep = (_ms, signal) =>
        new Promise((_resolve, reject) => {
          resting();
          const end = () => reject(new Error('woken'));
          if (signal?.aborted) end();
          signal?.addEventListener('abort', end);
        });
      const running = worker.run(stop.signal);
      await rests;
      await on.run();
      const delivered = new Promise<void>((resolve) => {
        const outbox = on.store.outbox();
        const look = async () => {
          if ((await outbox.nextDueAt()) === undefined) resolve();
          else setImmediate(look);
        };
        void look();
      });
      worker.poke();
      await delivered;
      expect(sent).toHaveLength(1);
      stop.abort();
      await running;
    });
  });

  describe('the pauses', () => {
    it('double up to an hour, each between half and all of it', () => {
      const pauses = [1, 2, 3, 20].map((attempts) => pauseAfter(attempts, { next: () => 0 }));
      expect(pauses).toEqual([2_500, 5_000, 10_000, 1_800_000]);
      expect(pauseAfter(1, { next: () => 0.999_999 })).toBe(5_000);
    });
  });
});

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

describe('people are alerted that the database fails although the outbox is in it', () => {
  const FULL: StoreFault = { kind: 'full', since: 1_000, text: 'the disk is full: make room' };
  const webhook = (name: string): Webhook => ({
    name,
    url: new URL('https://hook.example'),
    secret: 's'.repeat(32),
    timeoutMs: 60_000,
    attemptsMax: 3,
    allowPrivate: false,
    ca: undefined,
  });

  let on: OnPlatform;
  let alerts: Alerts;
  let fault: StoreFault | undefined;
  let isDown: boolean;
  let sent: Notification[];

  beforeEach(() => {
    on = startOnPlatform({ rules: [banRule({})] });
    fault = undefined;
    isDown = false;
    sent = [];
    const { ids } = on.engine;
    const database = new DatabaseAlert({
      fault: () => fault,
      webhooks: new Map(['ops', 'night'].map((name) => [name, webhook(name)])),
      ids,
      clock: on.clock,
      log: silentLog,
      signal: new AbortController().signal,
      send: async (_webhook, notification) => {
        if (isDown) return { ok: false, note: 'status 502' };
        sent.push(notification);
        return { ok: true, note: 'status 200' };
      },
    });
    const outbox = on.store.outbox();
    const raise = outbox.raise.bind(outbox);
    outbox.raise = async (...given) => {
      if (fault?.kind === 'full') throw new Error('it cannot be written');
      return raise(...given);
    };
    alerts = new Alerts({
      reader: on.store,
      outbox,
      ids,
      clock: on.clock,
      to: ['ops', 'night'],
      exemptions: { warnMs: 0, unusedMs: 0 },
      database,
    });
  });
  afterEach(() => on.close());

  const waiting = async () =>
    (await on.store.outbox().due(Number.MAX_SAFE_INTEGER, 100)).map(({ to, about }) => [to, about.alert]);

  describe('a database that cannot be written', () => {
    it('is alerted to every webhook without the outbox, once', async () => {
      fault = FULL;
      expect(await alerts.look()).toEqual([]);
      await alerts.look();
      expect(sent.map(({ to, kind, about }) => [to, kind, about.alert, about.fault])).toEqual([
        ['ops', 'alert', 'database', 'full'],
        ['night', 'alert', 'database', 'full'],
      ]);
      expect(sent[0]?.text).toBe('the database fails since 1970-01-01 00:00:01 UTC: the disk is full: make room');
      expect(await waiting()).toEqual([]);
    });

    it('is alerted until a webhook accepted it, and again when it fails anew', async () => {
      fault = FULL;
      isDown = true;
      await alerts.look();
      expect(sent).toEqual([]);
      isDown = false;
      await alerts.look();
      expect(sent).toHaveLength(2);
      fault = undefined;
      await alerts.look();
      fault = { ...FULL, since: 9_000 };
      await alerts.look();
      expect(sent).toHaveLength(4);
    });

    it('is distinguished from other faults of the outbox', async () => {
      const outbox = { ...on.store.outbox(), raise: () => Promise.reject(new Error('something else')) };
      const database = { condition: () => undefined, describePast: async () => false };
      const { ids } = on.engine;
      const other = new Alerts({
        reader: on.store,
        outbox: outbox as never,
        ids,
        clock: on.clock,
        to: ['ops'],
        exemptions: { warnMs: 0, unusedMs: 0 },
        database,
      });
      await expect(other.look()).rejects.toThrow('something else');
    });
  });

  describe('a damaged database that can still be written', () => {
    it('is alerted through the outbox, with an audit entry, once', async () => {
      fault = { kind: 'corrupt', since: 1_000, text: 'it is damaged: restore a backup' };
      expect((await alerts.look()).map(({ code }) => code)).toEqual(['database']);
      expect(await alerts.look()).toEqual([]);
      expect(sent).toEqual([]);
      expect(await waiting()).toEqual([
        ['ops', 'database'],
        ['night', 'database'],
      ]);
      expect(await on.store.audit({ kind: 'alert.raised', limit: 5 })).toHaveLength(1);
    });
  });
});
