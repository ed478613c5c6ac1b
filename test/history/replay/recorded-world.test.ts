// test: the world of a replay keeps what trusted readings showed, also where a run is read again; and rules that look back keep no time of a run that
// saw nothing.
import { expect, it } from 'vitest';
import type { FactChange } from '../../../src/domain/look-back.ts';
import type { HistoryItem, RunFrame } from '../../../src/domain/recorded-history.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { RecordedWorld } from '../../../src/history/replay/recorded-world.ts';
import { compileRules } from '../../../src/rules/judge/evaluator.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { Recording } from '../../support/recorded.ts';

const changes: FactChange[] = [{ kind: 'device', subject: 'd1', path: 'Model', value: 'M1' }];

function frame(isTrusted: boolean): RunFrame {
  const recording = new Recording();
  recording.run({ sources: { devices: { trusted: isTrusted } } });
  const run = recording.items.find((item): item is Extract<HistoryItem, { kind: 'run' }> => item.kind === 'run');
  return (run as Extract<HistoryItem, { kind: 'run' }>).run.frame;
}

it('a run that is read again leaves nothing of a reading that was not trusted', () => {
  const world = new RecordedWorld();
  world.seeAgain({ frame: frame(false), changes });
  expect(world.record('device', 'd1')).toBeUndefined();
  world.seeAgain({ frame: frame(true), changes });
  expect(world.record('device', 'd1')).toEqual({ Model: 'M1' });
});

it('a run without a trusted reading by a clock that was ahead takes nothing from what rules know', () => {
  const text =
    '{ id: stayed, subject: device, when: { unchanged_for: [Model, 1h] }, then: notify, tests: [{ name: any, expect: unknown }] }';
  const parsed = parseRule(text, 'stayed.yaml', { traits: ACTIONS });
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  const { lookBack } = compileRules([parsed.rule]);
  const run = (atMs: number, isRead: boolean) =>
    lookBack?.observe({
      kind: 'run',
      run: { atMs, read: isRead ? ['device'] : [], singly: [], changes: isRead && atMs === 0 ? changes : [] },
    });
  run(0, true);
  run(9_000_000, false);
  run(1_800_000, true);
  expect(lookBack?.nextChangeMs({ kind: 'device', id: 'd1' }, 1_800_000)).toBe(3_600_000);
});
