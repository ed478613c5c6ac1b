// test: every method of the port gives back what it was given; what the tables refuse is a sentence; an intent changes as the table of transitions says.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  INTENT_TRANSITIONS,
  type Intent,
  type IntentState,
  type IntentTransition,
  mayChange,
  type SettledAs,
  stateOf,
} from '../../src/domain/intent.ts';
import { addExemption } from '../../src/engine/operate/commands.ts';
import { addToken } from '../../src/engine/operate/endpoint-tokens.ts';
import { saveEpisode } from '../../src/store/intent-log.ts';
import { INTENT } from '../../src/store/rows.ts';
import { answered } from '../../src/store/sqlite/database.ts';
import { bodyOf, openEndpoint } from '../support/endpoint.ts';
import { countingIds } from '../support/engine-on-platform.ts';
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

describe('every method of the port gives back what it was given, and what must not be twice is refused by the tables', () => {
  let open: OpenStore;
  beforeEach(async () => {
    open = openStore();
    await open.store.beginRun(run, []);
  });
  afterEach(() => open.store.close());

  const whole = () =>
    commitOf({ episodes: [episode], intents: [intent], claims: [claim], decisions: [decision], plan });

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

    it('does not know of a transmitter what was forgotten, whatever was proven, and whichever window comes later', async () => {
      const { store } = open;
      const batch = { transmitter: 'okta', signals: [], refused: {} };
      const proves = (fromMs: number, toMs: number) =>
        store.signalBox().receive({ ...batch, atMs: toMs, proven: { fromMs, toMs } });
      const forget = async (forgetBeforeMs: number) => {
        const signals = await store.newSignals();
        await store.observeEvents({ events: [], coverage: undefined, forgetBeforeMs, signals });
        return [...(await store.newSignals()).coverage, ...(await store.coverage())].map(({ fromMs, toMs }) => [
          fromMs,
          toMs,
        ]);
      };
      await proves(0, 100);
      await proves(0, 300);
      expect(await forget(0)).toEqual([
        [100, 300],
        [100, 300],
      ]);
      await forget(200);
      await proves(250, 400);
      expect(await forget(0)).toEqual([
        [200, 400],
        [200, 400],
      ]);
      expect(await forget(500)).toEqual([[400, 400]]);
      const own = { ...event, id: 'okta:1', createdAtMs: 450, transmitter: 'okta' };
      const signals = [{ event: own, jti: '1', untilMs: 1_000, isUnknown: false }];
      await store.signalBox().receive({ ...batch, atMs: 450, signals, proven: undefined });
      const [days, skew] = [8 * 86_400_000, 300_000];
      await proves(0, days);
      expect(await store.newSignals()).toMatchObject({
        events: [],
        coverage: [{ fromMs: days / 8 + skew, toMs: days }],
      });
    });

    it('keeps the signals of a transmitter, and the stretches they are known for, apart from the log of the platform', async () => {
      const { store } = open;
      const signal = { ...event, id: 'okta:1', createdAtMs: 190, transmitter: 'okta', serviceId: 'crm' };
      const used = { ...signal, type: 'Access', action: 'Authorized' };
      const observe = (
        transmitter: string | undefined,
        fromMs: number,
        toMs: number,
        events: (typeof event)[] = [used],
      ) => store.observeEvents({ events, coverage: { transmitter, fromMs, toMs }, forgetBeforeMs: 0 });
      await observe(undefined, 50, 150, [event]);
      await observe('okta', 140, 200);
      await observe('other', 180, 210);
      await observe('okta', 200, 300);
      expect(await store.coverage()).toEqual([
        { fromMs: 50, toMs: 150 },
        { transmitter: 'okta', fromMs: 140, toMs: 300 },
        { transmitter: 'other', fromMs: 180, toMs: 210 },
      ]);
      expect(await store.eventTimes(0)).toEqual(new Map([[event.id, event.createdAtMs]]));
      expect(await store.serviceUse()).toBeUndefined();
      expect((await store.figures()).lastTrusted).toEqual([{ source: 'events', at: 150, count: undefined }]);
      const read = [];
      for await (const batch of store.events(0)) read.push(...batch);
      expect(read).toEqual([event, used]);
      expect(read.map(({ transmitter }) => transmitter)).toEqual([undefined, 'okta']);
    });

    it('counts who was let in to a service since the last gap of the log', async () => {
      const { store } = open;
      const LET_IN = { type: 'Access', action: 'Authorized', serviceId: 'crm', email: 'ana@a.b' };
      const observe = (fromMs: number, used: readonly Partial<typeof event>[]) => {
        const events = used.map((one, at) => ({
          ...event,
          id: `${fromMs} ${at}`,
          createdAtMs: fromMs + 1,
          ...LET_IN,
          ...one,
        }));
        return store.observeEvents({ events, coverage: { fromMs, toMs: fromMs + 50 }, forgetBeforeMs: 0 });
      };
      await observe(100, [{ email: 'before@a.b' }]);
      expect((await store.serviceUse())?.services.get('crm')).toEqual({ people: 1, isLeast: false });
      await observe(200, [{ action: 'Unauthorized' }, { type: 'Identity' }, { serviceId: undefined }]);
      expect(await store.serviceUse()).toBeUndefined();
      await observe(300, [{}, {}, { email: 'bo@a.b' }, { serviceId: 'erp', email: undefined }]);
      const services = new Map([
        ['crm', { people: 2, isLeast: false }],
        ['erp', { people: 0, isLeast: true }],
      ]);
      expect(await store.serviceUse()).toEqual({ fromMs: 300, toMs: 350, services });
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

    it('keeps what is still to be read, and nothing else, beyond what windows need', async () => {
      const { store } = open;
      const observe = (id: string, createdAtMs: number, unreadAfterNo: number | undefined) =>
        store.observeEvents({
          events: [{ ...event, id, createdAtMs }],
          coverage: undefined,
          forgetBeforeMs: 250,
          unreadAfterNo,
        });
      const left = async () => {
        const ids: string[] = [];
        for await (const batch of store.events(0)) ids.push(...batch.map(({ id }) => id));
        return ids;
      };
      await observe('read', 100, undefined);
      const readTo = await store.lastEventNo();
      await observe('unread', 150, readTo);
      await observe('next', 300, readTo);
      expect(await left()).toEqual(['unread', 'next']);
      await observe('last', 350, undefined);
      expect(await left()).toEqual(['next', 'last']);
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
});

/** The error of work that must fail, in words fit for a person. */
async function refusalOf(work: Promise<unknown>): Promise<{ code: string; message: string }> {
  const error = await work.then(
    () => undefined,
    (reason: { code: string; message: string }) => reason,
  );
  expect(error?.message).not.toMatch(/constraint failed|\n/i);
  return error as { code: string; message: string };
}

async function storeWithRun() {
  const opened = openStore();
  await opened.store.beginRun(run, []);
  await opened.store.commitRun(commitOf({ episodes: [{ ...episode, state: 'matching' }], plan }));
  return opened;
}

describe('a collision that requests can cause', () => {
  it('of two tokens of one name made at once leaves one token, and names the way out', async () => {
    const { ask, store } = openEndpoint();
    const body = { name: 'ci', scope: 'read' };
    const answers = await Promise.all([
      ask('POST', '/api/tokens', { body }),
      ask('POST', '/api/tokens', { body }),
      ask('POST', '/api/tokens', { body }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
    const refused = answers.find(({ status }) => status === 409) as Response;
    expect(await bodyOf<{ detail: string }>(Promise.resolve(refused))).toMatchObject({
      detail: 'there is a token of this name already: revoke it first, or choose another name',
    });
    expect(await store.endpointTokens()).toHaveLength(1);
    expect((await store.audit({ kind: 'token.added', limit: 9 })).length).toBe(1);
  });

  it('of two tokens made by two commands is the same', async () => {
    const { store, clock } = openStore();
    const ids = countingIds();
    const parts = { tokens: store.tokens(), clock, ids, secret: () => 'tw_0123456789' };
    const add = () => addToken(parts, { name: 'ci', scope: 'read' }, 'ana');
    const [first, second] = [add(), add()];
    await first;
    expect((await refusalOf(second)).code).toBe('conflict');
    expect((await refusalOf(add())).message).toContain('there is a token `ci` already');
  });

  it('of one action planned twice for one target and episode names both, and what to look at', async () => {
    const { store } = await storeWithRun();
    await store.changePlan({ ...plan, status: 'applying' }, [intent], []);
    const before = await store.auditHead();
    const again = store.changePlan({ ...plan, id: 'p2' }, [{ ...intent, id: 'i2' }], [{ kind: 'notice', body: {} }]);
    expect(await refusalOf(again)).toMatchObject({
      code: 'conflict',
      message:
        'the same action is planned, under way or done for this target already while its match lasts: nothing was changed; see `trustward inbox`',
    });
    expect(await store.plan('p2')).toBeUndefined();
    expect(await store.auditHead()).toEqual(before);
  });

  it('does not exist between two equal exemptions: both are in force', async () => {
    const { store, clock } = openStore();
    const ids = countingIds();
    const request = { subject: { kind: 'device', id: 'd1' }, unseen: true, owner: 'ana', reason: 'lab', until: '1d' };
    const add = () => addExemption({ store, clock, ids }, request, 'ana');
    await Promise.all([add(), add()]);
    expect(await store.exemptions(clock.nowMs())).toHaveLength(2);
  });
});

describe('a change that no request should cause', () => {
  it('is refused in words: which table, and that nothing was changed', async () => {
    const { store } = await storeWithRun();
    const second = store.release({ intent: undefined, claims: [], episodes: [{ ...episode, id: 'e2' }], notes: [] });
    expect(await refusalOf(second)).toMatchObject({
      code: 'store_failed',
      message:
        'database `:memory:` (SQLITE_CONSTRAINT_UNIQUE): it refused a change of table `episodes` that breaks its rules; nothing was changed: check it with `trustward doctor`',
    });
  });

  it.each([
    [
      'of a missing row',
      "INSERT INTO rejected_intents (key, episode_id, plan_id) VALUES ('k', 'none', 'p')",
      'FOREIGNKEY',
    ],
    ['of a value that is not allowed', 'UPDATE plans SET status = NULL', 'NOTNULL'],
    ['of a state that does not exist', "UPDATE episodes SET state = 'lost'", 'CHECK'],
    ['of an audit entry', 'DELETE FROM audit', 'TRIGGER'],
  ])('is refused in words: %s', async (_, sql, kind) => {
    const { db, store } = await storeWithRun();
    await store.appendAudit([{ kind: 'notice', body: {} }]);
    const table = /(?:INTO|UPDATE|FROM) (\w+)/.exec(sql)?.[1];
    const error = await refusalOf((async () => db.run(sql))());
    expect(error.message).toContain(`(SQLITE_CONSTRAINT_${kind}): it refused a change of table \`${table}\``);
    expect(error.code).toBe('store_failed');
  });
});

describe('an intent changes as the table of transitions says, and in no other way', () => {
  let open: OpenStore;
  beforeEach(() => {
    open = openStore();
  });
  afterEach(() => open.store.close());

  const UNSETTLED = ['planned', 'sent', 'withdrawn'] as const;
  const SETTLED: readonly SettledAs[] = ['succeeded', 'failed', 'unknown', 'confirmed', 'parked'];
  const STATES: readonly IntentState[] = [...UNSETTLED, ...SETTLED, 'dry_run'];

  /** By transition: the states that its caller can name. */
  const NAMED: { [transition in IntentTransition]: readonly IntentState[] } = {
    markSent: ['sent'],
    settle: SETTLED,
    withdraw: ['withdrawn', 'failed'],
    reopen: ['planned'],
    resolve: ['confirmed', 'failed', 'unknown'],
  };

  const notes = [{ kind: 'run.aborted' as const, body: {} }];
  const change = { intentId: intent.id, notes, note: 'why' };
  const why = { decision: 'skip', reason: 'drifted', reasonText: 'why' } as const;

  function perform(transition: IntentTransition, to: IntentState): Promise<void> {
    const { store } = open;
    switch (transition) {
      case 'markSent':
        return store.markSent({ ...change, run: 'r1' });
      case 'settle':
        return store.settle({ ...change, outcome: to as SettledAs });
      case 'withdraw':
        return store.withdraw({ ...change, why });
      case 'reopen':
        return store.reopen({ intents: [intent], notes });
      case 'resolve':
        return store.resolve({ ...change, outcome: to as 'confirmed' | 'failed' | 'unknown' });
    }
  }

  /** An intent that is withdrawn to `failed` was sent before. */
  function stored(state: IntentState, to: IntentState): Intent {
    const unsettled = UNSETTLED.find((status) => status === state);
    const attempts = state === 'planned' && to === 'failed' ? 1 : 0;
    return unsettled
      ? { ...intent, status: unsettled, outcome: undefined, attempts }
      : { ...intent, status: 'settled', outcome: state as Intent['outcome'], attempts, settledAt: 1, note: 'before' };
  }

  const transitions = Object.keys(INTENT_TRANSITIONS) as IntentTransition[];
  const pairs = transitions.flatMap((transition) =>
    NAMED[transition].flatMap((to) => STATES.map((from) => ({ transition, from, to }))),
  );

  describe('the transition', () => {
    it.each(pairs)('$transition from $from to $to', async ({ transition, from, to }) => {
      const before = stored(from, to);
      answered(open.db, (db) => saveEpisode(db, episode));
      open.db.insert('intents', INTENT.rowOf(before));
      const written = await open.store.audit({ limit: 10 });
      const done = perform(transition, to);
      if (mayChange(transition, from, to)) {
        await done;
        expect(stateOf((await open.store.intent(intent.id)) as Intent)).toBe(to);
        expect(await open.store.audit({ limit: 10 })).toHaveLength(written.length + 1);
      } else {
        await expect(done).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining(`is ${from}`) });
        expect(await open.store.intent(intent.id)).toEqual(before);
        expect(await open.store.audit({ limit: 10 })).toEqual(written);
      }
    });

    it('reopen takes over the current basis, settings and effect, and keeps the approval of its own plan', async () => {
      answered(open.db, (db) => saveEpisode(db, episode));
      const before: Intent = { ...intent, approved: false, status: 'settled', outcome: 'failed', attempts: 1 };
      open.db.insert('intents', INTENT.rowOf(before));
      const other = { rule: 'other', ruleHash: 'h2', subjectId: 'd1', episodeId: 'e1', decisionId: 'x2', facts: {} };
      const now = { settings: { depth: 2 }, basis: [other], effect: { text: 'now', devices: [] } };
      await open.store.reopen({ intents: [{ ...before, ...now, approved: true, released: true }], notes });
      const after = { ...before, ...now, released: true, status: 'planned', outcome: undefined, settledAt: undefined };
      expect(await open.store.intent(intent.id)).toEqual(after);
    });

    it('leads to no state that is not tried here', () => {
      for (const transition of transitions) {
        const table: { [from: string]: readonly IntentState[] } = INTENT_TRANSITIONS[transition];
        expect(new Set(Object.values(table).flat())).toEqual(
          new Set(NAMED[transition].filter((to) => STATES.some((from) => mayChange(transition, from, to)))),
        );
        expect(STATES).toEqual(expect.arrayContaining(Object.keys(table)));
      }
    });

    it.each(['succeeded', 'confirmed', 'withdrawn', 'dry_run'] as const)('never leaves %s', (from) => {
      expect(transitions.filter((one) => STATES.some((to) => mayChange(one, from, to)))).toEqual([]);
    });
  });
});
