// test: the questions that are asked about one match, each with its reason; whom an exemption protects; and that the order of lists decides nothing.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Exemption } from '../../../src/domain/exemption.ts';
import type { Facts } from '../../../src/domain/facts.ts';
import { summaryOf } from '../../../src/domain/subjects.ts';
import { Exemptions, type Party, partiesOfRecords, partiesOfSubject } from '../../../src/engine/decide/exemptions.ts';
import { FleetIndex } from '../../../src/engine/pull/fleet-index.ts';
import { HOUR, MINUTE, rule } from './builders.ts';
import { Scene } from './scene.ts';

function troubled(...rules: Parameters<typeof rule>[1][]): Scene {
  const scene = new Scene(...(rules.length > 0 ? rules : [{}]).map((fields, index) => rule(`r${index + 1}`, fields)));
  scene.device('d1');
  for (const { id } of scene.rules) scene.sees('d1', 'match', id);
  return scene;
}

describe('a match', () => {
  it('that nothing speaks against is acted on, once', () => {
    const scene = troubled();
    expect(scene.run().acts).toMatchObject([{ mode: 'enforce', draft: { action: 'ban_device', target: 'S-d1' } }]);
    expect(scene.run().acts).toEqual([]);
    expect(scene.answers()).toEqual(['d1: skip already_so']);
  });

  it('on an untrusted source is skipped, and opens no episode', () => {
    const scene = troubled();
    scene.untrusted();
    const { inForce, acts } = scene.run();
    expect(acts).toEqual([]);
    expect(inForce).toMatchObject([
      { reason: 'untrusted_source', reasonText: expect.stringContaining('a fifth is missing') },
    ]);
    expect(scene.episodes.size).toBe(0);
  });

  it('on a source that another rule reads and that is untrusted goes on', () => {
    const scene = troubled();
    scene.untrusted('services');
    expect(scene.run().acts).toHaveLength(1);
  });

  it('whose target is already in the wanted state is skipped', () => {
    const scene = troubled();
    scene.byHand('S-d1', 'TRUE');
    scene.run();
    expect(scene.answers()).toEqual(['d1: skip already_so']);
    expect(scene.openClaims()).toEqual([]);
  });

  it.each(['unknown', 'parked'] as const)('whose intent is %s is left in doubt', (outcome) => {
    const scene = troubled();
    scene.outcomes.set('S-d1', outcome);
    scene.run();
    expect(scene.run().acts).toEqual([]);
    expect(scene.answers()).toEqual(['d1: skip in_doubt']);
  });

  it('of one rule is not sent while the call of another rule to the same target is in doubt', () => {
    const scene = troubled({}, {});
    scene.sees('d1', 'no_match', 'r2');
    scene.outcomes.set('S-d1', 'unknown');
    scene.run();
    scene.sees('d1', 'match', 'r2');
    const { acts, inForce } = scene.run();
    expect(acts).toEqual([]);
    expect(inForce.find((item) => item.rule === 'r2')).toMatchObject({ decision: 'skip', reason: 'in_doubt' });
  });

  it('that a person rejected is skipped for as long as the match lasts, and comes back with a new match', () => {
    const scene = troubled({ mode: 'approve' });
    scene.reject(scene.run(), 'S-d1');
    expect(scene.run().planned).toEqual([]);
    expect(scene.answers()).toEqual(['d1: skip rejected']);
    scene.sees('d1', 'no_match');
    scene.run();
    scene.sees('d1', 'match');
    expect(scene.run().planned).toHaveLength(1);
  });

  it('that two rules propose and a person rejected is skipped for both', () => {
    const scene = troubled({ mode: 'approve' }, { mode: 'approve' });
    scene.reject(scene.run(), 'S-d1');
    scene.run();
    expect(scene.answers()).toEqual(['d1: skip rejected', 'd1: skip rejected']);
  });

  it('that was acted on stays so when another device of the serial number joins later', () => {
    const scene = troubled();
    scene.run();
    scene.device('d2', { serial: 'S-d1' });
    expect(scene.run().acts).toEqual([]);
    expect(scene.answers()).toEqual(['d1: skip already_acted']);
  });

  it('waits for `for`, and acts when it is reached', () => {
    const scene = troubled({ forMs: 10 * MINUTE });
    scene.run();
    expect(scene.answers()).toEqual(['d1: skip for_not_reached']);
    scene.pass(10 * MINUTE - 1);
    expect(scene.run().acts).toEqual([]);
    scene.pass(1);
    expect(scene.run().acts).toHaveLength(1);
  });

  it('without `for` and `cooldown` acts also after the clock was set back', () => {
    const scene = troubled();
    scene.outcomes.set('S-d1', 'failed');
    scene.run();
    scene.pass(-HOUR);
    expect(scene.run().acts).toHaveLength(1);
  });

  it('that failed waits for its cooldown, then continues the same intent', () => {
    const scene = troubled({ cooldownMs: HOUR });
    scene.outcomes.set('S-d1', 'failed');
    scene.run();
    scene.pass(HOUR - 1).run();
    expect(scene.answers()).toEqual(['d1: skip cooldown']);
    const { acts } = scene.pass(1).run();
    expect(acts).toMatchObject([{ retryOf: [...scene.intents.keys()][0] }]);
    expect(scene.intents.size).toBe(1);
  });

  it('that failed ahead of a clock that was set back since waits for longer than its cooldown', () => {
    const scene = troubled({ cooldownMs: HOUR });
    scene.outcomes.set('S-d1', 'failed');
    scene.run();
    scene.pass(-30 * HOUR);
    scene.jumpedAtMs = scene.nowMs;
    scene.pass(HOUR - 1).run();
    expect(scene.answers()).toEqual(['d1: skip cooldown']);
    expect(scene.pass(1).run().acts).toHaveLength(1);
  });

  it('that failed waits for its cooldown for ever on a machine whose clock jumps ever anew', () => {
    const scene = troubled({ cooldownMs: HOUR });
    scene.outcomes.set('S-d1', 'failed');
    scene.run();
    scene.pass(HOUR - 1);
    scene.jumpedAtMs = scene.nowMs;
    scene.run();
    expect(scene.answers()).toEqual(['d1: skip cooldown']);
    scene.pass(1);
    scene.jumpedAtMs = scene.nowMs;
    expect(scene.run().acts).toHaveLength(1);
  });

  it.each(['', '  ', '0', 'To Be Filled By O.E.M.', 'DEFAULT STRING', 'none', 'N/A', '0000000', 'xxxx'])(
    'on a device with the serial number "%s" is impossible',
    (serial) => {
      const scene = new Scene(rule('r1'));
      scene.device('d1', { serial, verdicts: { r1: 'match' } });
      expect(scene.run().acts).toEqual([]);
      expect(scene.answers()).toEqual(['d1: skip impossible_target']);
    },
  );

  it('on a user is one deletion for each device, none for a placeholder, and is reported where no device is known', () => {
    const scene = new Scene(rule('r1', { subject: 'user', does: 'delete_device' }));
    scene.device('a@example.com', { kind: 'user', serials: ['A1', 'none', 'B2'], verdicts: { r1: 'match' } });
    scene.device('b@example.com', { kind: 'user', verdicts: { r1: 'match' } });
    scene.device('c@example.com', { kind: 'user', serials: [], verdicts: { r1: 'match' } });
    const { inForce, planned } = scene.run();
    expect(inForce.map(({ target, reason }) => [target, reason]).sort()).toEqual([
      ['A1 a@example.com', 'approval_needed'],
      ['B2 a@example.com', 'approval_needed'],
      ['b@example.com', 'impossible_target'],
      ['c@example.com', 'already_so'],
      ['none a@example.com', 'impossible_target'],
    ]);
    expect(planned).toHaveLength(2);
  });

  it('on a serial number of several alike devices is one act that names them all', () => {
    const scene = troubled();
    scene.device('d2', { serial: 'S-d1' });
    const { acts } = scene.run();
    expect(acts).toHaveLength(1);
    expect(acts[0]?.draft.effect.devices.map(({ id }) => id)).toEqual(['d1', 'd2']);
    expect(acts[0]?.draft.effect.text).toContain('2 devices');
  });

  it.each([
    ['platform', { platform: 'Windows' }, 'differ in platform'],
    ['model', { model: 'M2' }, 'differ in model'],
  ])('on devices of one serial number that differ in %s waits for a person', (_, fields, text) => {
    const scene = troubled();
    scene.device('d2', { serial: 'S-d1', ...fields });
    const { inForce, planned } = scene.run();
    expect(inForce).toMatchObject([
      { decision: 'hold', reason: 'serial_shared', reasonText: expect.stringContaining(text) },
    ]);
    expect(planned).toMatchObject([{ held: true, reason: 'serial_shared' }]);
  });

  it('on five devices of one serial number acts, on six it waits for a person', () => {
    const scene = troubled();
    for (let count = 2; count <= 5; count += 1) scene.device(`d${count}`, { serial: 'S-d1' });
    expect(scene.decide().acts).toHaveLength(1);
    scene.device('d6', { serial: 'S-d1' });
    expect(scene.decide().decisions).toMatchObject([{ decision: 'hold', reason: 'serial_shared' }]);
  });

  it('of a rule in mode approve waits, and so does one that cannot be undone', () => {
    expect(troubled({ mode: 'approve' }).run().inForce).toMatchObject([
      { decision: 'hold', reason: 'approval_needed' },
    ]);
    const { inForce } = troubled({ does: 'delete_device' }).run();
    expect(inForce).toMatchObject([{ reason: 'approval_needed', reasonText: 'delete_device cannot be undone' }]);
  });

  it('that several questions speak against has the first one as its reason', () => {
    const scene = troubled({ mode: 'approve', limits: { max: 0, percent: 0 }, forMs: HOUR });
    scene.of('d1').serial = 'none';
    expect(scene.decide().decisions).toMatchObject([{ reason: 'for_not_reached' }]);
    scene.rules = [rule('r1', { mode: 'approve', limits: { max: 0, percent: 0 } })];
    expect(scene.decide().decisions).toMatchObject([{ reason: 'impossible_target' }]);
    scene.of('d1').serial = 'S-d1';
    expect(scene.decide().decisions).toMatchObject([{ reason: 'limits' }]);
    scene.of('d1').state = 'TRUE';
    expect(scene.decide().decisions).toMatchObject([{ reason: 'already_so' }]);
    scene.untrusted();
    expect(scene.decide().decisions).toMatchObject([{ reason: 'untrusted_source' }]);
  });
});

