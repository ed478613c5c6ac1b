// bench: one process that measures. argv: `floor-and-cycle` or `peak`, then url and key.
// The floor: the same pages, downloaded with undici and parsed with JSON.parse, as many at a time as the engine reads.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { composeEngine } from '../../src/compose/compose.ts';
import { readConfig } from '../../src/config/config.ts';
import { runCycle } from '../../src/cycle.ts';
import { fiftyRules } from './rules.ts';

const [, , what, url, key] = process.argv as [string, string, string, string, string];
const CONCURRENCY = 4;
const ROUNDS = 9;
const STEP = 999; // pages overlap by one record

const dir = mkdtempSync(join(tmpdir(), 'trustward-bench-'));

/** An engine with a database and rules of its own: the pages are read for `all`, the unpaged list for `one`. */
async function engineOf(owners: 'one' | 'all') {
  const rules = join(dir, owners);
  mkdirSync(rules);
  fiftyRules(owners).forEach((text, index) => {
    writeFileSync(join(rules, `${index}.json`), text);
  });
  const env = {
    TRUSTWARD_API_URL: url,
    TRUSTWARD_API_KEY: key,
    TRUSTWARD_DB: join(dir, `${owners}.db`),
    TRUSTWARD_RULES: rules,
    TRUSTWARD_LOG_LEVEL: 'silent',
  };
  return composeEngine(readConfig(env));
}

type Composed = Awaited<ReturnType<typeof engineOf>>;

async function cycle({ engine }: Composed): Promise<{ ms: number; matches: number }> {
  const start = performance.now();
  const run = await runCycle(engine, {
    mode: 'dry-run',
    trigger: 'command',
    rules: undefined,
    waitForDoubts: false,
  });
  const ms = performance.now() - start;
  const record = await engine.store.run(run.id);
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

const paged = await engineOf('all');
if (what === 'peak') {
  await cycle(paged);
  await cycle(paged);
  process.stdout.write(`${JSON.stringify({ peakMiB: process.resourceUsage().maxRSS / 1024 })}\n`);
} else {
  await floor(); // fills the server's cache
  const firstRun = await cycle(paged);
  const unpaged = await engineOf('one');
  await cycle(unpaged);
  const rounds = [];
  for (let round = 0; round < ROUNDS; round += 1)
    rounds.push({ floor: await floor(), cycle: await cycle(paged), unpaged: await cycle(unpaged) });
  process.stdout.write(`${JSON.stringify({ firstRun, rounds })}\n`);
  await unpaged.close();
}
await paged.close();
await agent.close();
rmSync(dir, { recursive: true, force: true });
