// http: decisions and open state can be queried, filtered and paged.
import { describe, expect, it } from 'vitest';
import { bodyOf, openEndpoint } from '../../support/endpoint.ts';
import { addRun, decision, intent, plan } from '../../support/filled-store.ts';
import { RULE } from '../../support/rule-samples.ts';

describe('GET /api/decisions', () => {
  it('filters by rule, subject, target, decision and run', async () => {
    const { ask, store } = openEndpoint();
    const other = { subject: { kind: 'device' as const, id: 'device-2' }, target: 'SERIAL-2', rule: 'other-rule' };
    await addRun(store, { id: 'run1', decisions: [decision({ id: 'a' })] });
    await addRun(store, {
      id: 'run2',
      decisions: [decision({ id: 'b', ...other, decision: 'hold', reason: 'limits' })],
    });
    for (const query of [
      'rule=other-rule',
      'subject=device-2',
      'target=SERIAL-2',
      'decision=hold',
      'run=run2',
      'run=latest',
    ]) {
      const answer = await ask('GET', `/api/decisions?${query}`, { scope: 'read' });
      expect(await answer.json()).toMatchObject({
        decisions: [{ id: 'b', facts: { 'MdmData.CompromisedStatus': 'TRUE' } }],
      });
    }
  });

  it('pages through decisions, newest first', async () => {
    const { ask, store } = openEndpoint();
    await addRun(store, { decisions: ['a', 'b', 'c'].map((id) => decision({ id, target: id })) });
    const first = await bodyOf<{ next: string }>(ask('GET', '/api/decisions?limit=2'));
    expect(first).toMatchObject({ decisions: [{ id: 'c' }, { id: 'b' }], next: 'b' });
    const second = await (await ask('GET', `/api/decisions?limit=2&before=${first.next}`)).json();
    expect(second).toMatchObject({ decisions: [{ id: 'a' }], next: null });
  });

  it.each(['decision=ban', 'rule=', 'rul=x', 'limit=5000'])(
    'refuses the filter %s instead of ignoring it',
    async (query) => {
      const { ask } = openEndpoint();
      expect((await ask('GET', `/api/decisions?${query}`)).status).toBe(400);
    },
  );
});

describe('GET /api/subjects/:kind/:id', () => {
  it('returns everything known about a device whose id contains a slash', async () => {
    const { ask, store } = openEndpoint();
    const subject = { kind: 'device' as const, id: 'lab/device 1' };
    await addRun(store, { decisions: [decision({ subject })] });
    const answer = await ask('GET', `/api/subjects/device/${encodeURIComponent(subject.id)}`, { scope: 'read' });
    expect(await answer.json()).toMatchObject({
      subject: { ...subject, name: 'Ana laptop' },
      decisions: [{ id: 'decision1', inForce: true }],
    });
  });

  it('keeps a user and a device with the same id apart', async () => {
    const { ask, store } = openEndpoint();
    await addRun(store, { decisions: [decision()] });
    expect((await ask('GET', '/api/subjects/user/device-1')).status).toBe(404);
    expect((await ask('GET', '/api/subjects/printer/device-1')).status).toBe(404);
  });
});

describe('intents, claims and rules', () => {
  it('are listed and filtered', async () => {
    const { ask, store } = openEndpoint();
    await addRun(store, { mode: 'enforce', intents: [intent()] });
    expect(await (await ask('GET', '/api/intents?status=planned')).json()).toMatchObject({
      intents: [{ id: 'intent1', createdAt: '2026-11-21T09:00:00.000Z' }],
      total: 1,
    });
    expect(await (await ask('GET', '/api/intents?outcome=parked')).json()).toEqual({
      intents: [],
      total: 0,
      next: null,
    });
    expect(await (await ask('GET', '/api/claims?status=standing')).json()).toEqual({
      claims: [],
      total: 0,
      next: null,
    });
    expect(await (await ask('GET', '/api/rules')).json()).toMatchObject({ rules: [{ id: RULE.id, cooldown: '1h' }] });
    expect(await (await ask('GET', `/api/rules/${RULE.id}`)).json()).toMatchObject({
      mode: 'enforce',
      when: RULE.when,
    });
    expect((await ask('GET', '/api/rules/no-such')).status).toBe(404);
  });
});

