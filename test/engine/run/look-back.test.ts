// test: rules that look back, and event windows that were forgotten: what they know is what was recorded, which changes no run.

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { PartReaders } from '../../../src/domain/record-part.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { judgeSubject } from '../../../src/engine/explain/judge-subject.ts';
import { recordedLookBack } from '../../../src/engine/run/reading-needs.ts';
import { whatIf } from '../../../src/engine/run/what-if.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { addEvent, addFleet, lookOn } from '../../support/looks.ts';
import { MemoryHistory } from '../../support/memory-history.ts';
import { changed, type SeenRuns, seenRuns } from '../../support/seen-runs.ts';

const HOUR = 3_600_000;

describe('rules that look back, judged by runs and looks', () => {
  const DAY = 24 * HOUR;

  let on: OnPlatform;
  let seen: SeenRuns;
  afterEach(() => on.close());

  function ruleOf(when: string, more = ''): LoadedRule {
    const text = `
id: moved
subject: device
when: ${when}
then: ban_device
mode: enforce
limits: { max: 1000, percent: 100 }
${more}
tests: [{ name: any, expect: unknown }]
`;
    const parsed = parseRule(text, 'moved.yaml', { traits: ACTIONS });
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    return parsed.rule;
  }

  const CHANGED = '{ changed_within: [Model, 1d] }';
  const model = (id: string, value: string) => on.platform.addDevice(id, { Model: value });

  async function verdicts(): Promise<{ match: number; no_match: number; unknown: number }> {
    const { run } = await on.run('dry-run');
    const { match = 0, no_match = 0, unknown = 0 } = run.findings?.tallies[0] ?? {};
    return { match, no_match, unknown };
  }

  function start(rule: LoadedRule): void {
    on = startOnPlatform({ rules: [rule] });
    on.engine.lookBack = seen;
    for (const id of ['d1', 'd2']) model(id, 'm1');
  }

  beforeEach(() => {
    seen = seenRuns();
    start(ruleOf(CHANGED));
  });

  /** Two days of runs that saw both devices as they are. */
  function recordTwoDays(): void {
    for (let hour = 48; hour > 0; hour -= 1)
      seen.run(
        on.clock.now - hour * HOUR,
        ...(hour === 48 ? ['d1', 'd2'].map((id) => changed(id, 'Model', 'm1')) : []),
      );
  }

  describe('a rule that looks back', () => {
    it('is unknown of subjects that runs saw for a shorter time, and then not', async () => {
      expect(await verdicts()).toEqual({ match: 0, no_match: 0, unknown: 2 });
      on.clock.pass(DAY);
      expect(await verdicts()).toEqual({ match: 0, no_match: 2, unknown: 0 });
    });

    it('knows from its first run on what the history has', async () => {
      recordTwoDays();
      expect(await verdicts()).toEqual({ match: 0, no_match: 2, unknown: 0 });
      expect(seen.asked).toBe(1);
    });

    it('matches in the run that sees the change, and for as long as it says', async () => {
      recordTwoDays();
      await verdicts();
      on.clock.pass(HOUR);
      model('d1', 'm2');
      expect(await verdicts()).toMatchObject({ match: 1, no_match: 1 });
      on.clock.pass(DAY - 1);
      expect(await verdicts()).toMatchObject({ match: 1, no_match: 1 });
      on.clock.pass(1);
      expect(await verdicts()).toMatchObject({ match: 0, no_match: 2 });
      expect(seen.asked).toBe(1);
    });

    it('acts on what it knows, and its preflight agrees', async () => {
      recordTwoDays();
      await verdicts();
      on.clock.pass(HOUR);
      model('d1', 'm2');
      await on.run();
      expect(on.platform.effects).toHaveLength(1);
    });

    it('does not take over a reading that is not trusted', async () => {
      recordTwoDays();
      await verdicts();
      model('d1', 'm2');
      const { stream } = on.platform;
      on.platform.stream = async function* (source) {
        yield* stream.call(on.platform, source);
        throw new AppError('api_unreachable', 'the list broke off');
      };
      on.clock.pass(HOUR);
      const { run } = await on.run('dry-run');
      expect(run.findings?.snapshot.sources.devices.trusted).toBe(false);
      on.platform.stream = stream;
      model('d1', 'm1');
      on.clock.pass(HOUR);
      expect(await verdicts()).toMatchObject({ match: 0, no_match: 2 });
    });

    it('takes over nothing of a run whose decisions were not committed', async () => {
      recordTwoDays();
      await verdicts();
      model('d1', 'm2');
      on.clock.pass(HOUR);
      const { commitRun } = on.store;
      on.store.commitRun = async () => {
        throw new AppError('store_failed', 'disk full');
      };
      await expect(on.run()).rejects.toThrow('disk full');
      on.store.commitRun = commitRun;
      model('d1', 'm1');
      on.clock.pass(HOUR);
      expect(await verdicts()).toMatchObject({ match: 0, no_match: 2 });
    });

    it('is moved by no what-if', async () => {
      recordTwoDays();
      await verdicts();
      model('d1', 'm2');
      await whatIf({ ...on.engine, reader: on.store }, { rules: undefined });
      model('d1', 'm1');
      on.clock.pass(HOUR);
      expect(await verdicts()).toMatchObject({ match: 0, no_match: 2 });
    });

    it('knows what a look saw that made a run', async () => {
      on.rules(ruleOf(CHANGED, 'watch: true'));
      addEvent(on, 'd9', { created_at: on.clock.now - HOUR });
      recordTwoDays();
      await on.run();
      on.clock.pass(HOUR);
      model('d1', 'm2');
      addEvent(on, 'd1');
      expect((await lookOn(on)).result).toBe('acted');
      model('d1', 'm2');
      on.clock.pass(HOUR);
      expect(await verdicts()).toMatchObject({ match: 1, no_match: 1 });
    });

    it('forgets a device that the list no longer has: when it is back, it is first seen then', async () => {
      recordTwoDays();
      await verdicts();
      const gone = on.platform.devices.get('d1');
      on.platform.devices.delete('d1');
      on.clock.pass(HOUR);
      expect(await verdicts()).toMatchObject({ no_match: 1 });
      on.platform.devices.set('d1', gone ?? {});
      on.clock.pass(HOUR);
      expect(await verdicts()).toMatchObject({ no_match: 1, unknown: 1 });
    });

    it('knows nothing across more than a day without a run', async () => {
      recordTwoDays();
      await verdicts();
      on.clock.pass(DAY + 1);
      expect(await verdicts()).toMatchObject({ unknown: 2 });
    });

    it('is unknown where no history is kept, and says why', async () => {
      on.engine.lookBack = undefined;
      await verdicts();
      on.clock.pass(2 * HOUR);
      const { run } = await on.run('dry-run');
      expect(run.findings?.tallies[0]).toMatchObject({ unknown: 2, missing: { 'changed_within(Model, 1d)': 2 } });
      expect(run.findings?.tallies[0]?.examples[0]?.reason).toContain('no history is kept (TRUSTWARD_HISTORY)');
    });

    it('is unknown while the history cannot be read, and reads it with the next run', async () => {
      recordTwoDays();
      const { items } = seen;
      seen.items = () => {
        throw new AppError('internal', 'the folder cannot be read');
      };
      expect(await verdicts()).toMatchObject({ unknown: 2 });
      seen.items = items;
      on.clock.pass(1_000);
      expect(await verdicts()).toMatchObject({ no_match: 2 });
    });

    it('has its fleet read by the main thread', async () => {
      on.engine.readers = {
        recordsMin: 1,
        prepare: () => {},
        rest: async () => {},
        begin: async () => {
          throw new Error('a list is read in parts');
        },
        close: async () => {},
      } as PartReaders;
      recordTwoDays();
      expect(await verdicts()).toMatchObject({ no_match: 2 });
    });
  });

  it('an explanation names the value before and until when it was there', async () => {
    recordTwoDays();
    await verdicts();
    seen.run(on.clock.now, changed('d1', 'Model', 'm0'));
    on.clock.pass(HOUR);
    const rule = ruleOf('{ "==": [{ previous: Model }, m0] }');
    const deps = { ...on.engine, reader: on.store, rules: [rule], isWhatIf: false };
    const { explanations } = await judgeSubject(deps, [rule], 'device', 'd1');
    expect(explanations[0]).toMatchObject({
      verdict: 'match',
      facts: [{ fact: 'previous(Model)', value: 'm0', past: { was: 'm0', changedAt: on.clock.now } }],
    });
  });
});

