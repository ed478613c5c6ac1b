// test: what was known and done of a subject: as of an earlier time, as one line of time, and its history in a real organization.
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { GivenDoubt, GivenTable } from '../../../src/domain/given-table.ts';
import type { Identity } from '../../../src/domain/identity.ts';
import type { HistoryReader } from '../../../src/domain/recorded-history.ts';
import { SIGNAL_EVENTS } from '../../../src/domain/signal.ts';
import type { ExplainedPart } from '../../../src/domain/why.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { historyOf } from '../../../src/engine/explain/history-of.ts';
import { readStates } from '../../../src/engine/explain/judge-subject.ts';
import { timelineOf } from '../../../src/engine/explain/timeline.ts';
import { factsAt, whyAt } from '../../../src/engine/explain/why-at.ts';
import { endExemption } from '../../../src/engine/operate/commands.ts';
import { exempt } from '../../../src/engine/operate/exempt.ts';
import { releaseClaims } from '../../../src/engine/operate/release.ts';
import { whyText } from '../../../src/faces/cli/why-text.ts';
import { stateWords } from '../../../src/faces/report/why-words.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { banRule, startOnPlatform } from '../../support/engine-on-platform.ts';
import { START_MS } from '../../support/filled-store.ts';
import { INVENTORY_FILE, inventoryGiven } from '../../support/given-facts.ts';
import { addFleet, compromise, lookOn } from '../../support/looks.ts';
import { type Organization, startOrganization } from '../../support/organization.ts';
import { DAY, HOUR, MINUTE, Recording, type RunSaid, T0, untrusted } from '../../support/recorded.ts';

const FILE = `id: ban-compromised
subject: device
when: { "and": [{ "==": [{ var: MdmData.CompromisedStatus }, "TRUE"] }, { ">=": [{ event_count: { type: Access, within: 1h } }, 2] }] }
then: notify
tests:
  - { name: none, given: {}, expect: no_match }
`;
const ruleSet = { hash: 'then', files: new Map([['ban-compromised.yaml', FILE]]) };
const inForce = { run: { ruleSetHash: 'then' } };

/** A store that knows the device today; the history is written down beside it. */
async function known(recording: Recording, rules = [banRule()]) {
  const on = startOnPlatform({ rules });
  on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
  await on.run();
  const reads: string[] = [];
  on.platform.onRead = (what) => reads.push(what);
  const clock = { ...on.engine.clock, nowMs: () => T0 + 40 * DAY };
  return { reads, deps: { history: bounded(recording.reader()), reader: on.store, actions: ACTIONS, clock } };
}

/** Only what was asked for, as the segments give it. */
function bounded(reader: HistoryReader): HistoryReader {
  return {
    ...reader,
    async *items(query) {
      for await (const item of reader.items(query)) {
        const from = item.kind === 'run' ? item.run.frame.run.startedAt : item.kind === 'gap' ? item.gap.toMs : 0;
        const to = item.kind === 'run' ? from : item.kind === 'gap' ? item.gap.fromMs : 0;
        if (item.kind === 'state' || (from >= query.fromMs && to <= query.toMs)) yield item;
      }
    },
  };
}

function compromisedForAnHour(): Recording {
  return new Recording()
    .device('d1', { MdmData: { CompromisedStatus: 'FALSE' } })
    .run({ ...inForce, ruleSet })
    .now('device', 'd1', { MdmData: { CompromisedStatus: 'TRUE' } })
    .event({ deviceId: 'd1', type: 'Access' })
    .event({ deviceId: 'd1', type: 'Access' })
    .event({ deviceId: 'd2', type: 'Access' })
    .pass(HOUR)
    .run(inForce)
    .now('device', 'd1', { MdmData: { CompromisedStatus: 'FALSE' } })
    .pass(HOUR)
    .run(inForce);
}

const texts = (part: ExplainedPart): string[] => [part.text, ...part.parts.flatMap(texts)];

