// history: recorded time as evidence sees it: a what-if of all rules together, each in mode enforce, with how many subjects there were. In: the
// history, rules, a stretch of time. Out: what the replay found. Nothing is sent or kept.
import type { HistoryReader } from '../../domain/recorded-history.ts';
import type { LoadedRule } from '../../evaluate/index.ts';
import { type WhatIfOptions, whatIf } from '../replay/what-if.ts';
import { countingReader } from './counting-reader.ts';
import type { ReplayedTime } from './gather.ts';

/** Undefined: nothing is recorded. Errors: as whatIf. */
export async function replayTime(
  reader: HistoryReader,
  rules: readonly LoadedRule[],
  options: WhatIfOptions,
): Promise<ReplayedTime | undefined> {
  if ((await reader.span()) === undefined) return undefined;
  const { reader: counting, subjects } = countingReader(reader);
  const replay = await whatIf(counting, rules, options);
  return { replay, subjects };
}
