// history/record: what changed of the subjects of one kind. In: readings of one form or another, the facts as they were recorded last. Out: fact
// by fact what differs. A trusted reading becomes what is recorded; one that is not is compared, and changes nothing of it.
import { FactPaths } from '../../domain/fact-prints.ts';
import type { Facts } from '../../domain/facts.ts';
import { FIELDS, fieldText, type PresentPrints } from '../../domain/identity.ts';
import { PackedList } from '../../domain/packed-list.ts';
import { PRINT_WORDS, type PrintKey } from '../../domain/print-bits.ts';
import { type FactChange, formOf, type RecordForm, type SeenSubjects } from '../../domain/recorded-history.ts';
import { SeenPrints, type SharedPrints } from '../../domain/seen-prints.ts';
import { isUsable } from '../../domain/snapshot.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import { DiffPass } from './diff-pass.ts';
import { LastFacts } from './last-facts.ts';

export interface SubjectDiff {
  /** To be read once, to its end: what is recorded moves on with it. */
  changes: Iterable<FactChange>;
  /** Paths that records of this form have had until now. Of a reading that is trusted: when all changes are read. */
  shows(): ReadonlySet<string>;
}

export class SubjectDiffer {
  private readonly paths: FactPaths;
  private readonly last: LastFacts;
  /** Paths by number that each form has ever shown. INVARIANT: a fact of such a path is as a record of that form has it. */
  private readonly shown = new Map<RecordForm, ReadonlySet<number>>();
  private readonly texts = new WeakMap<ReadonlySet<number>, ReadonlySet<string>>();

  constructor(
    private readonly kind: SubjectKind,
    key: PrintKey,
  ) {
    this.paths = new FactPaths(key);
    this.last = new LastFacts(this.paths);
  }

  get size(): number {
    return this.last.size;
  }

  /** Empty for a form that was never read: then everything counts as changed. */
  presentPrints(form: RecordForm): PresentPrints {
    const shown = this.shown.get(form);
    return shown ? this.last.prints(shown) : new Int32Array(0);
  }

  diff(seen: SeenSubjects): SubjectDiff {
    const form = formOf(seen.reading) ?? 'single';
    const before = this.shown.get(form) ?? new Set<number>();
    const isTrusted = isUsable(seen.reading);
    const pass = new DiffPass(this.kind, this.paths, this.last, before, isTrusted);
    if (!isTrusted) for (const [, record] of this.byId(seen.changed)) pass.look(record);
    const shows = () => this.textsOf(pass.gained.size === 0 ? before : pass.shown);
    return { changes: this.changes(seen, pass, form, before), shows };
  }

  private *changes(
    seen: SeenSubjects,
    pass: DiffPass,
    form: RecordForm,
    before: ReadonlySet<number>,
  ): Iterable<FactChange> {
    const list = seen.prints && new ListedSubjects(this.last, before, seen.prints);
    const isTrusted = isUsable(seen.reading);
    const hasOthers = this.last.size > 0;
    // The first list of all is the longest, and read once: what was read of it goes.
    const { changed } = seen;
    for (const [id, record] of this.byId(!hasOthers && changed instanceof PackedList ? changed.drained() : changed)) {
      list?.changed(id);
      yield* pass.take(id, record);
    }
    const gone = list?.gone() ?? [];
    if (hasOthers && pass.gained.size > 0) {
      const same = list?.same();
      // Facts from readings of other forms turn out to be gone: also of records that came before the one that showed it.
      if (isTrusted) for (const [id, record] of this.byId(seen.changed)) yield* pass.take(id, record);
      for (const id of this.last.idsWith(pass.gained)) if (same?.(id)) yield* pass.lose(id);
    }
    for (const id of gone) yield pass.remove(id);
    if (isTrusted && pass.gained.size > 0) this.shown.set(form, pass.shown);
    else if (isTrusted) this.shown.set(form, before);
  }

  /** One subject as an earlier process recorded it: its facts, or what changed of them. */
  load(subject: string, changes: Iterable<Pick<FactChange, 'path' | 'value' | 'secret'>>): void {
    const facts = new Map<number, Int32Array>();
    const known = this.last.get(subject);
    known?.paths.forEach((no, at) => {
      facts.set(no, known.values.slice(PRINT_WORDS * at, PRINT_WORDS * (at + 1)));
    });
    for (const { path, value, secret } of changes) {
      if (path === '') facts.clear();
      else if (value === undefined && !secret) facts.delete(this.paths.of(path).no);
      else {
        const { no, print } = this.paths.printOf(path, value);
        facts.set(no, print.slice());
      }
    }
    if (facts.size === 0) this.last.delete(subject);
    else
      this.last.set(subject, {
        paths: Uint32Array.from(facts.keys()),
        values: Int32Array.from([...facts.values()].flatMap((print) => [...print])),
      });
  }

  loadShown(form: RecordForm, path: string): void {
    this.shown.set(form, new Set([...(this.shown.get(form) ?? []), this.paths.of(path).no]));
  }

  private *byId(records: Iterable<Facts>): Iterable<[string, Facts]> {
    const field = FIELDS[this.kind][0];
    for (const record of records) {
      const id = fieldText(record, field);
      if (id !== '') yield [id, record];
    }
  }

  /** The same set for the same paths: each frame has it. */
  private textsOf(shown: ReadonlySet<number>): ReadonlySet<string> {
    const known = this.texts.get(shown) ?? new Set([...shown].map((no) => this.last.pathOf(no).text));
    this.texts.set(shown, known);
    return known;
  }
}

/** Which subjects a reading of a whole list had, of those that are recorded. */
class ListedSubjects {
  private readonly prints: SeenPrints;
  private readonly changedIds = new Set<string>();
  private readonly recorded: number;
  private changedOnes = 0;

  constructor(
    private readonly last: LastFacts,
    private readonly shown: ReadonlySet<number>,
    shared: SharedPrints,
  ) {
    this.prints = SeenPrints.over(shared);
    this.recorded = last.size;
  }

  /** Before it is recorded. */
  changed(id: string): void {
    // With the first list of all there is nothing to compare.
    if (this.recorded === 0) return;
    if (this.last.has(id) && !this.changedIds.has(id)) this.changedOnes += 1;
    this.changedIds.add(id);
  }

  /** Whether the reading had a recorded subject as it was. To be asked before anything of it is recorded anew. */
  same(): (id: string) => boolean {
    const { prints, atOf } = this.last.printsById(this.shown);
    return (id) => !this.changedIds.has(id) && this.prints.wasSeen(prints, atOf(id));
  }

  /** Recorded subjects that the reading did not have. */
  gone(): string[] {
    // Nearly always all are there: then nobody is looked for.
    if (this.prints.seenCount + this.changedOnes === this.recorded) return [];
    const prints = this.last.prints(this.shown);
    const gone: string[] = [];
    let at = 0;
    for (const id of this.last.ids()) {
      if (!this.changedIds.has(id) && !this.prints.wasSeen(prints, at)) gone.push(id);
      at += PRINT_WORDS;
    }
    return gone;
  }
}