describe('why as of then', () => {
  it('judges what a run saw by the rules of that run, and asks the platform nothing', async () => {
    const { deps, reads } = await known(compromisedForAnHour());
    const at = T0 + 5 * MINUTE + HOUR + 10;
    const why = await whyAt(deps, 'S-d1', at);
    expect(reads).toEqual([]);
    expect(why.asOf).toMatchObject({ run: 2, runAt: T0 + 5 * MINUTE + HOUR, askedAt: at });
    expect(why.rules).toMatchObject([{ rule: 'ban-compromised', verdict: 'match' }]);
    expect(texts(why.rules[0]?.tree as ExplainedPart).join('\n')).toContain('MdmData.CompromisedStatus');
    expect(why.record).toMatchObject({ MdmData: { CompromisedStatus: 'TRUE' } });
    const before = await whyAt(deps, 'd1', T0 + MINUTE);
    expect(before.rules).toMatchObject([{ verdict: 'no_match' }]);
    const after = await whyAt(deps, 'd1', T0 + 3 * HOUR);
    expect(after.asOf?.run).toBe(3);
    expect(after.record).toMatchObject({ MdmData: { CompromisedStatus: 'FALSE' } });
  });

  it('counts the events of those who owned the device then', async () => {
    const owned = FILE.replace(
      /when: .*/,
      'when: { some: [{ var: $owners }, { ">=": [{ event_count: { within: 1h } }, 2] }] }',
    );
    const of = (email: string) => ({ email, type: 'Access' });
    const { deps } = await known(
      new Recording()
        .user('ann@x')
        .user('bob@x')
        .device('d1', { Emails: ['ann@x'] })
        .event(of('ann@x'))
        .event(of('ann@x'))
        .event(of('bob@x'))
        .run({ ...inForce, ruleSet: { hash: 'then', files: new Map([['ban-compromised.yaml', owned]]) } })
        .now('device', 'd1', { Emails: ['bob@x'] })
        .pass(HOUR / 2)
        .run(inForce),
    );
    const verdict = async (at: number) => (await whyAt(deps, 'd1', at)).rules[0]?.verdict;
    expect([await verdict(T0 + MINUTE), await verdict(T0 + HOUR)]).toEqual(['match', 'no_match']);
  });

  it('says what Trustward itself did after the last reading, and not that somebody else changed it', async () => {
    const bannedAt = 1_800_000_000_000;
    const recording = new Recording().device('d1', { Banned: 'FALSE' }).run(inForce);
    const { deps } = await known(recording.pass(bannedAt - T0 - HOUR).run(inForce));
    const banned = { text: 'banned', isSo: true, isOwn: true };
    expect((await whyAt(deps, 'd1', bannedAt + MINUTE)).states).toMatchObject([banned]);
  });

  it('has an event window unknown where the log was not known then', async () => {
    const { deps } = await known(
      new Recording()
        .device('d1', { MdmData: { CompromisedStatus: 'TRUE' } })
        .run({ ...inForce, ruleSet, frame: { coverage: [{ fromMs: T0 - MINUTE, toMs: T0 }] } }),
    );
    const { rules } = await whyAt(deps, 'd1', T0 + MINUTE);
    expect(rules).toMatchObject([{ verdict: 'unknown' }]);
    expect(rules[0]?.reason).toMatch(/event/);
  });

  it('judges by the signals and the rows of facts that were known then, however long ago the log of events was read', async () => {
    const files = new Map([
      [
        'signals.yaml',
        'transmitters: { idp: { issuer: "https://i.x", audience: us, jwks: { file: i }, delivery: push } }',
      ],
      ['sources.yaml', INVENTORY_FILE],
      [
        'returned.yaml',
        FILE.replace('ban-compromised', 'returned').replace(
          /when: .*/,
          'when: { "==": [{ var: $facts.inventory.status }, lost] }',
        ),
      ],
      [
        'revoked.yaml',
        FILE.replace('ban-compromised', 'revoked').replace(
          /when: .*/,
          'when: { ">=": [{ signal_count: { transmitter: idp, event: session-revoked, within: 1h } }, 1] }',
        ),
      ],
    ]);
    const recording = new Recording().device('d1');
    const seen = (status: string, doubt?: GivenDoubt): RunSaid => {
      const [table] = inventoryGiven(T0, [['S-d1', { status }]]).values();
      const given = new Map([['inventory', { ...(table as GivenTable), doubt }]]);
      const ofLog = { fromMs: T0 - DAY, toMs: T0 - HOUR };
      const coverage = [ofLog, { transmitter: 'idp', fromMs: T0 - DAY, toMs: recording.nowMs }];
      return { ...inForce, frame: { coverage, given } };
    };
    recording.run({ ...seen('lost'), ruleSet: { hash: 'then', files } });
    recording.event({ deviceId: 'd1', transmitter: 'idp', type: SIGNAL_EVENTS.get('session-revoked') as string });
    recording.run(seen('found')).run(seen('found', { why: 'untrusted', text: 'half of it is gone' }));
    const { deps } = await known(recording);
    const verdicts = async (run: number) => {
      const { rules } = await whyAt(deps, 'd1', T0 + run * 5 * MINUTE + 1);
      return rules.map(({ rule, verdict, reason }) => [
        rule,
        verdict,
        reason?.includes('its source is not trusted') ?? false,
      ]);
    };
    expect(await verdicts(0)).toEqual([
      ['returned', 'match', false],
      ['revoked', 'no_match', false],
    ]);
    expect(await verdicts(1)).toEqual([
      ['returned', 'no_match', false],
      ['revoked', 'match', false],
    ]);
    expect(await verdicts(2)).toEqual([
      ['returned', 'unknown', true],
      ['revoked', 'match', false],
    ]);
    const { asOf } = await whyAt(deps, 'd1', T0 + 10 * MINUTE + 1);
    expect(asOf?.notes).toContain('run 3 could not use its reading of $facts.inventory');
  });

  it('shows what was decided, open, exempt and stopped then, and nothing of later', async () => {
    const recording = new Recording().device('d1');
    const claim = {
      id: 'c1',
      episodeId: 'e1',
      rule: 'ban-compromised',
      subjectId: 'd1',
      action: 'ban_device',
      target: 'S-d1',
      intentId: 'i1',
      status: 'standing' as const,
      openedAt: T0 - HOUR,
      endedAt: undefined,
    };
    const stop = { at: T0 - MINUTE, by: 'ada', reason: 'an incident' };
    recording.openState = {
      ...recording.openState,
      claims: [claim, { ...claim, id: 'c2', subjectId: 'd9', target: 'S-d9' }],
      stop,
    };
    recording.run({ ...inForce, ruleSet });
    const { deps } = await known(recording);
    const why = await whyAt(deps, 'd1', T0 + MINUTE);
    expect(why.claims).toEqual([claim]);
    expect(why.stop).toEqual(stop);
    expect(why.history.every(({ at }) => at <= T0 + MINUTE)).toBe(true);
    expect(why.states).toMatchObject([{ action: 'ban_device', isSo: false }]);
  });

  it('says that it is recorded, by which run, and that the present may differ', async () => {
    const { deps } = await known(compromisedForAnHour());
    const text = whyText(await whyAt(deps, 'd1', T0 + MINUTE));
    expect(text.replace(/\s+/g, ' ')).toContain(
      'as recorded by run 1 at 2027-01-10 08:00:00 UTC; the platform was not asked, and the present may differ',
    );
    expect(text).toContain('CONDITIONS, with their values then');
  });

  it('names a reading that its run could not use, and a rule set that is not recorded', async () => {
    const { deps } = await known(new Recording().device('d1').run({ sources: { users: untrusted('users') } }));
    const why = await whyAt(deps, 'd1', T0 + MINUTE);
    expect(why.asOf?.notes).toContain('run 1 could not use its reading of the users');
    expect(why.asOf?.notes).toContain('the rule files of that time are not recorded');
    expect(why.rules).toEqual([]);
  });
});

