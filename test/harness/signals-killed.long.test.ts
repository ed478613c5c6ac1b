// harness: the real daemon, killed (kill -9) while one transmitter pushes signals and another one is polled, and what is done and undone is pushed and polled
// in turn: what was acknowledged is stored, once, each device that a signal names is banned once, and each outcome is told to each receiver, in order, as one
// SET. KILLS and KILL_SEED choose others.
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { giveWay } from '../../src/base/turns.ts';
import { signalEventOf } from '../../src/domain/signal.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { readSigningKey, type SigningKey, signSet } from '../../src/signals/set.ts';
import { type Organization, startOrganization } from '../support/organization.ts';
import { freePort } from '../support/postgres-cluster.ts';
import { CERTIFICATE, KEY } from '../support/receiver.ts';
import { transmittingEnv } from '../support/transmitting.ts';
import { Dice } from './dice.ts';
import { killed, listening, start } from './kill-life.ts';
import { portOf, Receivers, rowsOf } from './told.ts';
import { addCast, changeTroubles, isBanned, RULE as TROUBLED } from './troubles.ts';

const KILLS = Number(process.env.KILLS ?? 300);
const SEED = Number(process.env.KILL_SEED ?? 1);
/** Kills wait no longer for what they are to meet. */
const LATEST_MS = 1_500;
const OPEN = "SELECT id FROM intents WHERE status IN ('planned', 'sent') OR outcome = 'unknown'";
/** Each signal as often as it is there. */
const STORED = 'SELECT id FROM events WHERE transmitter IS NOT NULL UNION ALL SELECT id FROM signals';
const CHANGE = signalEventOf('device-compliance-change') as string;
const US = 'https://trustward.example.com';
const ISSUERS = { pushing: 'https://edr.example.com', polled: 'https://mdm.example.com' } as const;

const RULE = `
id: ban-signalled
title: Ban devices that somebody says are not compliant
severity: critical
subject: device
when:
  or:
    - ">=": [{ signal_count: { transmitter: pushing, event: device-compliance-change, within: 30d } }, 1]
    - ">=": [{ signal_count: { transmitter: polled, event: device-compliance-change, within: 30d } }, 1]
then: ban_device
mode: enforce
owners: all
cooldown: 0s
limits: { max: 10000, percent: 100 }
tests:
  - name: said
    signals: [{ transmitter: pushing, event: device-compliance-change, ago: 1m }]
    expect: match
`;

function signalsFile(port: number): string {
  const one = (name: keyof typeof ISSUERS, delivery: string) =>
    `  ${name}:\n    issuer: ${ISSUERS[name]}\n    audience: ${US}\n    jwks: { file: keys.json }\n    ${delivery}\n    heartbeat: 10s\n    subjects: { device: serial }\n`;
  const poll = `delivery: poll\n    poll: https://localhost:${port}/poll`;
  return `transmitters:\n${one('pushing', 'delivery: push')}${one('polled', poll)}`;
}

/** What is polled, until it is acknowledged; some answers are lost, and some acknowledgements are of a body that never came back. */
async function startPolled(dice: Dice, acknowledged: Set<string>) {
  const queue = new Map<string, string>();
  const server = createServer({ key: KEY, cert: CERTIFICATE }, async (request, response) => {
    const chunks: Buffer[] = await request.toArray().catch(() => []);
    const { ack = [], maxEvents = 100 } = JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}');
    for (const jti of ack) {
      if (queue.delete(jti)) acknowledged.add(jti);
    }
    if (dice.chance(0.1)) return response.destroy();
    const sets = [...queue].slice(0, Math.min(maxEvents, dice.whole(1, 5)));
    response
      .writeHead(200, { 'Content-Type': 'application/json' })
      .end(JSON.stringify({ sets: Object.fromEntries(sets), moreAvailable: queue.size > sets.length }));
  });
  return { port: await portOf(server), queue };
}

