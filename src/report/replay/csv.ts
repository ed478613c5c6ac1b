// report: what a replay did, as CSV, one row for each action and undo. In: a replay as a document. Out: pieces. The names of columns are
// stable: new ones are added at the end.
import { type CsvColumns, csvPieces } from '../csv.ts';
import type { ReplayActView, ReplayDocument } from './document.ts';

const COLUMNS: CsvColumns<ReplayActView> = {
  at: ({ at }) => at,
  run: ({ run }) => run,
  rule: ({ rule }) => rule,
  subject_kind: ({ subject }) => subject.kind,
  subject_id: ({ subject }) => subject.id,
  subject_name: ({ subject }) => subject.name,
  owners: ({ subject }) => subject.owners?.join('; ') ?? null,
  action: ({ action }) => action,
  target: ({ target }) => target,
  undo: ({ undo }) => (undo ? 'yes' : 'no'),
  lasted_seconds: ({ lastedMs }) => (lastedMs === null ? null : Math.round(lastedMs / 1_000)),
  over: ({ undo, isOver }) => (undo ? null : isOver ? 'yes' : 'no'),
  person_did_at: ({ personDidAt }) => personDidAt,
  person_undid_at: ({ personUndidAt }) => personUndidAt,
};

export function replayCsv({ acts }: Pick<ReplayDocument, 'acts'>): string {
  return [...csvPieces(COLUMNS, acts)].join('');
}