describe('rules that look back, filled from what the runs before recorded', () => {
  function ruleOf(id: string, when: string): LoadedRule {
    const text = `{ id: ${id}, subject: device, when: ${when}, then: notify, tests: [{ name: any, expect: unknown }] }`;
    const parsed = parseRule(text, `${id}.yaml`, { traits: ACTIONS });
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    return parsed.rule;
  }

  const rules = () => [
    ruleOf('changed', '{ changed_within: [Model, 1d] }'),
    ruleOf('stayed', '{ unchanged_for: [Emails, 2d] }'),
    ruleOf('before', '{ "==": [{ previous: Model }, m1] }'),
  ];

  interface Step {
    hours: number;
    device: string;
    /** Undefined: the device is gone. */
    fields: { Model: string | null; Emails: string[] } | undefined;
    isBroken: boolean;
  }

  const step: fc.Arbitrary<Step> = fc.record({
    hours: fc.constantFrom(1, 1, 5, 12, 24, 25, 60),
    device: fc.constantFrom('d1', 'd2', 'd3'),
    fields: fc.option(
      fc.record({
        Model: fc.constantFrom('m1', 'm2', null),
        Emails: fc.constantFrom(['a@x.example'], ['a@x.example', 'b@x.example'], ['b@x.example', 'a@x.example']),
      }),
      { nil: undefined, freq: 6 },
    ),
    isBroken: fc.constantFrom(false, false, false, true),
  });

  function start(): OnPlatform {
    const on = startOnPlatform({ rules: rules() });
    const history = new MemoryHistory(on.store);
    on.engine.history = history;
    on.engine.lookBack = recordedLookBack(history, () => history.settled());
    for (const id of ['d1', 'd2', 'd3']) on.platform.addDevice(id, { Model: 'm1', Emails: ['a@x.example'] });
    return on;
  }

  async function tallies(on: OnPlatform, { hours, device, fields, isBroken }: Step) {
    on.clock.pass(hours * HOUR);
    if (fields) on.platform.addDevice(device, fields);
    else on.platform.devices.delete(device);
    const { stream } = on.platform;
    if (isBroken)
      on.platform.stream = async function* (source) {
        yield* stream.call(on.platform, source);
        throw new AppError('api_unreachable', 'the list broke off');
      };
    try {
      const { run } = await on.run('dry-run');
      return run.findings?.tallies;
    } catch (error) {
      // A list that breaks off before its first device leaves nothing to judge: the run says so, and ends.
      if (error instanceof AppError && error.code === 'api_unreachable') return error.message;
      throw error;
    } finally {
      on.platform.stream = stream;
    }
  }

  it('judges after each start as a process that never ended', async () => {
    const seen = { match: 0, no_match: 0, unknown: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
        const [lasting, restarted] = [start(), start()];
        try {
          for (const one of steps) {
            restarted.rules(...rules());
            const [a, b] = [await tallies(lasting, one), await tallies(restarted, one)];
            expect(b).toEqual(a);
            if (typeof a === 'string') continue;
            for (const { match, no_match, unknown } of a ?? []) {
              seen.match += match;
              seen.no_match += no_match;
              seen.unknown += unknown;
            }
          }
        } finally {
          await Promise.all([lasting.close(), restarted.close()]);
        }
      }),
      { numRuns: 8 },
    );
    expect(Math.min(seen.match, seen.no_match, seen.unknown)).toBeGreaterThan(5);
  }, 120_000);
});

