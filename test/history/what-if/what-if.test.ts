import { expect, test } from 'vitest';
import { ACTIONS } from '../../../src/act/actions.ts';
import type { Exemption } from '../../../src/domain/exemption.ts';
import type { Replay } from '../../../src/domain/replay.ts';
import type { LoadedRule } from '../../../src/evaluate/index.ts';
import { whatIf } from '../../../src/history/replay/what-if.ts';
import { DAY, HOUR, MINUTE, NOTHING_OPEN, Recording, ruleOf, T0, untrusted } from '../../support/recorded.ts';

const COMPROMISED = { MdmData: { CompromisedStatus: 'TRUE' } };
const SOUND = { MdmData: { CompromisedStatus: 'FALSE' } };

function replayed(recording: Recording, ...rules: LoadedRule[]): Promise<Replay> {
  return whatIf(recording.reader(), rules, { fromMs: T0, toMs: T0 + 30 * DAY, actions: ACTIONS });
}

/** When each thing was done, in minutes after the beginning. */
function shown({ acts }: Replay): string[] {
  return acts.map(({ atMs, action, target }) => `${(atMs - T0) / MINUTE}: ${action} ${target}`);
}

test('a rule bans what matched, and undoes it when the match is over', async () => {
  const recording = new Recording().devices(40).run().now('device', 'd1', COMPROMISED).runs(3);
  recording.now('device', 'd1', SOUND).runs(3);
  const replay = await replayed(recording, ruleOf({ revert: true }));
  expect(shown(replay)).toEqual(['5: ban_device S-d1', '20: unban_device S-d1']);
  expect(replay.acts).toMatchObject([
    { undo: false, lastedMs: 15 * MINUTE, isOver: true, subjectName: 'name of d1' },
    { undo: true },
  ]);
  expect(replay.rules).toMatchObject([{ id: 'ban', mode: 'dry-run', matches: 1, acts: 1, undos: 1, flaps: 1 }]);
});

test('an over-eager rule is held by its limits, and says whom it would have hit', async () => {
  const recording = new Recording().devices(100).run();
  for (let number = 1; number <= 40; number += 1) recording.now('device', `d${number}`, COMPROMISED);
  recording.runs(3);
  const replay = await replayed(recording, ruleOf({ limits: { max: 25, percent: 100 } }));
  expect(replay.acts).toEqual([]);
  const [rule] = replay.rules;
  expect(rule).toMatchObject({ matches: 40, acts: 0, mostTargets: 40, allowed: { limits: 25, run: 50, day: 100 } });
  expect(rule?.held).toMatchObject([{ decision: 'hold', reason: 'limits', targets: 40 }]);
  expect(rule?.held[0]?.examples).toHaveLength(40);
});

test('the ceilings of a run and of a day hold, and room comes back after a day', async () => {
  const recording = new Recording().devices(200, () => COMPROMISED).runs(3);
  recording.pass(DAY).runs(2);
  const replay = await replayed(recording, ruleOf());
  expect(replay.rules).toMatchObject([{ acts: 200, mostInRun: 50, mostInDay: 100, mostInDayAtMs: T0 }]);
  expect(replay.rules[0]?.held).toMatchObject([{ reason: 'ceiling', targets: 150 }]);
});

test('without `revert` nothing is undone, and the ban lasts until the end of the replay', async () => {
  const recording = new Recording()
    .devices(3)
    .now('device', 'd1', COMPROMISED)
    .run()
    .now('device', 'd1', SOUND)
    .runs(4);
  const replay = await replayed(recording, ruleOf({ revert: false }));
  expect(shown(replay)).toEqual(['0: ban_device S-d1']);
  expect(replay.acts).toMatchObject([{ isOver: false, lastedMs: 20 * MINUTE }]);
});

test('`for` and `clear_for` are waited for', async () => {
  const recording = new Recording().devices(3).run().now('device', 'd1', COMPROMISED).runs(5);
  recording.now('device', 'd1', SOUND).runs(5);
  const replay = await replayed(recording, ruleOf({ for: '10m', clear_for: '15m', revert: true }));
  expect(shown(replay)).toEqual(['15: ban_device S-d1', '45: unban_device S-d1']);
});

test('a rule that flaps is seen to flap', async () => {
  const recording = new Recording().devices(3);
  for (let turn = 0; turn < 4; turn += 1)
    recording.now('device', 'd1', COMPROMISED).runs(2).now('device', 'd1', SOUND).runs(2);
  const { rules } = await replayed(recording, ruleOf({ revert: true }));
  expect(rules).toMatchObject([{ matches: 1, acts: 4, undos: 4, flaps: 4, lasted: { longestMs: 10 * MINUTE } }]);
});

test('an exemption in the middle protects from then on, and a stop holds everything while it lasts', async () => {
  const recording = new Recording().devices(3).run();
  recording.openState = { ...NOTHING_OPEN, exemptions: [exemptionOf('d1')] };
  recording.now('device', 'd1', COMPROMISED).run();
  recording.openState = { ...recording.openState, stop: { by: 'ann', reason: 'wait', at: recording.nowMs } };
  recording.now('device', 'd2', COMPROMISED).runs(2);
  recording.openState = NOTHING_OPEN;
  const replay = await replayed(recording.runs(1), ruleOf());
  expect(shown(replay)).toEqual(['20: ban_device S-d1', '20: ban_device S-d2']);
  expect(replay.rules[0]?.held).toMatchObject([
    { reason: 'exempt', targets: 1 },
    { reason: 'stopped', targets: 1 },
  ]);
});

