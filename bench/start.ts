// bench: how long a short command takes, compared with an empty program of Node. In: the build (`npm run bench:start` makes it),
// and a database with one dry run. Out: medians, and their ratios to `node -e 0`. The aims: 2.5 without a database, 4 with one.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';

const ROUNDS = Number(process.argv[2] ?? 21);
const MAIN = new URL('../dist/main.js', import.meta.url).pathname;
const STARTS: Record<string, { args: string[]; most?: number }> = {
  'node -e 0': { args: ['-e', '0'] },
  '--version': { args: [MAIN, '--version'], most: 2.5 },
  '--help': { args: [MAIN, '--help'], most: 2.5 },
  report: { args: [MAIN, 'report'], most: 4 },
  'report --format json': { args: [MAIN, 'report', '--format', 'json'], most: 4 },
  decisions: { args: [MAIN, 'decisions'], most: 4 },
  'rules check': { args: [MAIN, 'rules', 'check'] },
};

if (!existsSync(MAIN)) throw new Error('build first: npm run build');
const folder = mkdtempSync(join(tmpdir(), 'bench-start-'));
const env = { ...process.env, TRUSTWARD_DB: join(folder, 'trustward.db') };
try {
  start([MAIN, 'run', '--mode', 'dry-run']);
  const took: Record<string, number[]> = {};
  // By turns, so that what else the machine does falls on all of them alike.
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, { args }] of Object.entries(STARTS)) {
      took[name] ??= [];
      took[name].push(start(args));
    }
  const floor = median(took['node -e 0'] ?? []);
  for (const [name, { most }] of Object.entries(STARTS)) {
    const ms = median(took[name] ?? []);
    const aim = most === undefined ? '' : `  (aim: at most ${most})`;
    process.stdout.write(`${name.padEnd(22)} ${ms.toFixed(1).padStart(7)} ms  ${(ms / floor).toFixed(2)} ×${aim}\n`);
  }
  process.stdout.write(`load of the machine: ${loadavg()[0]?.toFixed(1)}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function start(args: string[]): number {
  const from = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const ms = performance.now() - from;
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`);
  return ms;
}

function median(times: number[]): number {
  return [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
}
