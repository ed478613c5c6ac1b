// bench: replaying a month of 100,000 devices, a run every five minutes, 3 % of them changed in each: one rule, 50 rules, as it was and what if. In:
// nothing, or DEVICES and DAYS. Out: figures; each replay runs in a process of its own. A shorter stretch is scaled to 30 days, less the reading
// of the first state, which is counted once. Alone: node --expose-gc --import tsx bench/history/replaying.ts [--short] [DEVICES DAYS].
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { isShort, report } from '../figures.ts';
import { writeMonth } from './month.ts';

interface Once {
  runs: number;
  acts: number;
  differences: number;
  wallS: number;
  cpuS: number;
  peakMb: number;
}

const BENCH = 'history';
const MONTH_DAYS = 30;

export function benchReplaying(devices = isShort ? 2_000 : 100_000, days = isShort ? 1 : MONTH_DAYS): void {
  const folder = mkdtempSync(join(tmpdir(), 'trustward-month-'));
  try {
    const changes = writeMonth(folder, { devices, days, changed: 0.03 });
    const scale = (MONTH_DAYS * 100_000) / (days * devices);
    const what = `${devices} devices, ${days} days, ${changes} changes, load ${loadavg()[0]?.toFixed(1)}`;
    process.stdout.write(`${what}; seconds are scaled to 30 days of 100,000 devices, by ${scale.toFixed(1)}\n`);
    const one = replayed(folder, 'as_was', 1);
    const fifty = replayed(folder, 'as_was', 50);
    const other = replayed(folder, 'what_if', 1);
    // The start of a process, scaled, is no measure of a month.
    const figure = (text: string, value: number, unit: string, atMost?: number) =>
      report({
        bench: BENCH,
        what: text,
        value,
        unit,
        ...(atMost !== undefined && !(isShort && unit === 's') && { atMost }),
      });
    figure('replay as it was, 30 days, one rule', one.wallS * scale, 's', 60);
    figure('  by processor time', one.cpuS * scale, 's');
    figure('replay as it was, 50 rules, to one rule, by processor time', fifty.cpuS / one.cpuS, '×', 3);
    figure('replay what if, 30 days, one rule', other.wallS * scale, 's', 60);
    figure('  its acts', other.acts, 'acts');
    figure('memory at most, one rule, as it was', one.peakMb, 'MiB', 500);
    figure('memory at most, 50 rules, as it was', fifty.peakMb, 'MiB', 500);
    figure('memory at most, one rule, what if', other.peakMb, 'MiB', 500);
    figure('differences', one.differences + fifty.differences, '', 0);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function replayed(folder: string, way: string, rules: number): Once {
  const script = new URL('./replay-once.ts', import.meta.url).pathname;
  const args = ['--import', 'tsx', script, folder, way, String(rules)];
  const { status, stdout } = spawnSync(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  if (status !== 0) throw new Error(`a replay (${way}, ${rules} rules) failed`);
  const found = JSON.parse(stdout.toString()) as Once;
  process.stdout.write(`  ${way}, ${rules} rules: ${JSON.stringify(found)}\n`);
  return found;
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const [devices, days] = process.argv.slice(2).filter((arg) => !arg.startsWith('--'));
  benchReplaying(devices ? Number(devices) : undefined, days ? Number(days) : undefined);
}
