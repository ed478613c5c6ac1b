// bench: a whole dry run over 100,000 devices and 50 rules, as a ratio to its floor (the same pages downloaded with undici
// and parsed with JSON.parse, in the same process and run), and the peak memory of a process that does nothing else.
// Usage: npm run bench:cycle [-- DEVICES]. Reach: at most 3; design, section 8: at most 2, aims at 1.5.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
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

const ordered = (values: number[]): number[] => values.toSorted((a, b) => a - b);
const at = (values: number[], part: number): number =>
  ordered(values)[Math.round((values.length - 1) * part)] as number;
const median = (values: number[]): number => at(values, 0.5);
const quartiles = (values: number[]): string =>
  `${median(values).toFixed(2)} (${at(values, 0.25).toFixed(2)} to ${at(values, 0.75).toFixed(2)})`;

interface Timed {
  ms: number;
  matches: number;
}

interface Measured {
  firstRun: Timed;
  rounds: { floor: { ms: number; devices: number }; cycle: Timed; unpaged: Timed }[];
}

const loadBefore = loadavg()[0] as number;
const server = start('./cycle/server.ts', String(devices));
const [, url, key] = (await firstLine(server)).split(' ') as [string, string, string];
const { firstRun, rounds } = JSON.parse(
  await firstLine(start('./cycle/reader.ts', 'floor-and-cycle', url, key)),
) as Measured;
const { peakMiB } = JSON.parse(await firstLine(start('./cycle/reader.ts', 'peak', url, key))) as { peakMiB: number };
server.disconnect();

const floorMs = median(rounds.map(({ floor }) => floor.ms));
const msOf = (what: 'floor' | 'cycle' | 'unpaged') => median(rounds.map((round) => round[what].ms)).toFixed(0);
// Within a round both meet the same neighbours.
const ratioOf = (what: 'cycle' | 'unpaged') => quartiles(rounds.map((round) => round[what].ms / round.floor.ms));
const out = (text: string) => process.stdout.write(`${text}\n`);
out(`devices ${devices}, rules 50, matches a run ${rounds[0]?.cycle.matches}, rounds ${rounds.length}`);
out(`floor   ${msOf('floor')} ms (undici download and JSON.parse of the same pages)`);
out(`cycle   ${msOf('cycle')} ms (a whole dry run, store included)`);
out(`unpaged ${msOf('unpaged')} ms (the same over the unpaged list, which rules with \`owners: one\` ask for)`);
out(`first   ${firstRun.ms.toFixed(0)} ms (the first run, which writes every decision)`);
out(`ratio   ${ratioOf('cycle')}   unpaged ${ratioOf('unpaged')}   first run ${(firstRun.ms / floorMs).toFixed(2)}`);
out(`peak    ${peakMiB.toFixed(0)} MiB resident, two runs in a process of their own`);
out(`load    ${loadBefore.toFixed(1)} to ${(loadavg()[0] as number).toFixed(1)}`);
