// test: lists that no active rule reads: a run reads them for the record alone when it is asked to, and a replay names them before its work.
import { afterEach, expect, test } from 'vitest';
import type { Source } from '../../../src/domain/subjects.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { unreadLists } from '../../../src/history/replay/recorded-world.ts';
import { whatIf } from '../../../src/history/replay/what-if.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { MemoryHistory } from '../../support/memory-history.ts';
import { START_MS } from '../../support/platform.ts';
import { DAY, MINUTE } from '../../support/recorded.ts';

const ANN = 'ann@example.com';
const ALWAYS = { fromMs: START_MS - DAY, toMs: START_MS + DAY, actions: ACTIONS };

function ruleOf(id: string, subject: string, when: string): LoadedRule {
  const parsed = parseRule(
    `id: ${id}\ntitle: T\nseverity: low\nsubject: ${subject}\nwhen: ${when}\nthen: notify\nmode: dry-run\n` +
      'limits: { max: 100, percent: 100 }\ntests: [{ name: t, given: {}, expect: no_match }]\n',
    `${id}.yaml`,
    { traits: ACTIONS },
  );
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.rule;
}

const LEAVERS = ruleOf('leavers', 'user', '{ in_group: leaver }');
const REFUSED = ruleOf('refused', 'device', '{ ">=": [{ event_count: { type: Access, within: 2h } }, 2] }');

let on: OnPlatform;
afterEach(() => on.close());

function refuse(): void {
  on.platform.eventLog.push({
    id: `e${on.platform.eventLog.length}`,
    created_at: on.clock.now,
    severity: 'ERROR',
    type: 'Access',
    user_principal: { device: { id: 'd1', serial_number: 'S-d1' } },
  });
}

/** Runs of a rule over devices, one every half an hour, and one event before each. `lists`: of each run. */
async function recorded(lists: readonly (readonly Source[])[], run: () => Promise<unknown> = () => on.run()) {
  on = startOnPlatform({ rules: [banRule()] });
  const history = new MemoryHistory(on.store);
  on.engine.history = history;
  on.platform.addDevice('d1');
  on.platform.users.set(ANN, { Email: ANN, Name: 'Ann', Groups: 'leaver' });
  for (const names of lists) {
    history.lists = new Set(names);
    on.clock.pass(30 * MINUTE);
    refuse();
    await run();
  }
  await history.settled();
  return history;
}

test('a rule over a list that runs record although no active rule reads it is judged in a replay', async () => {
  const history = await recorded([['users'], ['users'], ['users']]);
  expect(history.runs.at(-1)?.frame).toMatchObject({ judged: ['ban'], sources: { users: { state: 'read' } } });
  const { rules, unread, neverRecorded } = await whatIf(history, [LEAVERS], ALWAYS);
  expect([rules[0]?.matches, unread, neverRecorded]).toEqual([1, [], []]);
});

test('events that no active rule reads are recorded for windows of rules that do', async () => {
  const history = await recorded(Array(5).fill(['events']));
  const { rules } = await whatIf(history, [REFUSED], { ...ALWAYS, fromMs: START_MS + 150 * MINUTE });
  expect(rules[0]).toMatchObject({ matches: 1, unknown: 0 });
});

test('what no run read is named before a replay, with the rules that need it and what to do', async () => {
  const history = await recorded([[], ['events'], []]);
  const [users, events, ...others] = await unreadLists(history, [LEAVERS, REFUSED], ALWAYS);
  expect(others).toEqual([]);
  expect(users).toMatchObject({ list: 'users', rules: ['leavers'], runs: 3, of: 3 });
  expect(users?.text).toBe(
    'users were not read by any recorded run, so `leavers` is unknown for everybody; `TRUSTWARD_RECORD=users` has runs record them from now on',
  );
  expect(events).toMatchObject({ list: 'events', rules: ['refused'], runs: 2, of: 3 });
  expect(events?.text).toMatch(
    /^the event log was not read by 2 of 3 runs, .* to .*, so `refused` is unknown .* then; /,
  );
  expect((await whatIf(history, [LEAVERS, REFUSED], ALWAYS)).unread).toEqual([users, events]);
});

test('a run over chosen rules reads what these need alone', async () => {
  const history = await recorded([['users']], () => on.run('enforce', ['ban']));
  expect(history.runs[0]?.frame.sources.users.state).toBe('skipped');
});