describe('a run that the database does not have', () => {
  it('is named, since what was decided and done then may be missing', async () => {
    const text = /^the database has no such run 1: it was restored/;
    const recording = new Recording().device('d1').run();
    const { deps } = await known(recording);
    expect((await whyAt(deps, 'd1', T0 + MINUTE)).asOf?.notes).toContainEqual(expect.stringMatching(text));
    const run = { id: (await deps.reader.runs(1))[0]?.id as string };
    const same = { ...deps, history: new Recording().device('d1').run({ run }).reader() };
    expect((await whyAt(same, 'd1', T0 + MINUTE)).asOf?.notes).not.toContainEqual(expect.stringMatching(text));
  });
});

describe('a time of which nothing is recorded', () => {
  it.each([
    ['before the first run', T0 - HOUR, /^nothing is recorded of .*: the history begins at 2027-01-10 08:00:00 UTC$/],
    ['in a gap', T0 + 2 * HOUR, /^what was so at .* is not recorded: damaged for .*--at /],
    ['long after the last run', T0 + 30 * DAY, /^no run is recorded within .* before /],
    ['ahead', T0 + 50 * DAY, /which is ahead/],
  ])('%s is one plain line', async (_case, atMs, words) => {
    const recording = new Recording().device('d1').run().gap(DAY, 'damaged').run();
    const { deps } = await known(recording);
    await expect(whyAt(deps, 'd1', atMs)).rejects.toThrow(words);
    await expect(factsAt(deps, 'd1', atMs)).rejects.toThrow(words);
  });

  it('goes on until a run is recorded, and ends with it', async () => {
    const recording = new Recording().device('d1').run().gap(HOUR).pass(HOUR);
    const late = T0 + 90 * MINUTE;
    await expect(whyAt((await known(recording)).deps, 'd1', late)).rejects.toThrow(
      /is not recorded: not_recorded for /,
    );
    recording.run();
    const { deps } = await known(recording);
    expect((await factsAt(deps, 'd1', T0 + 3 * HOUR)).asOf.run).toBe(2);
    await expect(whyAt(deps, 'd1', late)).rejects.toThrow(/is not recorded: not_recorded for /);
  });

  it('without any record, and for a subject that no list had, it says so', async () => {
    const none = await known(new Recording());
    await expect(whyAt(none.deps, 'd1', T0)).rejects.toThrow(/^nothing is recorded yet/);
    const { deps } = await known(new Recording().device('d2').run());
    await expect(whyAt(deps, 'd1', T0 + MINUTE)).rejects.toThrow(
      /^device `d1` was in no list at .* as recorded by run 1$/,
    );
  });

  it('the facts of a time are those that a run saw, secrets left out', async () => {
    const { deps } = await known(compromisedForAnHour());
    const { record, asOf } = await factsAt(deps, 'd1', T0 + MINUTE);
    expect(record).toMatchObject({ DeviceID: 'd1', MdmData: { CompromisedStatus: 'FALSE' } });
    expect(asOf).toMatchObject({ run: 1, seenAt: T0 });
    expect(START_MS).toBeLessThan(asOf.runAt);
  });
});

