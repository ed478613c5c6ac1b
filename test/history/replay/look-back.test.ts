// test: rules that look back, live and then replayed; what was done meanwhile; and why a replay differs.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, test } from 'vitest';
import type { Episode } from '../../../src/domain/episode.ts';
import type { Intent } from '../../../src/domain/intent.ts';
import type { HistoryReader, HistoryRecorder } from '../../../src/domain/recorded-history.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { recordedLookBack } from '../../../src/engine/run/reading-needs.ts';
import { Decoder } from '../../../src/history/codec/run-encoder.ts';
import { historyReader } from '../../../src/history/files/read-items.ts';
import { DirectDesk } from '../../../src/history/record/desk-thread.ts';
import { RunRecorder } from '../../../src/history/record/run-recorder.ts';
import {
  asItWas,
  type DecisionDiffers,
  explainedDifferences,
  type KnownOfRun,
} from '../../../src/history/replay/as-it-was.ts';
import { whatIf } from '../../../src/history/replay/what-if.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { Dice } from '../../harness/dice.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { doneIntent } from '../../support/filled-store.ts';
import { addEvent, lookOn } from '../../support/looks.ts';
import { MemoryHistory } from '../../support/memory-history.ts';
import { PRINT_KEY } from '../../support/print-key.ts';
import { DAY, MINUTE, NOTHING_OPEN, Recording, ruleOf, T0 } from '../../support/recorded.ts';

describe('rules that look back, live over many runs and then replayed', () => {
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
});

describe('what was done in the replayed time, and nothing of before', () => {
  const ANN = 'ann@example.com';
  const RULE = ruleOf({ id: 'tell', subject: 'user', when: { '>': [{ var: 'LoginCount' }, 0] }, then: 'notify' });
  const RULE_SET = { hash: 'hash of the rules', files: new Map([[RULE.file, RULE.text]]) };

  function noticeSentAt(sentAt: number): { episodes: Episode[]; intents: Intent[] } {
    const episode: Episode = {
      id: 'episode',
      rule: 'tell',
      subject: { kind: 'user', id: ANN },
      since: sentAt,
      matchingSince: sentAt,
      state: 'matching',
      stateSince: sentAt,
      absentSince: undefined,
      seenSo: [],
      overriddenAt: undefined,
      closedAt: undefined,
      closeReason: undefined,
    };
    const basis = { rule: 'tell', ruleHash: '', subjectId: ANN, episodeId: 'episode', decisionId: 'gone', facts: {} };
    const intent = doneIntent(sentAt, {
      action: 'notify',
      target: ANN,
      basis: [basis],
      runId: 'a run before the window',
    });
    return { episodes: [episode], intents: [intent] };
  }

  function actsOf(sentAt: number) {
    const recording = new Recording().user(ANN);
    const part = { sinceSeq: 1, counted: [], attempts: new Map(), read: [] };
    recording.run({ ruleSet: RULE_SET, frame: { part }, run: { trigger: 'watch', scoped: true } });
    recording.openState = { ...NOTHING_OPEN, ...noticeSentAt(sentAt) };
    recording.runs(2);
    return asItWas(recording.reader(), { fromMs: T0, toMs: T0 + DAY, traits: ACTIONS });
  }

  test('what was done before the window is not counted, although a look saw nothing of it', async () => {
    const { acts, rules } = await actsOf(T0 - DAY);
    expect(acts).toEqual([]);
    expect(rules).toMatchObject([{ id: 'tell', acts: 0 }]);
  });

  test('a notice about a user is one about a user, also when its decision is not in the record', async () => {
    const { acts } = await actsOf(T0 + MINUTE);
    expect(acts).toMatchObject([{ subject: { kind: 'user', id: ANN }, action: 'notify', atMs: T0 + MINUTE }]);
  });
});

const HOUR_MS = 3_600_000;
const OF_EVENTS = { id: 'ban-failing', subject: 'device', sources: [], reads: readsOf(true) };
const OF_RECORDS = { id: 'ban-silent', subject: 'device', sources: [], reads: readsOf(false) };

function readsOf(events: boolean) {
  return {
    record: [],
    users: [],
    devices: [],
    events,
    windowMs: HOUR_MS,
    signalWindowMs: 0,
    lookBack: new Set(),
    lookBackMs: 0,
  };
}

/** The clock was two hours ahead before. */
const KNOWN = {
  run: { frame: { run: { startedAt: 10 * HOUR_MS }, settings: {}, sources: {} }, openState: {} },
  rules: [OF_EVENTS, OF_RECORDS],
  world: { kinds: { device: { isSecret: () => false } } },
  problems: [],
  gaps: [],
  lost: undefined,
  latestMs: 12 * HOUR_MS,
} as unknown as KnownOfRun;

function differing(rule: string, target: string): DecisionDiffers {
  return { rule, subject: { kind: 'device', id: 'd1' }, target, was: 'act rule_matches', is: undefined };
}

describe('why a replay decides otherwise', () => {
  it('a rule that shares its target with an explained one is explained by the same, and no other rule is', () => {
    const all = [differing('ban-silent', 'S1'), differing('ban-failing', 'S1'), differing('ban-silent', 'S2')];
    const whys = explainedDifferences(all, KNOWN).map(({ why }) => why);
    expect(whys[1]).toMatch(/the clock had been set back/);
    expect(whys[0]).toBe(whys[1]);
    expect(whys[2]).toBeUndefined();
  });
});
