// test: rule edits that shorten and lengthen event windows: what was forgotten in between is read again, and never counts as no event.
import { afterEach, expect, it } from 'vitest';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { addEvent, addFleet } from '../../support/looks.ts';

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
