// test: docs/checks.md is the table of checks as the code has it, and each check answers in every stage whose list has it, and nowhere else.
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Deletion } from '../../../../src/domain/action.ts';
import { parseAllowed } from '../../../../src/domain/change-window.ts';
import {
  type BasisFacts,
  CHECK_NAMES,
  type CheckName,
  type ClaimFacts,
  STAGES,
  type TargetFacts,
} from '../../../../src/domain/check.ts';
import type { StoredDecision } from '../../../../src/domain/decision.ts';
import type { Exemption } from '../../../../src/domain/exemption.ts';
import type { Intent } from '../../../../src/domain/intent.ts';
import type { Rule } from '../../../../src/domain/rule.ts';
import type { FleetDevice } from '../../../../src/domain/subjects.ts';
import { deleteDevice } from '../../../../src/engine/act/actions/deletions.ts';
import { notify } from '../../../../src/engine/act/actions/notify.ts';
import { banDevice, unbanDevice } from '../../../../src/engine/act/actions/switches.ts';
import { ask, CHECKS } from '../../../../src/engine/decide/checks/ask.ts';
import { BOUNDS } from '../../../../src/engine/decide/checks/bounds.ts';
import { type Asked, COMPLETE, GAPS, LISTS } from '../../../../src/engine/decide/checks/stages.ts';
import { matrixText } from './matrix.ts';

const ROOT = join(import.meta.dirname, '../../../..');

describe('the table of checks', () => {
  it('is in the docs as the code has it (`npm run docs:checks` writes it)', async () => {
    await expect(matrixText()).toMatchFileSnapshot(join(ROOT, 'docs/checks.md'));
  });

  it.each(STAGES)('has each check once for %s: in its list, or with a reason why not', (stage) => {
    const listed = LISTS[stage].map(({ check }) => check);
    const all = [...listed, ...Object.values(GAPS[stage]).flat()];
    expect(all.toSorted()).toEqual(CHECK_NAMES.toSorted());
    expect(COMPLETE).toBe(true); // the types say the same
  });

  it('has every check, and each is asked by some stage', () => {
    expect(Object.keys(CHECKS).toSorted()).toEqual(CHECK_NAMES.toSorted());
    const asked = new Set(STAGES.flatMap((stage) => LISTS[stage].map(({ check }) => check)));
    expect(Object.keys(CHECKS).filter((name) => !asked.has(name as never))).toEqual([]);
  });
});

