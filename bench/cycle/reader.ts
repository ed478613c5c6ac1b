// bench: one process that measures. argv: `turns` or `peak`, the form, the API's address, the number of rounds. The floor: the same
// records in pages, downloaded with undici and parsed with JSON.parse, as many at a time as the engine reads.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { runCycle } from '../../src/engine/cycle.ts';
import { composeEngine } from '../../src/runtime/compose/compose.ts';
import { readConfig } from '../../src/runtime/config/config.ts';
import { fiftyRules, GIVEN_SOURCE, givenRows, givenRules } from './rules.ts';

/** `given`: as `unpaged`, with a source of facts that has a row for each device, and five rules more that read it. */
type Form = 'paged' | 'unpaged' | 'given';
const [, , what, form, url, rounds, rows] = process.argv as [string, string, string, Form, string, string, string];
const CONCURRENCY = 4;
const PAGE = 1_000;
const STEP = PAGE - 1; // pages overlap by one record

const dir = mkdtempSync(join(tmpdir(), 'trustward-bench-'));
const rules = join(dir, 'rules');
mkdirSync(rules);
const texts = fiftyRules(form === 'paged' ? 'paged' : 'unpaged');
if (form === 'given') {
  texts.push(...givenRules());
  writeFileSync(join(rules, 'sources.yaml'), GIVEN_SOURCE);
  writeFileSync(join(dir, 'inventory.csv'), givenRows(Number(rows)));
}
texts.forEach((text, index) => {
  writeFileSync(join(rules, `${index}.json`), text);
});
const composed = await composeEngine(
  readConfig({
    TRUSTWARD_API_URL: url,
    TRUSTWARD_API_KEY: 'key',
    TRUSTWARD_DB: join(dir, 'trustward.db'),
    TRUSTWARD_RULES: rules,
    TRUSTWARD_LOG_LEVEL: 'silent',
    ...(form === 'given' && { TRUSTWARD_SOURCES: dir }),
  }),
);
await composed.given.readSettled(AbortSignal.timeout(60_000));

/** Wall time, and the processor time of all threads of this process. */
async function timed(work: () => Promise<void>): Promise<{ ms: number; cpuMs: number }> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  await work();
  const { user, system } = process.cpuUsage(cpu);
  return { ms: performance.now() - start, cpuMs: (user + system) / 1_000 };
}

let matches = 0;
async function cycle(): Promise<void> {
  const { engine } = composed;
  const run = await runCycle(engine, { mode: 'dry-run', trigger: 'command', rules: undefined, waitForDoubts: false });
  const record = await engine.store.run(run.id);
  const tallies = record?.findings?.tallies ?? [];
  matches = tallies.reduce((sum, tally) => sum + tally.match, 0);
  const isDeaf = (tally: (typeof tallies)[number]) => tally.rule.startsWith('bench-given') && tally.unknown > 0;
  if (tallies.some(isDeaf)) throw new Error('the source of facts was not read: this bench measures nothing');
}

const agent = new Agent({ connections: CONCURRENCY });
async function page(list: string, skip: number): Promise<number> {
  const address = `${url}/api/v1/${list}?Skip=${skip}&Limit=${PAGE}`;
  const { body } = await request(address, { dispatcher: agent, headers: { authorization: 'Bearer key' } });
  return (JSON.parse(await body.text()) as { count: number }).count;
}

async function readAll(list: string): Promise<void> {
  const count = await page(list, 0);
  let next = STEP;
  const worker = async () => {
    while (next < count) {
      const skip = next;
      next += STEP;
      await page(list, skip);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

async function floor(): Promise<void> {
  if (form !== 'paged') await readAll('endusers');
  await readAll('devices');
}

if (what === 'peak') {
  await cycle();
  await cycle();
  process.stdout.write(`${JSON.stringify({ peakMiB: process.resourceUsage().maxRSS / 1024 })}\n`);
} else {
  await floor(); // fills the server's cache
  await floor();
  const firstRun = await timed(cycle);
  await cycle(); // warm
  const turns = [];
  for (let round = 0; round < Number(rounds); round += 1)
    turns.push({ floor: await timed(floor), run: await timed(cycle) });
  process.stdout.write(`${JSON.stringify({ firstRun, turns, matches })}\n`);
}
await composed.close();
await agent.close();
rmSync(dir, { recursive: true, force: true });
