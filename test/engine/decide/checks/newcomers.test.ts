// test: a deletion that would take more than what was reviewed is refused by name; less, or the same, never is.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Deletion } from '../../../../src/domain/action.ts';
import { deleteDevice } from '../../../../src/engine/act/actions/deletions.ts';
import { newcomers } from '../../../../src/engine/decide/checks/bounds.ts';

/** Why a deletion that was reviewed as `then` and reads as `now` is not done. */
function beyondReviewed(then: Deletion | undefined, now: Deletion | undefined): string | undefined {
  const refusal = newcomers.ask({
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