const D1 = { kind: 'device', id: 'd1', serial: 'S-d1' } as const;

async function deps(history: HistoryReader | undefined, nowMs = T0 + 5 * DAY) {
  const on = startOnPlatform({ rules: [banRule()] });
  on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
  await on.run();
  return { reader: on.store, history, clock: { ...on.engine.clock, nowMs: () => nowMs } };
}

function changing(): Recording {
  return new Recording()
    .device('d1', { Ownership: 'Other', LastLogin: 1_700_000_000_000 })
    .run()
    .now('device', 'd1', { Ownership: 'UNKNOWN', DeviceFriendlyName: 'new\u202ename' })
    .run()
    .now('device', 'd1', { LastLogin: 1_700_000_300_000 })
    .run()
    .gone('device', 'd1')
    .run();
}

describe('the line of time', () => {
  it('has each change with the value before and after, the newest first, and its run', async () => {
    const lines = await timelineOf(await deps(changing().reader()), D1, { limit: 50, part: 'facts' });
    expect(lines.map(({ text, run, at }) => [text, run, at - T0])).toEqual([
      ['no list has it any longer', 4, 15 * MINUTE],
      ['DeviceFriendlyName: "name of d1" → "new\u202ename"; Ownership: "Other" → "UNKNOWN"', 2, 5 * MINUTE],
      [expect.stringMatching(/^first recorded, with \d+ facts$/), 1, 0],
    ]);
  });

  it('has what was decided and done between them, in the order of time', async () => {
    const given = await deps(changing().reader());
    const all = await timelineOf(given, D1, { limit: 50 });
    const acts = await timelineOf(given, D1, { limit: 50, part: 'acts' });
    const facts = await timelineOf(given, D1, { limit: 50, part: 'facts' });
    expect(acts.length).toBeGreaterThan(0);
    expect(all).toHaveLength(acts.length + facts.length);
    expect(all.map(({ at }) => at)).toEqual(all.map(({ at }) => at).sort((a, b) => b - a));
    expect(new Set(acts.map(({ kind }) => kind)).has('fact')).toBe(false);
  });

  it('has no more lines than asked for, the newest', async () => {
    const given = await deps(changing().reader());
    expect(await timelineOf(given, D1, { limit: 1, part: 'facts' })).toMatchObject([{ run: 4 }]);
  });

  it('is as without a history where none is kept', async () => {
    const lines = await timelineOf(await deps(undefined), D1, { limit: 50 });
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.some(({ kind }) => kind === 'fact')).toBe(false);
  });

  it('says that a secret changed, and not what it is', async () => {
    const history = new Recording().device('d1').run().reader();
    const secret = { kind: 'device', subject: 'd1', path: 'ServiceSpec', value: undefined, secret: true } as const;
    const reader: HistoryReader = {
      ...history,
      async *changesOf(...asked) {
        yield* history.changesOf(...asked);
        yield { ...secret, atMs: T0 + MINUTE, runSeq: 7 };
      },
    };
    const lines = await timelineOf(await deps(reader), D1, { limit: 5, part: 'facts' });
    expect(lines[0]?.text).toBe('ServiceSpec: changed; it is a secret, and not recorded');
  });
});

