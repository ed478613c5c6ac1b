// bench: one process that measures recording. argv: the form, the API's address, the number of rounds. In each round 3 % of the devices change;
// then the floor, a run without a history and one with it, each first in every other round, over the same records. Prints JSON: times, and what the segments hold.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { runCycle } from '../../src/engine/cycle.ts';
import { composeEngine } from '../../src/runtime/compose/compose.ts';
import { readConfig } from '../../src/runtime/config/config.ts';
import { fiftyRules } from '../cycle/rules.ts';

const [, , form, url, rounds] = process.argv as [string, string, 'paged' | 'unpaged', string, string];
const CONCURRENCY = 4;
const PAGE = 1_000;

const dir = mkdtempSync(join(tmpdir(), 'trustward-bench-'));
const rules = join(dir, 'rules');
mkdirSync(rules);
fiftyRules(form).forEach((text, index) => {
  writeFileSync(join(rules, `${index}.json`), text);
});

const compose = (name: string, history: string) =>
  composeEngine(
    readConfig({
      TRUSTWARD_API_URL: url,
      TRUSTWARD_API_KEY: 'key',
      TRUSTWARD_DB: join(dir, `${name}.db`),
      TRUSTWARD_RULES: rules,
      TRUSTWARD_LOG_LEVEL: 'silent',
      TRUSTWARD_HISTORY: history,
    }),
  );
const [plain, recorded] = [await compose('plain', '0d'), await compose('recorded', '30d')];

/** Wall time, and the processor time of all threads of this process. */
async function timed(work: () => Promise<void>): Promise<{ ms: number; cpuMs: number }> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  await work();
  const { user, system } = process.cpuUsage(cpu);
  return { ms: performance.now() - start, cpuMs: (user + system) / 1_000 };
}

async function cycle({ engine }: typeof plain): Promise<void> {
  await runCycle(engine, { mode: 'dry-run', trigger: 'command', rules: undefined, waitForDoubts: false });
}

const agent = new Agent({ connections: CONCURRENCY });
async function page(list: string, skip: number): Promise<number> {
  const address = `${url}/api/v1/${list}?Skip=${skip}&Limit=${PAGE}`;
  const { body } = await request(address, { dispatcher: agent, headers: { authorization: 'Bearer key' } });
  return (JSON.parse(await body.text()) as { count: number }).count;
}

async function readAll(list: string): Promise<void> {
  const count = await page(list, 0);
  let next = PAGE - 1;
  const worker = async () => {
    while (next < count) {
      const skip = next;
      next += PAGE - 1;
      await page(list, skip);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

/** The engine reads the other form of the list in the unpaged case. */
async function floor(): Promise<void> {
  if (form === 'unpaged') await readAll('endusers');
  await readAll('devices');
}

const folder = `${join(dir, 'recorded.db')}.history`;
const bytesNow = () => filesBelow(folder).reduce((sum, file) => sum + statSync(file).size, 0);
function filesBelow(at: string): string[] {
  return readdirSync(at, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() && entry.name !== 'standing' ? [join(entry.parentPath, entry.name)] : [],
  );
}

const turns = [];
/** What each turn added before anything is merged. */
const sizes: number[] = [];
const firstPlain = await timed(() => cycle(plain));
const first = await timed(async () => {
  await cycle(recorded);
  await recorded.engine.history?.settled();
});
const baseBytes = bytesNow();
for (let round = 0; round <= Number(rounds); round += 1) {
  await (await request(`${url}/turn`, { dispatcher: agent })).body.dump();
  await floor(); // fills the server's cache
  const least = await timed(floor);
  // What the one leaves for the collector is on the bill of the other: they go first by turns.
  const before = round % 2 === 0 ? await timed(() => cycle(plain)) : undefined;
  const recording = await timed(() => cycle(recorded));
  const rest = await timed(async () => recorded.engine.history?.settled());
  const without = before ?? (await timed(() => cycle(plain)));
  // In the first round all records are new to the threads that read them.
  if (round > 0) turns.push({ floor: least, plain: without, recorded: recording, rest });
  sizes.push(bytesNow());
}
const peakMiB = process.resourceUsage().maxRSS / 1024;
const fault = recorded.engine.history?.fault;
process.stdout.write(`${JSON.stringify({ firstPlain, first, turns, baseBytes, sizes, peakMiB, fault })}\n`);
await plain.close();
await recorded.close();
await agent.close();
rmSync(dir, { recursive: true, force: true });
