// what if: other rules over a recorded past: what they would have done, and what a life by them would have met.
import { describe, expect, test } from 'vitest';
import type { StoredDecision } from '../../../src/domain/decision.ts';
import { intentKey } from '../../../src/domain/digest.ts';
import type { Claim, Episode } from '../../../src/domain/episode.ts';
import type { Exemption } from '../../../src/domain/exemption.ts';
import type { Facts } from '../../../src/domain/facts.ts';
import type { Intent } from '../../../src/domain/intent.ts';
import type { Replay } from '../../../src/domain/replay.ts';
import type { OpenState } from '../../../src/domain/store.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { TRUST_DEFAULT } from '../../../src/engine/pull/trust-gate.ts';
import { whatIf } from '../../../src/history/replay/what-if.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { doneIntent } from '../../support/filled-store.ts';
import { INVENTORY_FILE, inventoryGiven, inventoryRule } from '../../support/given-facts.ts';
import { sourcesIn } from '../../support/given-sources.ts';
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

test('a changed rule over facts from elsewhere is judged by the rows of each run, and by none that nobody recorded', async () => {
  const recording = new Recording().devices(3);
  const run = (...rows: (readonly [string, Facts])[]) =>
    recording.run({ frame: { given: inventoryGiven(recording.nowMs, rows) } });
  run(['S-d1', { status: 'in use' }], ['S-d2', { status: 'lost' }]);
  run(['S-d1', { status: 'lost' }], ['S-d2', { status: 'lost' }]);
  recording.run();
  run(['S-d1', { status: 'in use' }]);
  run(['S-d1', { status: 'in use' }]);
  const replay = (status: string) => {
    const when = { '==': [{ '??': [{ var: '$facts.inventory.status' }, 'none'] }, status] };
    const more = { then: 'ban_device', revert: true, limits: { max: 10, percent: 100 } };
    return replayed(recording, inventoryRule('lost', when, more));
  };
  expect(shown(await replay('lost'))).toEqual([
    '0: ban_device S-d2',
    '5: ban_device S-d1',
    '20: unban_device S-d2',
    '20: unban_device S-d1',
  ]);
  expect(shown(await replay('none'))).toEqual(['0: ban_device S-d3', '15: ban_device S-d2']);
});