it('what was acknowledged is stored once and leads to one ban, and each outcome is told once, in order and after its commit', {
  timeout: 3_600_000,
}, async () => {
  const dice = new Dice(SEED, 'kills of signals');
  const acknowledged = { pushing: new Set<string>(), polled: new Set<string>() };
  const polled = await startPolled(new Dice(SEED, 'polled'), acknowledged.polled);
  const listen = `127.0.0.1:${await freePort()}`;
  const org = await startOrganization({ devices: 100, rules: { troubled: TROUBLED } });
  await org.composition.close(); // the engine lives in processes of its own
  onTestFinished(() => org.console.close());
  const key = await ownKey();
  Object.assign(org.env, transmittingEnv(org.dir), {
    TRUSTWARD_SCHEDULE: '*/2 * * * * *',
    TRUSTWARD_WATCH: '1s',
    TRUSTWARD_LISTEN: listen,
    TRUSTWARD_QUIET_PERIOD: '1500ms',
    TRUSTWARD_REQUEST_TIMEOUT: '1s',
    TRUSTWARD_CEILING_RUN: '10000,100%',
    TRUSTWARD_CEILING_DAY: '100000,100%',
    TRUSTWARD_SIGNALS: org.dir,
    TRUSTWARD_SIGNAL_PRIVATE_HOSTS: `localhost:${polled.port}`,
    TRUSTWARD_SIGNAL_CA: join(org.dir, 'ca.pem'),
  });
  writeFileSync(join(org.dir, 'keys.json'), JSON.stringify({ keys: [key.publicKey] }));
  writeFileSync(join(org.rulesDir, 'signals.yaml'), signalsFile(polled.port));
  writeFileSync(join(org.rulesDir, 'signalled.yaml'), RULE);

  const named: string[] = [];
  const pushes: Promise<void>[] = [];
  let isOver = false;
  const push = async (jti: string, text: string) => {
    const sent = { method: 'POST', headers: { 'Content-Type': 'application/secevent+jwt' }, body: text };
    const answer = () => fetch(`http://${listen}/signals/pushing`, sent).catch(() => undefined);
    // Again until it is accepted, as the standard has it.
    for (let status = 0; status !== 202 && !isOver; await systemClock.sleep(200)) {
      status = (await answer())?.status ?? 503;
      if (![202, 429, 503].includes(status)) throw new Error(`${jti} was answered ${status}`);
      if (status === 202) acknowledged.pushing.add(jti);
      // Some send again what was accepted: its acknowledgement was lost.
      if (status === 202 && dice.chance(0.2)) await answer();
    }
  };
  const say = async (from: keyof typeof ISSUERS) => {
    const serial = `SIG-${named.length}`;
    named.push(serial);
    org.console.fleet.addDevice({ serial }, [`owner-${named.length}@acme.example`]);
    const jti = `${from}-${serial}`;
    const text = await setOf(key, ISSUERS[from], jti, serial);
    if (from === 'polled') polled.queue.set(jti, text);
    else pushes.push(push(jti, text));
  };

  const troubles = addCast(org.console);
  const receivers = new Receivers(`http://${listen}`, org.dbFile, new Dice(SEED, 'told'));
  const first = start(org);
  await listening(org, first);
  await receivers.begin(org.env.TRUSTWARD_TOKEN as string);
  await killed(first);

  let kills = 0;
  for (; kills < KILLS; kills += 1) {
    const child = start(org);
    await systemClock.sleep(dice.pick([700, 1_200, 2_000, 3_000]));
    for (let more = named.length < 2 * KILLS ? dice.whole(0, 3) : 0; more > 0; more -= 1)
      await say(dice.pick(['pushing', 'polled']));
    if (dice.chance(0.5)) changeTroubles(org.console, troubles, dice);
    await moment(dice, receivers, org);
    expect(await killed(child), 'it ended by itself').toBe(true);
  }
  const last = start(org);
  receivers.calm();
  for (const { id } of troubles.values()) org.console.fleet.patchDevice(id, { mdm_compromised: 'FALSE' });
  // A doubt that was killed again when it was tried again waits for a person.
  const unsettled = () => {
    const parked = idsOf(org, "SELECT target AS id FROM intents WHERE outcome = 'parked'");
    const unbanned = named.filter((serial) => bansOf(org, serial) === 0);
    const banned = [...troubles].filter(([, { id }]) => isBanned(org.console, id)).map(([serial]) => serial);
    return [...unbanned, ...banned].filter((serial) => !parked.includes(serial));
  };
  const open = () => [unsettled(), [...polled.queue], idsOf(org, OPEN), receivers.unkept()].flat();
  for (let look = 0; look < 300 && open().length > 0; look += 1) await systemClock.sleep(500);
  await Promise.all(pushes);
  isOver = true;
  const told = await receivers.faults();
  last.kill('SIGTERM');
  await once(last, 'exit');
  await receivers.end();

  const stored = idsOf(org, STORED).map((id) => id.split(':').at(-1) as string);
  const said = [...acknowledged.pushing, ...acknowledged.polled];
  const lost = said.filter((jti) => !stored.includes(jti));
  const parked = idsOf(org, "SELECT id FROM intents WHERE outcome = 'parked'").length;
  const twice = named.filter((serial) => bansOf(org, serial) > 1);
  const found = Object.entries(told).map(([what, { length }]) => `${length} ${what}`);
  process.stdout.write(
    `${kills} kills, ${said.length} signals acknowledged (${acknowledged.pushing.size} pushed, ${acknowledged.polled.size} polled), ${stored.length} stored; ${lost.length} lost, ${stored.length - new Set(stored).size} doubled; ${named.length} devices named, ${parked} parked, ${unsettled().length} not banned or not freed, ${twice.length} banned twice; ${receivers.line()}: ${found.join(', ')}\n`,
  );
  const none = Object.fromEntries(Object.keys(told).map((what) => [what, []]));
  const wrong = { lost, twice, unsettled: unsettled(), waiting: [...polled.queue], ...told };
  expect(wrong).toEqual({ lost: [], twice: [], unsettled: [], waiting: [], ...none });
  expect([new Set(stored).size, said.length]).toEqual([stored.length, named.length]);
  expect(acknowledged.polled.size).toBeGreaterThan(0);
});

