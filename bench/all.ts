// bench: every bench with a goal, one after the other, in one table. Usage: npm run bench [-- NAME…] [--check] [--short]
// `--check` exits 1 when a goal is missed; with `--short` (smaller sizes, for CI) when one is missed by a factor of two.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { beyond, type Figure, isShort, lineOf } from './figures.ts';

/** By name: the file. `short`: it has a short form. */
const BENCHES: { name: string; file: string; short: boolean }[] = [
  { name: 'cycle', file: './cycle.ts', short: true },
  { name: 'cold', file: './cold.ts', short: true },
  { name: 'fleet', file: './fleet.ts', short: true },
  { name: 'rules', file: './rules.ts', short: true },
  { name: 'events', file: './events.ts', short: true },
  { name: 'contain', file: './contain.ts', short: true },
  { name: 'act', file: './act.ts', short: true },
  { name: 'deaf', file: './deaf.ts', short: true },
  { name: 'metrics', file: './metrics.ts', short: true },
  { name: 'load', file: './load.ts', short: true },
  { name: 'history', file: './history.ts', short: true },
  { name: 'year', file: './year.ts', short: true },
  { name: 'backup', file: './backup.ts', short: true },
  { name: 'poison', file: './poison.ts', short: true },
  { name: 'scale', file: './scale.ts', short: false },
];

const given = process.argv.slice(2).filter((arg) => !arg.startsWith('--'));
/** Of one bench, such as `contain --signals`. */
const others = process.argv.slice(2).filter((arg) => arg.startsWith('--') && !['--short', '--check'].includes(arg));
const names = given.filter((arg) => !/^\d/.test(arg));
/** Of a bench that takes sizes, such as `scale 300 30`. */
const sizes = given.filter((arg) => /^\d/.test(arg));
const isChecked = process.argv.includes('--check');
const chosen = BENCHES.filter(({ name, short }) => (names.length === 0 || names.includes(name)) && (short || !isShort));
const folder = mkdtempSync(join(tmpdir(), 'trustward-bench-'));
const failed: string[] = [];
const figures: Figure[] = [];
for (const { name, file } of chosen) {
  const collected = join(folder, name);
  const path = new URL(file, import.meta.url).pathname;
  const flags = ['--expose-gc', '--import', 'tsx', path, ...sizes, ...others, ...(isShort ? ['--short'] : [])];
  const env = { ...process.env, TRUSTWARD_BENCH_FIGURES: collected };
  process.stderr.write(`${name}: load ${loadavg()[0]?.toFixed(1)}\n`);
  const { status } = spawnSync(process.execPath, flags, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) failed.push(name);
  figures.push(...figuresIn(collected));
}
rmSync(folder, { recursive: true });

let last = '';
for (const figure of figures) {
  if (figure.bench !== last) process.stdout.write(`\n${figure.bench}\n`);
  last = figure.bench;
  process.stdout.write(`  ${lineOf(figure)}\n`);
}
const tolerance = isShort ? 2 : 1;
const missed = figures.filter((figure) => beyond(figure) > tolerance);
const counted = `${figures.length} figures, ${missed.length} beyond ${isShort ? 'twice their goal' : 'their goal'}`;
process.stdout.write(`\n${counted}${failed.length > 0 ? `; failed: ${failed.join(', ')}` : ''}\n`);
process.exitCode = isChecked && missed.length + failed.length > 0 ? 1 : 0;

function figuresIn(file: string): Figure[] {
  try {
    const lines = readFileSync(file, 'utf8').trim().split('\n');
    return lines.map((line) => JSON.parse(line) as Figure);
  } catch {
    return []; // it ended before its first figure
  }
}