describe('each check answers in every stage whose list has it, and nothing else does; what a stage leaves out stops nothing there', () => {
  const RECORD = { DeviceID: 'd1', Banned: 'FALSE', Model: 'M1' };
  const RULE = {
    id: 'ban',
    mode: 'enforce',
    hash: 'h',
    forMs: 60_000,
    cooldownMs: 60_000,
    sources: [],
  } as object as Rule;
  const BASIS: BasisFacts = {
    rule: 'ban',
    subjectId: 'd1',
    episodeId: 'e1',
    ruleNow: RULE,
    ruleHash: 'h',
    matchingSince: 0,
    facts: { Model: 'M1' },
    record: RECORD,
    verdict: 'match',
  };
  const CALM: TargetFacts = {
    traits: banDevice,
    target: 'S-d1',
    undo: false,
    basis: [BASIS],
    nowMs: 100_000,
    steady: { nowMs: 100_000, sinceMs: 0, forMs: 0, jumpedMs: 0, setBackMs: 0 },
    state: 'otherwise',
    mode: 'enforce',
    ownMode: 'enforce',
    room: 1,
    effect: { text: '', devices: [{ id: 'd1', name: '', platform: '', model: '' }] },
    fresh: { state: 'otherwise', records: [RECORD], evidence: {} },
  };

  const basis = (more: Partial<BasisFacts>) => ({ basis: [{ ...BASIS, ...more }] });
  const intent = (more: Partial<Intent>) => ({ id: 'i1', action: 'ban_device', status: 'settled', ...more }) as Intent;
  const device = (model: string) => ({ id: model, platform: 'macOS', model }) as FleetDevice;
  const claim: ClaimFacts = { rule: 'r', action: 'ban_device', episodeId: 'e1', status: 'standing', isOver: true };

  /** What makes each check answer, and no other one. */
  const WRONG: { readonly [check in CheckName]: Partial<TargetFacts> } = {
    stopping: { isStopping: true },
    breaker: { failures: { count: 5, max: 5 } },
    stopped: { stop: { at: 0, by: 'ada', reason: 'looks odd' } },
    frozen: { freeze: { text: 'Fri 18:00-Mon 06:00 UTC', timeZone: 'UTC', endsAtMs: 200_000 } },
    'rule-off': basis({ ruleNow: { ...RULE, mode: 'dry-run' } }),
    'rule-changed': basis({ ruleHash: 'another' }),
    'not-judged': basis({ canJudge: false }),
    'untrusted-source': basis({ untrusted: 'devices: half of them are missing' }),
    'older-report': {
      traits: unbanDevice,
      undo: true,
      claims: [claim],
      ...basis({ older: { path: 'MdmData.Timestamp', ofMs: 1, than: 'matched', thanMs: 2 }, verdict: 'no_match' }),
    },
    'exemption-unread': { exemptionUnread: 'the server did not answer' },
    exempt: { exemption: { id: 'x', expiresAt: 0, owner: 'ada', reason: 'loaned' } as Exemption },
    'already-so': { state: 'as_intended' },
    unreadable: { state: 'unreadable' },
    'target-gone': { state: 'absent' },
    'one-retry': { doubtRetries: 1 },
    'in-doubt': { doubt: intent({ outcome: 'unknown' }) },
    'just-done': { justDoneMs: 15_000 },
    rejected: basis({ isRejected: true }),
    overridden: basis({ overriddenAt: 1 }),
    'already-acted': basis({ earlier: intent({ outcome: 'confirmed' }) }),
    over: basis({ isOver: true }),
    'for-not-reached': basis({ matchingSince: 99_000 }),
    cooldown: basis({ lastAttemptMs: 99_000 }),
    'outside-window': basis({
      ruleNow: { ...RULE, whenAllowed: parseAllowed(['10:00-12:00 UTC']).windows },
    }),
    'outside-rollout': basis({ rollout: { isAmong: false, stepText: 'step 1 of 3 (1 %)' } }),
    'refused-lately': basis({
      earlier: intent({ outcome: 'failed', sentAt: 99_000, refused: { times: 2, credential: undefined } }),
    }),
    'impossible-target': { refused: 'it is enabled' },
    'serial-shared': {
      serial: { number: 'S', isPlaceholder: false, devices: [device('M1'), device('M2')], devicesMax: 5 },
    },
    'joined-later': {
      joined: {
        exemption: { id: 'x', expiresAt: 0, owner: 'ada', reason: 'loaned' } as Exemption,
        ids: ['x', 'y'],
        covers: [],
      },
    },
    approvers: { missingYes: 'one more yes of security' },
    guarded: { guard: { selector: { kind: 'user', field: 'Email', value: 'ceo@x' }, reason: undefined } },
    'last-device': { lastDevice: { owner: 'ann@x' } },
    'devices-of-a-day': { devicesOfDay: { owner: 'ann@x', devices: 3, allowed: 2 } },
    'notice-due': basis({
      notice: { beforeMs: 3_600_000, unwarned: [], waits: [{ address: 'ada@x', notice: undefined, dueAt: undefined }] },
    }),
    conflict: { rival: { rule: 'unban', action: 'unban_device', how: 'wants' } },
    'nothing-to-undo': { traits: unbanDevice, undo: true, ...basis({ verdict: 'no_match' }) },
    'whole-undo': { otherPart: { decision: 'skip', reason: 'rejected', reasonText: 'a test' } },
    'other-first': { first: { rule: 'ban', action: 'ban_device' } },
    newcomers: { fresh: { state: 'otherwise', records: [RECORD, { ...RECORD, DeviceID: 'd2' }], evidence: {} } },
    'changed-since': { approved: true, ...basis({ facts: { Model: 'M0' } }) },
    'not-proposed': basis({ verdict: 'no_match' }),
    limits: { limit: { targets: 3, crossed: 'max 2' } },
    owners: { owner: { name: 'ann@x', devices: 2 } },
    'approval-needed': { traits: deleteDevice },
    ceiling: { room: 0 },
    'undone-anyway': { undoing: { rule: 'ban', action: 'unban_device' } },
  };

  describe.each(STAGES)('%s', (stage) => {
    const list: readonly Asked[] = LISTS[stage];

    it('lets a target without faults pass', () => {
      expect(ask(stage, CALM)).toBeUndefined();
      expect(
        ask(stage, { ...CALM, traits: unbanDevice, undo: true, claims: [claim], ...basis({ verdict: 'no_match' }) }),
      ).toBeUndefined();
    });

    it.each(CHECK_NAMES)(
      'answers by %s where its list has it, and lets it pass where it has a reason not to ask',
      (check) => {
        const isListed = list.some((asked) => asked.check === check);
        expect(ask(stage, { ...CALM, ...WRONG[check] })?.check).toBe(isListed ? check : undefined);
      },
    );

    it('answers with the first of two that apply', () => {
      for (const [index, { check: first }] of list.entries()) {
        for (const { check: second } of list.slice(index + 1)) {
          const both = { ...CALM, ...WRONG[second], ...WRONG[first] };
          if (CHECKS[second].ask(both) && CHECKS[first].ask(both)) expect(ask(stage, both)?.check).toBe(first);
        }
      }
    });

    it('asks a notification only what its list asks of all', () => {
      for (const { check, of } of list) {
        if (of === 'all' || check === 'nothing-to-undo') continue;
        expect(ask(stage, { ...CALM, ...WRONG[check], traits: notify })?.check).toBeUndefined();
      }
    });
  });

  const GUARDED = ['guarded', 'last-device', 'devices-of-a-day'] as const;
  it.each([...GUARDED, 'exempt', 'exemption-unread', 'joined-later', 'overridden'] as const)(
    '%s holds no undo; a yes answers guards, and nothing else of what people said',
    (check) => {
      const asked = (more: Partial<TargetFacts>) => CHECKS[check].ask({ ...CALM, ...WRONG[check], ...more });
      expect([asked({}) === undefined, asked({ undo: true })]).toEqual([false, undefined]);
      expect(asked({ approved: true }) === undefined).toBe((GUARDED as readonly string[]).includes(check));
    },
  );

  it('what a person releases answers to no rule, but to all that concerns the target', () => {
    const released = { ...CALM, traits: unbanDevice, undo: true, released: true, approved: true, claims: [claim] };
    const gone = { ...released, ...basis({ ruleNow: undefined, verdict: undefined, record: undefined }) };
    expect(ask('preflight', gone)).toBeUndefined();
    const other = { ...claim, episodeId: 'e2' };
    expect(ask('preflight', { ...gone, claims: [claim, other] })?.check).toBe('conflict');
  });

  it('a decision of the last run counts where its question needs all proposals', () => {
    const said = (reason: string) => ({ decision: 'hold', reason, reasonText: 'so it said' }) as StoredDecision;
    const reasons = { conflict: 'conflict', other_first: 'other-first', impossible_target: 'impossible-target' };
    for (const [reason, check] of Object.entries(reasons))
      expect(ask('applying', { ...CALM, ...basis({ said: said(reason) }) })).toMatchObject({
        check,
        reasonText: `the last run held it (${reason}): so it said`,
      });
    expect(ask('applying', { ...CALM, ...basis({ said: said('limits') }) })).toBeUndefined();
  });
});

