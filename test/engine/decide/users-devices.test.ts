// test: a rule about users whose action hits their devices (`ban_devices`): the user is judged, the devices are the targets.
import { describe, expect, it } from 'vitest';
import type { Rule } from '../../../src/domain/rule.ts';
import { MINUTE, rule } from './builders.ts';
import { Scene } from './scene.ts';

const ANN = 'ann@example.org';
const BEN = 'ben@example.org';

const userRule = (id: string, fields: Partial<Rule> = {}): Rule =>
  rule(id, { subject: 'user', owners: 'all', sources: ['users', 'devices'], ...fields });

function user(scene: Scene, id: string, serials: string[] | undefined, ...matches: string[]): void {
  const verdicts = Object.fromEntries(matches.map((one) => [one, 'match' as const]));
  scene.device(id, { kind: 'user', serial: '', ...(serials && { serials }), state: undefined, verdicts });
}

/** Ann has two devices, and rule `u` matches her. Ben has one. */
function annAndBen(...rules: Rule[]): Scene {
  const scene = new Scene(...(rules.length > 0 ? rules : [userRule('u')]));
  scene.device('d1', { owners: [ANN] });
  scene.device('d2', { owners: [ANN] });
  scene.device('d3', { owners: [BEN] });
  user(scene, ANN, ['S-d1', 'S-d2'], 'u');
  user(scene, BEN, ['S-d3']);
  return scene;
}

const acts = (decided: ReturnType<Scene['run']>): string[] =>
  decided.acts.map(({ draft }) => `${draft.action} ${draft.target}`).sort();

const answers = (scene: Scene): string[] =>
  scene
    .inForce()
    .map(({ target, decision, reason }) => `${target}: ${decision} ${reason}`)
    .sort();