async function life(on: OnPlatform) {
  const rounds = [];
  for (let id = 1; id <= 5; id += 1) on.platform.addDevice(`d${id}`);
  rounds.push(await on.run());
  on.platform.compromised('d2', 'TRUE');
  on.clock.pass(60_000);
  rounds.push(await on.run());
  on.platform.compromised('d2', 'FALSE');
  on.clock.pass(60_000);
  rounds.push(await on.run());
  on.platform.devices.delete('d5');
  on.clock.pass(60_000);
  rounds.push(await on.run());
  return rounds;
}

describe('a history', () => {
  it('changes no decision and no call', async () => {
    const plain = startOnPlatform();
    const recorded = startOnPlatform();
    recorded.engine.history = new MemoryHistory(recorded.store);
    const [a, b] = [await life(plain), await life(recorded)];
    expect(b).toEqual(a);
    expect(recorded.platform.effects).toEqual(plain.platform.effects);
  });

  it('records each fact once, with the run that saw it changed', async () => {
    const on = startOnPlatform({ rules: [banRule()] });
    const history = new MemoryHistory(on.store);
    on.engine.history = history;
    await life(on);
    await history.settled();
    const changed = history.runs.map(({ changes }) =>
      [...changes]
        .filter(({ path }) => path !== 'MdmData.Timestamp')
        .map(({ subject, path, value }) => ({ subject, path, value })),
    );
    expect(changed[0]?.filter(({ path }) => path === 'DeviceID')).toHaveLength(5);
    expect(changed[1]).toEqual([{ subject: 'd2', path: 'MdmData.CompromisedStatus', value: 'TRUE' }]);
    expect(changed[2]).toContainEqual({ subject: 'd2', path: 'MdmData.CompromisedStatus', value: 'FALSE' });
    expect(changed[3]).toContainEqual({ subject: 'd5', path: '', value: undefined });
    expect(history.runs.map(({ written }) => written.map(({ decision }) => decision))).toEqual([
      [],
      ['act'],
      ['act'],
      expect.anything(),
    ]);
    expect(history.runs.map(({ ruleSet }) => ruleSet?.files.size)).toEqual([1, undefined, undefined, undefined]);
  });
});

