// test: the outbox: written with the outcome that it reports, delivered at least once, retried with growing pauses,
// given up.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { WaitingNotification } from '../../../src/domain/notification.ts';
import type { Random } from '../../../src/domain/ports.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { claimMsOf, Deliveries, pauseAfter } from '../../../src/runtime/notify/delivery.ts';
import type { Webhook } from '../../../src/runtime/notify/settings.ts';
import { type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';
import { silentLog } from '../../support/organization.ts';

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
    on.store.settle = (given) => (given.outcome === 'succeeded' ? Promise.reject(new Error('killed')) : settle(given));
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
