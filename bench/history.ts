// bench: the history. Recording 100,000 devices of which 3 % change in a run, in three facts each, as a part of the floor of a run (the same
// records downloaded in pages and parsed with JSON.parse), by turns in one process; the size of a month; replaying it (bench/history/replaying.ts).
// Usage: npm run bench -- history.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { createInterface } from 'node:readline';
import { isShort, report } from './figures.ts';
import { benchReplaying } from './history/replaying.ts';

const devices = Number(process.argv.slice(2).find((arg) => /^\d+$/.test(arg)) ?? (isShort ? 10_000 : 100_000));
/** Even: the plain and the recorded run take turns at going first, which costs the second one more or less. */
const rounds = isShort ? 4 : 10;
/** A month with a run every five minutes. */
const RUNS = 30 * 24 * 12;
const FACTS_PER_CHANGE = 3;

interface Timed {
  ms: number;
  cpuMs: number;
}

interface Measured {
  firstPlain: Timed;
  first: Timed;
  turns: { floor: Timed; plain: Timed; recorded: Timed; rest: Timed }[];
  baseBytes: number;
  sizes: number[];
  peakMiB: number;
  fault: string | undefined;
}

function start(file: string, ...args: (string | number)[]): ChildProcess {
  const path = new URL(file, import.meta.url).pathname;
  const flags = ['--import', 'tsx', path, ...args.map(String)];
  return spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
}

async function firstLine(child: ChildProcess): Promise<string> {
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [line] = (await once(lines, 'line')) as [string];
  return line;
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;
const load = () => (loadavg()[0] as number).toFixed(1);

const server = start('./cycle/server.ts', devices, Math.ceil(devices / 10), 1_000);
const [, url] = (await firstLine(server)).split(' ') as [string, string];
const before = load();
const measured = JSON.parse(await firstLine(start('./history/recording.ts', 'paged', url, rounds))) as Measured;
server.disconnect();
const { turns, sizes, baseBytes, peakMiB, first, firstPlain, fault } = measured;
if (fault) throw new Error(fault);
const floors = { ms: median(turns.map(({ floor }) => floor.ms)), cpuMs: median(turns.map(({ floor }) => floor.cpuMs)) };
const added = (of: keyof Timed) => {
  const each = turns.map(
    ({ floor, plain, recorded, rest }) => (recorded[of] + (of === 'cpuMs' ? rest.cpuMs : 0) - plain[of]) / floor[of],
  );
  // Each of a pair of turns went first in another order: their mean has neither order's advantage.
  return median(each.flatMap((value, at) => (at % 2 === 0 ? [] : [((each[at - 1] as number) + value) / 2])));
};
process.stdout.write(
  `${devices} devices, 3 % changed a run, load ${before} to ${load()}: floor ${floors.ms.toFixed(0)} ms (${floors.cpuMs.toFixed(0)} ms of processor time), first run ${firstPlain.ms.toFixed(0)} and ${first.ms.toFixed(0)} ms\n`,
);
const bench = 'history';
report({
  bench,
  what: 'recording a run ÷ floor, processor time of all threads',
  value: added('cpuMs'),
  unit: '×',
  atMost: 0.25,
});
report({ bench, what: 'recording a run ÷ floor, what the run waits', value: added('ms'), unit: '×', atMost: 0.25 });
const steps = sizes.slice(1).map((size, at) => size - (sizes[at] as number));
const perRun = median(steps);
report({
  bench,
  what: 'bytes of one changed fact, before anything is merged',
  value: perRun / (devices * 0.03 * FACTS_PER_CHANGE),
  unit: 'B',
});
report({
  bench,
  what: 'a month of a run every five minutes, before anything is merged',
  value: (perRun * RUNS + 30 * baseBytes) / 1e9,
  unit: 'GB',
  atMost: 2,
});
report({ bench, what: 'peak memory of the process that records', value: (peakMiB * 2 ** 20) / 1e6, unit: 'MB' });
benchReplaying();
