// Configuration: the history of what runs saw. In: a reader of names. Out: how long it is kept, and what is recorded although no active rule
// reads it.
import { isSource, SOURCES, type Source } from '../domain/subjects.ts';
import type { ConfigReader } from './reader.ts';

export interface HistorySettings {
  /** How long the history is kept, ms; 0: nothing is recorded. */
  historyMs: number;
  /** Lists, and the event log, that runs read for the history alone. */
  recordedLists: ReadonlySet<Source>;
}

const DAY_MS = 86_400_000;

export function readHistory(reader: ConfigReader): HistorySettings {
  const historyMs = reader.duration('TRUSTWARD_HISTORY', '30d', '0d');
  if (historyMs > 0 && historyMs < DAY_MS)
    reader.fault(
      'TRUSTWARD_HISTORY',
      'TRUSTWARD_HISTORY is shorter than 1d: expected a duration such as 30d, or 0d for no history',
    );
  const named = (reader.text('TRUSTWARD_RECORD') ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  for (const name of named)
    if (!isSource(name))
      reader.fault('TRUSTWARD_RECORD', `TRUSTWARD_RECORD names \`${name}\`: expected some of ${SOURCES.join(', ')}`);
  if (named.length > 0 && historyMs === 0)
    reader.fault(
      'TRUSTWARD_RECORD',
      'TRUSTWARD_RECORD is set, and TRUSTWARD_HISTORY is 0d, so nothing is recorded: unset one of them',
    );
  return { historyMs, recordedLists: new Set(named.filter(isSource)) };
}