describe('verdicts that are no match', () => {
  it.each(['unknown', 'error', 'no_match'] as const)('%s becomes no decision', (verdict) => {
    const scene = troubled();
    scene.sees('d1', verdict);
    expect(scene.run()).toMatchObject({ decisions: [], acts: [], planned: [], episodes: [] });
  });
});

describe('modes', () => {
  it.each([
    ['enforce', 'enforce', 'enforce', 'enforce', undefined],
    ['enforce', 'dry-run', 'enforce', 'dry-run', 'run'],
    ['enforce', 'enforce', 'dry-run', 'dry-run', 'daemon'],
    ['dry-run', 'enforce', 'enforce', 'dry-run', undefined],
    ['enforce', 'approve', 'enforce', 'approve', 'run'],
  ] as const)('of rule %s, run %s and daemon %s make %s, capped by %s', (own, run, daemon, mode, cappedBy) => {
    const scene = troubled({ mode: own });
    expect(scene.run(run, daemon).inForce).toMatchObject([{ mode, cappedBy }]);
  });

  it('a run of mode approve holds what would be enforced', () => {
    const { acts, planned } = troubled().run('approve');
    expect(acts).toEqual([]);
    expect(planned).toMatchObject([{ held: true, reason: 'approval_needed' }]);
  });
});