describe('a rule about users that bans their devices', () => {
  it('proposes each device of a matched user, with the user as the reason', () => {
    const scene = annAndBen();
    expect(acts(scene.run())).toEqual(['ban_device S-d1', 'ban_device S-d2']);
    expect(scene.inForce()).toMatchObject(
      ['d1', 'd2'].map((id) => ({
        rule: 'u',
        subject: { kind: 'user', id: ANN },
        target: `S-${id}`,
        effect: { devices: [{ id, serial: `S-${id}` }] },
      })),
    );
  });

  it('skips a device that is banned, and one that is not registered', () => {
    const scene = annAndBen();
    scene.of('d1').state = 'TRUE';
    user(scene, ANN, ['S-d1', 'S-gone'], 'u');
    expect(acts(scene.run())).toEqual([]);
    expect(answers(scene)).toEqual(['S-d1: skip already_so', 'S-gone: skip already_so']);
  });

  it.each([
    [undefined, 'impossible_target'],
    [[], 'already_so'],
  ])('says why it bans nothing of a user whose devices are %j', (serials, reason) => {
    const scene = annAndBen();
    user(scene, ANN, serials, 'u');
    expect(acts(scene.run())).toEqual([]);
    expect(scene.inForce()).toMatchObject([{ decision: 'skip', reason }]);
  });

  it('has one reason, and one claim, for a device that the user’s record names twice', () => {
    const scene = annAndBen();
    user(scene, ANN, ['S-d1', 'S-d1'], 'u');
    expect(scene.run().acts.map(({ draft }) => draft.basis.length)).toEqual([1]);
    expect(scene.openClaims()).toEqual(['u on S-d1: standing']);
  });

  it('refuses a placeholder as a serial number', () => {
    const scene = annAndBen();
    scene.device('d9', { serial: 'Default string', owners: [ANN] });
    user(scene, ANN, ['Default string'], 'u');
    scene.run();
    expect(answers(scene)).toEqual(['Default string: skip impossible_target']);
  });

  it('does nothing while the list of devices is not trusted', () => {
    const scene = annAndBen();
    scene.untrusted('devices');
    expect(acts(scene.run())).toEqual([]);
    expect(answers(scene)).toEqual(['S-d1: skip untrusted_source', 'S-d2: skip untrusted_source']);
  });

  it('holds two devices of one owner, unless the rule says `owners: all`', () => {
    const scene = annAndBen(userRule('u', { owners: 'one' }));
    scene.run();
    expect(answers(scene)).toEqual(['S-d1: hold owners', 'S-d2: hold owners']);
  });

  it('counts devices, not users, in its limits and in the ceiling', () => {
    const scene = annAndBen(userRule('u', { limits: { max: 1, percent: 100 } }));
    const { limits } = scene.run();
    expect(limits.get('u')).toMatchObject({ targets: 2, allowed: 1 });
    expect(answers(scene)).toEqual(['S-d1: hold limits', 'S-d2: hold limits']);
    const share = annAndBen(userRule('u', { limits: { max: 9, percent: 40 } }));
    expect(share.run().limits.get('u')).toMatchObject({ targets: 2, allowed: 2 });
    const capped = annAndBen();
    capped.ceilings = { run: { max: 1, percent: 0 }, day: { max: 9, percent: 0 } };
    expect(acts(capped.run())).toEqual(['ban_device S-d1']);
    expect(answers(capped)).toContain('S-d2: hold ceiling');
  });

  it('shares one ban with a rule about devices, which stays until neither matches', () => {
    const scene = annAndBen(userRule('u'), rule('d', { owners: 'all' }));
    scene.sees('d1', 'match', 'd');
    const { acts: made } = scene.run();
    expect(made.map(({ draft }) => [draft.target, draft.basis.map(({ subjectId }) => subjectId).sort()])).toEqual([
      ['S-d1', [ANN, 'd1']],
      ['S-d2', [ANN]],
    ]);
    scene.pass(MINUTE).sees(ANN, 'no_match', 'u');
    expect(acts(scene.run())).toEqual(['unban_device S-d2']);
    scene.pass(MINUTE).sees('d1', 'no_match', 'd');
    expect(acts(scene.run())).toEqual(['unban_device S-d1']);
  });

  it('adopts the ban that a rule about devices made', () => {
    const scene = annAndBen(userRule('u'), rule('d', { owners: 'all' }));
    user(scene, ANN, ['S-d1']);
    scene.sees('d1', 'match', 'd');
    scene.run();
    scene.pass(MINUTE).sees(ANN, 'match', 'u');
    scene.run();
    expect(scene.openClaims().sort()).toEqual(['d on S-d1: standing', 'u on S-d1: standing']);
    scene.pass(MINUTE).sees('d1', 'no_match', 'd');
    expect(acts(scene.run())).toEqual([]);
    expect(scene.of('d1').state).toBe('TRUE');
  });

  it('bans a device that the user gets later, once', () => {
    const scene = annAndBen();
    scene.run();
    scene.device('d4', { owners: [ANN] });
    scene.of(ANN).serials = ['S-d1', 'S-d2', 'S-d4'];
    expect(acts(scene.pass(MINUTE).run())).toEqual(['ban_device S-d4']);
    expect(acts(scene.pass(MINUTE).run())).toEqual([]);
  });
});

