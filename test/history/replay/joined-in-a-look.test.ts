// test: what looks and runs read beside their subjects, live and then replayed as it was: who is joined, a list that one run reads twice, rules that
// change between a look and the next whole run. Found by random months, and kept here in small.
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Facts } from '../../../src/domain/facts.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { recordedLookBack } from '../../../src/engine/run/reading-needs.ts';
import { asItWas } from '../../../src/history/replay/as-it-was.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { addEvent, lookOn } from '../../support/looks.ts';
import { MemoryHistory } from '../../support/memory-history.ts';

const HOUR = 3_600_000;
const ANN = 'ann@x.org';

let on: OnPlatform;
let history: MemoryHistory;
beforeEach(() => {
  on = startOnPlatform();
  history = new MemoryHistory(on.store);
  on.engine.history = history;
  on.engine.lookBack = recordedLookBack(history, () => history.settled());
  addEvent(on, 'nobody', { created_at: on.clock.now - HOUR });
  for (const id of ['d1', 'd2']) on.platform.addDevice(id, { SerialNumber: 'S-d1', Emails: [ANN], Model: 'm1' });
  user({ Name: 'Ann' });
});
afterEach(() => on.close());

function ruleOf(id: string, subject: 'device' | 'user', when: string): LoadedRule {
  const text = `{ id: ${id}, subject: ${subject}, when: ${when}, then: notify, mode: enforce, watch: true, limits: { max: 9, percent: 100 }, tests: [{ name: any, expect: unknown }] }`;
  const parsed = parseRule(text, `${id}.yaml`, { traits: ACTIONS });
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.rule;
}

const many = ruleOf('many', 'user', '{ some: [{ var: $devices }, { "==": [{ var: Model }, m1] }] }');
const owned = ruleOf('owned', 'device', '{ some: [{ var: $owners }, { "==": [{ var: Name }, Eve] }] }');
const moved = ruleOf('moved', 'user', '{ changed_within: [Name, 2d] }');
const renamed = ruleOf('renamed', 'user', '{ "==": [{ var: Name }, "Ann B"] }');
const remodelled = ruleOf('remodelled', 'device', '{ "==": [{ var: Model }, m2] }');
const changed = ruleOf('changed', 'device', '{ changed_within: [Model, 2d] }');

function user(more: Facts): void {
  on.platform.users.set(ANN, {
    Email: ANN,
    Groups: 'all',
    SerialNumbers: ['S-d1'],
    ...on.platform.users.get(ANN),
    ...more,
  });
}

async function run(hours: number): Promise<void> {
  on.clock.pass(hours * HOUR);
  await on.run();
}

async function look(event: Facts): Promise<void> {
  on.clock.pass(HOUR);
  addEvent(on, 'nobody', event);
  expect((await lookOn(on, { mayStartWhole: false })).result).toBe('acted');
}

const ofAnn = { type: 'user', user_principal: { user: { email: ANN } } };

const decided = (rule: string) => history.runs.map(({ written }) => written.find((one) => one.rule === rule)?.facts);

async function differences() {
  const replay = await asItWas(history, { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, traits: ACTIONS });
  expect(replay.runs).toBe(history.runs.length);
  return replay.differences;
}

it('a device that was gone when a look read the devices of a user is not there for its replay', async () => {
  on.rules(many);
  await run(1);
  on.platform.devices.delete('d2');
  user({ Name: 'Ann B' });
  await look(ofAnn);
  await run(1);
  expect(decided('many').slice(0, 2)).toEqual([{ $devices: ['S-d1', 'S-d1'] }, { $devices: ['S-d1'] }]);
  expect(await differences()).toEqual([]);
});

it('a user whose record was gone when a look read the owners of a device is not there for its replay', async () => {
  on.rules(owned, remodelled);
  user({ Name: 'Eve' });
  await run(1);
  on.platform.users.delete(ANN);
  on.platform.patch('d1', { Model: 'm2' });
  await look({ user_principal: { device: { id: 'd1', serial_number: 'S-d1' } } });
  expect(decided('owned')).toEqual([{ $owners: [ANN] }, undefined]);
  expect(await differences()).toEqual([]);
});

it('a rule that looks back knows a change in a list that each run reads twice, and so does its replay', async () => {
  on.rules(many, owned, moved);
  for (let hours = 0; hours < 50; hours += 10) await run(10);
  user({ Name: 'Ann B' });
  for (let hours = 0; hours < 20; hours += 10) await run(10);
  expect(decided('moved').slice(4)).toEqual([undefined, ...Array(2).fill({ 'changed_within(Name, 2d)': true })]);
  expect(await differences()).toEqual([]);
});

it('what a look saw beside its subjects is known to the rules that come into force after it', async () => {
  on.rules(many, renamed, changed);
  for (let hours = 0; hours < 50; hours += 10) await run(10);
  on.platform.patch('d1', { Model: 'm2' });
  user({ Name: 'Ann B' });
  await look(ofAnn);
  on.rules(changed);
  for (let hours = 0; hours < 60; hours += 10) await run(10);
  on.platform.patch('d1', { Model: 'm1' });
  await run(10);
  expect(decided('changed').at(-1)).toEqual({ 'changed_within(Model, 2d)': true });
  expect(await differences()).toEqual([]);
});