async function ownKey(): Promise<SigningKey> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return readSigningKey(privateKey.export({ type: 'pkcs8', format: 'pem' }) as string);
}

function setOf(key: SigningKey, iss: string, jti: string, serial: string): Promise<string> {
  const sub_id = { format: 'complex', device: { format: 'opaque', id: serial } };
  const events = { [CHANGE]: { current_status: 'not-compliant', previous_status: 'compliant' } };
  return signSet({ iss, aud: US, iat: Math.floor(systemClock.nowMs() / 1_000), jti, sub_id, events }, key);
}

/** Any, while a SET is being pushed, or right after one of the commits that follow a call: its outcome, its SETs, their way. */
async function moment(dice: Dice, receivers: Receivers, { console, dbFile }: Organization): Promise<void> {
  const kind = dice.weighted({ any: 1, pushed: 1, committed: 2 });
  if (kind === 'any') return systemClock.sleep(dice.whole(0, 900));
  if (kind === 'pushed') {
    await Promise.race([receivers.pushed(), systemClock.sleep(LATEST_MS)]);
    return systemClock.sleep(dice.pick([0, 2, 20]));
  }
  const before = console.writes().length;
  for (let look = 0; look < LATEST_MS / 2 && console.writes().length === before; look += 1) await systemClock.sleep(2);
  const db = new Database(dbFile, { readonly: true });
  const untilMs = systemClock.monotonicMs() + LATEST_MS;
  for (let left = dice.whole(1, 6); left > 0; left -= 1) {
    const seen = db.pragma('data_version', { simple: true });
    while (db.pragma('data_version', { simple: true }) === seen && systemClock.monotonicMs() < untilMs) await giveWay();
  }
  db.close();
}

function bansOf({ console }: Organization, serial: string): number {
  const isOf = (address: string) => /serialnumber=([^&]+)/i.exec(address)?.[1] === serial;
  return console.writes().filter(({ address, body }) => isOf(address) && body.includes('"TRUE"')).length;
}

function idsOf({ dbFile }: Organization, sql: string): string[] {
  return rowsOf<{ id: string }>(dbFile, sql).map(({ id }) => id);
}
