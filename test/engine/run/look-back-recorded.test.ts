// test: rules that look back, filled from what the runs before recorded: a process that starts anew before every run judges as one that never ended.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { recordedLookBack } from '../../../src/engine/run/reading-needs.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { MemoryHistory } from '../../support/memory-history.ts';

const HOUR = 3_600_000;

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