describe('the history of a target and of a subject', () => {
  const ANA = { by: 'ana (command line)', reason: 'a new laptop' };
  let org: Organization;
  let device: string;

  beforeEach(async () => {
    org = await startOrganization({ devices: 20 });
    await org.run('enforce');
    device = org.console.fleet.addDevice({ serial: 'PAST-1', mdm_compromised: 'TRUE' });
    org.console.fleet.addDevice({ serial: 'OTHER-1', mdm_compromised: 'TRUE' });
  });
  afterEach(() => org.close());

  const engine = () => org.composition.engine;
  const lines = (about: Parameters<typeof historyOf>[1], limit = 50) =>
    historyOf(engine().store, about, { limit, nowMs: systemClock.nowMs() });
  const told = async (about: Parameters<typeof historyOf>[1]) =>
    (await lines(about)).map(({ kind, text, by }) => [kind, text, by]);

  it('what waits for its time is not skipped', async () => {
    const on = startOnPlatform({ rules: [banRule({ more: 'for: 1h' })] });
    on.platform.addDevice('bad', { MdmData: { CompromisedStatus: 'TRUE' } });
    await on.run('dry-run');
    const [line] = await historyOf(on.engine.store, { target: 'S-bad' }, { limit: 5, nowMs: on.clock.nowMs() });
    on.close();
    expect(line?.text).toMatch(/^wait ban_device S-bad: it must match for 1h, and has since /);
  });

  it('a release shows who asked for it and why, with its call, above the ban and what decided it', async () => {
    await org.run('enforce');
    await releaseClaims(engine(), 'PAST-1', ANA);
    const expected = [
      [
        'call',
        expect.stringMatching(/^unban_device PAST-1: succeeded .*released by ana \(command line\): a new laptop$/),
        ANA.by,
      ],
      [
        'reversal',
        expect.stringMatching(/^ana \(command line\) released ban_device PAST-1: a new laptop; left alone until/),
        ANA.by,
      ],
      ['call', expect.stringMatching(/^ban_device PAST-1: succeeded/), undefined],
      ['decision', 'act ban_device PAST-1: the rule matches', undefined],
    ];
    expect(await told({ target: 'PAST-1' })).toEqual(expected);
    expect(await told({ subjectId: device })).toEqual(expected);
    const [call, , ban, decided] = await lines({ target: 'PAST-1' });
    expect([call?.run, ban?.run, decided?.run]).toEqual([undefined, 2, 2]);
  });

  it('a reversal by somebody unknown is shown without a name', async () => {
    await org.run('enforce');
    org.console.fleet.banByHand('PAST-1', 'FALSE');
    // A change right after the call may be a stale read: it is believed after the quiet period.
    while ((await org.run('enforce')).of('skip', 'overridden').length === 0);
    const reversal = (await lines({ target: 'PAST-1' })).find(({ kind }) => kind === 'reversal');
    expect(reversal).toMatchObject({
      text: expect.stringMatching(/^somebody reversed ban_device PAST-1: .* is FALSE, and was TRUE; left alone/),
      by: undefined,
      rules: ['ban-compromised-device'],
    });
  });

  it('an exemption of the device is in the history of its serial number, before anything else happened', async () => {
    const about = {
      subject: { kind: 'device', id: device },
      unseen: true,
      owner: 'Bo',
      reason: 'travel',
      until: '1d',
      release: false,
    };
    const { exemption } = await exempt(engine(), about, ANA.by);
    await org.run('enforce');
    await endExemption(engine(), exemption.id, { by: 'bo', reason: 'back' });
    expect((await told({ target: 'PAST-1' })).map(([kind, , by]) => [kind, by])).toEqual([
      ['exemption', 'bo'],
      ['decision', undefined],
      ['exemption', ANA.by],
    ]);
  });

  it('a dry run adds its decision and no call, and a limit keeps the newest lines', async () => {
    await org.run('dry-run');
    expect(await told({ target: 'PAST-1' })).toEqual([
      ['decision', 'act ban_device PAST-1: the rule matches (dry run: nothing was called)', undefined],
    ]);
    await org.run('enforce');
    expect((await lines({ target: 'PAST-1' }, 1)).map(({ kind }) => kind)).toEqual(['call']);
    expect(await lines({ target: 'NOBODY' })).toEqual([]);
  });
});

describe('`why` on a device that was banned after an event', () => {
  it('a ban after an event is shown as one, with its time and run; a ban of a whole run is not', async () => {
    const on = startOnPlatform();
    onTestFinished(() => on.close());
    await addFleet(on, 3);
    compromise(on, 'd1');
    await lookOn(on);
    on.platform.compromised('d2', 'TRUE');
    await on.run();
    const stateOf = async (id: string) => {
      const subject = (await on.store.identitiesNamed(id))[0]?.identity as Identity;
      const states = await readStates({ api: on.platform, actions: ACTIONS, reader: on.store }, subject);
      return stateWords({ states, unread: undefined, subject }).join('\n');
    };
    expect(await stateOf('d1')).toMatch(/succeeded, \S+ \S+ UTC, by rule ban in run 2 \(watch, after new events\)/);
    expect(await stateOf('d2')).toMatch(/succeeded, \S+ \S+ UTC, by rule ban in run 3$/m);
  });
});
