// scenario: an organization whose engine moves from lists of version 1 to those of version 2 and back: over real loopback HTTP, a real console
// and a real SQLite file. What it did stays done, what it cannot know any more is unknown, and nothing is learned from the move.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import type { Facts } from '../../src/domain/facts.ts';
import { addExemption } from '../../src/engine/operate/commands.ts';
import { BAN_COMPROMISED, type Organization, type RunResult, startOrganization } from '../support/organization.ts';

const BAN_NAMED = `
id: ban-named
title: Ban devices of a name
severity: high
subject: device
when: { "==": [{ var: DeviceFriendlyName }, "to ban"] }
then: ban_device
mode: enforce
cooldown: 0s
revert: true
tests:
  - { name: named, given: { DeviceFriendlyName: to ban }, expect: match }
`;

const COMPROMISED = 'MdmData.CompromisedStatus';

function tallyOf({ run }: RunResult, rule: string) {
  return run.findings?.tallies.find((tally) => tally.rule === rule);
}

async function move(org: Organization, lists: 'v1' | 'v2'): Promise<void> {
  org.env.TRUSTWARD_API_LISTS = lists;
  await org.restart();
}

async function changesOf({ composition: { engine } }: Organization): Promise<Facts[]> {
  const entries = await engine.store.audit({ kind: 'lists.changed', limit: 10 });
  return entries.map(({ bytes }) => (JSON.parse(bytes) as { body: Facts }).body);
}

describe('a fleet whose lists change their version', () => {
  let org: Organization;
  const ids: Record<string, string> = {};

  beforeAll(async () => {
    org = await startOrganization({ devices: 300, rules: { compromised: BAN_COMPROMISED, named: BAN_NAMED } });
    const { fleet } = org.console;
    ids.first = fleet.addDevice({ serial: 'FIRST', mdm_compromised: 'TRUE' });
    ids.named = fleet.addDevice({ serial: 'NAMED', friendly_name: 'to ban' });
    await org.run('enforce');
    expect(org.effects('device_banned').sort()).toEqual([ids.first, ids.named].sort());
    await move(org, 'v2');
  });
  afterAll(() => org.close());

  it('has the change in the audit once a run has read by it, once', async () => {
    expect(await changesOf(org)).toEqual([]);
    await org.run('dry-run');
    expect(await changesOf(org)).toEqual([{ from: 'v1', to: 'v2' }]);
    await org.restart();
    await org.run('dry-run');
    expect(await changesOf(org)).toHaveLength(1);
  });

  it('has nothing undone and nothing banned twice, though its reason is no longer known', async () => {
    const result = await org.run('enforce');
    expect(result.run.findings?.snapshot.sources.devices).toMatchObject({
      count: 302,
      trusted: true,
      form: 'paged',
      lists: 'v2',
    });
    expect(tallyOf(result, 'ban-compromised-device')).toMatchObject({
      match: 0,
      no_match: 0,
      unknown: 302,
      missing: { [COMPROMISED]: 302 },
    });
    expect(tallyOf(result, 'ban-named')).toMatchObject({ match: 1, unknown: 0 });
    expect(result.of('act')).toEqual([]);
    expect(result.of('skip', 'already_so').map(({ target }) => target)).toContain('NAMED');
    expect(org.effects('device_unbanned')).toEqual([]);
    expect(org.effects('device_banned')).toHaveLength(2);
    const { claims, episodes } = await org.composition.engine.store.openState(Date.now());
    expect(claims.map(({ target }) => target).sort()).toEqual(['FIRST', 'NAMED']);
    expect(episodes.map(({ subject }) => subject.id).sort()).toEqual([ids.first, ids.named].sort());
  });

  it('is not taken for new: its identities are those of version 1', async () => {
    const { engine } = org.composition;
    const named = await engine.store.identitiesNamed('FIRST');
    expect(named.map(({ identity }) => identity.id)).toEqual([ids.first]);
  });

  it('has its devices banned and unbanned by what version 2 has', async () => {
    ids.other = org.console.fleet.addDevice({ serial: 'OTHER', friendly_name: 'to ban' });
    org.console.fleet.patchDevice(ids.named as string, { friendly_name: 'well' });
    const [first, second] = [await org.run('enforce'), await org.run('enforce')];
    // Nothing in these lists dates a name: the undo waits for a second reading.
    expect(
      [...first.of('act', 'rule_matches'), ...second.of('act', 'cleared')]
        .map(({ action, target, outcome }) => [action, target, outcome])
        .sort(),
    ).toEqual([
      ['ban_device', 'OTHER', 'succeeded'],
      ['unban_device', 'NAMED', 'succeeded'],
    ]);
  });

  it('keeps the baseline of facts that version 2 lacks: back in version 1, a flip of them is noticed', async () => {
    const { fleet } = org.console;
    const before = await org.composition.engine.store.baseline('devices');
    expect(before?.values[COMPROMISED]).toMatchObject({ TRUE: 1 });
    const serials = (await org.composition.engine.api.devicesOfSerial('FIRST')).length;
    expect(serials).toBe(1);
    for await (const { records } of org.composition.engine.api.pages('devices'))
      for (const record of records as Facts[]) fleet.patchDevice(String(record.DeviceID), { mdm_compromised: 'TRUE' });
    await move(org, 'v1');
    const { run, of } = await org.run('enforce');
    expect(run.findings?.snapshot.sources.devices).toMatchObject({
      trusted: false,
      form: 'unpaged',
      reasons: [{ code: 'fact_moved' }],
    });
    expect(run.findings?.snapshot.sources.devices).not.toHaveProperty('lists');
    expect(of('act')).toEqual([]);
    expect(await changesOf(org)).toEqual(
      expect.arrayContaining([
        { from: 'v1', to: 'v2' },
        { from: 'v2', to: 'v1' },
      ]),
    );
  });
});