const NOW = 1_800_000_000_000;
const DAY = 86_400_000;

function exemption(over: Partial<Exemption>): Exemption {
  return {
    id: 'exemption1',
    subject: undefined,
    selector: undefined,
    owner: 'Ana',
    reason: 'travel',
    expiresAt: NOW + DAY,
    createdAt: NOW - DAY,
    createdBy: 'ada',
    endedAt: undefined,
    endedBy: undefined,
    endedReason: undefined,
    usedAt: undefined,
    warnedAt: undefined,
    ...over,
  };
}

const LAPTOP: Facts = {
  DeviceID: 'd1',
  SerialNumber: 'S-1',
  DeviceFriendlyName: 'Ana laptop',
  Platform: 'macOS',
  Model: 'M1',
  Emails: ['Ana@Example.com'],
};
const TWIN: Facts = { ...LAPTOP, DeviceID: 'd2', DeviceFriendlyName: 'twin', Emails: ['bo@example.com'] };
const ANA: Facts = { Email: 'ana@example.com', Name: 'Ana Ruiz', Groups: 'Everyone,Board' };
const OWNERS = new Map([['ana@example.com', ANA]]);

const THE_LAPTOP = [{ kind: 'device' as const, id: 'd1', serial: 'S-1' }];

/** The parties of a ban of LAPTOP, as deciding and as preflight see them. */
function waysToAsk(): [string, Party[]][] {
  const fleet = new FleetIndex();
  for (const device of [LAPTOP, TWIN]) fleet.add(device);
  return [
    ['deciding', partiesOfSubject(summaryOf('device', LAPTOP), 'S-1', fleet, OWNERS)],
    ['preflight', partiesOfRecords([LAPTOP, TWIN], OWNERS)],
  ];
}