/** Why a deletion that was reviewed as `then` and reads as `now` is not done. */
function beyondReviewed(then: Deletion | undefined, now: Deletion | undefined): string | undefined {
  const refusal = BOUNDS.newcomers.ask({
    traits: deleteDevice,
    target: 'S-1',
    undo: false,
    basis: [],
    nowMs: 0,
    effect: { text: '', devices: [], ...(then && { deletion: then }) },
    fresh: { state: 'otherwise', records: [], evidence: {}, ...(now && { deletion: now }) },
  });
  return refusal?.reasonText;
}

const reviewed: Deletion = { devices: ['d1'], owners: ['ann@x', 'bob@x'], certificates: 2, users: ['bob@x'] };

describe('a deletion that was reviewed', () => {
  it.each<[string, Partial<Deletion>, string]>([
    ['an owner who joined', { owners: ['ann@x', 'eve@x'] }, 'owners joined since: eve@x'],
    ['a device more', { devices: ['d1', 'd2'] }, 'devices would be deleted that were not reviewed: d2'],
    ['a certificate more', { certificates: 3 }, 'certificates that would be revoked were 2 and are 3'],
    ['a user more', { users: ['ann@x', 'bob@x'] }, 'users would be deleted that were not reviewed: ann@x'],
    [
      'owners that are no longer reported',
      { owners: null },
      'owners joined since, or not: the server no longer reports it',
    ],
    [
      'users that are no longer reported',
      { users: null },
      'users would be deleted that were not reviewed, or not: the server no longer reports it',
    ],
  ])('does not take %s', (_, change, text) => {
    expect(beyondReviewed(reviewed, { ...reviewed, ...change })).toBe(text);
  });

  it('does not need to know of users again where each owner was to be deleted', () => {
    const all = { ...reviewed, users: reviewed.owners };
    expect(beyondReviewed(all, { ...all, owners: ['ann@x'], certificates: 1, users: null })).toBeUndefined();
  });

  it('takes people for the same in any case of their address', () => {
    expect(beyondReviewed(reviewed, { ...reviewed, owners: ['ANN@x', 'bob@X'], users: ['BOB@x'] })).toBeUndefined();
  });

  it('takes what is left of it, whatever was not known before', () => {
    const names = fc.uniqueArray(fc.constantFrom('ann', 'bob', 'eve', 'dan'));
    const told = fc.option(names);
    const deletions = fc.record({ devices: told, owners: told, certificates: fc.option(fc.nat(5)), users: told });
    fc.assert(
      fc.property(deletions, fc.infiniteStream(fc.boolean()), (then, keeps) => {
        const some = (all: string[] | null) => (all === null ? null : all.filter(() => keeps.next().value));
        const now = { ...then, devices: some(then.devices), owners: some(then.owners), users: some(then.users) };
        expect(beyondReviewed(then, now)).toBeUndefined();
      }),
    );
  });

  it('never takes a name that was not shown', () => {
    const names = fc.uniqueArray(fc.constantFrom('ann', 'bob', 'eve'));
    fc.assert(
      fc.property(names, names, fc.constantFrom('devices', 'owners', 'users'), (then, now, kind) => {
        const more = now.some((name) => !then.includes(name));
        const refused = beyondReviewed({ ...reviewed, [kind]: then }, { ...reviewed, [kind]: now });
        expect(refused !== undefined).toBe(more);
      }),
    );
  });
});
