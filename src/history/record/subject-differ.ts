// history/record: what changed of the subjects of one kind. In: readings of one form or another, the facts as they were recorded last. Out: fact
// by fact what differs. A trusted reading becomes what is recorded; one that is not is compared, and changes nothing of it.
import { FactPaths } from '../../domain/fact-prints.ts';
import type { Facts } from '../../domain/facts.ts';
import { FIELDS, fieldText, type PresentPrints } from '../../domain/identity.ts';
import { type FactChange, formOf, type RecordForm, type SeenSubjects } from '../../domain/recorded-history.ts';
import { SeenPrints, type SharedPrints } from '../../domain/seen-prints.ts';
import { isUsable } from '../../domain/snapshot.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import { DiffPass } from './diff-pass.ts';
import { LastFacts } from './last-facts.ts';

export interface SubjectDiff {
  changes: FactChange[];
  /** Paths that records of this form have had until now. */
  shows: ReadonlySet<string>;
  /** Those among them that are new: they are to be recorded. Of a trusted reading only. */
  gained: { form: RecordForm; paths: string[] } | undefined;
}

export class SubjectDiffer {
  private readonly paths = new FactPaths();
  private readonly last = new LastFacts(this.paths);
  /** Paths by number that each form has ever shown. INVARIANT: a fact of such a path is as a record of that form has it. */
  private readonly shown = new Map<RecordForm, ReadonlySet<number>>();
  private readonly texts = new WeakMap<ReadonlySet<number>, ReadonlySet<string>>();

  constructor(private readonly kind: SubjectKind) {}

  get size(): number {
    return this.last.size;
  }

  /** Empty for a form that was never read: then everything counts as changed. */
  presentPrints(form: RecordForm): PresentPrints {
    const shown = this.shown.get(form);
    return shown ? this.last.prints(({ no }) => shown.has(no)) : new Float64Array(0);
  }

  diff(seen: SeenSubjects): SubjectDiff {
    const form = formOf(seen.reading) ?? 'single';
    const before = this.shown.get(form) ?? new Set<number>();
    const isTrusted = isUsable(seen.reading);
    const pass = new DiffPass(this.kind, this.paths, this.last, before, isTrusted);
    const list = seen.prints && new ListedSubjects(this.last, before, seen.prints);
    const hasOthers = this.last.size > 0;
    for (const [id, record] of this.byId(seen.changed)) {
      list?.changed(id);
      pass.take(id, record);
    }
    if (hasOthers && pass.gained.size > 0) {
      // Facts from readings of other forms turn out to be gone: also of records that came before the one that showed it.
      pass.beginAgain();
      for (const [id, record] of this.byId(seen.changed)) pass.take(id, record);
      for (const id of this.last.idsWith(pass.gained)) if (list?.hadAsRecorded(id)) pass.lose(id);
    }
    for (const id of list?.gone() ?? []) pass.remove(id);
    const { gained, changes } = pass;
    const shown = gained.size === 0 ? before : pass.shown;
    if (!isTrusted) return { changes, shows: this.textsOf(shown), gained: undefined };
    this.shown.set(form, shown);
    const paths = [...gained].map((no) => this.last.pathOf(no).text);
    return { changes, shows: this.textsOf(shown), gained: paths.length === 0 ? undefined : { form, paths } };
  }

  /** One subject as an earlier process recorded it. */
  load(subject: string, facts: Iterable<Pick<FactChange, 'path' | 'value'>>): void {
    const paths: number[] = [];
    const values: number[] = [];
    for (const { path, value } of facts) {
      const { no, print } = this.paths.factPrint(path, value);
      paths.push(no);
      values.push(...print);
    }
    this.last.set(subject, { paths: Uint32Array.from(paths), values: Int32Array.from(values) });
  }

  loadShown(form: RecordForm, paths: Iterable<string>): void {
    this.shown.set(form, new Set([...paths].map((path) => this.paths.of(path).no)));
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
  /** By fingerprint as the form shows them, before the reading is recorded. */
  private readonly recorded: ReadonlyMap<string, number>;

  constructor(last: LastFacts, shown: ReadonlySet<number>, shared: SharedPrints) {
    this.prints = SeenPrints.over(shared);
    const prints = last.prints(({ no }) => shown.has(no));
    this.recorded = new Map([...last.ids()].map((id, at) => [id, prints[at] as number]));
  }

  changed(id: string): void {
    this.changedIds.add(id);
  }

  hadAsRecorded(id: string): boolean {
    const print = this.recorded.get(id);
    return print !== undefined && !this.changedIds.has(id) && this.prints.wasSeen(print);
  }

  *gone(): Iterable<string> {
    for (const [id, print] of this.recorded) if (!this.changedIds.has(id) && !this.prints.wasSeen(print)) yield id;
  }
}
