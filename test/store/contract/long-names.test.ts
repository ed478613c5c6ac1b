// test: names as long as the platform's may be, and longer, on each database: the longest are kept and acted on, and a longer one is a named, counted
// rejection of its record alone.
import { randomBytes, randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { KEPT_NAME_BYTES_MAX } from '../../../src/domain/subjects.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import type { LoadedRule } from '../../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../../src/rules/load/read-rule.ts';
import { banRule } from '../../support/engine-on-platform.ts';
import { engineOnStore } from '../../support/engine-on-store.ts';
import { databases } from '../../support/stores.ts';

const MAX = KEPT_NAME_BYTES_MAX;

/** It cannot be compressed: an index takes what a compressed one has. */
function nameOf(bytes: number): string {
  return randomBytes(bytes).toString('base64url').slice(0, bytes);
}

/** PostgreSQL has twice as many bytes of it. */
function hostileName(bytes: number): string {
  return Array.from({ length: bytes }, () => (randomInt(2) === 0 ? '\u0000' : '\u0001')).join('');
}

function ruleOf(text: string): LoadedRule {
  const parsed = parseRule(`${text}\nlimits: { max: 1000, percent: 100 }\n`, 'rule.yaml', { traits: ACTIONS });
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.rule;
}

const OF_USERS = `
id: ${'u'.repeat(100)}
subject: user
when: { "==": [{ var: Name }, "leaver"] }
then: delete_device
mode: approve
tests: [{ name: t, given: { Name: leaver }, expect: match }]`;

const ofServices = (bundle: string) => `
id: into-a-bundle
subject: service
when: { "==": [{ var: ServiceName }, "odd"] }
then: { action: add_to_bundle, with: { bundle: ${bundle} } }
mode: enforce
tests: [{ name: t, given: { ServiceName: odd }, expect: match }]`;

describe.each(databases().map((database) => [database.name, database] as const))('long names on %s', (_, database) => {
  beforeAll(() => (database.isMissing ? undefined : database.prepare()), 120_000);
  afterAll(() => (database.isMissing ? undefined : database.end()));

  async function begun() {
    const opened = await database.open();
    onTestFinished(() => opened.close());
    const bundle = nameOf(MAX);
    const rules = [banRule({ id: 'b'.repeat(100) }), ruleOf(OF_USERS), ruleOf(ofServices(bundle))];
    const on = await engineOnStore(opened, rules);
    on.platform.bundles.set(bundle, new Set());
    return { ...on, bundle };
  }

  it.skipIf(database.isMissing)(
    'are kept and acted on up to the longest, also two in one target and hostile ones',
    { timeout: 120_000 },
    async () => {
      const { platform, run, store, clock, bundle } = await begun();
      const serials = [nameOf(MAX), hostileName(MAX)];
      for (const serial of serials)
        platform.addDevice(hostileName(MAX), {
          SerialNumber: serial,
          Emails: [nameOf(3_000)],
          MdmData: { CompromisedStatus: 'TRUE' },
        });
      const email = hostileName(MAX);
      platform.users.set(email, { Email: email, Name: 'leaver', SerialNumbers: serials });
      const service = nameOf(MAX);
      platform.services.set(service, { ServiceID: service, ServiceName: 'odd', ServiceSpec: '{}', Enabled: 'TRUE' });
      platform.eventLog.push({ id: hostileName(MAX), created_at: clock.nowMs(), user_principal: {} });
      const first = await run('enforce');
      expect(first).toMatchObject({ status: 'completed' });
      expect(platform.effects.toSorted()).toEqual(
        [...serials.map((serial) => `ban ${serial}`), `bundle ${service} ${bundle}`].toSorted(),
      );
      const held = await store.decisions({ rule: 'u'.repeat(100), limit: 10 });
      expect(held.map(({ target }) => target).toSorted()).toEqual(
        serials.map((serial) => `${serial} ${email}`).toSorted(),
      );
      expect(await run('enforce')).toMatchObject({ status: 'completed' });
    },
  );

  it.skipIf(database.isMissing)(
    'that are longer are rejected with their record, named and counted, and the others are judged',
    { timeout: 120_000 },
    async () => {
      const { platform, run } = await begun();
      platform.addDevice('good', { MdmData: { CompromisedStatus: 'TRUE' } });
      platform.addDevice('odd', { SerialNumber: nameOf(3_000), MdmData: { CompromisedStatus: 'TRUE' } });
      platform.addDevice(`X${nameOf(MAX)}`, {});
      platform.users.set('ana', { Email: 'ana', Name: 'leaver', SerialNumbers: ['S-good', nameOf(3_000)] });
      platform.users.set('bea', { Email: 'bea', Name: 'stays', SerialNumbers: [] });
      const service = nameOf(3_000);
      platform.services.set(service, { ServiceID: service, ServiceName: 'odd', ServiceSpec: '{}', Enabled: 'TRUE' });
      platform.services.set('svc', { ServiceID: 'svc', ServiceName: 'good', ServiceSpec: '{}', Enabled: 'TRUE' });
      const { status, findings } = await run('enforce');
      expect(status).toBe('completed');
      expect(platform.effects).toEqual(['ban S-good']);
      const sources = findings?.snapshot.sources;
      const readOf = (source: 'devices' | 'users' | 'services') => {
        const { count, unreadable, trusted } = sources?.[source] ?? {};
        return { count, unreadable: unreadable?.count, examples: unreadable?.examples.join('\n'), trusted };
      };
      expect(readOf('devices')).toEqual({
        ...{ count: 1, unreadable: 2, trusted: true },
        examples: expect.stringMatching(
          /^record 2: SerialNumber is longer than 512 bytes \(DeviceID odd\)\nrecord 3: DeviceID is longer than 512 bytes \(X.{100,130}…\)$/,
        ),
      });
      expect(readOf('users')).toEqual({
        ...{ count: 1, unreadable: 1, trusted: true },
        examples: 'record 1: one of its SerialNumbers is longer than 512 bytes (Email ana)',
      });
      expect(readOf('services')).toMatchObject({ count: 1, unreadable: 1, trusted: true });
    },
  );
});
