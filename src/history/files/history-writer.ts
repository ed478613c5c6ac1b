// history files: what the one writer of a history does: one segment for each run, and a base when it knows what holds and the files do not. In: rows.
// Out: segments, each whole or not there. INVARIANT: one process writes, the one that holds the writer lock of the database.
import { AppError } from '../../domain/errors.ts';
import type { HistoryRow } from '../rows.ts';
import type { SegmentAbout } from './segment-bytes.ts';
import { listHistory, NewSegment, removeUnfinished, type SegmentFile } from './segment-files.ts';
import { dayOf } from './segment-name.ts';

export class HistoryWriter {
  readonly #folder: string;
  readonly #about: SegmentAbout;
  #last: { place: number; toMs: number };

  /** Removes what a killed process left unfinished. Errors: AppError `store_failed`. */
  constructor(folder: string, about: { program: string; address: string }) {
    this.#folder = folder;
    this.#about = { ...about, forgotten: [] };
    removeUnfinished(folder);
    const last = listHistory(folder).segments.reduce<SegmentFile | undefined>(
      (latest, segment) => (latest && latest.last >= segment.last ? latest : segment),
      undefined,
    );
    this.#last = { place: last?.last ?? 0, toMs: last?.toMs ?? 0 };
  }

  /** The place of the last recorded run; 0 without any. */
  get place(): number {
    return this.#last.place;
  }

  /** The rows of one run, those of kind `run` first. Errors: AppError `store_failed`; then nothing of it is recorded. */
  writeRun(rows: Iterable<HistoryRow>): SegmentFile {
    const made = new NewSegment(this.#folder, this.#about);
    try {
      for (const row of rows) made.rows.addRow(row);
      const { times } = made.rows;
      if (!times) throw new AppError('internal', 'a recorded run has no rows');
      const place = this.#last.place + 1;
      const segment = made.finish({ ...SAME, first: place, last: place, level: 'run', ...times });
      this.#last = { place, toMs: times.toMs };
      return segment;
    } finally {
      made.discard();
    }
  }

  /**
   * What holds after the last recorded run: standing rows, those of one subject one after another. For a recorder whose knowledge the files do not
   * give: without rows it says that nothing is known, so that the next run's changes are all there is. It stands in the folder of the next run.
   */
  writeBase(rows: Iterable<Omit<HistoryRow, 'run'>>, nextAtMs: number = this.#last.toMs): SegmentFile {
    const made = new NewSegment(this.#folder, this.#about);
    try {
      for (const { at, kind, subject, path, value } of rows) made.rows.add(0, at, kind, subject, path, value);
      const { place, toMs } = this.#last;
      const atMs = place === 0 ? nextAtMs : toMs;
      const name = { ...SAME, first: place, last: place, level: 'base', fromMs: atMs, toMs: atMs } as const;
      return made.finish(name, dayOf(nextAtMs));
    } finally {
      made.discard();
    }
  }
}

const SAME = { rewrites: 0 };
