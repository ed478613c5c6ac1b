// test: Trustward's own actions are told from a person's changes, also where a list contradicts the record itself.
import { afterEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { Facts } from '../../../src/domain/facts.ts';
import type { Intent } from '../../../src/domain/intent.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { releaseClaims } from '../../../src/engine/operate/release.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { problemLine } from '../../../src/rules/language/problem.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

describe("Trustward's own actions and released claims are distinguished from a person's changes", () => {
  let on: OnPlatform;
  afterEach(() => on.close());

  const DISABLING = `
id: disable
subject: service
when: { "==": [{ var: Description }, "trouble"] }
then: disable_service
mode: enforce
revert: true
limits: { max: 100, percent: 100 }
tests:
  - { name: trouble, given: { Description: trouble }, expect: match }
`;

  const serviceRule = (id: string, when: string, then: string) =>
    parsed(`
id: ${id}
subject: service
when: { "==": [{ var: Description }, "${when}"] }
then: ${then}
mode: enforce
limits: { max: 100, percent: 100 }
tests:
  - { name: trouble, given: { Description: ${when} }, expect: match }
`);

  function parsed(text: string): LoadedRule {
    const rule = parseRule(text, 'rule.yaml', { traits: ACTIONS });
    if ('problems' in rule) throw new Error(rule.problems.map(problemLine).join('\n'));
    return rule.rule;
  }

  const ADA = { by: 'ada', reason: 'she needs it' };

  it('a device that was banned, deleted by us and enrolled again is banned again: nobody lifted that ban', async () => {
    const lost = banRule({ id: 'delete-lost', field: 'Other', does: 'delete_device', mode: 'approve' });
    on = startOnPlatform({ rules: [banRule({ id: 'ban' }), lost] });
    on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE', Other: 'FALSE' } });
    await on.run();
    on.rules(lost); // the two would hold each other
    on.platform.patch('d1', { MdmData: { CompromisedStatus: 'TRUE', Other: 'TRUE' } });
    on.clock.pass(QUIET_MS);
    const { plan } = await on.run();
    await on.approve(plan);
    await on.apply(plan);
    expect(on.platform.sent).toEqual(['ban S-d1', 'delete S-d1']);
    on.rules(banRule({ id: 'ban' }), lost);
    on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE', Other: 'FALSE' } });
    on.clock.pass(QUIET_MS);
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1', 'delete S-d1', 'ban S-d1']);
  });

  describe('a release that could not be sent', () => {
    const SERVICE = 'shop.east';
    const serviceIs = (fields: Facts) => {
      const before = on.platform.services.get(SERVICE) ?? { ServiceID: SERVICE, ServiceName: 'shop', Enabled: 'TRUE' };
      on.platform.services.set(SERVICE, { ...before, ...fields });
    };

    it('undoes no change of a person who enabled the service and disabled it again', async () => {
      on = startOnPlatform({ rules: [parsed(DISABLING)] });
      serviceIs({ Description: 'trouble' });
      await on.run();
      on.clock.pass(QUIET_MS);
      let reads = 0;
      on.platform.onRead = () => {
        reads += 1;
        if (reads === 2) throw new AppError('api_unreachable', 'no answer'); // between the intent and its call
      };
      expect(await releaseClaims(on.engine, SERVICE, ADA)).toMatchObject([{ state: 'standing' }]);
      on.platform.onRead = () => {};
      serviceIs({ Enabled: 'TRUE' });
      on.clock.pass(QUIET_MS);
      await on.run();
      serviceIs({ Enabled: 'FALSE' });
      on.clock.pass(QUIET_MS);
      await on.run();
      serviceIs({ Description: 'fine' });
      await on.run();
      expect(on.platform.sent).toEqual([`disable ${SERVICE}`]);
      expect(await on.store.claims({ status: 'standing' })).toEqual([]);
    });
  });

  it('an answer that echoes a secret is kept without it', async () => {
    on = startOnPlatform();
    on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
    const text = 'refused: {"spec":{"name":"shop","client_secret":"CANARY","header":"Authorization: Bearer CANARY"}}';
    on.platform.updateDevices = async () => ({ kind: 'failed', status: 400, text });
    await on.run();
    const [intent] = await on.store.intents({});
    expect(intent).toMatchObject({
      outcome: 'failed',
      note: text.replace('"CANARY"', '"[dropped]"').replace('Bearer CANARY"}}', '[dropped]'),
    });
    const kept = [intent, ...(await on.store.audit({ afterSeq: 0, limit: 100 }))];
    expect(JSON.stringify(kept)).not.toContain('CANARY');
  });

  it('later attempts are known by their order, although the clock was set back in between', async () => {
    on = startOnPlatform({ rules: [banRule({ id: 'ban' })] });
    on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
    await on.run();
    on.platform.compromised('d1', 'FALSE');
    on.clock.now -= 240_000;
    await on.run();
    const [unban, ban] = await on.store.intents({ target: 'S-d1' }); // by their times
    expect([ban?.action, unban?.action]).toEqual(['ban_device', 'unban_device']);
    expect((await on.store.sentAfter(ban as Intent)).map(({ id }) => id)).toEqual([unban?.id]);
    expect(await on.store.sentAfter(unban as Intent)).toEqual([]);
  });

  it('a device that recovers while its owners are read is not deleted', async () => {
    on = startOnPlatform({
      rules: [banRule({ id: 'lost', does: 'delete_device', mode: 'approve', more: 'owners: all' })],
    });
    on.platform.addDevice('d1', { Emails: ['ann@example.com'], MdmData: { CompromisedStatus: 'TRUE' } });
    on.platform.users.set('ann@example.com', { Email: 'ann@example.com', SerialNumbers: ['S-d1'] });
    const { plan } = await on.run();
    await on.approve(plan);
    let reads = 0;
    on.platform.onRead = (what) => {
      if (what === 'target') reads += 1;
      if (reads === 2) on.platform.compromised('d1', 'FALSE');
    };
    await on.apply(plan);
    expect(on.platform.sent).toEqual([]);
  });

  it('a service that was updated, deleted by us and created again is updated again', async () => {
    const patch = '{ action: update_service, with: { patch: { spec: { tls: true } } } }';
    on = startOnPlatform({
      rules: [serviceRule('tighten', 'exposed', patch), serviceRule('drop', 'unused', 'delete_service')],
    });
    const serviceIs = (fields: Facts) => {
      const ServiceSpec = JSON.stringify({ metadata: { name: 's1', cluster: 'c' }, spec: { tls: false } });
      const names = { ServiceID: 's1.c', ServiceName: 's1', ClusterName: 'c' };
      on.platform.services.set('s1.c', { ...names, Enabled: 'TRUE', ServiceSpec, ...fields });
    };
    const applied = async () => on.apply(await on.approve((await on.run()).plan));
    serviceIs({ Description: 'exposed' });
    await applied();
    const { ServiceSpec = '' } = on.platform.services.get('s1.c') ?? {};
    serviceIs({ Description: 'unused', Enabled: 'FALSE', ServiceSpec });
    on.rules(serviceRule('drop', 'unused', 'delete_service')); // the match of the other one is not seen to clear
    await applied();
    on.rules(serviceRule('tighten', 'exposed', patch));
    serviceIs({ Description: 'exposed' });
    on.clock.pass(QUIET_MS);
    await applied();
    expect(on.platform.sent).toEqual(['write s1.c', 'drop s1.c', 'write s1.c']);
  });
});

describe('a list that shows our own act reversed, and the record itself, read singly, which does not', () => {
  let on: OnPlatform;
  afterEach(() => on.close());

  /** Every list of devices shows what it showed then; single records go on. */
  function freezeList(): () => void {
    const { platform } = on;
    const old: Facts[] = [...platform.devices.values()].map((device) => structuredClone(device));
    const { pages, stream } = platform;
    platform.pages = async function* () {
      yield { records: old, total: old.length };
    };
    platform.stream = async function* () {
      yield old;
    };
    return () => Object.assign(platform, { pages, stream });
  }

  async function fleetWith(...compromised: string[]): Promise<void> {
    on = startOnPlatform({ rules: [banRule()] });
    for (let device = 1; device <= 400; device += 1) on.platform.addDevice(`d${device}`);
    for (const id of compromised) on.platform.compromised(id, 'TRUE');
  }

  const reasonsNow = async () =>
    (await on.store.runs(1))[0]?.findings?.snapshot.sources.devices.reasons.map(({ code }) => code);
  const overridden = async () =>
    (await on.store.openState(on.clock.now)).episodes.filter(({ overriddenAt }) => overriddenAt !== undefined);
  const later = async () => {
    on.clock.pass(QUIET_MS);
    return on.run();
  };

  describe('a list that shows our ban lifted', () => {
    it('is not trusted when the device itself is banned: no person did that, and the ban ends as usual afterwards', async () => {
      await fleetWith('d1');
      const thaw = freezeList();
      await on.run();
      for (let round = 0; round < 2; round += 1) {
        await later();
        expect(await reasonsNow()).toEqual(['contradicted']);
      }
      expect(await overridden()).toEqual([]);
      expect(await on.store.claims({ status: 'standing' })).toHaveLength(1);
      thaw();
      on.platform.compromised('d1', 'FALSE');
      await later();
      expect(await reasonsNow()).toEqual([]);
      on.platform.compromised('d1', 'TRUE');
      await later();
      expect(on.platform.sent).toEqual(['ban S-d1', 'unban S-d1', 'ban S-d1']);
    });

    it('is believed when the device itself is not banned', async () => {
      await fleetWith('d1');
      await on.run();
      on.platform.patch('d1', { Banned: 'FALSE' });
      await later();
      expect(await reasonsNow()).toEqual([]);
      expect(await overridden()).toHaveLength(1);
    });

    it('decides nothing while the device itself cannot be read', async () => {
      await fleetWith('d1');
      await on.run();
      on.platform.patch('d1', { Banned: 'FALSE' });
      const { devicesOfSerial } = on.platform;
      on.platform.devicesOfSerial = async () => {
        throw new AppError('api_unreachable', 'no answer');
      };
      const { decisions } = await later();
      expect(decisions.map(({ reason }) => reason)).toEqual(['in_doubt']);
      on.platform.compromised('d1', 'FALSE');
      await later();
      expect([await overridden(), await on.store.claims({ status: 'standing' })]).toMatchObject([[], [{}]]);
      Object.assign(on.platform, { devicesOfSerial });
      await later();
      expect(await on.store.claims({ status: 'overridden' })).toHaveLength(1);
      expect(on.platform.sent).toEqual(['ban S-d1']);
    });

    it('is read again for a bounded number of devices in a run, and the others wait in doubt', async () => {
      const ids = Array.from({ length: 60 }, (_, at) => `d${at + 1}`);
      await fleetWith();
      on.engine.settings.decide.ceilings = on.engine.settings.act.ceilings = {
        run: { max: 1_000, percent: 100 },
        day: { max: 1_000, percent: 100 },
      };
      await on.run();
      for (const id of ids) {
        on.platform.compromised(id, 'TRUE');
        if (ids.indexOf(id) % 20 === 19) await later();
      }
      expect(on.platform.sent).toHaveLength(60);
      on.clock.pass(QUIET_MS);
      await on.run();
      for (const id of ids) on.platform.patch(id, { Banned: 'FALSE' });
      on.clock.pass(QUIET_MS);
      await on.run();
      expect(await overridden()).toHaveLength(50);
      await on.run();
      expect(await overridden()).toHaveLength(60);
      expect(on.platform.sent).toHaveLength(60);
    });
  });
});
