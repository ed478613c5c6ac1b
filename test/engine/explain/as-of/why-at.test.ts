// test: why and facts as of an earlier time: what a recorded run saw, by the rules of that time, without asking the platform.
import { describe, expect, it } from 'vitest';
import type { HistoryReader } from '../../../../src/domain/recorded-history.ts';
import type { ExplainedPart } from '../../../../src/domain/why.ts';
import { ACTIONS } from '../../../../src/engine/act/actions.ts';
import { factsAt, whyAt } from '../../../../src/engine/explain/why-at.ts';
import { whyText } from '../../../../src/faces/cli/why-text.ts';
import { banRule, startOnPlatform } from '../../../support/engine-on-platform.ts';
import { START_MS } from '../../../support/filled-store.ts';
import { DAY, HOUR, MINUTE, Recording, T0, untrusted } from '../../../support/recorded.ts';

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
