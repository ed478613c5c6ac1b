// test: people are alerted that the database fails although the outbox is in it: without the outbox, once, until a
// webhook accepted it.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StoreFault } from '../../../src/domain/database.ts';
import type { Notification } from '../../../src/domain/notification.ts';
import { Alerts } from '../../../src/runtime/notify/alerts.ts';
import { DatabaseAlert } from '../../../src/runtime/notify/delivery.ts';
import type { Webhook } from '../../../src/runtime/notify/settings.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { silentLog } from '../../support/organization.ts';

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