test('a person who bans first is left alone, and one who bans later did the same', async () => {
  const recording = new Recording().devices(3).run();
  recording.now('device', 'd1', { Banned: 'TRUE' }).run();
  recording.now('device', 'd1', COMPROMISED).now('device', 'd2', COMPROMISED).run();
  recording.now('device', 'd2', { Banned: 'TRUE' }).runs(2);
  const replay = await replayed(recording, ruleOf());
  expect(shown(replay)).toEqual(['10: ban_device S-d2']);
  expect(replay.acts).toMatchObject([{ personDidAtMs: T0 + 15 * MINUTE, isOver: false }]);
  expect(replay.rules).toMatchObject([{ personDid: 1, personUndid: 0, held: [{ reason: 'already_so', targets: 1 }] }]);
});

test('what a person lifts stays lifted as long as the rule matches', async () => {
  const recording = new Recording().devices(3).run().now('device', 'd1', COMPROMISED).run();
  recording.now('device', 'd1', { Banned: 'TRUE' }).run().now('device', 'd1', { Banned: 'FALSE' }).runs(3);
  recording.now('device', 'd1', SOUND).run().now('device', 'd1', COMPROMISED).run();
  const replay = await replayed(recording, ruleOf());
  expect(shown(replay)).toEqual(['5: ban_device S-d1', '35: ban_device S-d1']);
  expect(replay.acts[0]).toMatchObject({ personUndidAtMs: T0 + 15 * MINUTE, isOver: true, lastedMs: 10 * MINUTE });
  expect(replay.rules).toMatchObject([{ personDid: 1, personUndid: 1, flaps: 0 }]);
});

test('a rule on events of services acts when its window is known whole', async () => {
  const recording = new Recording().service('s1').service('s2').run();
  for (let number = 0; number < 5; number += 1) recording.event({ serviceId: 's1', severity: 'ERROR' });
  recording.runs(4);
  const rule = ruleOf({
    id: 'failing',
    subject: 'service',
    when: { '>=': [{ event_count: { severity: 'ERROR', within: '10m' } }, 5] },
    then: 'disable_service',
    revert: true,
    tests: [{ name: 'quiet', events: [], expect: 'no_match' }],
  });
  expect(shown(await replayed(recording, rule))).toEqual(['5: disable_service s1', '20: enable_service s1']);
});

test('a deletion is held: nobody approves what a what-if holds', async () => {
  const recording = new Recording().devices(3).now('device', 'd1', COMPROMISED).runs(3);
  const replay = await replayed(recording, ruleOf({ then: 'delete_device' }));
  expect(replay.acts).toEqual([]);
  expect(replay.rules[0]?.held).toMatchObject([{ decision: 'hold', reason: 'approval_needed', targets: 1 }]);
});

test('a gap is named, starts `for` again, and makes windows unknown', async () => {
  const recording = new Recording().devices(3).run().now('device', 'd1', COMPROMISED).run().gap(HOUR).runs(4);
  const counting = ruleOf({ id: 'counting', when: { '<': [{ event_count: { within: '2h' } }, 1] }, revert: false });
  const replay = await replayed(recording, ruleOf({ for: '30m' }), counting);
  expect(replay.gaps).toMatchObject([{ fromMs: T0 + 10 * MINUTE, toMs: T0 + 70 * MINUTE, cause: 'not_recorded' }]);
  expect(replay.acts.filter(({ rule }) => rule === 'ban')).toEqual([]);
  const [, counted] = replay.rules;
  expect(counted).toMatchObject({ id: 'counting', acts: 3, unknown: 3 });
});

test('a fact that was never recorded is named, and unknown', async () => {
  const recording = new Recording().devices(3).runs(2);
  const replay = await replayed(
    recording,
    ruleOf({ when: { '==': [{ var: 'MdmData.JailBroken' }, 'TRUE'] }, declares: { 'MdmData.JailBroken': 'text' } }),
  );
  expect(replay.neverRecorded).toEqual([{ path: 'MdmData.JailBroken', rules: ['ban'] }]);
  expect(replay.rules).toMatchObject([{ matches: 0, unknown: 3, missing: { 'MdmData.JailBroken': 3 } }]);
});

test('a source that the recorded runs did not read leaves a rule unjudged, and is named', async () => {
  const skipped = { users: { state: 'skipped', form: 'none', count: 0 } } as const;
  const recording = new Recording().devices(3).runs(3, { sources: skipped });
  const rule = ruleOf({ id: 'users', subject: 'user', when: { '>': [{ var: 'LoginCount' }, 0] }, then: 'notify' });
  const replay = await replayed(recording, rule);
  expect(replay.rules).toMatchObject([{ matches: 0, acts: 0 }]);
  expect(replay.neverRecorded).toEqual([{ path: 'users', rules: ['users'] }]);
});

test('an untrusted list changes nothing', async () => {
  const recording = new Recording().devices(3).run();
  recording.now('device', 'd1', COMPROMISED).run({ sources: { devices: untrusted('devices') } });
  const replay = await replayed(recording, ruleOf());
  expect(replay.acts).toEqual([]);
  expect(replay.rules[0]?.held).toMatchObject([{ reason: 'untrusted_source', targets: 1 }]);
});

function exemptionOf(id: string): Exemption {
  return {
    id: `exemption-${id}`,
    subject: { kind: 'device', id },
    selector: undefined,
    owner: 'ann',
    reason: 'demonstration',
    expiresAt: T0 + 30 * DAY,
    createdAt: T0,
    createdBy: 'ann',
    endedAt: undefined,
    endedBy: undefined,
    endedReason: undefined,
    usedAt: undefined,
    warnedAt: undefined,
  };
}
