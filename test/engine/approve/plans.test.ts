// test: a plan's digest, and when a waiting plan is kept, superseded, expired or answered.

import { describe, expect, it } from 'vitest';
import { planDigest } from '../../../src/domain/digest.ts';
import { compareIntents, type Plan, type PlannedIntent } from '../../../src/domain/plan.ts';
import { decidePlan, type SealInput, sealPlan } from '../../../src/engine/approve/plans.ts';
import { intent, plan } from '../../support/stored-nouns.ts';

const { action, target, settings, undo, basis, effect } = intent;
const planned: PlannedIntent = {
  action,
  target,
  settings,
  undo,
  basis,
  effect,
  key: 'k1',
  held: true,
  reason: 'limits',
  reasonText: '3 targets',
};
const other: PlannedIntent = { ...planned, key: 'k2', target: 'S-2' };
const [fact] = basis as [PlannedIntent['basis'][number]];

function deletionOf(owners: string[]) {
  return { devices: ['d1'], owners, certificates: owners.length, users: [] };
}

function sealed(fields: Partial<SealInput> = {}) {
  return sealPlan({
    id: 'new',
    runId: 'r1',
    mode: 'enforce',
    nowMs: 100,
    ttlMs: 1_000,
    beside: 'whole',
    planned: [planned],
    pending: [],
    approved: [],
    ...fields,
  });
}

const pending: Plan = { ...plan, id: 'old', digest: planDigest([planned]), intents: [planned], expiresAt: 1_000 };

describe('a digest', () => {
  it.each<[string, PlannedIntent]>([
    ['a rule', { ...planned, basis: [{ ...fact, ruleHash: 'edited' }] }],
    ['a fact', { ...planned, basis: [{ ...fact, facts: { 'MdmData.Timestamp': '1234567890123456788' } }] }],
    ['a setting', { ...planned, settings: { depth: 2 } }],
    ['the devices of the serial number', { ...planned, effect: { ...effect, devices: [] } }],
    ['whether it waits', { ...planned, held: false }],
  ])('changes with %s', (_, changed) => {
    expect(planDigest([changed])).not.toBe(planDigest([planned]));
  });

  it('of a deletion changes with what it takes from whom', () => {
    const digests = [
      deletionOf(['ann']),
      deletionOf(['ann', 'bob']),
      { ...deletionOf(['ann']), users: ['ann'] },
      { ...deletionOf(['ann']), certificates: 2 },
      { ...deletionOf(['ann']), devices: [] },
    ].map((deletion) => planDigest([{ ...planned, effect: { ...effect, deletion } }]));
    expect(new Set(digests).size).toBe(5);
  });

  it('of a deletion changes with what ends with its target', () => {
    const [one, two] = ['ban_device of rule ban', 'ban_device of rule second'] as const;
    const digests = [undefined, [one], [two], [one, two]].map((ends) =>
      planDigest([{ ...planned, effect: { ...effect, ...(ends && { ends }) } }]),
    );
    expect(new Set(digests).size).toBe(4);
    expect(digests[0]).toBe(planDigest([planned]));
  });

  it('does not change with the order, the wording, or windows and ages that change by themselves', () => {
    expect(planDigest([other, planned])).toBe(planDigest([planned, other]));
    expect(planDigest([{ ...planned, reasonText: '4 targets' }])).toBe(planDigest([planned]));
    const moving = { ...fact.facts, 'event_count(severity=ERROR, within=10m)': 7, $now: 5 };
    expect(planDigest([{ ...planned, basis: [{ ...fact, facts: moving }] }])).toBe(planDigest([planned]));
  });
});

