// commands: the stretch of recorded time that `replay` and `rules diff` are asked for. In: options. Out: times, checked.
import { parseDuration } from '../domain/duration.ts';
import { AppError } from '../domain/errors.ts';
import { givenTime } from '../domain/given-time.ts';
import type { ReplayAsked } from '../domain/replayer.ts';
import type { CommonOptions } from './io.ts';

export interface ReplayedTimeOptions extends CommonOptions {
  since: string;
  until?: string;
  every?: string;
}

const EVERY_MAX_MS = 366 * 86_400_000;

/** Errors: AppError `usage`. */
export function replayedTime({ since, until, every }: ReplayedTimeOptions, nowMs: number): Omit<ReplayAsked, 'rules'> {
  const fromMs = givenTime(since, '--since', nowMs, 'before');
  const toMs = until === undefined ? nowMs : givenTime(until, '--until', nowMs, 'before');
  if (fromMs >= nowMs) throw new AppError('usage', `--since \`${since}\`: expected a time in the past`);
  if (toMs <= fromMs) throw new AppError('usage', `--until \`${until}\`: expected a time after --since \`${since}\``);
  return { fromMs, toMs, everyMs: everyOf(every) };
}

function everyOf(every: string | undefined): number | undefined {
  if (every === undefined) return undefined;
  const ms = parseDuration(every);
  if (ms === undefined || ms < 1 || ms > EVERY_MAX_MS)
    throw new AppError('usage', `--every \`${every}\`: expected a duration such as 1h, at most 366d`);
  return ms;
}
