// http: whoever belongs to one organization reads, changes and learns nothing of another. TRUSTWARD_ATTACK_REQUESTS and TRUSTWARD_ATTACK_SEED
// change how many requests try it, and which.
import { expect, it } from 'vitest';
import { attack, attackBySocket } from './attacking.ts';

const REQUESTS = Number(process.env.TRUSTWARD_ATTACK_REQUESTS ?? 800);
const SEED = Number(process.env.TRUSTWARD_ATTACK_SEED ?? 16);

it('requests of one organization at another read, change and tell nothing', {
  timeout: 120_000 + REQUESTS * 60,
}, async () => {
  const { faults, answers, requests } = await attack(REQUESTS, SEED);
  expect(faults).toEqual([]);
  const line = [...answers].sort().map(([key, count]) => `${key}: ${count}`);
  process.stdout.write(`${requests} requests with the rights of one organization at another: ${line.join(', ')}\n`);
  for (const key of ['the other 401', 'the other 303', 'the other 404', 'its own 200', 'its own 404'])
    expect([...answers.keys()]).toContain(key);
  expect([...answers.keys()]).not.toContain('the other 202');
});

it('addresses that no client sends lead to no other organization', { timeout: 300_000 }, async () => {
  const { faults, requests } = await attackBySocket();
  expect(faults).toEqual([]);
  expect(requests).toBeGreaterThan(80);
});
