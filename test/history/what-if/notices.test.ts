// what if: rules that warn first: what warnings would have avoided, by the record and by what is assumed of people.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { placeAmong } from '../../../src/domain/digest.ts';
import type { Notice } from '../../../src/domain/notice.ts';
import type { MendModel } from '../../../src/domain/replay.ts';
import { ALL } from '../../../src/domain/rollout.ts';
import type { OpenState } from '../../../src/domain/store.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { whatIf } from '../../../src/history/replay/what-if.ts';
import { DAY, HOUR, MINUTE, NOTHING_OPEN, Recording, ruleOf, T0 } from '../../support/recorded.ts';

const TURN = { TRUE: { MdmData: { CompromisedStatus: 'TRUE' } }, FALSE: { MdmData: { CompromisedStatus: 'FALSE' } } };
const RULE = ruleOf({ notice: { before: '1h' } });
/** Runs within the time of a notice. */
const BEFORE = HOUR / (5 * MINUTE);
const RUNS = 40;

const replayed = (recording: Recording, mend?: MendModel, rule = RULE) =>
  whatIf(recording.reader(), [rule], { fromMs: T0, toMs: T0 + DAY, actions: ACTIONS, mend });

/** Is wrong from one run on, for so many runs. */
const life = fc.record({
  from: fc.integer({ min: 0, max: 24 }),
  lasts: fc.integer({ min: 1, max: 30 }),
  hasAddress: fc.integer({ min: 0, max: 4 }).map((at) => at > 0),
});
type Life = typeof life extends fc.Arbitrary<infer T> ? T : never;

function lived(lives: readonly Life[]): Recording {
  const recording = new Recording();
  lives.forEach(({ hasAddress }, at) => {
    recording.device(`d${at}`, { ...TURN.FALSE, ...(!hasAddress && { Emails: [] }) });
  });
  for (let run = 0; run < RUNS; run += 1) {
    lives.forEach(({ from, lasts }, at) => {
      if (run === from) recording.now('device', `d${at}`, TURN.TRUE);
      if (run === from + lasts) recording.now('device', `d${at}`, TURN.FALSE);
    });
    recording.run();
  }
  return recording;
}

test('of a small past the figures are those that one counts by hand, and they add up', async () => {
  const model = fc.record({
    share: fc.integer({ min: 0, max: ALL }),
    afterMs: fc.constantFrom(0, HOUR / 2, HOUR, HOUR + 1),
  });
  const seen = { mended: 0, avoided: 0, undelivered: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(life, { minLength: 1, maxLength: 6 }), model, async (lives, mend) => {
      const recording = lived(lives);
      const { rules, acts, notes } = await replayed(recording, mend);
      const warned = lives.flatMap((one, at) => (one.hasAddress ? [{ ...one, at }] : []));
      const banned = warned.filter(({ from, lasts }) => lasts > BEFORE && from + BEFORE < RUNS);
      const mends = ({ at }: { at: number }) => placeAmong(ALL, 'mend', `owner-of-d${at}@example.com`) < mend.share;
      const avoided = mend.afterMs <= HOUR ? banned.filter(mends) : [];
      const expected = {
        warned: warned.length,
        acted: banned.length,
        mended: warned.filter(({ lasts }) => lasts <= BEFORE).length,
        avoided: avoided.length,
        undelivered: lives.length - warned.length,
      };
      expect(rules[0]?.notice).toEqual(expected);
      expect(expected.warned).toBe(expected.mended + expected.acted);
      const done = acts.filter(({ undo }) => !undo);
      expect(done.flatMap(({ isAvoided, target }) => (isAvoided ? [target] : [])).sort()).toEqual(
        avoided.map(({ at }) => `S-d${at}`).sort(),
      );
      expect(notes.join(' ')).toContain('This is an assumption and no forecast');
      // What is assumed changes nothing of what is replayed.
      const { rules: plain, acts: same } = await replayed(recording);
      expect(plain).toMatchObject([{ acts: done.length, notice: { ...expected, avoided: undefined } }]);
      expect(same.map(({ atMs, target }) => [atMs, target])).toEqual(acts.map(({ atMs, target }) => [atMs, target]));
      const avoidedBy = async (share: number, afterMs: number) =>
        (await replayed(recording, { share, afterMs })).rules[0]?.notice?.avoided;
      expect(await avoidedBy(0, 0)).toBe(0);
      expect(await avoidedBy(ALL, HOUR)).toBe(done.length);
      expect(await avoidedBy(ALL, HOUR + 1)).toBe(0);
      for (const key of ['mended', 'avoided', 'undelivered'] as const) seen[key] += expected[key];
    }),
    { numRuns: 12, seed: 30 },
  );
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(2);
});

