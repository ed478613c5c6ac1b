// history/record: what one reading of one kind changed of what was recorded last. In: its new and changed records, and which others it had. Out: changes,
// each once; what is recorded moves on with them. INVARIANT: nothing that stands for a secret is kept.
import { PackedList } from '../../base/packed-list.ts';
import { isEqualPrint, PRINT_WORDS, type PrintKey } from '../../base/print-bits.ts';
import { type FactPath, FactPaths, type TakeFact } from '../../domain/fact-prints.ts';
import { type Fact, type Facts, isFacts } from '../../domain/facts.ts';
import { FIELDS, fieldText, type PresentPrints } from '../../domain/identity.ts';
import type { FactChange } from '../../domain/look-back.ts';
import {
  formOf,
  type RecordForm,
  SeenPrints,
  type SeenSubjects,
  type SharedPrints,
} from '../../domain/recorded-history.ts';
import { isPlainlyCleanFact, withoutSecrets } from '../../domain/secrets.ts';
import { isUsable } from '../../domain/snapshot.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import type { EachChange, TakeChange } from '../codec/run-encoder.ts';
import { LastFacts, type PackedFacts, type SavedFacts } from './last-facts.ts';

/** Their text is JSON, and is dropped when it is not. */
const JSON_FIELDS: ReadonlySet<string> = new Set(['OIDCClientSpec', 'ServiceSpec']);

const NONE: ReadonlySet<string> = new Set();

/** A name alone makes no secret: agents have a `PasscodeStatus`. */
function secretPathsOf(record: Facts, key: PrintKey): ReadonlySet<string> {
  const { value, dropped } = withoutSecrets(record, { jsonFields: JSON_FIELDS, needsForm: true });
  if (dropped.length === 0) return NONE;
  const paths = new FactPaths(key);
  const kept = new Map<string, string>();
  if (isFacts(value)) paths.walk(value, (path, print) => kept.set(path.text, print.join()));
  const secret = new Set<string>();
  paths.walk(record, (path, print) => {
    if (kept.get(path.text) !== print.join()) secret.add(path.text);
  });
  return secret;
}

// History/record: one reading of one kind, compared with what was recorded last.

/** The facts of a record, one record after the other: paths by number, and four numbers for each value. */
class Found {
  size = 0;
  paths = new Uint32Array(64);
  prints = new Int32Array(PRINT_WORDS * 64);
  readonly values: (Fact | undefined)[] = [];

  clear(): void {
    this.size = 0;
  }

  add(path: number, prints: Int32Array, at: number, value: Fact | undefined): void {
    if (this.size === this.paths.length) {
      const { paths, prints: known } = this;
      this.paths = new Uint32Array(2 * paths.length);
      this.prints = new Int32Array(2 * known.length);
      this.paths.set(paths);
      this.prints.set(known);
    }
    this.paths[this.size] = path;
    this.values[this.size] = value;
    for (let word = 0; word < PRINT_WORDS; word += 1)
      this.prints[PRINT_WORDS * this.size + word] = prints[at + word] as number;
    this.size += 1;
  }

  packed(): PackedFacts {
    return { paths: this.paths.subarray(0, this.size), values: this.prints.subarray(0, PRINT_WORDS * this.size) };
  }
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
  private readonly found = new Found();

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

  take(subject: string, record: Facts, take: TakeChange): void {
    const { before, now, found } = this;
    const last = this.last.get(subject);
    before.begin();
    last?.paths.forEach((no, at) => {
      before.set(no, at);
    });
    now.begin();
    found.clear();
    this.paths.walk(record, this.find);
    const recorded = found.size;
    this.removed(subject, last, this.shown, take);
    let secret: ReadonlySet<string> | undefined;
    for (let at = 0; at < recorded; at += 1) {
      const no = found.paths[at] as number;
      const was = before.get(no);
      const isAsItWas = () =>
        was !== undefined && last && isEqualPrint(last.values, PRINT_WORDS * was, found.prints, PRINT_WORDS * at);
      if (isAsItWas()) continue;
      const { text } = this.last.pathOf(no);
      const value = found.values[at] as Fact;
      if (!isPlainlyCleanFact(text, value)) secret ??= secretPathsOf(record, this.paths.key);
      if (!secret?.has(text)) take(this.kind, subject, text, value, false);
      else {
        // INVARIANT: nothing that stands for a secret is kept, so whether it changed is not known.
        found.prints.fill(0, PRINT_WORDS * at, PRINT_WORDS * (at + 1));
        if (!isAsItWas()) take(this.kind, subject, text, undefined, true);
      }
    }
    if (this.isTrusted) this.last.set(subject, found.packed());
  }

  private readonly find: TakeFact = (path, print, value) => {
    this.now.set(path.no, this.found.size);
    this.found.add(path.no, print, 0, value);
    this.show(path);
  };

  /** The reading had the subject as it was recorded, so without the facts that its form shows for the first time. */
  lose(subject: string, take: TakeChange): void {
    this.now.begin();
    this.found.clear();
    this.removed(subject, this.last.get(subject), this.gained, take);
    if (this.isTrusted) this.last.set(subject, this.found.packed());
  }

  remove(subject: string, take: TakeChange): void {
    if (this.isTrusted) this.last.delete(subject);
    take(this.kind, subject, '', undefined, false);
  }

  private show({ no }: FactPath): void {
    if (this.shown.has(no)) return;
    this.shown.add(no);
    this.gained.add(no);
  }