describe('an exemption of a group, which v2 lists do not have', () => {
  let org: Organization;
  let stranger: string;

  beforeAll(async () => {
    org = await startOrganization({
      devices: 100,
      rules: { named: BAN_NAMED },
      env: { TRUSTWARD_API_LISTS: 'v2' },
    });
    const { api, store } = org.composition.engine;
    const users: Facts[] = [];
    for await (const { records } of api.pages('users'))
      for (const { Email } of records.slice(0, 20) as Facts[]) users.push((await api.user(String(Email))) as Facts);
    const groupsOf = ({ Groups }: Facts) => String(Groups).split(',');
    const [first] = users as [Facts];
    const of = (group: string) => users.find((user) => !groupsOf(user).includes(group));
    const group = groupsOf(first).find((each) => of(each)) as string;
    stranger = String(of(group)?.Email);
    org.console.fleet.addDevice({ serial: 'MEMBERS', friendly_name: 'to ban' }, [String(first.Email)]);
    org.console.fleet.addDevice({ serial: 'OTHERS', friendly_name: 'to ban' }, [stranger]);
    const selector = { kind: 'user' as const, field: 'Groups', value: group };
    const until = new Date(Date.now() + 3_600_000).toISOString();
    await addExemption(org.composition.engine, { selector, owner: 'ana', reason: 'a test', until }, 'ana');
    expect(await store.exemptions(Date.now())).toHaveLength(1);
  });
  afterAll(() => org.close());

  it('protects the devices of its members, also in a dry run', async () => {
    for (const mode of ['dry-run', 'enforce'] as const) {
      const { of } = await org.run(mode);
      expect(of('skip', 'exempt').map(({ target }) => target)).toEqual(['MEMBERS']);
      expect(of('act').map(({ target }) => target)).toEqual(['OTHERS']);
    }
    expect(org.effects('device_banned')).toHaveLength(1);
  });

  it('lets nothing be done while the groups cannot be read', async () => {
    org.console.fleet.addDevice({ serial: 'LATER', friendly_name: 'to ban' }, [stranger]);
    const { engine } = org.composition;
    const user = vi.spyOn(engine.api, 'user').mockRejectedValue(new AppError('api_unreachable', 'no answer'));
    const { run, of } = await org.run('enforce');
    user.mockRestore();
    expect(of('act')).toEqual([]);
    expect(run.findings?.snapshot.sources.devices).toMatchObject({
      trusted: false,
      reasons: [
        {
          code: 'incomplete',
          text: 'devices: v2 lists have no groups, and those of the users who may be exempt could not be read: no answer',
        },
      ],
    });
    expect((await org.run('enforce')).of('act').map(({ target }) => target)).toEqual(['LATER']);
  });
});
