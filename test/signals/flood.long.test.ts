// test: 100,000 forged, replayed and reordered SETs against the real daemon over HTTP: nothing is done for any of them, and the schedule keeps its turns. SETS chooses
// another number.
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { signalEventOf } from '../../src/domain/signal.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { readSigningKey, type SigningKey, signSet } from '../../src/signals/set.ts';
import { BAN_COMPROMISED, startOrganization } from '../support/organization.ts';
import { startTrustward } from '../support/trustward.ts';

const SETS = Number(process.env.SETS ?? 100_000);
const AT_ONCE = 50;
const EVERY_MS = 5_000;
const TOKEN = 'a-token-for-an-admin-long-enough';
const [ISSUER, US] = ['https://edr.example.com', 'https://trustward.example.com'];
const CHANGE = signalEventOf('device-compliance-change') as string;
const DEVICES = 20;

const RULE = `
id: ban-not-compliant
title: Ban devices whose newest report is that they are not compliant
severity: critical
subject: device
when:
  "==": [{ last_signal: { transmitter: edr, event: device-compliance-change, of: current_status, within: 7d } }, not-compliant]
then: ban_device
mode: enforce
owners: all
limits: { max: 10000, percent: 100 }
tests:
  - name: said
    signals: [{ transmitter: edr, event: device-compliance-change, current_status: not-compliant, ago: 1m }]
    expect: match
`;