describe.each(waysToAsk())('a ban of a serial number with two devices, at %s', (_, parties) => {
  const protects = (over: Partial<Exemption>) =>
    new Exemptions([exemption(over)], NOW).protecting(parties, THE_LAPTOP).exemption?.id;

  it.each<[string, Partial<Exemption>]>([
    ['the matched device', { subject: { kind: 'device', id: 'd1' } }],
    ['another device of the serial number', { subject: { kind: 'device', id: 'd2' } }],
    ['its owner, in another case', { subject: { kind: 'user', id: 'ANA@example.com' } }],
    ['the owner of the other device', { subject: { kind: 'user', id: 'bo@example.com' } }],
    ['the serial number', { selector: { kind: 'device', field: 'SerialNumber', value: 'S-1' } }],
    ['the serial number, in another case', { selector: { kind: 'device', field: 'SerialNumber', value: 's-1' } }],
    ['its platform', { selector: { kind: 'device', field: 'Platform', value: 'macOS' } }],
    ['its model', { selector: { kind: 'device', field: 'Model', value: 'M1' } }],
    ['the name of the other one', { selector: { kind: 'device', field: 'DeviceFriendlyName', value: 'twin' } }],
    ['a group of its owner', { selector: { kind: 'user', field: 'Groups', value: 'board' } }],
    ['the name of its owner', { selector: { kind: 'user', field: 'Name', value: 'Ana Ruiz' } }],
  ])('is kept off by an exemption of %s', (_name, over) => {
    expect(protects(over)).toBe('exemption1');
  });

  it.each<[string, Partial<Exemption>]>([
    ['a device of another serial number', { subject: { kind: 'device', id: 'd3' } }],
    ['a user who is called like the device', { subject: { kind: 'user', id: 'd1' } }],
    ['a part of a group name', { selector: { kind: 'user', field: 'Groups', value: 'Boa' } }],
    ['a field of every object', { selector: { kind: 'device', field: 'constructor', value: 'Object' } }],
    ['it that is over', { subject: { kind: 'device', id: 'd1' }, expiresAt: NOW }],
    ['it that a person ended', { subject: { kind: 'device', id: 'd1' }, endedAt: NOW - 1 }],
  ])('is not kept off by an exemption of %s', (_name, over) => {
    expect(protects(over)).toBeUndefined();
  });
});