describe('a ban that a rule about users made', () => {
  it('is undone when the user no longer matches', () => {
    const scene = annAndBen();
    scene.run();
    expect(scene.openClaims()).toEqual(['u on S-d1: standing', 'u on S-d2: standing']);
    scene.pass(MINUTE).sees(ANN, 'unknown', 'u');
    expect(acts(scene.run())).toEqual([]);
    scene.pass(MINUTE).sees(ANN, 'no_match', 'u');
    expect(acts(scene.run())).toEqual(['unban_device S-d1', 'unban_device S-d2']);
    expect(scene.openClaims()).toEqual([]);
  });

  it('is undone when both records say that the device passed to another owner, and the others stay banned', () => {
    const scene = annAndBen();
    scene.run();
    scene.of(ANN).serials = ['S-d2'];
    expect(acts(scene.pass(MINUTE).run())).toEqual([]);
    scene.of('d1').owners = [BEN];
    expect(acts(scene.pass(MINUTE).run())).toEqual(['unban_device S-d1']);
    expect(scene.openClaims()).toEqual(['u on S-d2: standing']);
    expect(acts(scene.pass(MINUTE).run())).toEqual([]);
  });

  it.each([[[]], [undefined]])('is undone when a user whose devices are %j by now no longer matches', (serials) => {
    const scene = annAndBen();
    scene.run();
    Object.assign(scene.of(ANN), { serials, verdicts: {} });
    expect(acts(scene.pass(MINUTE).run())).toEqual(['unban_device S-d1', 'unban_device S-d2']);
  });

  it('says of the last device that passed on that it did, and not that the rule no longer matches', () => {
    const scene = annAndBen();
    scene.run();
    scene.of(ANN).serials = [];
    scene.of('d1').owners = [BEN];
    expect(acts(scene.pass(MINUTE).run())).toEqual(['unban_device S-d1']);
    expect(scene.inForce().find(({ target }) => target === 'S-d1')).toMatchObject({
      reason: 'cleared',
      reasonText: `it is no longer a device of ${ANN}`,
    });
  });

  it('stays while a list that its rule read before an edit, and does not read now, is not trusted', () => {
    const scene = annAndBen();
    scene.run();
    scene.rules = [userRule('u', { sources: ['users'], then: [{ action: 'notify', with: {} }] })];
    scene.of(ANN).serials = ['S-d2'];
    scene.of('d1').owners = [BEN];
    scene.untrusted('devices');
    expect(acts(scene.pass(MINUTE).run())).not.toContain('unban_device S-d1');
    scene.trustedAgain('devices');
    expect(acts(scene.pass(MINUTE).run())).toContain('unban_device S-d1');
  });

  it.each([
    ['whose owners no list shows', { owners: undefined }],
    ['that has no owner', { owners: [] }],
    ['that is in no list', { present: false }],
  ])('stays on a device %s', (_, fields) => {
    const scene = annAndBen();
    scene.run();
    scene.of(ANN).serials = ['S-d2'];
    Object.assign(scene.of('d1'), fields);
    expect(acts(scene.pass(MINUTE).run())).toEqual([]);
    expect(scene.openClaims()).toContain('u on S-d1: standing');
  });

  it('is left alone once a person lifted it: the rule does nothing more to this user until it has ceased to match', () => {
    const scene = annAndBen();
    scene.run();
    scene.pass(MINUTE).byHand('S-d1', 'FALSE');
    expect(acts(scene.run())).toEqual([]);
    expect(answers(scene)).toContain('S-d1: skip overridden');
    scene.device('d4', { owners: [ANN] });
    scene.of(ANN).serials = ['S-d1', 'S-d2', 'S-d4'];
    expect(acts(scene.pass(MINUTE).run())).toEqual([]);
    scene.pass(MINUTE).sees(ANN, 'no_match', 'u');
    expect(acts(scene.run())).toEqual(['unban_device S-d2']);
  });

  it('and a person lifts is not made again by a rule about the device, nor the other way round', () => {
    const scene = annAndBen(userRule('u'), rule('d', { owners: 'all' }));
    scene.sees('d1', 'match', 'd');
    scene.run();
    scene.pass(MINUTE).byHand('S-d1', 'FALSE');
    expect(acts(scene.run())).toEqual([]);
    expect(scene.episodeOf('d1')?.overriddenAt).toBeDefined();
    expect(scene.episodeOf(ANN)?.overriddenAt).toBeDefined();
  });

  it('is not concluded to be lifted from a list that is not trusted', () => {
    const scene = annAndBen();
    scene.run();
    scene.pass(MINUTE).byHand('S-d1', 'FALSE');
    scene.untrusted('devices');
    scene.run();
    expect(scene.episodeOf(ANN)?.overriddenAt).toBeUndefined();
    expect(scene.openClaims()).toContain('u on S-d1: standing');
  });
});
