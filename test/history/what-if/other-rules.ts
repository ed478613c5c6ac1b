// test: two lives in one world, by rules A and by rules B, each on a platform of its own; A's is recorded. In: what happens, rules. Out: what B did, and
// what B would have done as a replay of A's record finds it. With outages, lists that lack a device once, silence, owners that A did not read.
import fc from 'fast-check';
import { expect } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { Facts } from '../../../src/domain/facts.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { TRUST_DEFAULT } from '../../../src/engine/pull/trust-gate.ts';
import { silenceBefore } from '../../../src/engine/run/pulled-snapshot.ts';
import { whatIf } from '../../../src/history/replay/what-if.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { MemoryHistory } from '../../support/memory-history.ts';
import { START_MS } from '../../support/platform.ts';
import { DAY, HOUR, MINUTE } from '../../support/recorded.ts';

const IDS = ['d1', 'd2', 'd3', 'd4', 'd5', 'd6', 'd7', 'd8'];
/** Both lives distrust lists in which more than two of the eight devices turn at once. */
const TRUST = {
  ...TRUST_DEFAULT,
  movedPoints: 30,
  movedRecords: 2,
  shrunkRecords: 2,
  driftDayPercent: 80,
  driftWeekPercent: 90,
};

const one = fc.record({
  ids: fc.oneof(
    { weight: 6, arbitrary: fc.subarray(IDS, { minLength: 1, maxLength: 2 }) },
    fc.subarray(IDS, { minLength: 4 }),
  ),
  field: fc.constantFrom('CompromisedStatus', 'Other'),
  value: fc.constantFrom('TRUE', 'FALSE'),
});

const round = fc.record({
  changes: fc.array(one, { maxLength: 2 }),
  /** The list of this run lacks it. */
  lacks: fc.option(fc.constantFrom(...IDS), { freq: 6 }),
  /** Devices cannot be read. */
  isOut: fc.integer({ min: 0, max: 11 }).map((at) => at === 0),
  minutes: fc.constantFrom(1, 5, 30, 90, 26 * 60),
});

const rule = fc.record({
  revert: fc.boolean(),
  for: fc.constantFrom('0s', '20m'),
  clear_for: fc.constantFrom('0s', '30m'),
  cooldown: fc.constantFrom('0s', '1h'),
  owners: fc.constantFrom('one', 'all'),
  /** Warned that long before. */
  notice: fc.constantFrom('', '', '30m', '2h'),
});

export const world = fc.record({
  rounds: fc.array(round, { minLength: 12, maxLength: 30 }),
  a: rule,
  b: rule,
  mode: fc.constantFrom('enforce' as const, 'dry-run' as const),
});

type World = typeof world extends fc.Arbitrary<infer T> ? T : never;

export interface Figures {
  worlds: number;
  runs: number;
  acts: number;
  untrusted: number;
  dryRuns: number;
  ownersUnread: number;
  warned: number;
  kept: number;
}

export const noFigures = (): Figures => ({
  worlds: 0,
  runs: 0,
  acts: 0,
  untrusted: 0,
  dryRuns: 0,
  ownersUnread: 0,
  warned: 0,
  kept: 0,
});

function ruleOf(id: string, field: string, given: World['a']) {
  const notice = given.notice === '' ? '' : `\nnotice: { before: ${given.notice} }`;
  const more = `for: ${given.for}\nclear_for: ${given.clear_for}\nowners: ${given.owners}${notice}`;
  const made = banRule({ id, field, cooldown: given.cooldown, more });
  return { ...made, revert: given.revert };
}

async function lived(rules: ReturnType<typeof ruleOf>[], { rounds }: World, mode: World['mode']) {
  const on = startOnPlatform({ rules, settings: (usual) => ({ ...usual, trust: TRUST }) });
  const history = new MemoryHistory(on.store);
  on.engine.history = history;
  for (const [at, id] of IDS.entries())
    on.platform.addDevice(id, {
      Emails: [`person${at >> 1}@example.com`],
      MdmData: { CompromisedStatus: 'FALSE', Other: 'FALSE' },
    });
  let runs = 0;
  for (const { changes, lacks, isOut, minutes } of rounds) {
    for (const { ids, field, value } of changes) for (const id of ids) turn(on, id, field, value);
    const record = lacks === null ? undefined : (on.platform.devices.get(lacks) as Facts);
    if (record) on.platform.devices.delete(lacks as string);
    on.platform.onRead = (what) => {
      if (isOut && what === 'devices') throw new AppError('api_unreachable', 'the platform does not answer');
    };
    await on.run(mode).then(
      () => {
        runs += 1;
      },
      (error) => {
        if (!isOut) throw error;
      },
    );
    if (record) on.platform.devices.set(lacks as string, record);
    await deliver(on);
    on.clock.pass(minutes * MINUTE);
    // A process that begins after more than a day.
    if (minutes * MINUTE > 24 * HOUR)
      on.engine.silence = silenceBefore(await on.store.lastCompletedAt(), on.clock.nowMs());
  }
  await history.settled();
  return { on, history, runs };
}

/** Each message arrives at once, as in a replay. */
async function deliver({ store, clock }: OnPlatform): Promise<void> {
  const box = store.noticeBox();
  for (const one of await box.claim(clock.now, clock.now + MINUTE, 100))
    await box.end(one, { how: 'delivered' }, 0, () => `reminder of ${one.id}`);
}

function turn({ platform }: OnPlatform, id: string, field: string, value: string): void {
  const { MdmData } = platform.devices.get(id) as { MdmData: Facts };
  platform.patch(id, { MdmData: { ...MdmData, [field]: value } });
}

/** Where the record cannot know whose devices these are, the replay holds, and says so. */
export async function compare(given: World, figures: Figures): Promise<void> {
  const b = [ruleOf('of-b', 'Other', given.b)];
  const recorded = await lived([ruleOf('of-a', 'CompromisedStatus', given.a)], given, given.mode);
  const real = await lived(b, given, 'enforce');
  const made = (await real.on.store.intents({})).filter(({ outcome }) => outcome === 'succeeded');
  const expected = made.map(({ action, target, sentAt }) => `${sentAt} ${action} ${target}`).sort();
  const replay = await whatIf(recorded.history, b, { fromMs: START_MS, toMs: START_MS + 90 * DAY, actions: ACTIONS });
  const found = replay.acts.map(({ atMs, action, target }) => `${atMs} ${action} ${target}`).sort();
  const readsOwners = ({ owners, notice }: World['a']) => owners === 'one' || notice !== '';
  const isUnread = !readsOwners(given.a) && readsOwners(given.b);
  if (isUnread) {
    expect(found).toEqual([]);
    if (expected.length > 0) expect(replay.neverRecorded).toContainEqual({ path: 'Emails', rules: ['of-b'] });
    figures.ownersUnread += 1;
  } else expect(found).toEqual(expected);
  figures.worlds += 1;
  figures.runs += real.runs;
  figures.acts += found.length;
  if (given.b.notice !== '') figures.warned += (await real.on.store.notices({}, 1_000)).rows.length;
  figures.untrusted += replay.untrusted.length;
  figures.dryRuns += Number(replay.notes.find((note) => /dry/.test(note))?.split(' ')[0] ?? 0);
  figures.kept += replay.notes.filter((note) => /came back/.test(note)).length;
  await recorded.on.close();
  await real.on.close();
}
