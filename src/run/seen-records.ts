// run: what one run sees of each kind, for the history. In: how the last recorded runs saw it. Out: for each reading a pass over its records;
// in the end what they saw. Without a history nothing is compared. INVARIANT: a history that does not answer never stops a run.
import type { PresentPrints } from '../domain/identity.ts';
import type { PrintKey } from '../domain/print-bits.ts';
import { formOf, type HistoryRecorder, type SeenSubjects } from '../domain/recorded-history.ts';
import type { SourceReading } from '../domain/snapshot.ts';
import { SOURCE_OF, type Source, type SubjectKind } from '../domain/subjects.ts';
import { RecordPass } from '../pull/record-pass.ts';

const NONE: PresentPrints = new Int32Array(0);

export class SeenRecords {
  private readonly seen: SeenSubjects[] = [];

  constructor(
    private readonly history: HistoryRecorder | undefined,
    private readonly printKey: PrintKey,
  ) {}

  /** A fresh pass for each attempt at a reading of this form. `latestMs`: no report is of a later time. */
  async passes(
    kind: SubjectKind,
    reading: Pick<SourceReading, 'form' | 'lists'>,
    latestMs: number,
  ): Promise<() => RecordPass> {
    const { history } = this;
    const form = formOf(reading);
    const present = history && form && (await history.presentPrints(kind, form).catch(() => NONE));
    return () => new RecordPass(present, kind, latestMs, this.printKey);
  }

  add(kind: SubjectKind, reading: SourceReading, records: Pick<SeenSubjects, 'changed' | 'prints'> | undefined): void {
    if (records) this.seen.push({ kind, reading, ...records });
  }

  /** With the readings as they are in the end: what is trusted may have changed. */
  all(sources: Record<Source, SourceReading>): SeenSubjects[] {
    return this.seen.map((one) => ({ ...one, reading: sources[SOURCE_OF[one.kind]] }));
  }
}
