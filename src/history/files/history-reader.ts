// history files: the history as replays and people read it. In: a folder, the codec of runs. Out: runs in the order of recording, what held before the
// first of them, and each stretch that is not in the record, by name. Never: a silent omission, two pasts as one.
import type {
  FactChange,
  HistoryItem,
  HistoryQuery,
  HistoryReader,
  RecordedRuleSet,
} from '../../domain/recorded-history.ts';
import type { SubjectRef } from '../../domain/subjects.ts';
import type { HistoryRow } from '../rows.ts';
import type { HistoryFolder } from './history-folder.ts';
import { readItems } from './read-items.ts';
import { changesOfSubject, factsOfSubject } from './read-subject.ts';
import { type SegmentColumns, UnreadableSegment } from './segment-columns.ts';
import { rowsOf } from './segment-rows.ts';
import { Walk } from './walk.ts';

/** Nothing is read before it is asked for; a folder that is not there is an empty history. */
export function historyReader(history: HistoryFolder): HistoryReader {
  const { folder, address, newDecoder } = history;
  return {
    items: (query: HistoryQuery): AsyncIterable<HistoryItem> => readItems(history, query),
    span: async () => {
      const { segments } = new Walk(folder, address);
      if (segments.length === 0) return undefined;
      return {
        fromMs: Math.min(...segments.map(({ fromMs, toMs }) => Math.min(fromMs, toMs))),
        toMs: Math.max(...segments.map(({ fromMs, toMs }) => Math.max(fromMs, toMs))),
      };
    },
    factsAt: (subject: SubjectRef, atMs: number) => factsOfSubject(history, subject, atMs),
    changesOf: (
      subject: SubjectRef,
      fromMs: number,
      toMs: number,
    ): AsyncIterable<FactChange & { atMs: number; runSeq: number }> => changesOfSubject(history, subject, fromMs, toMs),
    ruleSet: async (hash: string): Promise<RecordedRuleSet | undefined> => {
      const walk = new Walk(folder, address);
      const newestFirst = [...walk.segments, ...walk.bases].sort((a, b) => b.last - a.last);
      for (const segment of newestFirst) {
        const rows = rulesIn(walk.open(segment), hash);
        const found = rows.length > 0 ? newDecoder({ factsOnly: false }).ruleSet(hash, rows) : undefined;
        if (found) return found;
      }
      return undefined;
    },
  };
}

/** The files of a rule set; none when they are not there, or cannot be read. */
function rulesIn(columns: SegmentColumns | UnreadableSegment, hash: string): HistoryRow[] {
  if (columns instanceof UnreadableSegment) return [];
  try {
    if (!columns.groups.some((group) => group.kind().dictionary.includes('rules'))) return [];
    return [...rowsOf(columns)].filter(
      ({ kind, subject, value }) => kind === 'rules' && subject === hash && value !== undefined,
    );
  } catch (error) {
    if (error instanceof UnreadableSegment) return [];
    throw error;
  }
}
