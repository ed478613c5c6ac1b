// bench: what a page of 1,000 devices costs, wherever it lies in a fleet of a million (or as many as the first argument says).
// In: a seeded console on loopback. Out: medians, and the ratio of the last page to the first. The aim is at most 3.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startConsole } from '../src/console/console.ts';
import type { Clock, Log } from '../src/domain/ports.ts';

const PAGE = 1_000;
const ROUNDS = 15;
const START_MS = Date.UTC(2026, 0, 15);

const clock: Clock = {
  nowMs: () => START_MS + performance.now(),
  monotonicMs: () => performance.now(),
  sleep: () => Promise.resolve(),
};
const silent = (): void => undefined;
const log: Log = { debug: silent, info: silent, warn: silent, error: silent };

const devices = Number(process.argv[2] ?? 1_000_000);
const folder = mkdtempSync(join(tmpdir(), 'console-pages-'));
try {
  const startedMs = performance.now();
  const server = await startConsole({
    listen: { host: '127.0.0.1', port: 0 },
    dbFile: join(folder, 'console.db'),
    seed: { seed: 1, devices, events: 0 },
    clock,
    log,
  });
  say(`${devices} devices seeded in ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`);
  const headers = { Authorization: `Bearer ${server.issueApiKey('bench', 'ReadOnly')}` };
  const page = async (skip: number): Promise<number> => {
    const from = performance.now();
    const response = await fetch(`${server.address}/api/v1/devices?skip=${skip}&limit=${PAGE}`, { headers });
    await response.arrayBuffer();
    return performance.now() - from;
  };
  const places = { first: 0, quarter: devices / 4, middle: devices / 2, last: devices - PAGE };
  const took: Record<string, number[]> = {};
  // By turns, so that what else the machine does falls on all of them alike.
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, skip] of Object.entries(places)) {
      took[name] ??= [];
      took[name].push(await page(Math.floor(skip)));
    }
  }
  for (const [name, times] of Object.entries(took)) say(`${name.padEnd(8)} ${median(times).toFixed(2)} ms`);
  const ratio = median(took.last ?? []) / median(took.first ?? []);
  say(`last page / first page: ${ratio.toFixed(2)} (aim: at most 3)`);
  await server.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function median(times: number[]): number {
  return [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
