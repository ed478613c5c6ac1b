// bench: what a bench measured, beside its goal. In: figures. Out: a line of text each, and a line of JSON each for the table of all
// benches (`bench/all.ts`) when it asks for them by TRUSTWARD_BENCH_FIGURES.
import { appendFileSync } from 'node:fs';

/** A figure meets its goal when it is at most, or at least, the goal. Without a goal it is for information. */
export interface Figure {
  bench: string;
  what: string;
  value: number;
  /** Such as `×`, `ms`, `s`, `MiB`, `KB`, `/min`. */
  unit: string;
  atMost?: number;
  atLeast?: number;
}

/** With `--short` a bench takes at most 20 seconds: a smaller size, fewer rounds, the same ratios. */
export const isShort = process.argv.includes('--short');

/** How far a figure is beyond its goal: 1 is the goal itself, 2 is twice as much (or half as much) as it should be. */
export function beyond({ value, atMost, atLeast }: Figure): number {
  if (atMost !== undefined) return value / atMost;
  return atLeast === undefined ? 0 : atLeast / value;
}

export function lineOf(figure: Figure): string {
  const { what, value, unit, atMost, atLeast } = figure;
  const goal = atMost !== undefined ? `≤ ${rounded(atMost)}` : atLeast !== undefined ? `≥ ${rounded(atLeast)}` : '';
  const missed = beyond(figure) > 1 ? '  MISSED' : '';
  return `${what.padEnd(66)} ${value.toFixed(value < 100 ? 2 : 0).padStart(9)} ${unit.padEnd(5)} ${goal}${missed}`.trimEnd();
}

function rounded(goal: number): number {
  return Number(goal.toFixed(2));
}

export function report(figure: Figure): void {
  process.stdout.write(`${lineOf(figure)}\n`);
  const file = process.env.TRUSTWARD_BENCH_FIGURES;
  if (file) appendFileSync(file, `${JSON.stringify(figure)}\n`);
}
