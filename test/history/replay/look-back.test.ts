// test: rules that look back, live over many runs and then replayed: each verdict is the same, in memory and over real segments, from the beginning
// and from the middle, as it was and as a what-if.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { HistoryReader, HistoryRecorder } from '../../../src/domain/recorded-history.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { recordedLookBack } from '../../../src/engine/run/reading-needs.ts';
import { Decoder } from '../../../src/history/codec/run-encoder.ts';
import { historyReader } from '../../../src/history/files/read-items.ts';
import { DirectDesk } from '../../../src/history/record/desk-thread.ts';
import { RunRecorder } from '../../../src/history/record/run-recorder.ts';
import { asItWas } from '../../../src/history/replay/as-it-was.ts';
import { whatIf } from '../../../src/history/replay/what-if.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { Dice } from '../../harness/dice.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { addEvent, lookOn } from '../../support/looks.ts';
import { MemoryHistory } from '../../support/memory-history.ts';
import { PRINT_KEY } from '../../support/print-key.ts';

const HOUR = 3_600_000;
const ADDRESS = 'http://platform.test';
const EXAMPLES = ['report-changed-owner', 'report-fallen-trust', 'report-silent-mdm'];

function ruleOf(text: string, id: string): LoadedRule {
  const parsed = parseRule(text, `${id}.yaml`, { traits: ACTIONS });
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.rule;
}

const banning = (id: string, when: string) =>
  ruleOf(
    `{ id: ${id}, subject: device, when: ${when}, then: ban_device, mode: enforce, revert: true, limits: { max: 100, percent: 100 }, tests: [{ name: any, expect: unknown }] }`,
    id,
  );
const FALLEN = banning('fallen', '{ "==": [{ previous: Model }, M1] }');
const FREE = banning('long-free', '{ unchanged_for: [Ownership, 20h] }');

const examples = () =>
  EXAMPLES.map((id) => {
    const text = readFileSync(new URL(`../../../rules/examples/${id}.yaml`, import.meta.url), 'utf8');
    return ruleOf(text, id);
  });

interface Recorded {
  recorder: HistoryRecorder;
  reader: HistoryReader;
}

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const IN_MEMORY = ({ store }: OnPlatform): Recorded => {
  const history = new MemoryHistory(store);
  return { recorder: history, reader: history };
};

const IN_FILES = ({ store, clock, engine }: OnPlatform): Recorded => {
  const folder = mkdtempSync(join(tmpdir(), 'trustward-look-back-'));
  folders.push(folder);
  const desk = new DirectDesk({
    folder,
    address: ADDRESS,
    program: 'a test',
    keepMs: 90 * 24 * HOUR,
    printKey: PRINT_KEY,
  });
  const recorder = new RunRecorder(
    desk,
    store,
    {
      ...clock,
      sleep: () => new Promise(() => {}),
      nowMs: () => clock.nowMs(),
      monotonicMs: () => clock.monotonicMs(),
    },
    engine.log,
  );
  return {
    recorder,
    reader: historyReader({ folder, address: ADDRESS, newDecoder: (options) => new Decoder(options) }),
  };
};

interface Lived extends Recorded {
  on: OnPlatform;
  /** When each whole run began. */
  times: number[];
}

async function lived(
  seed: number,
  recordedBy: (on: OnPlatform) => Recorded,
  rules: LoadedRule[],
  isCalm: boolean,
): Promise<Lived> {
  const dice = new Dice(seed, 'rules that look back');
  const on = startOnPlatform({ rules });
  const { recorder, reader } = recordedBy(on);
  Object.assign(on.engine, { history: recorder, lookBack: recordedLookBack(reader, () => recorder.settled()) });
  const ids = ['d1', 'd2', 'd3', 'd4', 'd5', 'd6'];
  for (const id of ids) on.platform.addDevice(id, fields(dice, on));
  const times: number[] = [];
  for (let step = 0; step < 40; step += 1) {
    on.clock.pass(dice.pick([1, 5, 6, 12, 25]) * HOUR);
    const id = dice.pick(ids);
    if (on.platform.devices.has(id)) on.platform.patch(id, fields(dice, on));
    else on.platform.addDevice(id, fields(dice, on));
    if (!isCalm && dice.chance(0.1)) on.platform.devices.delete(dice.pick(ids));
    if (!isCalm && dice.chance(0.1)) on.rules(...dice.pick([rules, rules.slice(1)]));
    if (dice.chance(0.2)) {
      addEvent(on, dice.pick(ids));
      await lookOn(on, { mayStartWhole: false });
      on.clock.pass(HOUR);
    }
    times.push(on.clock.nowMs());
    await on.run('enforce', !isCalm && dice.chance(0.1) ? [rules[1]?.id as string] : undefined);
  }
  await recorder.settled();
  return { on, recorder, reader, times };
}

function fields(dice: Dice, { clock }: OnPlatform) {
  const stamp = BigInt(clock.nowMs()) * 1_000_000n;
  return {
    Model: dice.pick(['M1', 'M2', null]),
    Ownership: dice.pick(['Other', 'Corporate Dedicated', 'Employee Owned']),
    Emails: dice.pick([['ann@x.org'], ['bob@x.org'], ['bob@x.org', 'ann@x.org'], []]),
    TrustData: { Level: dice.pick(['High', 'Medium', 'Low', 'AlwaysDeny', null]) },
    MdmData: { CompromisedStatus: 'FALSE', Timestamp: dice.pick([stamp, stamp, null]) },
  };
}

const ALWAYS = { toMs: Number.MAX_SAFE_INTEGER, traits: ACTIONS, actions: ACTIONS };

describe.each([
  ['memory', IN_MEMORY],
  ['segments', IN_FILES],
])('rules that look back, recorded in %s', (_, recordedBy) => {
  it('are replayed to the decisions that were made, from the beginning and from any run', async () => {
    const found = new Map<string, number>();
    for (const seed of [21, 32, 43]) {
      const { reader, on, times } = await lived(seed, recordedBy, [...examples(), FALLEN, FREE, banRule()], false);
      for (const fromMs of [0, times[7] as number, times[25] as number]) {
        const replay = await asItWas(reader, { ...ALWAYS, fromMs });
        expect(replay.runs).toBeGreaterThan(10);
        expect(replay.differences, `seed ${seed} from ${fromMs}`).toEqual([]);
        for (const { id, matches } of replay.rules) found.set(id, (found.get(id) ?? 0) + matches);
      }
      await on.close();
    }
    for (const id of [...EXAMPLES, 'fallen', 'long-free']) expect(found.get(id), id).toBeGreaterThan(0);
  }, 120_000);

  it('do as a what-if what they did', async () => {
    let made = 0;
    for (const seed of [24, 35]) {
      const rules = [FALLEN, FREE];
      const { reader, on, times } = await lived(seed, recordedBy, rules, true);
      const done = (await on.store.intents({})).filter(({ outcome }) => outcome === 'succeeded');
      for (const fromMs of [0, times[12] as number]) {
        const expected = done.flatMap(({ action, target, sentAt = 0 }) =>
          sentAt >= fromMs ? [`${sentAt} ${action} ${target}`] : [],
        );
        const { acts } = await whatIf(reader, rules, { ...ALWAYS, fromMs });
        const are = new Set(acts.map(({ atMs, action, target }) => `${atMs} ${action} ${target}`));
        expect([...are].sort()).toEqual([...new Set(expected)].sort());
        made += are.size;
      }
      await on.close();
    }
    expect(made).toBeGreaterThan(10);
  }, 120_000);
});
