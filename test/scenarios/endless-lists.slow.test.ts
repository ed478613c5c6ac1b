// scenario: a server whose lists do not end: the read ends at a bound, the source is untrusted, and nothing is done.
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SourceReading } from '../../src/domain/snapshot.ts';
import type { Source } from '../../src/domain/subjects.ts';
import { runCycle } from '../../src/engine/cycle.ts';
import { acceptSnapshot } from '../../src/engine/operate/commands.ts';
import { type Composition, composeEngine } from '../../src/runtime/compose/compose.ts';
import { readConfig } from '../../src/runtime/config/config.ts';
import { json, KEY, type Loopback, listen, type Seen } from '../platform/loopback.ts';

/** Where the server gives up being endless, so that a reader without a bound fails and does not hang. */
const ENDLESS = 400_000;

const rule = (subject: string, field: string, more = '') => `
id: report-${subject}
title: Report a ${subject}
severity: low
subject: ${subject}
when: { "==": [{ var: ${field} }, "NOBODY"] }
then: notify
mode: enforce
${more}
tests:
  - { name: other, given: { ${field}: "SOMEBODY" }, expect: no_match }
`;
const RULES = {
  device: rule('device', 'Model'),
  user: rule('user', 'Name'),
  service: rule('service', 'ServiceName'),
};

const recordOf = {
  devices: (at: number) => ({
    DeviceID: `d${at}`,
    SerialNumber: `S${String(at).padStart(9, '0')}`,
    Model: model,
  }),
  users: (at: number) => ({ Email: `u${String(at).padStart(9, '0')}@example.com`, Name: 'N'.repeat(99) }),
  services: (at: number) => ({ ServiceID: `s${at}.c.x`, ServiceName: `s${at}`, Note: 'N'.repeat(99) }),
};
type Listed = keyof typeof recordOf;

let dir: string;
let server: Loopback;
let composition: Composition;
/** How long each list is now; the number of records that left since; the end of the last unpaged answer. */
let lengths: Record<Listed, number>;
let sent: number;
/** Of every device. */
let model: string;
let closed: Promise<unknown>;

async function start(rules: Record<string, string>, env: Record<string, string> = {}): Promise<void> {
  dir = mkdtempSync(join(tmpdir(), 'trustward-endless-'));
  mkdirSync(join(dir, 'rules'));
  for (const [name, text] of Object.entries(rules)) writeFileSync(join(dir, 'rules', `${name}.yaml`), text);
  composition = await composeEngine(
    readConfig({
      TRUSTWARD_API_URL: server.address,
      TRUSTWARD_API_KEY: KEY,
      TRUSTWARD_DB: join(dir, 'trustward.db'),
      TRUSTWARD_RULES: join(dir, 'rules'),
      TRUSTWARD_LOG_LEVEL: 'silent',
      ...env,
    }),
  );
}

beforeEach(async () => {
  lengths = { devices: 50, users: 50, services: 50 };
  sent = 0;
  model = 'M'.repeat(99);
  server = await listen(answer);
});
afterEach(async () => {
  await composition.close();
  await server.close();
  rmSync(dir, { recursive: true, force: true });
});

function answer({ path, query }: Seen, response: ServerResponse): void {
  const source = { devices: 'devices', endusers: 'users', registered_services: 'services' }[
    path.split('/').at(-1) ?? ''
  ] as Listed;
  const limit = query.get('Limit');
  if (limit === null) return void stream(source, response);
  const skip = Number(query.get('Skip'));
  const count = Math.max(0, Math.min(Number(limit), lengths[source] - skip));
  sent += count;
  const records = Array.from({ length: count }, (_, index) => recordOf[source](skip + index));
  json(response, { [path.split('/').at(-1) ?? '']: records, count: lengths[source] });
}

async function stream(source: Listed, response: ServerResponse): Promise<void> {
  closed = once(response, 'close');
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write('[');
  for (let at = 0; at < lengths[source] && !response.destroyed; at += 1) {
    sent += 1;
    const hasSpace = response.write(`${at === 0 ? '' : ','}${JSON.stringify(recordOf[source](at))}`);
    if (!hasSpace) await Promise.race([once(response, 'drain'), closed]);
  }
  response.end(']');
}

