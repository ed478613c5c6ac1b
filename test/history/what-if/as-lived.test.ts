// what if: what a life by the replayed rules would have met, and the recorded one did not: lists that these rules' facts show to be wrong, owners
// whom nobody read, lists that lack a device once, a day without a run.
import { expect, test } from 'vitest';
import type { Replay } from '../../../src/domain/replay.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { TRUST_DEFAULT } from '../../../src/engine/pull/trust-gate.ts';
import { whatIf } from '../../../src/history/replay/what-if.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { DAY, HOUR, MINUTE, Recording, ruleOf, T0, untrusted } from '../../support/recorded.ts';

const COMPROMISED = { MdmData: { CompromisedStatus: 'TRUE' } };
const SOUND = { MdmData: { CompromisedStatus: 'FALSE' } };
const PAGED = { devices: { form: 'paged' } } as const;

function replayed(recording: Recording, ...rules: LoadedRule[]): Promise<Replay> {
  return whatIf(recording.reader(), rules, { fromMs: T0, toMs: T0 + 30 * DAY, actions: ACTIONS });
}

/** When each thing was done, in minutes after the beginning. */
function shown({ acts }: Replay): string[] {
  return acts.map(({ atMs, action, target }) => `${(atMs - T0) / MINUTE}: ${action} ${target}`);
}

function halfTurns(recording: Recording, given: typeof COMPROMISED): Recording {
  for (let number = 1; number <= 20; number += 1) recording.now('device', `d${number}`, given);
  return recording;
}

test('a list in which a fact of the replayed rules moved at once is not trusted, which the result names', async () => {
  const recording = new Recording().devices(40).gate(TRUST_DEFAULT).runs(2);
  halfTurns(recording, COMPROMISED).runs(2);
  halfTurns(recording, SOUND).run().now('device', 'd1', COMPROMISED).run();
  const replay = await replayed(recording, ruleOf());
  expect(shown(replay)).toEqual(['25: ban_device S-d1']);
  expect(replay.rules[0]?.held).toMatchObject([{ decision: 'skip', reason: 'untrusted_source', targets: 20 }]);
  expect(replay.untrusted).toMatchObject([
    {
      source: 'devices',
      code: 'fact_moved',
      fromMs: T0 + 10 * MINUTE,
      toMs: T0 + 15 * MINUTE,
      runs: 2,
      rules: ['ban'],
    },
  ]);
  expect(replay.untrusted[0]?.text).toContain('MdmData.CompromisedStatus is `FALSE` in 50.0 % of records');
});

test('a list that only the recorded rules distrusted is trusted by others, and a person who accepted it is heeded', async () => {
  const moved = { source: 'devices', code: 'fact_moved', text: 'devices: another fact moved' } as const;
  const recording = new Recording().devices(40).gate(TRUST_DEFAULT).runs(2);
  recording.now('device', 'd1', COMPROMISED).run({ sources: { devices: { trusted: false, reasons: [moved] } } });
  recording.pass(HOUR).run({ sources: { devices: { trusted: false, reasons: [moved] } } });
  halfTurns(recording, COMPROMISED);
  const accepted = { by: 'ann', reason: 'a rollout', overrode: [moved] };
  recording.run({ sources: { devices: { accepted } } }).run();
  const replay = await replayed(recording, ruleOf());
  expect(shown(replay)[0]).toBe('10: ban_device S-d1');
  expect(shown(replay)).toHaveLength(20);
  expect(replay.untrusted).toEqual([]);
});

test('what a reading shows by itself is distrusted as it was, whatever the rules read', async () => {
  const recording = new Recording().devices(40).gate(TRUST_DEFAULT).run();
  recording.now('device', 'd1', COMPROMISED).run({ sources: { devices: untrusted('devices', 'shifted') } });
  const replay = await replayed(recording, ruleOf());
  expect(shown(replay)).toEqual([]);
  expect(replay.untrusted).toMatchObject([{ code: 'shifted', runs: 1 }]);
});

test('rules that need owners hold where the recorded runs read none, and the result names it', async () => {
  const one = { Emails: ['one@example.com'] };
  const recording = new Recording().devices(40, (number) => (number <= 2 ? one : {})).run({ sources: PAGED });
  recording.hidden.add('Emails');
  recording.now('device', 'd1', COMPROMISED).now('device', 'd2', COMPROMISED).run({ sources: PAGED });
  const replay = await replayed(recording, ruleOf());
  expect(shown(replay)).toEqual([]);
  expect(replay.rules[0]?.held).toMatchObject([{ decision: 'hold', reason: 'owners', targets: 2 }]);
  expect(replay.neverRecorded).toEqual([{ path: 'Emails', rules: ['ban'] }]);
  // A rule that needs none acts.
  expect(shown(await replayed(recording, ruleOf({ owners: 'all' })))).toHaveLength(2);
});

test('a device that one trusted list lacks keeps the ban of the replay, and nobody is said to have lifted it', async () => {
  const recording = new Recording().devices(40).run().now('device', 'd1', COMPROMISED).run();
  const record = recording.take('device', 'd1');
  recording.run();
  recording.give('device', 'd1', record);
  recording.runs(2).now('device', 'd1', SOUND).run();
  const replay = await replayed(recording, ruleOf({ revert: true }));
  expect(shown(replay)).toEqual(['5: ban_device S-d1', '25: unban_device S-d1']);
  expect(replay.acts[0]).toMatchObject({ personUndidAtMs: undefined });
  expect(replay.notes).toEqual([expect.stringContaining('d1')]);
});

test('the first run after a day without one shows what it would do, and the next one does it', async () => {
  const recording = new Recording()
    .devices(40)
    .run()
    .pass(25 * HOUR)
    .now('device', 'd1', COMPROMISED)
    .run({ run: { mode: 'dry-run' } })
    .run();
  const minutes = 25 * 60 + 10;
  expect(shown(await replayed(recording, ruleOf()))).toEqual([`${minutes}: ban_device S-d1`]);
});

test('a process that was there all the time is not dry after a day without a run', async () => {
  const recording = new Recording()
    .devices(40)
    .run({ frame: { silentSince: null } })
    .pass(25 * HOUR);
  recording.now('device', 'd1', COMPROMISED).runs(2, { frame: { silentSince: null } });
  expect(shown(await replayed(recording, ruleOf()))).toEqual([`${25 * 60 + 5}: ban_device S-d1`]);
});