describe('rule edits that shorten and lengthen event windows', () => {
  let on: OnPlatform;
  afterEach(() => on.close());

  const DAY_MS = 86_400_000;

  function countingRule(id: string, within: string, action: string): LoadedRule {
    const text = `
id: ${id}
title: Ban
severity: high
subject: device
when: { ">=": [{ event_count: { action: ${action}, within: ${within} } }, 3] }
then: ban_device
mode: enforce
limits: { max: 1000, percent: 100 }
tests: []
`;
    const parsed = parseRule(text, `${id}.yaml`, { traits: ACTIONS });
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    return parsed.rule;
  }

  it('a window that becomes longer again has the events that a shorter one forgot', async () => {
    on = startOnPlatform({ rules: [countingRule('another', '10d', 'Nothing')] });
    addEvent(on, 'd9', { created_at: on.clock.now - 12 * DAY_MS });
    for (let event = 0; event < 3; event += 1)
      addEvent(on, 'd1', { action: 'Unauthorized', created_at: on.clock.now - 5 * DAY_MS });
    await addFleet(on, 3);
    await on.run();
    on.rules(countingRule('short', '1h', 'Unauthorized'));
    await on.run();
    expect(on.platform.sent).toEqual([]);
    on.rules(countingRule('long', '10d', 'Unauthorized'));
    await on.run();
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });
});
