// bench: a whole dry run of 50 rules, five with joins and five with events, as a ratio to its floor (the same records downloaded in pages
// with undici and parsed with JSON.parse), by turns in one warm process; and the peak memory of a process that does nothing else.
// Usage: npm run bench:cycle [-- DEVICES]. Goals: 1.5, for the first run of a database 2.5; 400 MB at a million devices.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { createInterface } from 'node:readline';
import { isShort, report } from './figures.ts';

const devices = Number(process.argv.slice(2).find((arg) => /^\d+$/.test(arg)) ?? (isShort ? 10_000 : 100_000));
const users = Math.ceil(devices / 10);
const EVENTS = isShort ? 1_000 : 10_000;
const rounds = isShort || devices > 200_000 ? 3 : 9;

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

const at = (values: number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.round((values.length - 1) * part)] as number;
const median = (values: number[]): number => at(values, 0.5);

interface Timed {
  ms: number;
  cpuMs: number;
}

interface Measured {
  firstRun: Timed;
  turns: { floor: Timed; run: Timed }[];
  matches: number;
}

const out = (text: string) => process.stdout.write(`${text}\n`);
const load = () => (loadavg()[0] as number).toFixed(1);

/** Returns the ratio of a run to its floor. */
async function measure(form: 'paged' | 'unpaged' | 'given', url: string): Promise<number> {
  const before = load();
  const reader = start('./cycle/reader.ts', 'turns', form, url, rounds, devices);
  const { firstRun, turns, matches } = JSON.parse(await firstLine(reader)) as Measured;
  const floorMs = median(turns.map(({ floor }) => floor.ms));
  const ratios = (of: keyof Timed) => turns.map(({ floor, run }) => run[of] / floor[of]);
  const times = (of: keyof Timed) => `${median(turns.map(({ run }) => run[of])).toFixed(0)}`;
  const quartiles = `${at(ratios('ms'), 0.25).toFixed(2)} to ${at(ratios('ms'), 0.75).toFixed(2)}`;
  const name = NAMES[form];
  out(`${devices} devices, 50 rules, ${name}: ${matches} matches a run, load ${before} to ${load()}`);
  out(
    `floor ${floorMs.toFixed(0)} ms, run ${times('ms')} ms (quartiles of the ratio ${quartiles}), first run ${firstRun.ms.toFixed(0)} ms`,
  );
  const goal = form === 'unpaged' ? { atMost: 1.5 } : {};
  report({ bench: 'cycle', what: `whole run ÷ floor, ${name}`, value: median(ratios('ms')), unit: '×', ...goal });
  report({
    bench: 'cycle',
    what: 'the same in processor time of all threads',
    value: median(ratios('cpuMs')),
    unit: '×',
  });
  if (form === 'unpaged')
    report({
      bench: 'cycle',
      what: 'first run of a database ÷ floor',
      value: firstRun.ms / floorMs,
      unit: '×',
      atMost: 2.5,
    });
  return median(ratios('ms'));
}

const NAMES = {
  unpaged: 'five joins, five events',
  paged: 'five events, over pages',
  given: 'and five that read a source of as many rows',
};
const server = start('./cycle/server.ts', devices, users, EVENTS);
const [, url] = (await firstLine(server)).split(' ') as [string, string];
const alone = await measure('unpaged', url);
const joined = await measure('given', url);
const more = { bench: 'cycle', what: 'what a source of as many rows adds to a run ÷ floor', unit: '×' } as const;
report({ ...more, value: Math.max(0, joined - alone), atMost: 0.3 });
if (devices <= 200_000) await measure('paged', url);
async function peakMb(form: 'unpaged' | 'given'): Promise<number> {
  const { peakMiB } = JSON.parse(await firstLine(start('./cycle/reader.ts', 'peak', form, url, 0, devices)));
  return (peakMiB * 2 ** 20) / 1e6;
}
const peak = await peakMb('unpaged');
const what = `peak memory, ${devices.toLocaleString('en')} devices`;
report({ bench: 'cycle', what, value: peak, unit: 'MB', atMost: 400 });
const added = (await peakMb('given')) - peak;
report({ bench: 'cycle', what: 'what the source adds to it', value: Math.max(0, added), unit: 'MB', atMost: 60 });
server.disconnect();
