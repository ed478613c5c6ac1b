// harness: the real daemon, killed (kill -9) at random moments while one transmitter pushes signals and another one is polled: what was acknowledged is stored, once,
// and each device that a signal names is banned once. KILLS and KILL_SEED choose others.
import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { signalEventOf } from '../../src/domain/signal.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { readSigningKey, type SigningKey, signSet } from '../../src/signals/set.ts';
import { built } from '../support/built.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';
import { freePort } from '../support/postgres-cluster.ts';
import { CERTIFICATE, KEY } from '../support/receiver.ts';
import { Dice } from './dice.ts';

const KILLS = Number(process.env.KILLS ?? 300);
const SEED = Number(process.env.KILL_SEED ?? 1);
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
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
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
  server.on('clientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, queue };
}

it('what was acknowledged is stored once, and leads to one ban', { timeout: 3_600_000 }, async () => {
  const dice = new Dice(SEED, 'kills of signals');
  const acknowledged = { pushing: new Set<string>(), polled: new Set<string>() };
  const polled = await startPolled(new Dice(SEED, 'polled'), acknowledged.polled);
  const listen = `127.0.0.1:${await freePort()}`;
  const org = await startOrganization({
    devices: 100,
    rules: { none: BAN_COMPROMISED },
    env: {
      TRUSTWARD_SCHEDULE: '*/2 * * * * *',
      TRUSTWARD_WATCH: '1s',
      TRUSTWARD_LISTEN: listen,
      TRUSTWARD_TOKEN: 'a-token-for-nobody-long-enough',
      TRUSTWARD_QUIET_PERIOD: '1500ms',
      TRUSTWARD_CEILING_RUN: '10000,100%',
      TRUSTWARD_CEILING_DAY: '100000,100%',
    },
  });
  await org.composition.close(); // the engine lives in processes of its own
  onTestFinished(() => org.console.close());
  const key = await ownKey();
  Object.assign(org.env, {
    TRUSTWARD_SIGNALS: org.dir,
    TRUSTWARD_SIGNAL_PRIVATE_HOSTS: `localhost:${polled.port}`,

    TRUSTWARD_SIGNAL_CA: join(org.dir, 'ca.pem'),
  });
  writeFileSync(join(org.dir, 'ca.pem'), CERTIFICATE);
  writeFileSync(join(org.dir, 'keys.json'), JSON.stringify({ keys: [key.publicKey] }));
  writeFileSync(join(org.rulesDir, 'signals.yaml'), signalsFile(polled.port));
  writeFileSync(join(org.rulesDir, 'signalled.yaml'), RULE);

  const named: string[] = [];
  const pushes: Promise<void>[] = [];
  let isOver = false;
  const push = async (jti: string, text: string) => {
    const headers = { 'Content-Type': 'application/secevent+jwt' };
    // Again until it is accepted, as the standard has it.
    while (!isOver) {
      const answer = await fetch(`http://${listen}/signals/pushing`, { method: 'POST', headers, body: text }).catch(
        () => undefined,
      );
      if (answer?.status === 202) {
        acknowledged.pushing.add(jti);
        // Some send again what was accepted: its acknowledgement was lost.
        if (dice.chance(0.2))
          await fetch(`http://${listen}/signals/pushing`, { method: 'POST', headers, body: text }).catch(
            () => undefined,
          );
        return;
      }
      if (answer && answer.status !== 503 && answer.status !== 429)
        throw new Error(`${answer.status}: ${await answer.text()}`);
      await systemClock.sleep(200);
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

  let kills = 0;
  for (; kills < KILLS; kills += 1) {
    const child = start(org);
    await systemClock.sleep(dice.pick([700, 1_200, 2_000, 3_000]));
    for (let more = named.length < 2 * KILLS ? dice.whole(0, 3) : 0; more > 0; more -= 1)
      await say(dice.pick(['pushing', 'polled']));
    await systemClock.sleep(dice.whole(0, 900));
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  const last = start(org);
  // A doubt that was killed again when it was tried again waits for a person.
  const unbanned = () => {
    const parked = new Set(rowsOf(org.dbFile, "SELECT target FROM intents WHERE outcome = 'parked'"));
    return named.filter((serial) => bansOf(org, serial) === 0 && !parked.has(serial));
  };
  for (let look = 0; look < 300 && (unbanned().length > 0 || polled.queue.size > 0); look += 1)
    await systemClock.sleep(500);
  await Promise.all(pushes);
  isOver = true;
  last.kill('SIGTERM');
  await once(last, 'exit');

  const stored = storedSets(org.dbFile);
  const said = [...acknowledged.pushing, ...acknowledged.polled];
  const lost = said.filter((jti) => !stored.includes(jti));
  const parked = rowsOf(org.dbFile, "SELECT id FROM intents WHERE outcome = 'parked'").length;
  const twice = named.filter((serial) => bansOf(org, serial) > 1);
  process.stdout.write(
    `${kills} kills, ${said.length} signals acknowledged (${acknowledged.pushing.size} pushed, ${acknowledged.polled.size} polled), ${stored.length} stored; ${lost.length} lost, ${stored.length - new Set(stored).size} doubled; ${named.length} devices named, ${unbanned().length} not banned, ${parked} parked, ${twice.length} banned twice\n`,
  );
  expect({ lost, twice, unbanned: unbanned(), waiting: polled.queue.size }).toEqual({
    lost: [],
    twice: [],
    unbanned: [],
    waiting: 0,
  });
  expect(new Set(stored).size).toBe(stored.length);
  expect(said.length).toBe(named.length);
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

function start(org: Organization): ChildProcess {
  return spawn(process.execPath, [built('src/main.ts'), 'serve'], {
    env: { ...process.env, ...org.env },
    stdio: 'ignore',
  });
}

function bansOf({ console }: Organization, serial: string): number {
  const isOf = (address: string) => /serialnumber=([^&]+)/i.exec(address)?.[1] === serial;
  return console.writes().filter(({ address, body }) => isOf(address) && body.includes('"TRUE"')).length;
}

/** The ids of the signals, each as often as it is there. */
function storedSets(file: string): string[] {
  const sql = 'SELECT id FROM events WHERE transmitter IS NOT NULL UNION ALL SELECT id FROM signals';
  return rowsOf(file, sql).map((id) => id.split(':').at(-1) as string);
}

function rowsOf(file: string, sql: string): string[] {
  const db = new Database(file, { readonly: true });
  try {
    return db.prepare(sql).pluck().all() as string[];
  } finally {
    db.close();
  }
}