describe('other targets', () => {
  const none = new Map<string, Facts>();
  it('a service is protected by its name', () => {
    const record: Facts = { ServiceID: 'pay.eu', ServiceName: 'pay', Enabled: 'TRUE' };
    const exemptions = new Exemptions(
      [exemption({ selector: { kind: 'service', field: 'ServiceName', value: 'pay' } })],
      NOW,
    );
    expect(
      exemptions.protecting(partiesOfSubject(summaryOf('service', record), undefined, new FleetIndex(), none), []),
    ).toMatchObject({ exemption: { id: 'exemption1' } });
    expect(exemptions.protecting(partiesOfRecords([record], none), [])).toMatchObject({
      exemption: { id: 'exemption1' },
    });
  });

  it("a user's device is protected from the user's deletion by an exemption of the device", () => {
    const fleet = new FleetIndex();
    fleet.add(LAPTOP);
    const exemptions = new Exemptions([exemption({ subject: { kind: 'device', id: 'd1' } })], NOW);
    const parties = partiesOfSubject(summaryOf('user', ANA), 'S-1', fleet, none);
    expect(exemptions.protecting(parties, [])).toMatchObject({ exemption: { id: 'exemption1' } });
  });

  it('the exemption that lasts longest is named', () => {
    const subject = { kind: 'device' as const, id: 'd1' };
    const both = [exemption({ id: 'short', subject }), exemption({ id: 'long', subject, expiresAt: NOW + 9 * DAY })];
    expect(new Exemptions(both, NOW).protecting(partiesOfRecords([LAPTOP], none), THE_LAPTOP).exemption?.id).toBe(
      'long',
    );
  });
});

const device = fc.record({
  serial: fc.constantFrom('S-1', 'S-2', 'S-3', 'S-4', 'S-5', 'none'),
  model: fc.constantFrom('M1', 'M1', 'M2'),
  owners: fc.option(fc.subarray(['ann@example.com', 'bob@example.com']), { nil: undefined }),
  verdicts: fc.record({
    a: fc.constantFrom('match', 'match', 'no_match', 'unknown' as const),
    b: fc.constantFrom('match', 'no_match' as const),
  }),
});

const world = fc.record({
  devices: fc.array(device, { minLength: 2, maxLength: 8 }),
  ceiling: fc.constantFrom(1, 2, 50),
  ending: fc.array(fc.nat(7), { maxLength: 4 }),
  untrusted: fc.boolean(),
});

type World = typeof world extends fc.Arbitrary<infer T> ? T : never;

/** Three rounds over devices that are listed in this order. */
function played({ devices, ceiling, ending, untrusted }: World, order: readonly number[]): unknown[] {
  const scene = new Scene(rule('a'), rule('b', { severity: 'low', does: 'delete_device' }));
  scene.ceilings = { run: { max: ceiling, percent: 0 }, day: { max: ceiling + 1, percent: 0 } };
  for (const index of order) scene.device(`d${index}`, structuredClone(devices[index]));
  const rounds = [scene.run()];
  for (const index of ending) if (index < devices.length) scene.sees(`d${index}`, 'no_match', 'a');
  if (untrusted) scene.untrusted();
  rounds.push(scene.pass(MINUTE).run());
  scene.trustedAgain();
  rounds.push(scene.pass(MINUTE).run());
  return rounds;
}

describe('the order of a list', () => {
  it('changes nothing of what is decided, whatever the permutation', () => {
    const both = world.chain((made) => {
      const listed = made.devices.map((_, index) => index);
      return fc.tuple(
        fc.constant(made),
        fc.shuffledSubarray(listed, { minLength: listed.length, maxLength: listed.length }),
      );
    });
    fc.assert(
      fc.property(both, ([made, order]) => {
        expect(played(made, order)).toEqual(
          played(
            made,
            made.devices.map((_, index) => index),
          ),
        );
      }),
      { numRuns: 300 },
    );
  });
});
