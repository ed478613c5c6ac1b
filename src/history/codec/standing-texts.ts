// history codec: which texts of standing nouns are recorded, by kind and key, as a hash each. In: nouns as a run found them. Out: rows of those
// that are new, other than before, or gone.
import { hash } from 'node:crypto';
import { dataText } from '../fact-text.ts';
import type { HistoryRow, RowKind } from '../rows.ts';
import { WHOLE } from './row-paths.ts';

/** Makes a row of the run at hand. */
export type Make = (kind: RowKind, subject: string, path: string, value: string | undefined) => HistoryRow;

export class StandingTexts {
  private readonly kinds = new Map<RowKind, Map<string, string>>();

  constructor(before: Iterable<HistoryRow>) {
    for (const { kind, subject, value } of before) if (value !== undefined) this.of(kind).set(subject, printOf(value));
  }

  /** `isAll`: what is not among these is gone. */
  *put(kind: RowKind, nouns: ReadonlyMap<string, unknown>, isAll: boolean, row: Make): Generator<HistoryRow> {
    const known = this.of(kind);
    for (const [key, noun] of nouns) {
      const text = dataText(noun);
      const print = printOf(text);
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
    this.kinds.set(kind, new Map(subjects.map((subject) => [subject, ''])));
  }

  private of(kind: RowKind): Map<string, string> {
    const known = this.kinds.get(kind) ?? new Map<string, string>();
    this.kinds.set(kind, known);
    return known;
  }
}

/** SHA-256: nobody finds two texts of one hash, so it needs no key. */
function printOf(text: string): string {
  return hash('sha256', text, 'base64');
}