async function read(source: Source): Promise<SourceReading> {
  const request = { mode: 'dry-run', trigger: 'command', rules: undefined, waitForDoubts: false } as const;
  const { id } = await runCycle(composition.engine, request);
  const run = await composition.engine.store.run(id);
  return run?.findings?.snapshot.sources[source] as SourceReading;
}

describe.each([
  ['devices', 'paged', { device: RULES.device }],
  ['devices', 'unpaged', { device: RULES.device.replace('then: notify', 'then: ban_device') }],
  ['users', 'paged', { user: RULES.user }],
  ['services', 'unpaged', { service: RULES.service }],
] as const)('an endless list of %s, %s', (source, form, rules) => {
  it('ends at 10,000 records when the last trusted reading had few, and is not trusted', async () => {
    await start(rules);
    expect(await read(source)).toMatchObject({ form, trusted: true, count: 50 });
    lengths[source] = ENDLESS;
    sent = 0;
    const reading = await read(source);
    expect(reading).toMatchObject({ state: 'read', trusted: false, count: 10_000 });
    expect(reading.reasons).toEqual([
      {
        source,
        code: 'grown',
        text: `${source}: more than 10000 records, and the last trusted reading had 50; the rest was not read`,
      },
    ]);
    expect(sent).toBeLessThan(ENDLESS / 2);
    if (form === 'unpaged') await closed;
  });

  it('ends at the configured bound when none was trusted before, and nobody can accept that', async () => {
    await start(rules, { TRUSTWARD_RECORDS_MAX: '11000' });
    lengths[source] = ENDLESS;
    const reading = await read(source);
    expect(reading).toMatchObject({ trusted: false, count: 11_000, reasons: [{ code: 'too_many' }] });
    expect(reading.reasons[0]?.text).toBe(
      `${source}: more than 11000 records; the rest was not read; set TRUSTWARD_RECORDS_MAX higher if the list is real`,
    );
    expect(sent).toBeLessThan(ENDLESS / 2);
    const accepting = acceptSnapshot(composition.engine, source, { by: 'ada', reason: 'it is so' });
    await expect(accepting).rejects.toThrow('this cannot be accepted (too_many)');
  });
});

describe('a list that grew beyond what is expected', () => {
  const accept = () => acceptSnapshot(composition.engine, 'devices', { by: 'ada', reason: 'we bought a company' });
  beforeEach(async () => {
    await start({ device: RULES.device }, { TRUSTWARD_RECORDS_MAX: '14000' });
    await read('devices');
  });

  it('is read whole once a person accepts it, and is then the baseline', async () => {
    lengths.devices = 12_000;
    expect(await read('devices')).toMatchObject({ trusted: false, count: 10_000 });
    await accept();
    const accepted = await read('devices');
    expect(accepted).toMatchObject({ trusted: true, count: 12_000, accepted: { overrode: [{ code: 'grown' }] } });
    expect(await read('devices')).toMatchObject({ trusted: true, count: 12_000, reasons: [] });
  });

  it('that moved a fact as well needs a second acceptance, of what the whole list shows', async () => {
    lengths.devices = 12_000;
    model = 'another';
    expect(await read('devices')).toMatchObject({ count: 10_000, reasons: [{ code: 'grown' }] });
    await accept();
    const whole = { trusted: false, count: 12_000, reasons: [{ code: 'grown' }, { code: 'fact_moved' }] };
    expect(await read('devices')).toMatchObject(whole);
    await accept();
    expect(await read('devices')).toMatchObject({ trusted: true, count: 12_000 });
  });

  it('is lifted once: an acceptance that met a list of the usual size is used up', async () => {
    lengths.devices = 12_000;
    await read('devices');
    await accept();
    lengths.devices = 50;
    expect(await read('devices')).toMatchObject({ trusted: true, count: 50 });
    lengths.devices = 12_000;
    expect(await read('devices')).toMatchObject({ trusted: false, count: 10_000, reasons: [{ code: 'grown' }] });
  });

  it('is read up to the configured bound at most, also when accepted', async () => {
    lengths.devices = 12_000;
    await read('devices');
    await accept();
    lengths.devices = ENDLESS;
    sent = 0;
    expect(await read('devices')).toMatchObject({ trusted: false, count: 14_000, reasons: [{ code: 'too_many' }] });
    expect(sent).toBeLessThan(ENDLESS / 2);
  });
});
