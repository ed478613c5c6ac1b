// test: whom an intent touches, and the order in which intents that touch the same go.
import { describe, expect, it } from 'vitest';
import { giveWay } from '../../../src/base/turns.ts';
import type { Facts } from '../../../src/domain/facts.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { Door } from '../../../src/engine/act/door.ts';
import { ownersJustRead, sideBySide, type Touching, touchedBy } from '../../../src/engine/act/resolve.ts';

function intent(action: string, target: string, more: Partial<Touching> = {}): Touching {
  return { action, target, settings: {}, basis: [], effect: { text: '', devices: [] }, ...more };
}

function owned(target: string, ...owners: string[]): Touching {
  const devices = [{ id: target, name: '', platform: '', model: '', owners }];
  return intent('ban_device', target, { effect: { text: '', devices } });
}

function share(a: Touching, b: Touching): boolean {
  const other = touchedBy(b, ACTIONS);
  return [...touchedBy(a, ACTIONS)].some((name) => other.has(name));
}

describe('two intents share', () => {
  const mapping = intent('delete_device', 'S1 ana@main.test', { settings: { Email: 'ana@main.test' } });
  it.each([
    ['a serial number in another case', intent('ban_device', 'sn-1'), intent('delete_device', 'SN-1')],
    ['the serial number of a mapping', mapping, intent('ban_device', 'S1')],
    ['a service and its place in a bundle', intent('disable_service', 'svc'), intent('add_to_bundle', 'svc b1')],
    ['a bundle', intent('add_to_bundle', 'svc1 b1'), intent('remove_from_bundle', 'svc2 b1')],
    ['an owner in another case', owned('S1', 'ana@main.test', 'bob@main.test'), owned('S2', 'ANA@main.test')],
  ])('%s', (_, a, b) => expect(share(a, b)).toBe(true));

  it('nothing where serial numbers, services, bundles and owners differ', () => {
    expect(share(owned('S1', 'ana@main.test'), owned('S2', 'bob@main.test'))).toBe(false);
    expect(share(intent('add_to_bundle', 'svc1 b1'), intent('add_to_bundle', 'svc2 b2'))).toBe(false);
  });
});

it('owners just read are those of devices and of users, without their case', () => {
  const records: Facts[] = [{ Emails: ['Ana@main.test'] }, { Email: 'BOB@main.test' }, { Emails: null }];
  expect([...ownersJustRead({ state: 'otherwise', records, evidence: {} })]).toEqual([
    'ana@main.test',
    'bob@main.test',
  ]);
});

describe('side by side', () => {
  const context = (concurrency: number) => ({
    actions: ACTIONS,
    door: new Door(async () => {}),
    settings: { concurrency } as never,
  });

  it('the order of those that share is kept, and others pass them', async () => {
    const items = [owned('S1', 'ana'), owned('S2', 'ana'), owned('S3', 'ana', 'bob'), owned('S4', 'bob'), owned('S5')];
    const begun: string[] = [];
    await sideBySide(context(8), items, async ({ target }) => {
      begun.push(target);
      await giveWay();
    });
    expect(begun).toEqual(['S1', 'S5', 'S2', 'S3', 'S4']);
  });

  it('the first fault ends it: nothing new begins, and what is under way is over before it is thrown', async () => {
    const over: string[] = [];
    const work = sideBySide(
      context(2),
      ['S1', 'S2', 'S3', 'S4'].map((serial) => owned(serial)),
      async ({ target }) => {
        if (target === 'S1') throw new Error('it broke');
        for (let turn = 0; turn < 3; turn += 1) await giveWay();
        over.push(target);
      },
    );
    await expect(work).rejects.toThrow('it broke');
    expect(over).toEqual(['S2']);
  });
});
