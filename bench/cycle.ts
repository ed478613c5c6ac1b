// bench: a whole dry run over 100,000 devices and 50 rules, as a ratio to its floor (the same pages downloaded with undici
// and parsed with JSON.parse, in the same process and run), and the peak memory of a process that does nothing else.
// Usage: npm run bench:cycle [-- DEVICES]. Reach: at most 3; design, section 8: at most 2, aims at 1.5.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

const devices = Number(process.argv[2] ?? 100_000);
const tsx = ['--import', 'tsx'];

function start(file: string, ...args: string[]): ChildProcess {
  const path = new URL(file, import.meta.url).pathname;
  return spawn(process.execPath, [...tsx, path, ...args], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
}

async function firstLine(child: ChildProcess): Promise<string> {
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [line] = (await once(lines, 'line')) as [string];
  return line;
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}

interface Measured {
  firstRun: { ms: number; matches: number };
  rounds: { floor: { ms: number; devices: number }; cycle: { ms: number; matches: number } }[];
}

const server = start('./cycle/server.ts', String(devices));
const [, url, key] = (await firstLine(server)).split(' ') as [string, string, string];
const measured = JSON.parse(await firstLine(start('./cycle/reader.ts', 'floor-and-cycle', url, key))) as Measured;
const { peakMiB } = JSON.parse(await firstLine(start('./cycle/reader.ts', 'peak', url, key))) as { peakMiB: number };
server.disconnect();

const floorMs = median(measured.rounds.map((round) => round.floor.ms));
const cycleMs = median(measured.rounds.map((round) => round.cycle.ms));
const out = (text: string) => process.stdout.write(`${text}\n`);
out(`devices ${devices}, rules 50, matches a run ${measured.rounds[0]?.cycle.matches}`);
out(
  `floor   ${floorMs.toFixed(0)} ms (median of ${measured.rounds.length}; undici download and JSON.parse of the same pages)`,
);
out(`cycle   ${cycleMs.toFixed(0)} ms (median of ${measured.rounds.length}; a whole dry run, store included)`);
out(`first   ${measured.firstRun.ms.toFixed(0)} ms (the first run, which writes every decision)`);
out(`ratio   ${(cycleMs / floorMs).toFixed(2)}   first run ${(measured.firstRun.ms / floorMs).toFixed(2)}`);
out(`peak    ${peakMiB.toFixed(0)} MiB resident, two runs in a process of their own`);
