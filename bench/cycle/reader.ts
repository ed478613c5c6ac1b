// bench: one process that measures. argv: `floor-and-cycle` or `peak`, then url and key.
// The floor: the same pages, downloaded with undici and parsed with JSON.parse, as many at a time as the engine reads.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { composeEngine } from '../../src/compose.ts';
import { readConfig } from '../../src/config.ts';
import { runCycle } from '../../src/cycle.ts';
import { fiftyRules } from './rules.ts';

const [, , what, url, key] = process.argv as [string, string, string, string, string];
const CONCURRENCY = 4;
const STEP = 999; // pages overlap by one record

const dir = mkdtempSync(join(tmpdir(), 'trustward-bench-'));
mkdirSync(join(dir, 'rules'));
fiftyRules().forEach((text, index) => {
  writeFileSync(join(dir, 'rules', `${index}.json`), text);
});
const env = {
  TRUSTWARD_API_URL: url,
  TRUSTWARD_API_KEY: key,
  TRUSTWARD_DB: join(dir, 'bench.db'),
  TRUSTWARD_RULES: join(dir, 'rules'),
  TRUSTWARD_LOG_LEVEL: 'silent',
};
const composition = await composeEngine(readConfig(env));

async function cycle(): Promise<{ ms: number; matches: number }> {
  const start = performance.now();
  const run = await runCycle(composition.engine, {
    mode: 'dry-run',
    trigger: 'command',
    rules: undefined,
    waitForDoubts: false,
  });
  const ms = performance.now() - start;
  const record = await composition.engine.store.run(run.id);
  const matches = record?.findings?.tallies.reduce((sum, tally) => sum + tally.match, 0) ?? 0;
  return { ms, matches };
}

const agent = new Agent({ connections: CONCURRENCY });
async function page(skip: number): Promise<{ devices: unknown[]; count: number }> {
  const address = `${url}/api/v1/devices?Skip=${skip}&Limit=1000&Order=asc&OrderBy=serialnumber`;
  const { body } = await request(address, { dispatcher: agent, headers: { authorization: `Bearer ${key}` } });
  return JSON.parse(await body.text());
}

async function floor(): Promise<{ ms: number; devices: number }> {
  const start = performance.now();
  const first = await page(0);
  let devices = first.devices.length;
  let next = STEP;
  const worker = async () => {
    while (next < first.count) {
      const skip = next;
      next += STEP;
      const { devices: records } = await page(skip);
      devices += records.length;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return { ms: performance.now() - start, devices };
}

if (what === 'peak') {
  await cycle();
  await cycle();
  process.stdout.write(`${JSON.stringify({ peakMiB: process.resourceUsage().maxRSS / 1024 })}\n`);
} else {
  await floor(); // fills the server's cache
  const firstRun = await cycle();
  const rounds = [];
  for (let round = 0; round < 5; round += 1) rounds.push({ floor: await floor(), cycle: await cycle() });
  process.stdout.write(`${JSON.stringify({ firstRun, rounds })}\n`);
}
await composition.close();
await agent.close();
rmSync(dir, { recursive: true, force: true });
