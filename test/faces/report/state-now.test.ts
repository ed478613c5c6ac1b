// report: the first sentence of every face, made of what is stored: what waits, what went wrong, and what was done beyond the usual.
import { describe, expect, it } from 'vitest';
import { timeText } from '../../../src/base/time.ts';
import type { ReportSnapshot } from '../../../src/contract/report.ts';
import { planTitle, readInbox } from '../../../src/faces/report/inbox.ts';
import { readNow, stateNow } from '../../../src/faces/report/state-now.ts';
import { transmitterAlerts } from '../../../src/runtime/notify/alerts.ts';
import type { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { addRun, decision, fakeClock, intent, openStore, plan, START_MS } from '../../support/filled-store.ts';
import { idp } from '../../support/transmitter.ts';
import { addActed } from '../web/acted.ts';

const HOUR_MS = 3_600_000;

/** Each target once, with success. */
async function addDone(store: SqliteStore, run: string, action: string, count: number): Promise<void> {
  const intents = Array.from({ length: count }, (_, at) => {
    const [one] = intent().basis;
    const basis = one === undefined ? [] : [{ ...one, episodeId: `${run}-${at}`, subjectId: `${run}-${at}` }];
    return intent({ id: `${run}-${at}`, runId: run, action, target: `${run}-${at}`, basis });
  });
  await addRun(store, { id: run, mode: 'enforce', intents });
  for (const { id } of intents) {
    await store.markSent({ intentId: id, run, notes: [] });
    await store.settle({ intentId: id, outcome: 'succeeded', note: 'Success', notes: [] });
  }
}

describe('the first sentence', () => {
  it('names what of its data is not trusted', async () => {
    const store = openStore();
    const reasons = [{ source: 'devices', code: 'shrunk', text: '100 to 3' }] as const;
    await addRun(store, { sources: { devices: { trusted: false, reasons: [...reasons] } } });
    const now = await readNow(store, START_MS, []);
    expect(stateNow(now)).toEqual({
      tone: 'bad',
      sentence: 'Something is wrong. The last run did not trust devices, and does nothing with that data.',
    });
    const given = { source: '$facts.inventory', code: 'stale', text: 'its data is too old' } as const;
    const snapshot = { ...(now.snapshot as ReportSnapshot), reasons: [...reasons, ...reasons, given] };
    expect(stateNow({ ...now, snapshot }).sentence).toContain(
      'did not trust devices and the source inventory, and does nothing',
    );
  });

  it('names transmitters whose signals may be missing, which are alerted, too', async () => {
    const clock = fakeClock();
    const store = openStore(clock);
    const asked = idp({ delivery: { method: 'poll', url: 'https://idp.example/poll' }, heartbeatMs: HOUR_MS });
    const rules = [
      { guards: { ask: [], lastDevice: false, perDay: undefined, transmitters: [asked, idp({ name: 'edr' })] } },
    ];
    const now = async () => stateNow(await readNow(store, clock.nowMs(), rules)).sentence;
    const alerts = async () => (await transmitterAlerts(store, rules, clock.nowMs())).map(({ text }) => text);
    // Nobody has asked it yet.
    expect(await now()).toBe('Something is wrong. Signals of idp may be missing.');
    const proven = { fromMs: START_MS - HOUR_MS, toMs: START_MS };
    const unproven = { transmitter: 'idp', atMs: START_MS, signals: [], proven: undefined, refused: {} };
    await store.signalBox().receive({ ...unproven, stream: { status: 'enabled' } });
    expect(await now()).toBe('Something is wrong. Signals of idp may be missing.');
    const first = { text: 'status 401', sinceMs: START_MS };
    await store.signalBox().receive({ ...unproven, stream: { status: 'unknown', fault: first } });
    expect(await now()).toBe('Something is wrong. Signals of idp may be missing.');
    await store
      .signalBox()
      .receive({ transmitter: 'idp', atMs: START_MS, signals: [], stream: { status: 'enabled' }, proven, refused: {} });
    clock.advance(2 * HOUR_MS);
    expect([await now(), await alerts()]).toEqual(['All is well.', []]);
    clock.advance(1);
    const fault = { text: 'status 401', sinceMs: START_MS + HOUR_MS };
    const stream = { status: 'unknown', fault } as const;
    expect(await now()).toBe('Something is wrong. Signals of idp may be missing.');
    expect(await alerts()).toEqual([
      `transmitter idp: nothing proves since ${timeText(START_MS)} that none is missing; rules over its signals are unknown until it is heard of`,
    ]);
    await store
      .signalBox()
      .receive({ transmitter: 'idp', atMs: clock.nowMs(), signals: [], proven: undefined, refused: {}, stream });
    expect(await alerts()).toEqual([
      `transmitter idp: it cannot be asked since ${timeText(fault.sinceMs)}: status 401; rules over its signals are unknown until it is heard of`,
    ]);
  });

  it('names services that were disabled, and more targets of an action than on any day of the week before', async () => {
    const clock = fakeClock();
    const store = openStore(clock);
    const now = async () => stateNow(await readNow(store, clock.nowMs(), []));
    await addDone(store, 'a', 'ban_device', 5);
    expect((await now()).sentence).toBe(
      '5 devices were banned in the last 24 hours (there is no week before to compare with).',
    );
    clock.advance(25 * HOUR_MS);
    expect(await now()).toEqual({ tone: 'good', sentence: 'All is well.' });
    await addDone(store, 'b', 'ban_device', 5);
    expect(await now()).toEqual({ tone: 'good', sentence: 'All is well.' });
    clock.advance(7 * 24 * HOUR_MS);
    await addDone(store, 'e', 'ban_device', 5);
    expect(await now()).toEqual({ tone: 'good', sentence: 'All is well.' });
    await addDone(store, 'c', 'ban_device', 1);
    await addDone(store, 'd', 'disable_service', 7);
    await addDone(store, 'n', 'notify', 5);
    expect(await now()).toEqual({
      tone: 'wait',
      sentence:
        '7 services were disabled in the last 24 hours, 6 devices were banned (at most 5 a day in the week before), Trustward notified about 5 targets (at most 0).',
    });
    clock.advance(25 * HOUR_MS);
    expect(await now()).toEqual({ tone: 'good', sentence: 'All is well.' });
  });

  it('names what no verb and object name as a person would', async () => {
    const clock = fakeClock();
    const store = openStore(clock);
    await addDone(store, 'n', 'notify', 7);
    await addDone(store, 'b', 'add_to_bundle', 5);
    expect(stateNow(await readNow(store, clock.nowMs(), [])).sentence).toBe(
      'Trustward notified about 7 targets in the last 24 hours (there is no week before to compare with), 5 targets were added to a bundle.',
    );
    expect(planTitle([{ action: 'notify', rules: [], count: 2, subjects: 2 }])).toBe('Notify about 2 targets');
  });

  it('counts and lists what waits in a live plan and in the same plan of a dry run once, and other content apart', async () => {
    const clock = fakeClock();
    const store = openStore(clock);
    const held = decision({ id: 'held', decision: 'hold', reason: 'approval_needed', outcome: undefined });
    const other = { ...held, id: 'other', target: 'SERIAL-2' };
    const live = plan(held, { id: 'live', createdAt: START_MS - 1 });
    await addRun(store, { id: 'run1', mode: 'enforce', decisions: [held], plan: live });
    await addRun(store, { id: 'run2', plan: plan(held, { id: 'dry', runId: 'run2', mode: 'dry-run' }) });
    await addRun(store, { id: 'run3', plan: plan(other, { id: 'more', runId: 'run3', mode: 'dry-run' }) });
    const { items, total } = await readInbox(store, { limit: 10 });
    expect(items.map(({ id }) => id)).toEqual(['more', 'live']);
    expect([total, (await store.inboxCounts()).pending]).toEqual([2, 2]);
    await store.changePlan({ ...live, status: 'superseded' }, [], [], 'pending');
    expect((await readInbox(store, { limit: 10 })).items.map(({ id }) => id)).toEqual(['more', 'dry']);
  });

  it('names what went wrong before what waits for a yes, and a stop before both', async () => {
    const clock = fakeClock();
    const store = openStore(clock);
    await addActed(store, 'run1', [
      { id: '1', outcome: 'succeeded', status: 'standing' },
      { id: '2', outcome: 'unknown' },
      { id: '3', outcome: 'parked' },
      { id: '4', outcome: 'failed' },
    ]);
    const held = decision({ id: 'held', decision: 'hold', reason: 'approval_needed', outcome: undefined });
    await addRun(store, { id: 'run2', decisions: [held], plan: plan(held, { runId: 'run2' }), error: 'it broke off' });
    const work =
      'Run 2 was aborted, 1 action failed and is still to be done, 1 action is in doubt, 1 action is parked and waits for a person, 1 plan waits for a yes.';
    expect(stateNow(await readNow(store, clock.nowMs(), []))).toEqual({ tone: 'wait', sentence: work });
    await store.setStop({ at: clock.nowMs(), by: 'ana', reason: 'a test' }, []);
    expect(stateNow(await readNow(store, clock.nowMs(), []), { isWrong: true })).toEqual({
      tone: 'bad',
      sentence: `Something is wrong. Stopped by a person: nothing is called. ${work}`,
    });
    const pages: string[] = [];
    for (let before: string | undefined; ; ) {
      const { items, counts, next } = await readInbox(store, { limit: 1, before });
      expect(counts).toEqual((await store.workNow(clock.nowMs())).inbox);
      pages.push(...items.map(({ state, id }) => `${state} ${id}`));
      if (next === null) break;
      before = next;
    }
    expect(pages).toEqual(['pending plan1', 'parked intent-3', 'in_doubt intent-2', 'failed intent-4']);
    clock.advance(25 * HOUR_MS);
    expect((await store.workNow(clock.nowMs())).inbox.pending).toBe(0);
  });
});