test('a field that a recorded source did not have is unknown, and so is all of one that was read elsewhere', async () => {
  const rule = { id: 'known', subject: 'device', when: { missing: ['$facts.inventory.status'] }, then: 'notify' };
  const files = new Map([
    ['sources.yaml', INVENTORY_FILE],
    ['known.json', JSON.stringify({ ...rule, mode: 'dry-run' })],
  ]);
  const asked = async (path: string, file: string) => {
    const recording = new Recording().devices(2);
    const given = inventoryGiven(recording.nowMs, [['S-d1', { status: 'in use' }]]);
    recording.run({ ruleSet: { hash: 'hash of the rules', files }, frame: { given } });
    const when = { missing: [`$facts.inventory.${path}`] };
    return shown(
      await replayed(
        recording,
        inventoryRule('changed', when, { then: 'ban_device', limits: { max: 10, percent: 100 } }, sourcesIn(file)[0]),
      ),
    );
  };
  const costly = INVENTORY_FILE.replace('status: text', 'status: text, cost: number');
  // The second device has no row, in whatever field.
  expect(await asked('status', costly)).toEqual(['0: ban_device S-d2']);
  expect(await asked('cost', costly)).toEqual(['0: ban_device S-d2']);
  expect(await asked('status', INVENTORY_FILE.replace('inventory.csv', 'other.csv'))).toEqual([]);
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

test('what a rule asked for is compared with what the same run allowed, not with the least of another run', async () => {
  const recording = new Recording().devices(100).now('device', 'd1', COMPROMISED).runs(2);
  const grow = (from: number, to: number) => {
    for (let number = from; number <= to; number += 1)
      recording.device(`d${number}`, number % 10 === 0 ? COMPROMISED : SOUND);
    recording.runs(2);
  };
  grow(101, 250);
  const compared = async (percent: number) => {
    const { rules } = await replayed(recording, ruleOf({ limits: { max: 1_000, percent } }));
    return rules.map(({ mostTargets, allowed }) => ({ mostTargets, limit: allowed?.limits }));
  };
  expect(await compared(10)).toEqual([{ mostTargets: 15, limit: 25 }]);
  expect(await compared(2)).toEqual([{ mostTargets: 15, limit: 5 }]);
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
  recording.runs(5);
  const rule = ruleOf({
    id: 'failing',
    subject: 'service',
    when: { '>=': [{ event_count: { severity: 'ERROR', within: '10m' } }, 5] },
    then: 'disable_service',
    revert: true,
    tests: [{ name: 'quiet', events: [], expect: 'no_match' }],
  });
  expect(shown(await replayed(recording, rule))).toEqual(['5: disable_service s1', '25: enable_service s1']);
});

test('a deletion is held: nobody approves what a what-if holds', async () => {
  const recording = new Recording().devices(3).now('device', 'd1', COMPROMISED).runs(3);
  const replay = await replayed(recording, ruleOf({ then: 'delete_device' }));
  expect(replay.acts).toEqual([]);
  expect(replay.rules[0]?.held).toMatchObject([{ decision: 'hold', reason: 'approval_needed', targets: 1 }]);
});

test('a gap is named, starts `for` again, and makes windows unknown until they are covered', async () => {
  const recording = new Recording().devices(3).runs(4).now('device', 'd1', COMPROMISED).run().gap(HOUR).runs(4);
  const counting = ruleOf({ id: 'counting', when: { '<': [{ event_count: { within: '10m' } }, 1] }, revert: false });
  const options = { fromMs: T0, toMs: T0 + 2 * HOUR, actions: ACTIONS };
  const replay = await whatIf(recording.reader(), [ruleOf({ for: '30m' }), counting], options);
  expect(replay.gaps).toMatchObject([{ fromMs: T0 + 25 * MINUTE, toMs: T0 + 85 * MINUTE, cause: 'not_recorded' }]);
  expect(replay.acts.filter(({ rule }) => rule === 'ban')).toEqual([]);
  const unknown = replay.buckets.map(({ fromMs, rules }) => [(fromMs - T0) / MINUTE, rules.counting?.unknown]);
  expect(unknown).toEqual([
    [0, 3],
    [5, 3],
    [10, 0],
    [15, 0],
    [20, 0],
    [85, 3],
    [90, 3],
    [95, 0],
    [100, 0],
  ]);
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

test('the real past of Trustward does not leak in: what its own rules did is not there for other rules', async () => {
  const recording = new Recording().devices(3).run();
  recording.now('device', 'd1', { Banned: 'TRUE' });
  recording.openState = { ...NOTHING_OPEN, intents: [banOf('d1', recording.nowMs - 2 * MINUTE)] };
  recording.run().now('device', 'd1', COMPROMISED).runs(2);
  const replay = await replayed(recording, ruleOf());
  expect(shown(replay)).toEqual(['10: ban_device S-d1']);
  expect(replay.rules).toMatchObject([{ personDid: 0 }]);
});

test('a claim of a rule of the same id stands at the beginning, and one of a rule that is gone is left alone', async () => {
  const compliant = { '==': [{ var: 'MdmData.CompliantStatus' }, 'FALSE'] };
  for (const [rule, acts] of [
    [ruleOf({ revert: true }), ['5: unban_device S-d1']],
    [ruleOf({ id: 'another', when: compliant, revert: true }), []],
  ] as const) {
    const recording = new Recording().device('d1', { ...COMPROMISED, Banned: 'TRUE' });
    recording.openState = claimedBy('ban', 'd1');
    recording.run().now('device', 'd1', SOUND).runs(2);
    expect(shown(await replayed(recording, rule))).toEqual(acts);
  }
});

test('what a person rejected stays rejected for the match', async () => {
  const recording = new Recording().devices(3).now('device', 'd1', COMPROMISED).run();
  const episode = episodeOf('ban', 'd1', T0);
  const held = { ...decisionOf(episode), decision: 'hold', reason: 'approval_needed' } as const;
  const rejected = new Set([intentKey({ action: 'ban_device', target: 'S-d1', basis: [{ episodeId: episode.id }] })]);
  recording.openState = { ...NOTHING_OPEN, episodes: [episode], decisions: [held], rejected };
  recording.runs(3).now('device', 'd1', SOUND).run().now('device', 'd1', COMPROMISED);
  recording.openState = NOTHING_OPEN;
  recording.run();
  const replay = await replayed(recording, ruleOf({ for: '3m' }));
  expect(shown(replay)).toEqual([]);
  expect(replay.rules[0]?.held.map(({ reason }) => reason)).toContain('rejected');
});

test('a look acts between whole runs on the subjects that it read, and undoes nothing', async () => {
  const recording = new Recording().devices(40).run().now('device', 'd1', COMPROMISED).now('device', 'd2', COMPROMISED);
  const part = { sinceSeq: 1, counted: [], attempts: new Map(), read: [{ kind: 'device', id: 'd1' }] } as const;
  recording.run({ frame: { part }, run: { trigger: 'watch', scoped: true } });
  recording
    .now('device', 'd1', SOUND)
    .run({ frame: { part }, run: { trigger: 'watch', scoped: true } })
    .run();
  const replay = await replayed(recording, ruleOf({ revert: true }));
  expect(shown(replay)).toEqual(['5: ban_device S-d1', '15: ban_device S-d2', '15: unban_device S-d1']);
  expect(replay).toMatchObject({ runs: 4, wholeRuns: 2 });
  // What matched in a look alone has matched, too.
  expect(replay.rules).toMatchObject([{ matches: 2, acts: 2, undos: 1 }]);
});

test('a look counts with the last whole run: the limits hold what both do together', async () => {
  const recording = new Recording().devices(40).now('device', 'd1', COMPROMISED).run();
  recording.now('device', 'd2', COMPROMISED);
  const part = { sinceSeq: 1, counted: [], attempts: new Map(), read: [{ kind: 'device', id: 'd2' }] } as const;
  recording.run({ frame: { part }, run: { trigger: 'watch', scoped: true } });
  const { rules } = await replayed(recording, ruleOf({ limits: { max: 1, percent: 100 } }));
  expect(rules).toMatchObject([{ acts: 1, held: [{ reason: 'limits', targets: 1 }] }]);
});

test('services join and leave bundles in the model, and a person who takes one out is heeded', async () => {
  const [without, within] = [new Map([['b1', new Set<string>()]]), new Map([['b1', new Set(['s1'])]])];
  const recording = new Recording()
    .service('s1')
    .service('s2')
    .run({ frame: { bundles: without } });
  recording.now('service', 's1', { Description: 'exposed' }).run({ frame: { bundles: without } });
  recording.run({ frame: { bundles: within } }).runs(3, { frame: { bundles: without } });
  const rule = ruleOf({
    subject: 'service',
    when: { '==': [{ var: 'Description' }, 'exposed'] },
    declares: { Description: 'text' },
    then: { action: 'add_to_bundle', with: { bundle: 'b1' } },
  });
  const replay = await replayed(recording, rule);
  expect(shown(replay)).toEqual(['5: add_to_bundle s1 b1']);
  expect(replay.acts).toMatchObject([
    { personDidAtMs: T0 + 10 * MINUTE, personUndidAtMs: T0 + 15 * MINUTE, isOver: true },
  ]);
});

test('with `everyMs` one whole run of each stretch is decided, and facts of all are seen', async () => {
  const recording = new Recording().devices(3).run().now('device', 'd1', COMPROMISED).runs(30);
  const options = { fromMs: T0, toMs: T0 + DAY, actions: ACTIONS, everyMs: HOUR };
  const replay = await whatIf(recording.reader(), [ruleOf()], options);
  expect(shown(replay)).toEqual(['60: ban_device S-d1']);
  expect(replay).toMatchObject({ runs: 31, everyMs: HOUR });
});

test('only the chosen rules are reported, and all are weighed together', async () => {
  const recording = new Recording().devices(3).now('device', 'd1', COMPROMISED).runs(2);
  const rules = [ruleOf(), ruleOf({ id: 'lift', then: 'unban_device' })];
  const options = { fromMs: T0, toMs: T0 + DAY, actions: ACTIONS, only: ['ban'] };
  const replay = await whatIf(recording.reader(), rules, options);
  expect(replay.rules.map(({ id }) => id)).toEqual(['ban']);
  expect(replay.rules[0]?.held).toMatchObject([{ reason: 'conflict' }]);
});

test('a window that begins before the record is unknown until it is covered', async () => {
  const coverage = (fromMs: number, toMs: number) => ({ frame: { coverage: [{ fromMs, toMs }] } });
  const recording = new Recording().devices(3);
  for (let number = 0; number < 20; number += 1) recording.run(coverage(T0, recording.nowMs));
  const rule = ruleOf({ when: { '<': [{ event_count: { within: '1h' } }, 1] } });
  const replay = await replayed(recording, rule);
  expect([...new Set(shown(replay).map((act) => act.split(':')[0]))]).toEqual(['60']);
  expect(replay.rules).toMatchObject([{ unknown: 3 }]);
});

test('a replay that is stopped breaks off', async () => {
  const recording = new Recording().devices(3).runs(3);
  const options = { fromMs: T0, toMs: T0 + DAY, actions: ACTIONS, signal: AbortSignal.abort() };
  await expect(whatIf(recording.reader(), [ruleOf()], options)).rejects.toMatchObject({ code: 'stopped' });
});

function episodeOf(rule: string, id: string, since: number): Episode {
  return {
    id: `episode-${id}`,
    rule,
    subject: { kind: 'device', id },
    since,
    matchingSince: since,
    state: 'matching',
    stateSince: since,
    absentSince: undefined,
    seenSo: [],
    overriddenAt: undefined,
    closedAt: undefined,
    closeReason: undefined,
  };
}

function banOf(id: string, sentAt: number, episode = episodeOf('ban', id, sentAt)): Intent {
  const basis = { rule: episode.rule, ruleHash: '', subjectId: id, episodeId: episode.id, decisionId: '', facts: {} };
  return doneIntent(sentAt, { id: `intent-${id}`, target: `S-${id}`, basis: [basis], runId: 'run-0' });
}

function claimedBy(rule: string, id: string): OpenState {
  const [episode, openedAt] = [episodeOf(rule, id, T0 - DAY), T0 - DAY];
  const intent = banOf(id, openedAt, episode);
  const { action, target } = intent;
  const claim: Claim = {
    id: `claim-${id}`,
    episodeId: episode.id,
    rule,
    subjectId: id,
    action,
    target,
    intentId: intent.id,
    status: 'standing',
    openedAt,
    endedAt: undefined,
  };
  return { ...NOTHING_OPEN, episodes: [episode], claims: [claim], intents: [intent] };
}

function decisionOf({ id, rule, subject, since }: Episode): StoredDecision {
  return {
    id: `decision-${id}`,
    rule,
    ruleHash: '',
    subject,
    subjectName: '',
    verdict: 'match',
    since,
    decision: 'act',
    reason: 'rule_matches',
    reasonText: '',
    action: 'ban_device',
    target: `S-${subject.id}`,
    mode: 'enforce',
    cappedBy: undefined,
    facts: {},
    effect: { text: '', devices: [] },
    episodeId: id,
    intentId: undefined,
    outcome: undefined,
    outcomeText: undefined,
    runId: 'run-0',
    runSeq: 0,
    writtenAt: since,
    endedSeq: undefined,
  };
}

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

describe('what if', () => {
  const PAGED = { devices: { form: 'paged' } } as const;

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
});
