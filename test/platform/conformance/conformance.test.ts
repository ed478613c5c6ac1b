// conformance: every rule of the specification, one test each, on the console (or on the server that the environment names).
// In: the rules. Out: tests. On the console no rule may go unchecked.
import { fail } from 'node:assert/strict';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Organization, openOrganization } from '../../support/console-organization.ts';
import { RULES, SECTIONS, STRAY_RULES } from './rules.ts';
import { checkRule, credentialsIn } from './run.ts';
import { openTarget, type Target } from './target.ts';

const named = credentialsIn(process.env);
let org: Organization | undefined;
let target: Target;

beforeAll(async () => {
  if (named) {
    target = openTarget(named);
    return;
  }
  org = await openOrganization({
    listen: { host: '127.0.0.1', port: 0 },
    seed: { seed: 20, devices: 260, users: 150, services: 6, events: 900 },
    faults: true,
  });
  target = openTarget({
    baseUrl: org.console.address,
    apiKey: org.apiKey,
    refreshToken: org.refreshToken,
    adminToken: org.adminToken,
    limitedKey: org.console.issueApiKey('limited', 'ServiceAuthor'),
    mayWrite: true,
  });
});
afterAll(() => org?.console.close());

for (const section of SECTIONS) {
  describe(section, () => {
    for (const rule of RULES.filter((each) => each.section === section)) {
      it(rule.line, async (context) => {
        const { outcome, why } = await checkRule(target, rule);
        if (outcome === 'failed') fail(why);
        if (outcome === 'not checked' && named) context.skip(why);
        expect(outcome, why).toBe('passed');
      });
    }
  });
}

describe('the suite itself', () => {
  it('no rule has a section that the specification does not have', () => {
    expect(STRAY_RULES).toEqual([]);
  });

  it('no two rules are called the same', () => {
    const names = RULES.map((rule) => `${rule.section}: ${rule.line}`);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it('the console logs no failure of its own', () => {
    expect(org?.errors ?? []).toEqual([]);
  });
});