it('nothing is done for forged, replayed and reordered SETs, and the schedule keeps its turns', {
  timeout: 3_600_000,
}, async () => {
  const org = await startOrganization({
    devices: 100,
    rules: { none: BAN_COMPROMISED },
    env: {
      TRUSTWARD_SCHEDULE: `*/${EVERY_MS / 1_000} * * * * *`,
      TRUSTWARD_WATCH: '1s',
      TRUSTWARD_LISTEN: '127.0.0.1:0',
      TRUSTWARD_TOKEN: TOKEN,
    },
  });
  await org.composition.close(); // the engine lives in a process of its own
  onTestFinished(() => org.console.close());
  const [theirs, forger] = [await ownKey(), await ownKey()];
  writeFileSync(join(org.dir, 'keys.json'), JSON.stringify({ keys: [theirs.publicKey] }));
  writeFileSync(
    join(org.rulesDir, 'signals.yaml'),
    `transmitters:\n  edr:\n    issuer: ${ISSUER}\n    audience: ${US}\n    jwks: { file: keys.json }\n    delivery: push\n    subjects: { device: serial }\n`,
  );
  writeFileSync(join(org.rulesDir, 'signalled.yaml'), RULE);
  const serials = Array.from({ length: DEVICES }, (_, at) => `FLOOD-${at}`);
  for (const serial of serials) org.console.fleet.addDevice({ serial }, [`${serial.toLowerCase()}@acme.example`]);
  const daemon = startTrustward(['serve'], { ...org.env, TRUSTWARD_SIGNALS: org.dir });
  await daemon.says('Ctrl-C ends it.');
  const address = /HTTP endpoint\s+(\S+)/.exec(daemon.said().out)?.[1] as string;
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const push = (body: string) =>
    new Promise<number>((resolve, reject) => {
      const headers = { 'Content-Type': 'application/secevent+jwt', 'Content-Length': String(Buffer.byteLength(body)) };
      const sending = request(`${address}/signals/edr`, { method: 'POST', headers, agent }, (answer) => {
        answer.resume();
        answer.on('end', () => resolve(answer.statusCode ?? 0));
      });
      sending.on('error', reject);
      sending.end(body);
    });
  const asked = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`${address}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    });
    // biome-ignore lint/suspicious/noExplicitAny: the shapes are those of the document
    return (await answer.json()) as any;
  };
  const runs = async () =>
    (await asked('/api/runs?limit=100')).runs.filter(({ trigger }: { trigger: string }) => trigger === 'schedule');

  // What is true, and said last: each device is compliant now.
  const nowS = () => Math.floor(systemClock.nowMs() / 1_000);
  const set = (key: SigningKey, jti: string, serial: string, status: string, atS: number) =>
    signSet(
      {
        ...{ iss: ISSUER, aud: US, iat: nowS(), jti },
        sub_id: { format: 'complex', device: { format: 'opaque', id: serial } },
        events: { [CHANGE]: { current_status: status, event_timestamp: atS } },
      },
      key,
    );
  const newest = nowS();
  const first = await Promise.all(serials.map((serial) => set(theirs, `first ${serial}`, serial, 'compliant', newest)));
  for (const text of first) expect(await push(text)).toBe(202);

  const head = (first[0] as string).split('.')[0] as string;
  const statuses: Record<string, number> = {};
  const turns: number[] = [];
  const stops: number[] = [];
  let [sent, isOver] = [0, false];
  const flood = async () => {
    while (sent < SETS) {
      const at = sent++;
      const serial = serials[at % DEVICES] as string;
      const kind = ['forged', 'replayed', 'reordered'][at % 3] as string;
      const text =
        kind === 'forged'
          ? // Of another key, which says that it is theirs.
            (await set(forger, `forged ${at}`, serial, 'not-compliant', newest + 1)).replace(/^[^.]+/, head)
          : kind === 'replayed'
            ? (first[at % DEVICES] as string)
            : await set(theirs, `late ${at}`, serial, 'not-compliant', newest - 60 - (at % 3_600));
      const key = `${kind} ${await push(text)}`;
      statuses[key] = (statuses[key] ?? 0) + 1;
    }
  };
  const began = systemClock.monotonicMs();
  const watching = (async () => {
    while (!isOver) {
      const from = systemClock.monotonicMs();
      await asked('/api/stop', { method: 'POST', body: JSON.stringify({ reason: 'a test' }) });
      stops.push(systemClock.monotonicMs() - from);
      await asked('/api/resume', { method: 'POST', body: JSON.stringify({ reason: 'a test' }) });
      await systemClock.sleep(3_000);
    }
  })();
  await Promise.all(Array.from({ length: AT_ONCE }, flood));
  isOver = true;
  await watching;
  const tookMs = systemClock.monotonicMs() - began;
  // What is still new is looked at, and judged once more by a whole run.
  const { run } = await asked('/api/runs', { method: 'POST', body: JSON.stringify({ mode: 'enforce', wait: true }) });
  const starts = (await runs())
    .map(({ startedAt }: { startedAt: string }) => Date.parse(startedAt))
    .sort((a: number, b: number) => a - b);
  for (let at = 1; at < starts.length; at++) turns.push(starts[at] - starts[at - 1]);
  const writes = org.console.writes().length;
  const told = Object.entries(statuses)
    .sort()
    .map(([what, times]) => `${what}: ${times}`)
    .join(', ');
  process.stdout.write(
    `${SETS} SETs in ${(tookMs / 1_000).toFixed(0)} s by ${AT_ONCE} at once (${told}): ${writes} effects; ${turns.length + 1} runs of the schedule (every ${EVERY_MS / 1_000} s), at most ${(Math.max(...turns) / 1_000).toFixed(1)} s apart; a stop at most ${Math.max(...stops).toFixed(0)} ms\n`,
  );
  daemon.child.kill('SIGTERM');
  await daemon.ended;
  expect(run?.status).toBe('completed');
  expect(writes).toBe(0);
  expect(Object.keys(statuses).filter((what) => what.startsWith('forged') && !/ (400|503)$/.test(what))).toEqual([]);
  expect(statuses['forged 400']).toBeGreaterThan(0);
  expect(statuses['replayed 202']).toBeGreaterThan(0);
  expect(statuses['reordered 202']).toBeGreaterThan(0);
  expect(Math.max(...turns)).toBeLessThan(4 * EVERY_MS);
});

async function ownKey(): Promise<SigningKey> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return readSigningKey(privateKey.export({ type: 'pkcs8', format: 'pem' }) as string);
}
