// history codec: which texts of standing nouns are recorded, by kind and key, as 53 bits each. In: nouns as a run found them. Out: rows of those
// that are new, other than before, or gone.
import { FactPaths } from '../../domain/fact-prints.ts';
import { dataText } from '../fact-text.ts';
import type { HistoryRow, RowKind } from '../rows.ts';
import { WHOLE } from './row-paths.ts';

/** Makes a row of the run at hand. */
export type Make = (kind: RowKind, subject: string, path: string, value: string | undefined) => HistoryRow;

export class StandingTexts {
  private readonly kinds = new Map<RowKind, Map<string, number>>();
  private readonly paths = new FactPaths();

  constructor(before: Iterable<HistoryRow>) {
    for (const { kind, subject, value } of before)
      if (value !== undefined) this.of(kind).set(subject, this.print(value));
  }

  /** `isAll`: what is not among these is gone. */
  *put(kind: RowKind, nouns: ReadonlyMap<string, unknown>, isAll: boolean, row: Make): Generator<HistoryRow> {
    const known = this.of(kind);
    for (const [key, noun] of nouns) {
      const text = dataText(noun);
      const print = this.print(text);
      if (known.get(key) === print) continue;
      known.set(key, print);
      yield row(kind, key, WHOLE, text);
    }
    if (!isAll || known.size === nouns.size) return;
    for (const key of known.keys()) {
      if (nouns.has(key)) continue;
      known.delete(key);
      yield row(kind, key, '', undefined);
    }
  }

  subjects(kind: RowKind): string[] {
    return [...this.of(kind).keys()];
  }

  replace(kind: RowKind, subjects: readonly string[]): void {
    this.kinds.set(kind, new Map(subjects.map((subject) => [subject, 0])));
  }

  private of(kind: RowKind): Map<string, number> {
    const known = this.kinds.get(kind) ?? new Map<string, number>();
    this.kinds.set(kind, known);
    return known;
  }

  private print(text: string): number {
    return this.paths.print({ text });
  }
}
