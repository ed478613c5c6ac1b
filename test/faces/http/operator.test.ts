// http: the operator commands: each needs the scope `approve` and a reason, and is recorded under the token's name.
import { describe, expect, it } from 'vitest';
import { bodyOf, openEndpoint } from '../../support/endpoint.ts';
import { addRun, intent } from '../../support/filled-store.ts';

const WHY = { reason: 'because' };
const EXEMPTION = { subject: { kind: 'device', id: 'd1' }, unseen: true, owner: 'Ana', reason: 'travel', until: '7d' };

describe('every operator command', () => {
  it.each([
    ['/api/stop', WHY],
    ['/api/resume', WHY],
    ['/api/snapshot/accept', { source: 'devices', ...WHY }],
    ['/api/exemptions', EXEMPTION],
    ['/api/exemptions/e1/end', WHY],
    ['/api/intents/i1/resolve', { as: 'done', ...WHY }],
    ['/api/claims/release', { target: 'S', ...WHY }],
  ])('POST %s needs more than the scope trigger, and a reason', async (path, body) => {
    const { ask, store } = openEndpoint();
    expect((await ask('POST', path, { scope: 'trigger', body })).status).toBe(403);
    expect((await ask('POST', path, { scope: 'none', body })).status).toBe(401);
    expect((await ask('POST', path, { scope: 'approve', body: { ...body, reason: ' ' } })).status).toBe(400);
    expect((await ask('POST', path, { scope: 'approve', body: { ...body, extra: 1 } })).status).toBe(400);
    expect((await store.auditHead()).seq).toBe(0);
  });
});

describe('stop and resume', () => {
  it('are recorded under the name of the token', async () => {
    const { ask, store } = openEndpoint();
    const stopped = await ask('POST', '/api/stop', { scope: 'approve', body: WHY });
    expect(await stopped.json()).toMatchObject({ stopped: { by: 'approveer', reason: 'because' } });
    expect(await store.stop()).toMatchObject({ by: 'approveer' });
    const resumed = await ask('POST', '/api/resume', { scope: 'approve', body: WHY });
    expect(await resumed.json()).toMatchObject({ stopped: null, lifted: { by: 'approveer' } });
    expect(await store.stop()).toBeUndefined();
    expect((await ask('POST', '/api/resume', { body: WHY })).status).toBe(409);
  });
});

describe('exemptions', () => {
  it('are added, listed and ended', async () => {
    const { ask, clock } = openEndpoint();
    const added = await ask('POST', '/api/exemptions', { scope: 'approve', body: EXEMPTION });
    expect(added.status).toBe(201);
    const { id } = (await added.json()) as { id: string };
    const listed = await ask('GET', '/api/exemptions?inForce=true', { scope: 'read' });
    expect(await listed.json()).toMatchObject({
      exemptions: [{ id, about: 'device d1', owner: 'Ana', createdBy: 'approveer', inForce: true, usedAt: null }],
    });
    clock.advance(1);
    const ended = await ask('POST', `/api/exemptions/${id}/end`, { scope: 'approve', body: WHY });
    expect(await ended.json()).toMatchObject({ id, endedBy: 'approveer', endedReason: 'because', inForce: false });
    expect(await bodyOf(ask('GET', '/api/exemptions?inForce=true'))).toEqual({ exemptions: [], total: 0, next: null });
    expect((await ask('POST', `/api/exemptions/${id}/end`, { body: WHY })).status).toBe(409);
    expect((await ask('POST', '/api/exemptions/nobody/end', { body: WHY })).status).toBe(404);
  });

  it('of an unknown subject or field are refused with the possible values', async () => {
    const { ask } = openEndpoint();
    const answer = await ask('POST', '/api/exemptions', {
      body: { ...EXEMPTION, subject: undefined, selector: { field: 'Nose', value: 'x' } },
    });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ detail: expect.stringContaining('SerialNumber') });
  });
});

describe('intents and claims', () => {
  it('a parked intent is resolved, one that is not in doubt is refused', async () => {
    const { ask, store } = openEndpoint();
    await addRun(store, { mode: 'enforce', intents: [intent({ id: 'i1', status: 'settled', outcome: 'parked' })] });
    const answer = await ask('POST', '/api/intents/i1/resolve', { scope: 'approve', body: { as: 'not-done', ...WHY } });
    expect(await answer.json()).toMatchObject({
      id: 'i1',
      outcome: 'failed',
      note: 'approveer says not-done: because',
    });
    expect((await ask('POST', '/api/intents/i1/resolve', { body: { as: 'done', ...WHY } })).status).toBe(409);
    expect((await ask('POST', '/api/intents/i1/resolve', { body: { as: 'perhaps', ...WHY } })).status).toBe(400);
  });

  it('a target without a claim cannot be released', async () => {
    const { ask } = openEndpoint();
    expect((await ask('POST', '/api/claims/release', { body: { target: 'S', ...WHY } })).status).toBe(404);
  });

  it.each([
    [{}, 'needs `target` or `rule`, one of the two'],
    [{ target: 'S', rule: 'r', ...WHY }, 'needs `target` or `rule`, one of the two'],
    [{ target: 'S' }, '`reason` is required with a target'],
    [{ rule: '' }, '`rule` must not be empty'],
  ])('a release of %j names what is wrong with it', async (body, problem) => {
    const { ask } = openEndpoint();
    const answer = await ask('POST', '/api/claims/release', { body });
    expect(answer.status).toBe(400);
    expect(((await answer.json()) as { detail: string }).detail).toContain(problem);
  });
});
