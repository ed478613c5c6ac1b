// test: rules that look back, judged by runs and looks: they know what the history has and what each committed run saw; nothing else moves it.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import type { PartReaders } from '../../../src/domain/record-part.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { judgeSubject } from '../../../src/engine/explain/judge-subject.ts';
import { whatIf } from '../../../src/engine/run/what-if.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { addEvent, lookOn } from '../../support/looks.ts';
import { changed, type SeenRuns, seenRuns } from '../../support/seen-runs.ts';

const HOUR = 3_600_000;
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
    seen.run(on.clock.now - hour * HOUR, ...(hour === 48 ? ['d1', 'd2'].map((id) => changed(id, 'Model', 'm1')) : []));
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