test('the same people mend for every rule, and a larger share has those of a smaller one', async () => {
  const recording = lived(Array.from({ length: 40 }, () => ({ from: 0, lasts: 30, hasAddress: true })));
  const avoided = async (share: number, id: string) => {
    const rule = ruleOf({ id, notice: { before: '1h' } });
    const { acts } = await replayed(recording, { share, afterMs: HOUR / 2 }, rule);
    return acts.flatMap(({ isAvoided, target }) => (isAvoided ? [target] : []));
  };
  const [few, other, more] = [await avoided(3_000, 'a'), await avoided(3_000, 'b'), await avoided(7_000, 'a')];
  expect(few).toEqual(other);
  expect(more).toEqual(expect.arrayContaining(few));
  expect([few.length, more.length]).toEqual([13, 20]);
});

/** The rule matches d1, whose owner the recorded rule of this id warned. */
function warnedThen(recording: Recording, over: Partial<Notice>): OpenState {
  const episode = {
    ...{ id: 'e1', rule: 'ban', subject: { kind: 'device', id: 'd1' }, state: 'matching', seenSo: [] },
    ...{ since: T0, stateSince: T0, ruleHash: RULE.hash },
  } as unknown as OpenState['episodes'][number];
  const notice: Notice = {
    ...{ id: 'n1', episodeId: 'e1', rule: 'ban', subject: { kind: 'device', id: 'd1' }, target: 'S-d1' },
    ...{ address: 'owner-of-d1@example.com', print: RULE.notice?.print as string, round: 1, beforeMs: HOUR },
    ...{ aheadMs: 0, status: 'waiting', createdAt: recording.nowMs, dueAt: undefined, until: undefined },
    ...{ deliveredAt: undefined, attempts: 0, nextAt: recording.nowMs, note: undefined },
    ...over,
  };
  return { ...NOTHING_OPEN, episodes: [episode], notices: new Map([['e1', [notice]]]) };
}

test('who was warned in the record did what the record shows: nothing is assumed of them', async () => {
  const recording = new Recording().devices(3, () => TURN.TRUE).run();
  const deliveredAt = recording.nowMs;
  recording.openState = warnedThen(recording, { status: 'delivered', deliveredAt, dueAt: deliveredAt + HOUR });
  const { acts } = await replayed(recording.runs(20), { share: ALL, afterMs: 0 });
  expect(acts.map(({ target, isAvoided }) => [target, isAvoided])).toEqual([
    ['S-d1', false],
    ['S-d2', true],
    ['S-d3', true],
  ]);
});

test.each(['waiting', 'sending'] as const)(
  'a notice that was %s when the replay begins is delivered then',
  async (status) => {
    const recording = new Recording().devices(1, () => TURN.TRUE);
    recording.openState = warnedThen(recording, { status, ...(status === 'sending' && { dueAt: T0 + HOUR }) });
    const { acts } = await replayed(recording.runs(20));
    expect(acts.map(({ target, atMs }) => [target, atMs - T0])).toEqual([['S-d1', HOUR]]);
  },
);
