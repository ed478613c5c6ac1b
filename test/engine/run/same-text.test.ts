// test: targets with one text that are two things: a device chooses its serial number, which can look like another one
// and an address, or like a service. What is decided and done about one does not affect the other.
import { afterEach, describe, expect, it } from 'vitest';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { exempt } from '../../../src/engine/operate/exempt.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';

const ANN = 'ann@example.com';
/** What a device calls itself. */
const AS_MAPPING = `S-ann ${ANN}`;
const AS_SERVICE = 'web.eu-1.acme';

function parsed(id: string, text: string): LoadedRule {
  const limits = 'mode: enforce\ncooldown: 0s\nlimits: { max: 100, percent: 100 }\ntests: []\n';
  const made = parseRule(`id: ${id}\ntitle: ${id}\nseverity: high\n${text}\n${limits}`, `${id}.yaml`, {
    traits: ACTIONS,
  });
  if ('problems' in made) throw new Error(JSON.stringify(made.problems));
  return made.rule;
}

const ban = banRule();
const leaver = parsed(
  'leaver',
  'subject: user\nwhen: { "==": [{ var: Leaver }, "TRUE"] }\nthen: delete_device\ndeclares: { Leaver: text }',
);
const down = parsed(
  'down',
  'subject: service\nwhen: { "==": [{ var: Type }, "HTTP"] }\nthen: disable_service\ndeclares: { Type: text }',
);

let on: OnPlatform;
afterEach(() => on.close());

function start(rules: LoadedRule[], serial: string): void {
  on = startOnPlatform({ rules });
  on.platform.addDevice('d1', {
    SerialNumber: serial,
    Emails: ['eve@example.com'],
    MdmData: { CompromisedStatus: 'TRUE' },
  });
}

function addAnn(): void {
  on.platform.addDevice('d2', { SerialNumber: 'S-ann', Emails: [ANN] });
  on.platform.users.set(ANN, { Email: ANN, Name: 'Ann', Groups: '', Leaver: 'TRUE', SerialNumbers: ['S-ann'] });
}

function addService(): void {
  on.platform.services.set(AS_SERVICE, { ServiceID: AS_SERVICE, ServiceName: 'web', Enabled: 'TRUE', Type: 'HTTP' });
}

const answers = async () => (await on.run()).decisions.map(({ rule, reason }) => `${rule}: ${reason}`).sort();
const openClaims = async () =>
  (await on.store.claims({ status: 'standing' })).map(({ action, target }) => `${action} ${target}`);

describe('a device whose serial number looks like a user’s mapping', () => {
  it('is banned, and the mapping waits for its approval: neither holds the other', async () => {
    start([ban, leaver], AS_MAPPING);
    addAnn();
    expect(await answers()).toEqual(['ban: rule_matches', 'leaver: approval_needed']);
    expect(on.platform.effects).toEqual([`ban ${AS_MAPPING}`]);
  });

  it('does not block the deletion of a mapping while its own ban is in doubt', async () => {
    start([ban, leaver], AS_MAPPING);
    on.platform.answer(AS_MAPPING, 'lost');
    await on.run();
    addAnn();
    const { plan, decisions } = await on.run();
    expect(decisions.find(({ rule }) => rule === 'leaver')?.reason).toBe('approval_needed');
    const { intents } = await on.apply(await on.approve(plan));
    expect(intents.map(({ outcome }) => outcome)).toEqual(['succeeded']);
    expect(on.platform.users.get(ANN)).toMatchObject({ SerialNumbers: [] });
  });

  it('stays claimed when that mapping is deleted, and its ban is undone when its own match clears', async () => {
    start([ban, leaver], AS_MAPPING);
    addAnn();
    const { plan } = await on.run();
    await on.apply(await on.approve(plan));
    expect(on.platform.users.get(ANN)).toMatchObject({ SerialNumbers: [] });
    expect(await openClaims()).toEqual([`ban_device ${AS_MAPPING}`]);
    on.clock.pass(QUIET_MS);
    on.platform.compromised('d1', 'FALSE');
    await on.run();
    expect(on.platform.isBanned(AS_MAPPING)).toBe(false);
  });
});

describe('a device whose serial number looks like a ServiceID', () => {
  it('is banned, and that service is disabled', async () => {
    start([ban, down], AS_SERVICE);
    addService();
    expect(await answers()).toEqual(['ban: rule_matches', 'down: rule_matches']);
    expect([...on.platform.effects].sort()).toEqual([`ban ${AS_SERVICE}`, `disable ${AS_SERVICE}`]);
  });

  it('is released by an exemption, and the service stays disabled', async () => {
    start([ban, down], AS_SERVICE);
    addService();
    await on.run();
    on.clock.pass(QUIET_MS);
    const about = { kind: 'device', id: 'd1' } as const;
    const { released } = await exempt(
      on.engine,
      { subject: about, owner: 'eve', reason: 'a test', until: '1d', release: true },
      'ada',
    );
    expect(released.map(({ action, state }) => `${action} ${state}`)).toEqual(['unban_device released']);
    expect(await openClaims()).toEqual([`disable_service ${AS_SERVICE}`]);
  });
});
