// test: every method of the port gives back what it was given, and what must not be twice is refused by the tables.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  claim,
  commitOf,
  decision,
  episode,
  event,
  intent,
  type OpenStore,
  openStore,
  plan,
  run,
} from '../support/stored-nouns.ts';

let open: OpenStore;
beforeEach(async () => {
  open = openStore();
  await open.store.beginRun(run, []);
});
afterEach(() => open.store.close());

const whole = () => commitOf({ episodes: [episode], intents: [intent], claims: [claim], decisions: [decision], plan });

describe('what is stored', () => {
  it('comes back whole', async () => {
    const { store, clock } = open;
    await store.commitRun(whole());
    const openState = await store.openState(clock.nowMs());
    expect(openState.episodes).toEqual([episode]);
    expect(openState.claims).toEqual([claim]);
    expect(openState.intents).toEqual([intent]);
    expect(openState.decisions).toEqual([
      { ...decision, runId: 'r1', runSeq: 1, writtenAt: clock.nowMs(), endedSeq: undefined },
    ]);
    expect(await store.plan('p1')).toEqual(plan);
    expect(await store.run('r1')).toMatchObject({ ...run, seq: 1, planId: 'p1', findings: { planDigest: 'digest' } });
  });

  it('is whole or not at all: one bad row leaves nothing of its commit, nor of its audit', async () => {
    const { store, clock } = open;
    const twice = {
      ...whole(),
      intents: [intent, { ...intent, id: 'i2' }],
      notes: [{ kind: 'notice' as const, body: {} }],
    };
    await expect(store.commitRun(twice)).rejects.toThrow();
    expect(await store.openState(clock.nowMs())).toMatchObject({
      episodes: [],
      claims: [],
      intents: [],
      decisions: [],
    });
    expect(await store.auditHead()).toMatchObject({ seq: 0 });
  });

  it('keeps runs in order, and finishes or aborts them', async () => {
    const { store } = open;
    const second = await store.beginRun({ ...run, id: 'r2' }, []);
    expect(second.seq).toBe(2);
    await store.finishRun({ ...second, status: 'completed', finishedAt: 9 }, []);
    expect(await store.abortStaleRuns(11)).toBe(1);
    expect((await store.runs(10)).map(({ id, status, finishedAt }) => [id, status, finishedAt])).toEqual([
      ['r2', 'completed', 9],
      ['r1', 'aborted', 11],
    ]);
    expect((await store.runs(10, 2)).map(({ id }) => id)).toEqual(['r1']);
    expect(await store.latestRun()).toMatchObject({ id: 'r2' });
  });

  it('shows a decision in the runs in which it stood, and not in the one that ended it', async () => {
    const { store } = open;
    await store.commitRun(whole());
    await store.beginRun({ ...run, id: 'r2' }, []);
    await store.commitRun({ ...commitOf(), runId: 'r2' });
    await store.beginRun({ ...run, id: 'r3' }, []);
    await store.commitRun({ ...commitOf({ endedDecisions: ['x1'] }), runId: 'r3' });
    const shown = [];
    for (const id of ['r1', 'r2', 'r3']) shown.push((await store.decisionsOfRun((await store.run(id))!)).length);
    expect(shown).toEqual([1, 1, 0]);
    const one = async (inForceIn: number) => (await store.decisions({ inForceIn, limit: 10 })).map(({ id }) => id);
    expect([await one(1), await one(2), await one(3)]).toEqual([['x1'], ['x1'], []]);
  });

  it('follows an intent through sent and settled, with its attempts', async () => {
    const { store, clock } = open;
    await store.commitRun(whole());
    const change = { intentId: 'i1', notes: [] };
    await store.markSent({ ...change, run: 'r1' });
    expect(await store.attemptsSince('ban_device', clock.nowMs())).toBe(1);
    expect(await store.attemptsSince('ban_device', clock.nowMs() + 1)).toBe(0);
    clock.pass(7);
    await store.settle({ ...change, outcome: 'succeeded', note: 'Success' });
    const [after] = await store.intents({ outcome: 'succeeded' });
    expect(after).toMatchObject({
      attempts: 1,
      doubtRetries: 0,
      sentAt: clock.nowMs() - 7,
      settledAt: clock.nowMs(),
      note: 'Success',
    });
    const openState = await store.openState(clock.nowMs());
    expect(openState.lastAttempts).toEqual(new Map([['ban ban_device S-1', clock.nowMs() - 7]]));
    expect(openState.attempts24h).toEqual(new Map([['ban_device', 1]]));
    expect(openState.decisions).toMatchObject([{ outcome: 'succeeded', outcomeText: 'Success' }]);
    const nobody = store.markSent({ ...change, intentId: 'nobody', run: undefined });
    await expect(nobody).rejects.toMatchObject({ code: 'not_found' });
  });

  it('finds a plan only by an unambiguous prefix', async () => {
    const { store } = open;
    await store.changePlan(plan, [], []);
    await store.changePlan({ ...plan, id: 'p12' }, [], []);
    await store.changePlan({ ...plan, id: 'q' }, [], []);
    expect((await store.plan('q'))?.id).toBe('q');
    await expect(store.plan('p')).rejects.toMatchObject({ code: 'usage' });
    expect((await store.plan('p1'))?.id).toBe('p1');
    expect(await store.plan('zz')).toBeUndefined();
    expect(await store.plan('%')).toBeUndefined();
  });

  it('counts an event once, and merges stretches that touch', async () => {
    const { store } = open;
    const observe = (fromMs: number, toMs: number) =>
      store.observeEvents({ events: [event], coverage: { fromMs, toMs }, forgetBeforeMs: 0 });
    expect(await observe(50, 150)).toEqual({ added: 1 });
    expect(await observe(140, 200)).toEqual({ added: 0 });
    await observe(300, 400);
    expect(await store.coverage()).toEqual([
      { fromMs: 50, toMs: 200 },
      { fromMs: 300, toMs: 400 },
    ]);
    await observe(200, 300);
    expect(await store.coverage()).toEqual([{ fromMs: 50, toMs: 400 }]);
    const batches = [];
    for await (const batch of store.events(100)) batches.push(batch);
    expect(batches).toEqual([[event]]);
    const later = { ...event, id: 'later', createdAtMs: 200 };
    await store.observeEvents({ events: [later], coverage: undefined, forgetBeforeMs: 101 });
    const left = [];
    for await (const batch of store.events(0)) left.push(batch);
    expect(left).toEqual([[later]]);
  });

  it('knows no stretch of the log whose events it has forgotten', async () => {
    const { store } = open;
    await store.observeEvents({ events: [event], coverage: { fromMs: 50, toMs: 300 }, forgetBeforeMs: 0 });
    const later = { ...event, id: 'later', createdAtMs: 350 };
    await store.observeEvents({ events: [later], coverage: { fromMs: 290, toMs: 400 }, forgetBeforeMs: 200 });
    expect(await store.coverage()).toEqual([{ fromMs: 200, toMs: 400 }]);
  });

  it('gives no number of an event twice, however old the newest one is', async () => {
    const { store } = open;
    const observe = (id: string, createdAtMs: number, forgetBeforeMs: number) =>
      store.observeEvents({ events: [{ ...event, id, createdAtMs }], coverage: undefined, forgetBeforeMs });
    await observe('first', 100, 0);
    await observe('told late', 50, 0);
    const before = await store.lastEventNo();
    await observe('next', 300, 250);
    expect(await store.lastEventNo()).toBe(before + 1);
    const read = [];
    for await (const batch of store.eventsBetween(before, before + 1)) read.push(...batch.map(({ id }) => id));
    expect(read).toEqual(['next']);
  });

  it('never knows a stretch of the event log without its events', async () => {
    const { store, db } = open;
    db.exec("CREATE TRIGGER full BEFORE INSERT ON coverage BEGIN SELECT RAISE(ABORT, 'the disk is full'); END");
    const observed = { events: [event], coverage: { fromMs: 50, toMs: 150 }, forgetBeforeMs: 0 };
    await expect(store.observeEvents(observed)).rejects.toThrow();
    expect(db.all('SELECT id FROM events')).toEqual([]);
    db.exec('DROP TRIGGER full');
    db.exec("CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'the disk is full'); END");
    await expect(store.observeEvents(observed)).rejects.toThrow();
    expect(await store.coverage()).toEqual([]);
  });

  it('keeps the last baseline of each source', async () => {
    const { store } = open;
    const baseline = { source: 'devices' as const, takenAt: 1, count: 2, values: { Banned: { TRUE: 1, FALSE: 1 } } };
    await store.commitRun(commitOf({ baselines: [baseline] }));
    const earlier = [{ takenAt: 0, count: 1, values: { Banned: { FALSE: 1 } } }];
    await store.commitRun(commitOf({ baselines: [{ ...baseline, count: 3, earlier }] }));
    expect(await store.baseline('devices')).toEqual({ ...baseline, count: 3, earlier });
    expect(await store.baseline('users')).toBeUndefined();
  });

  it('is bound to one address', async () => {
    const { store } = open;
    await store.bind('https://a.example');
    await store.bind('https://a.example');
    expect(await store.address()).toBe('https://a.example');
    await expect(store.bind('https://b.example')).rejects.toMatchObject({
      code: 'bound_elsewhere',
      message: expect.stringContaining('belongs to https://a.example, not to https://b.example'),
    });
    expect((await store.audit({ limit: 10 })).map(({ kind }) => kind)).toEqual(['database.bound']);
  });
});