describe('plans', () => {
  async function withPlan() {
    const endpoint = openEndpoint();
    const held = decision({ decision: 'hold', reason: 'approval_needed', outcome: undefined });
    await addRun(endpoint.store, { mode: 'enforce', decisions: [held], plan: plan(held), intents: [intent()] });
    return endpoint;
  }

  it('are listed, and found by the beginning of their id', async () => {
    const { ask } = await withPlan();
    expect(await (await ask('GET', '/api/plans?status=pending')).json()).toMatchObject({ plans: [{ id: 'plan1' }] });
    expect(await (await ask('GET', '/api/plans/pla')).json()).toMatchObject({ id: 'plan1', intents: [{ held: true }] });
    expect((await ask('GET', '/api/plans/other')).status).toBe(404);
  });

  it('are approved under the name of the token, with a reason', async () => {
    const { ask } = await withPlan();
    const answer = await ask('POST', '/api/plans/plan1/approve', { scope: 'approve', body: { reason: 'seen it' } });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({
      status: 'approved',
      decidedBy: 'approveer',
      decidedReason: 'seen it',
      applied: null,
    });
    const applied = await ask('POST', '/api/plans/plan1/apply', { scope: 'approve' });
    expect(await applied.json()).toMatchObject({ status: 'applied', applied: { intents: [], refused: [] } });
  });

  it('that were interrupted show what was begun and what was not, and no other plan does', async () => {
    const { ask, store } = await withPlan();
    const listed = async () => (await ask('GET', '/api/plans')).json();
    expect(await listed()).toMatchObject({ plans: [{ progress: null }] });
    const waiting = (await store.plan('plan1'))!;
    await store.changePlan({ ...waiting, status: 'applying', decidedAt: 1 }, [], []);
    await store.abortStaleRuns(2);
    const notBegun = waiting.intents.map(({ action, target }) => ({ action, target }));
    expect(notBegun).toHaveLength(1);
    const progress = { outcomes: {}, notBegun };
    expect(await listed()).toMatchObject({ plans: [{ status: 'interrupted', progress }] });
    expect(await (await ask('GET', '/api/plans/plan1')).json()).toMatchObject({ progress });
    expect(await (await ask('GET', '/api/plans?status=interrupted')).json()).toMatchObject({
      plans: [{ id: 'plan1' }],
    });
  });

  it('cannot be decided twice', async () => {
    const { ask } = await withPlan();
    expect((await ask('POST', '/api/plans/plan1/reject')).status).toBe(200);
    const again = await ask('POST', '/api/plans/plan1/approve');
    expect(again.status).toBe(409);
    expect(await again.json()).toMatchObject({ type: 'urn:trustward:problem:conflict' });
  });

  it('are not decided by an invalid body', async () => {
    const { ask, store } = await withPlan();
    expect((await ask('POST', '/api/plans/plan1/approve', { body: { reasn: 'x' } })).status).toBe(400);
    expect((await store.plan('plan1'))?.status).toBe('pending');
  });
});

describe('the audit', () => {
  it('is read in both directions and verified', async () => {
    const { ask, store } = openEndpoint();
    await addRun(store, { decisions: [decision()] });
    const newest = await (await ask('GET', '/api/audit?limit=1', { scope: 'read' })).json();
    expect(newest).toMatchObject({
      entries: [{ seq: 2, kind: 'decision.made', body: { decision: 'decision1' } }],
      next: 2,
    });
    const oldest = await (await ask('GET', '/api/audit?after=0&kind=run.started')).json();
    expect(oldest).toMatchObject({ entries: [{ seq: 1, kind: 'run.started' }], head: { seq: 2 }, next: null });
    expect((await ask('GET', '/api/audit?after=1&before=2')).status).toBe(400);
    const verdict = await ask('POST', '/api/audit/verify', { scope: 'read' });
    expect(await verdict.json()).toMatchObject({ ok: true, entries: 2, bad: null });
  });
});
