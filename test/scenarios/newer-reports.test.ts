// test: the shipped rule on the console, with time of our own: who is freed, by which report, and what becomes of one who is compromised again.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../src/rules/load/read-rule.ts';
import { flapAlerts } from '../../src/runtime/notify/alerts.ts';
import { ROOT } from '../support/built.ts';
import { type OnPlatform, startOnPlatform } from '../support/engine-on-platform.ts';

const MINUTE = 60_000;
const FILE = 'ban-compromised-device.yaml';

let on: OnPlatform;
/** When MDM reported it compromised. */
let reportedMs: number;

beforeEach(async () => {
  const parsed = parseRule(readFileSync(join(ROOT, 'rules', FILE), 'utf8'), FILE, { traits: ACTIONS });
  on = startOnPlatform({ rules: [(parsed as { rule: LoadedRule }).rule] });
  for (let number = 1; number <= 60; number += 1) on.platform.addDevice(`d${number}`);
  await on.run();
  reportedMs = on.clock.nowMs() - 10 * MINUTE;
  await after(5, 'TRUE', reportedMs);
  expect(isBanned()).toBe(true);
});
afterEach(() => on.close());

const isBanned = () => on.platform.isBanned('S-d1');

/** A run so many minutes later, which reads this report of MDM. */
async function after(minutes: number, CompromisedStatus: 'TRUE' | 'FALSE', Timestamp: number) {
  on.clock.pass(minutes * MINUTE);
  on.platform.patch('d1', { MdmData: { CompromisedStatus, Timestamp } });
  return on.run();
}

it('a flag that flips for one run frees nobody', async () => {
  await after(5, 'FALSE', reportedMs);
  await after(5, 'TRUE', reportedMs);
  await after(60, 'TRUE', reportedMs);
  expect(on.platform.sent).toEqual(['ban S-d1']);
});

it('an older report frees nobody, however long it is sent, and the decision names it', async () => {
  for (let run = 0; run < 12; run += 1) {
    const { decisions } = await after(10, 'FALSE', reportedMs - MINUTE);
    expect(decisions).toMatchObject([{ action: 'unban_device', decision: 'skip', reason: 'older_report' }]);
  }
  expect(isBanned()).toBe(true);
});

it('a newer clean report frees after half an hour, and not before', async () => {
  await after(5, 'FALSE', reportedMs + MINUTE);
  await after(29, 'FALSE', reportedMs + MINUTE);
  expect(isBanned()).toBe(true);
  await after(1, 'FALSE', reportedMs + MINUTE);
  expect(isBanned()).toBe(false);
});

it('one who is compromised again after our undo is banned at once, and a person is alerted once', async () => {
  await after(5, 'FALSE', reportedMs + MINUTE);
  await after(30, 'FALSE', reportedMs + MINUTE);
  expect(isBanned()).toBe(false);
  const { decisions } = await after(5, 'TRUE', reportedMs + 2 * MINUTE);
  expect(isBanned()).toBe(true);
  expect(decisions).toMatchObject([{ decision: 'act', reason: 'matches_again', outcome: 'succeeded' }]);
  await after(5, 'TRUE', reportedMs + 2 * MINUTE);
  const alerts = () => flapAlerts(on.store, on.clock.nowMs() - 24 * 60 * MINUTE);
  expect(await alerts()).toMatchObject([{ code: 'flap', key: 'flap ban_device S-d1' }]);
  on.clock.pass(25 * 60 * MINUTE);
  expect(await alerts()).toEqual([]);
});