describe('the tables refuse', () => {
  it('a second live intent for one action, target and episode; not a dry or withdrawn one', async () => {
    const { store } = open;
    await store.commitRun(
      commitOf({ episodes: [episode], intents: [intent, { ...intent, id: 'dry', mode: 'dry-run' }] }),
    );
    const again = commitOf({ intents: [{ ...intent, id: 'i2' }] });
    await expect(store.commitRun(again)).rejects.toThrow();
    const why = { decision: 'skip', reason: 'drifted', reasonText: 'changed' } as const;
    await store.withdraw({ intentId: 'i1', why, notes: [] });
    await store.commitRun(again);
    expect(await store.intents({ ids: ['i1', 'i2', 'dry'] })).toHaveLength(3);
  });

  it('a second open episode of one rule and subject, and a second open claim of one episode and target', async () => {
    const { store } = open;
    await store.commitRun(whole());
    await expect(store.commitRun(commitOf({ episodes: [{ ...episode, id: 'e2' }] }))).rejects.toThrow();
    await expect(store.commitRun(commitOf({ claims: [{ ...claim, id: 'c2' }] }))).rejects.toThrow();
    await store.commitRun(
      commitOf({
        claims: [
          { ...claim, status: 'ended', endedAt: 1 },
          { ...claim, id: 'c2' },
        ],
      }),
    );
  });

  it('changing or deleting an audit entry, and a second entry of one number', async () => {
    const { store, db } = open;
    await store.appendAudit([
      { kind: 'notice', body: { text: 'one' } },
      { kind: 'notice', body: { text: 'two' } },
    ]);
    expect(() => db.run("UPDATE audit SET bytes = 'x' WHERE seq = 1")).toThrow('append-only');
    expect(() => db.run('DELETE FROM audit WHERE seq = 2')).toThrow();
    const row = db.get('SELECT * FROM audit WHERE seq = 1')!;
    expect(() => db.insert('audit', row)).toThrow();
    expect(await store.auditHead()).toMatchObject({ seq: 2 });
  });
});