describe('a waiting plan', () => {
  it('is kept while its digest is unchanged, without a new audit entry', () => {
    expect(sealed({ pending: [pending] })).toMatchObject({ plan: pending, superseded: [], notes: [] });
  });

  it('is superseded when nothing of it is planned any longer', () => {
    expect(sealed({ planned: [other], pending: [pending] })).toMatchObject({
      plan: { id: 'new' },
      superseded: ['old'],
    });
    expect(sealed({ planned: [], pending: [pending] })).toMatchObject({ plan: undefined, superseded: ['old'] });
  });

  it('that expired returns as a new one', () => {
    expect(sealed({ pending: [pending], nowMs: 1_000 })).toMatchObject({ plan: { id: 'new', expiresAt: 2_000 } });
  });

  it('is carried on with another content: the same id, a new date and digest, and what joined, left or changed', () => {
    const both = { ...pending, intents: [planned, other], digest: planDigest([planned, other]) };
    const third = { ...planned, key: 'k3', target: 'S-3' };
    const changed = { ...planned, settings: { depth: 2 } };
    const {
      plan: now,
      carried,
      superseded,
      notes,
    } = sealed({
      planned: [changed, third],
      pending: [both],
      whyLeft: () => 'it is exempt',
    });
    expect(now).toMatchObject({ id: 'old', runId: 'r1', createdAt: 100, expiresAt: 1_100, intents: [changed, third] });
    expect(now?.digest).toBe(planDigest([changed, third]));
    const left = [{ action: other.action, target: 'S-2', reason: 'it is exempt' }];
    expect(carried).toEqual([{ plan: now, from: both.digest, change: { joined: 1, changed: 1, left } }]);
    expect(superseded).toEqual([]);
    const body = { plan: 'old', digest: now?.digest, from: both.digest, run: 'r1', intents: 2, joined: 1, changed: 1 };
    expect(notes).toEqual([{ kind: 'plan.carried', body: { ...body, left: 1, leftNamed: left } }]);
  });

  it('has changed, and nothing left or joined it, when a second rule begins to match one of its targets', async () => {
    const wider = { ...planned, key: 'wider', basis: [fact, { ...fact, rule: 'second', episodeId: 'e-second' }] };
    const both = { ...pending, intents: [planned, other], digest: planDigest([planned, other]) };
    const { carried } = sealed({ planned: [wider, other], pending: [both] });
    expect(carried).toMatchObject([{ change: { joined: 0, changed: 1, left: [] } }]);
    expect(await compareIntents(both.intents, [wider, other])).toEqual({
      joined: [],
      left: [],
      changed: [{ was: planned, now: wider }],
    });
  });

  it('loses nothing to a run that did not judge everything, and waits no longer for what joined', () => {
    const { plan: now, carried } = sealed({ beside: 'more', planned: [other], pending: [pending] });
    expect(now).toMatchObject({ id: 'old', intents: [planned, other], expiresAt: 1_000 });
    expect(carried).toMatchObject([{ change: { joined: 1, changed: 0, left: [] } }]);
  });

  describe('has one entry for a target and a match, also beside a run that did not judge everything', () => {
    const second = { ...fact, rule: 'second', episodeId: 'e-second' };
    const wider = { ...planned, key: 'wider', basis: [fact, second] };
    const wide = { ...pending, intents: [wider, other], digest: planDigest([wider, other]) };

    it('the wider one, which was planned now, in the place of the one that waits', () => {
      const { plan: now, carried, superseded } = sealed({ beside: 'more', planned: [wider], pending: [pending] });
      expect(now).toMatchObject({ id: 'old', intents: [wider] });
      expect(superseded).toEqual([]);
      expect(carried).toMatchObject([{ change: { joined: 0, changed: 1, left: [] } }]);
    });

    it('the wider one, which waits, beside the one that is planned now', () => {
      expect(sealed({ beside: 'more', planned: [planned], pending: [wide] })).toMatchObject({
        plan: { id: 'old', intents: [wider, other] },
        carried: [],
      });
    });

    it('both, where they are of different matches', () => {
      const apart = { ...planned, key: 'apart', basis: [second] };
      const { plan: now } = sealed({ beside: 'more', planned: [apart], pending: [pending] });
      expect(now?.intents).toEqual([planned, apart]);
    });
  });

  it('stays as it is beside a run over chosen rules, which has a plan of its own', () => {
    expect(sealed({ beside: 'apart', planned: [other], pending: [pending] })).toMatchObject({
      plan: { id: 'new', intents: [other] },
      carried: [],
      superseded: [],
    });
  });

  it('keeps what it has when others wait too: what is new joins one of them', () => {
    const second = { ...pending, id: 'second', intents: [other], digest: planDigest([other]) };
    const third = { ...planned, key: 'k3', target: 'S-3' };
    const { plan: now, carried, superseded } = sealed({ planned: [planned, other, third], pending: [pending, second] });
    expect(superseded).toEqual([]);
    expect(carried.map(({ plan: one }) => [one.id, one.intents])).toEqual([['old', [planned, third]]]);
    expect(now?.id).toBe('old');
  });

  it('names the approved plan that has what left it', () => {
    const both = { ...pending, intents: [planned, other], digest: planDigest([planned, other]) };
    const approved = { ...pending, id: 'yes', status: 'approved', intents: [other] } as Plan;
    const { carried } = sealed({ planned: [planned, other], pending: [both], approved: [approved] });
    expect(carried).toMatchObject([{ change: { left: [{ target: 'S-2', reason: 'it is approved in plan yes' }] } }]);
  });

  it('of a live run is left alone by a dry one', () => {
    expect(sealed({ mode: 'dry-run', planned: [other], pending: [pending] })).toMatchObject({ superseded: [] });
  });
});

describe('an operator', () => {
  it('answers once, with name and reason', () => {
    const decided = decidePlan(pending, 'approved', { by: 'ann', reason: 'seen' }, 500);
    expect(decided).toMatchObject({ status: 'approved', decidedAt: 500, decidedBy: 'ann', decidedReason: 'seen' });
    expect(() => decidePlan(decided, 'rejected', { by: 'bob' }, 501)).toThrow('only a pending plan can be rejected');
  });

  it('cannot answer an expired plan', () => {
    expect(() => decidePlan(pending, 'approved', { by: 'ann' }, 1_000)).toThrow('expired at 1970-01-01 00:00:01 UTC');
  });
});
