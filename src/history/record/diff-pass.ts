// history/record: one reading of one kind, compared with what was recorded last. In: records, one by one. Out: the facts that differ, what was
// removed before what is new; what is recorded from now on, unless the reading is not trusted.
import type { FactPath, FactPaths } from '../../domain/fact-prints.ts';
import type { Fact, Facts } from '../../domain/facts.ts';
import { isEqualPrint, PRINT_WORDS } from '../../domain/print-bits.ts';
import type { FactChange } from '../../domain/recorded-history.ts';
import { isPlainlyCleanFact } from '../../domain/secrets.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import type { LastFacts, PackedFacts } from './last-facts.ts';
import { secretPathsOf } from './without-secrets.ts';

/** The facts of a record: paths by number, and four numbers for each value. */
interface Found {
  paths: number[];
  prints: number[];
}

/** Of one subject after the other: which facts it has, and where. */
class Marks {
  private readonly turns: number[] = [];
  private readonly places: number[] = [];
  private turn = 0;

  begin(): void {
    this.turn += 1;
  }

  set(path: number, place: number): void {
    this.turns[path] = this.turn;
    this.places[path] = place;
  }

  /** Undefined: it has no such fact. */
  get(path: number): number | undefined {
    return this.turns[path] === this.turn ? this.places[path] : undefined;
  }
}

export class DiffPass {
  /** Paths that this form has shown, until now; those among them that it shows for the first time. */
  readonly shown: Set<number>;
  readonly gained = new Set<number>();
  private readonly before = new Marks();
  private readonly now = new Marks();

  constructor(
    private readonly kind: SubjectKind,
    private readonly paths: FactPaths,
    private readonly last: LastFacts,
    shown: ReadonlySet<number>,
    private readonly isTrusted: boolean,
  ) {
    this.shown = new Set(shown);
  }

  /** Notes which paths the record shows, without a comparison. */
  look(record: Facts): void {
    this.paths.walk(record, (path) => this.show(path));
  }

  take(subject: string, record: Facts): FactChange[] {
    const changes: FactChange[] = [];
    const { before, now } = this;
    const last = this.last.get(subject);
    const found: Found = { paths: [], prints: [] };
    const values: Fact[] = [];
    before.begin();
    last?.paths.forEach((no, at) => {
      before.set(no, at);
    });
    now.begin();
    this.paths.walk(record, (path, print, value) => {
      now.set(path.no, values.length);
      found.paths.push(path.no);
      for (const word of print) found.prints.push(word);
      values.push(value);
      this.show(path);
    });
    const kept = this.removed(subject, last, this.shown, changes);
    let secret: ReadonlySet<string> | undefined;
    for (const [at, no] of found.paths.entries()) {
      const was = before.get(no);
      if (was !== undefined && last && isEqualPrint(last.values, PRINT_WORDS * was, found.prints, PRINT_WORDS * at))
        continue;
      const path = this.last.pathOf(no).text;
      if (!isPlainlyCleanFact(path, values[at] as Fact)) secret ??= secretPathsOf(record, this.paths.key);
      const change = { kind: this.kind, subject, path } as const;
      changes.push(
        secret?.has(path) ? { ...change, value: undefined, secret: true } : { ...change, value: values[at] },
      );
    }
    if (this.isTrusted) this.keep(subject, found, kept);
    return changes;
  }

  /** The reading had the subject as it was recorded, so without the facts that its form shows for the first time. */
  lose(subject: string): FactChange[] {
    const changes: FactChange[] = [];
    this.now.begin();
    const kept = this.removed(subject, this.last.get(subject), this.gained, changes);
    if (this.isTrusted) this.keep(subject, { paths: [], prints: [] }, kept);
    return changes;
  }

  remove(subject: string): FactChange {
    if (this.isTrusted) this.last.delete(subject);
    return { kind: this.kind, subject, path: '', value: undefined };
  }

  private show({ no }: FactPath): void {
    if (this.shown.has(no)) return;
    this.shown.add(no);
    this.gained.add(no);
  }

  /** What it has no longer, of these paths; returns what else it had. */
  private removed(
    subject: string,
    last: PackedFacts | undefined,
    of: ReadonlySet<number>,
    changes: FactChange[],
  ): Found {
    const kept: Found = { paths: [], prints: [] };
    last?.paths.forEach((no, at) => {
      if (this.now.get(no) !== undefined) return;
      if (of.has(no)) {
        changes.push({ kind: this.kind, subject, path: this.last.pathOf(no).text, value: undefined });
        return;
      }
      kept.paths.push(no);
      for (let word = 0; word < PRINT_WORDS; word += 1)
        kept.prints.push(last.values[PRINT_WORDS * at + word] as number);
    });
    return kept;
  }

  private keep(subject: string, found: Found, kept: Found): void {
    this.last.set(subject, {
      paths: Uint32Array.from([...found.paths, ...kept.paths]),
      values: Int32Array.from([...found.prints, ...kept.prints]),
    });
  }
}
