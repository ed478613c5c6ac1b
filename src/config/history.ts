// Configuration: the history of what runs saw. In: a reader of names. Out: how long it is kept, ms; 0: nothing is recorded.
import type { ConfigReader } from './reader.ts';

const DAY_MS = 86_400_000;

export function readHistory(reader: ConfigReader): number {
  const keepMs = reader.duration('TRUSTWARD_HISTORY', '30d', '0d');
  if (keepMs > 0 && keepMs < DAY_MS)
    reader.fault(
      'TRUSTWARD_HISTORY',
      'TRUSTWARD_HISTORY is shorter than 1d: expected a duration such as 30d, or 0d for no history',
    );
  return keepMs;
}
