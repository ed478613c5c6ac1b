// daemon: requests with an Idempotency-Key over a kill of the process: each key has one run, and a repeat gets that one.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startTrustward } from '../../support/trustward.ts';

const TOKEN = 'admin-token-0123456789';
const KEYS = ['k1', 'k2', 'k3', 'k4', 'k5'];

async function started(dir: string) {
  const daemon = startTrustward(['serve'], {
    TRUSTWARD_DB: join(dir, 'trustward.db'),
    TRUSTWARD_HISTORY: '0d',
    TRUSTWARD_LISTEN: '127.0.0.1:0',
    TRUSTWARD_SCHEDULE: '0 0 1 1 *',
    TRUSTWARD_WATCH: '0s',
    TRUSTWARD_TOKEN: TOKEN,
    TRUSTWARD_LOG_LEVEL: 'error',
  });
  onTestFinished(() => void daemon.child.kill('SIGKILL'));
  await daemon.says('Ctrl-C ends it.');
  const url = /HTTP endpoint\s+(\S+)/.exec(daemon.said().out)?.[1] as string;
  const headers = { authorization: `Bearer ${TOKEN}` };
  const request = (key: string) =>
    fetch(`${url}/api/runs`, {
      method: 'POST',
      headers: { ...headers, 'idempotency-key': key },
      body: JSON.stringify({ mode: 'dry-run', wait: true }),
    });
  const requested = async () => {
    const answer = await fetch(`${url}/api/runs?limit=100`, { headers });
    const { runs } = (await answer.json()) as { runs: { id: string; trigger: string }[] };
    return runs.filter(({ trigger }) => trigger === 'http').map(({ id }) => id);
  };
  return { ...daemon, request, requested };
}

it('a request whose process is killed before its answer has one run, and so has each repeat', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'trustward-keys-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const first = await started(dir);
  const lost = KEYS.map((key) => first.request(key).catch(() => undefined));
  await expect.poll(async () => (await first.requested()).length, { interval: 5, timeout: 60_000 }).toBeGreaterThan(0);
  first.child.kill('SIGKILL');
  await first.ended;
  await Promise.all(lost);

  const second = await started(dir);
  const before = await second.requested();
  const idsOf = async () => {
    const answers = await Promise.all(KEYS.map((key) => second.request(key)));
    expect(answers.map(({ status }) => status)).toEqual(KEYS.map(() => 200));
    const bodies = (await Promise.all(answers.map((answer) => answer.json()))) as { id: string }[];
    return {
      ids: bodies.map(({ id }) => id),
      replayed: answers.map(({ headers }) => headers.get('idempotency-replayed')),
    };
  };
  const { ids } = await idsOf();
  const runs = await second.requested();
  expect(before.length).toBeGreaterThan(0);
  expect(new Set(ids)).toEqual(new Set(runs));
  expect(runs).toHaveLength(KEYS.length);
  expect(ids).toEqual(expect.arrayContaining(before));
  expect(await idsOf()).toEqual({ ids, replayed: KEYS.map(() => 'true') });
  expect(await second.requested()).toEqual(runs);
}, 120_000);