  /** What it has no longer, of these paths; what else it had is found, too. */
  private removed(subject: string, last: PackedFacts | undefined, of: ReadonlySet<number>, take: TakeChange): void {
    if (!last) return;
    const { paths, values } = last;
    for (let at = 0; at < paths.length; at += 1) {
      const no = paths[at] as number;
      if (this.now.get(no) !== undefined) continue;
      if (of.has(no)) take(this.kind, subject, this.last.pathOf(no).text, undefined, false);
      else this.found.add(no, values, PRINT_WORDS * at, undefined);
    }
  }
}

// History/record: what changed of the subjects of one kind.

interface SubjectDiff {
  /** To be asked for once: what is recorded moves on with it. */
  changes: EachChange;
  /** Paths that records of this form have had until now. Of a reading that is trusted: when all changes are read. */
  shows(): ReadonlySet<string>;
}

type SavedShown = readonly (readonly [RecordForm, readonly number[]])[];

export interface SavedDiffer {
  facts: SavedFacts;
  shown: SavedShown;
}

export class SubjectDiffer {
  private readonly paths: FactPaths;
  /** Paths by number that each form has ever shown. INVARIANT: a fact of such a path is as a record of that form has it. */
  private readonly shown: Map<RecordForm, ReadonlySet<number>>;
  private readonly texts = new WeakMap<ReadonlySet<number>, ReadonlySet<string>>();

  constructor(
    private readonly kind: SubjectKind,
    key: PrintKey,
    readonly last = new LastFacts(new FactPaths(key)),
    shown: SavedShown = [],
  ) {
    this.paths = last.paths;
    this.shown = new Map(shown.map(([form, paths]) => [form, new Set(paths)]));
  }

  get saved(): SavedDiffer {
    return { facts: this.last.saved, shown: [...this.shown].map(([form, paths]) => [form, [...paths]]) };
  }

  /** Empty for a form that was never read: then everything counts as changed. */
  presentPrints(form: RecordForm): PresentPrints {
    const shown = this.shown.get(form);
    return shown ? this.last.prints(shown) : new Int32Array(0);
  }

  /** Of a first reading, before it is known whether it is trusted. INVARIANT: nothing is recorded; if it is not trusted, this differ is left. */
  begin(): DiffPass {
    return new DiffPass(this.kind, this.paths, this.last, new Set(), true);
  }

  /** `begun`: the pass that took its first records. */
  diff(seen: SeenSubjects, begun?: DiffPass): SubjectDiff {
    const form = formOf(seen.reading) ?? 'single';
    const before = this.shown.get(form) ?? new Set<number>();
    const isTrusted = isUsable(seen.reading);
    const pass = begun ?? new DiffPass(this.kind, this.paths, this.last, before, isTrusted);
    if (!isTrusted) for (const [, record] of this.byId(seen.changed)) pass.look(record);
    const shows = () => this.textsOf(pass.gained.size === 0 ? before : pass.shown);
    return { changes: (take) => this.changes(seen, pass, begun !== undefined, form, before, take), shows };
  }

  private changes(
    seen: SeenSubjects,
    pass: DiffPass,
    isBegun: boolean,
    form: RecordForm,
    before: ReadonlySet<number>,
    take: TakeChange,
  ): void {
    const isFirst = isBegun || this.last.size === 0;
    const list = isFirst ? undefined : seen.prints && new ListedSubjects(this.last, before, seen.prints);
    const isTrusted = isUsable(seen.reading);
    // The first list of all is the longest, and read once: what was read of it goes.
    const { changed } = seen;
    for (const [id, record] of this.byId(isFirst && changed instanceof PackedList ? changed.drained() : changed)) {
      list?.changed(id);
      pass.take(id, record, take);
    }
    const gone = list?.gone() ?? [];
    if (!isFirst && pass.gained.size > 0) {
      const same = list?.same();
      // Facts from readings of other forms turn out to be gone: also of records that came before the one that showed it.
      if (isTrusted) for (const [id, record] of this.byId(seen.changed)) pass.take(id, record, take);
      for (const id of this.last.idsWith(pass.gained)) if (same?.(id)) pass.lose(id, take);
    }
    for (const id of gone) pass.remove(id, take);
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

  *byId(records: Iterable<Facts>): Iterable<[string, Facts]> {
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
    if (this.last.has(id) && !this.changedIds.has(id)) this.changedOnes += 1;
    this.changedIds.add(id);
  }

  /** Whether the reading had a recorded subject as it was. To be asked before anything of it is recorded anew. */
  same(): (id: string) => boolean {
    const printOf = this.last.printOf(this.shown);
    const print = new Int32Array(PRINT_WORDS);
    return (id) => {
      if (this.changedIds.has(id)) return false;
      printOf(id, print);
      return this.prints.wasSeen(print, 0);
    };
  }

  /** Recorded subjects that the reading did not have. */
  gone(): string[] {
    // Nearly always all are there: then nobody is looked for.
    if (this.prints.seenCount + this.changedOnes === this.recorded) return [];
    const prints = this.last.prints(this.shown);
    const gone: string[] = [];
    let at = 0;
    for (const id of this.last.all()) {
      if (!this.changedIds.has(id) && !this.prints.wasSeen(prints, at)) gone.push(id);
      at += PRINT_WORDS;
    }
    return gone;
  }
}
