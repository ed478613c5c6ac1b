// history/record: what one reading of one kind changed of what was recorded last. In: its new and changed records, and which others it had. Out: changes,
// each once; what is recorded moves on with them. INVARIANT: nothing that stands for a secret is kept.
import { longer } from '../../base/growing.ts';
import { AS_VALUES, PackList } from '../../base/packed-list.ts';
import { isEqualPrint, PRINT_WORDS, type PrintKey } from '../../base/print-bits.ts';
import { type FactPack, RecordTexts, SECRET_TEXT, textsOf, unpackChanged } from '../../domain/fact-packs.ts';
import { FactPaths } from '../../domain/fact-prints.ts';
import type { Fact, Facts } from '../../domain/facts.ts';
import { FIELDS, fieldText, type PresentPrints } from '../../domain/identity.ts';
import type { FactChange } from '../../domain/look-back.ts';
import {
  formOf,
  type RecordForm,
  SeenPrints,
  type SeenSubjects,
  type SharedPrints,
} from '../../domain/recorded-history.ts';
import { isUsable } from '../../domain/snapshot.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import type { EachChange, TakeChange } from '../codec/run-encoder.ts';
import { LastFacts, type PackedFacts, type SavedFacts } from './last-facts.ts';

// History/record: the records of packs, fact by fact. Each holds until the next one.

/** `no`: of its path. `prints`, `at`: where its four numbers are. `fact`: by which its text is asked for. */
type TakeRecorded = (no: number, prints: Int32Array, at: number, fact: number) => void;

interface ChangedRecord {
  each(take: TakeRecorded): void;
  /** Its JSON, or SECRET_TEXT. */
  textOf(fact: number): string;
}

class PackedRecord implements ChangedRecord {
  from = 0;
  to = 0;
  readonly textOf: (fact: number) => string;
  /** By fact: the number that its path has here. */
  private readonly paths: Uint32Array;

  constructor(
    private readonly pack: FactPack,
    paths: FactPaths,
  ) {
    const numbers = pack.paths.map((path) => paths.of(path).no);
    this.paths = pack.pathOf.map((path) => numbers[path] as number);
    this.textOf = textsOf(pack);
  }

  each(take: TakeRecorded): void {
    const { facts, prints } = this.pack;
    for (let at = this.from; at < this.to; at += 1) {
      const fact = facts[at] as number;
      take(this.paths[fact] as number, prints, PRINT_WORDS * fact, fact);
    }
  }
}

/** Texts are made, and secrets looked for, where a fact changed. */
class WalkedRecord implements ChangedRecord {
  private record: Facts = {};
  private readonly names: string[] = [];
  private readonly values: Fact[] = [];
  private readonly texts: RecordTexts;

  constructor(private readonly paths: FactPaths) {
    this.texts = new RecordTexts(paths.key);
  }

  begin(record: Facts): this {
    this.record = record;
    this.texts.begin(record);
    return this;
  }

  each(take: TakeRecorded): void {
    let fact = 0;
    this.paths.walk(this.record, (path, print, value) => {
      this.names[fact] = path.text;
      this.values[fact] = value;
      take(path.no, print, 0, fact++);
    });
  }

  textOf(fact: number): string {
    return this.texts.of(this.names[fact] as string, this.values[fact] as Fact);
  }
}

/** With their ids. */
function* recordsOf(
  packs: Iterable<Uint8Array>,
  kind: SubjectKind,
  paths: FactPaths,
): Generator<[string, ChangedRecord]> {
  const walked = new WalkedRecord(paths);
  for (const bytes of packs) {
    const pack = unpackChanged(bytes);
    if ('records' in pack) {
      for (const record of AS_VALUES.unpack<Facts>(pack.records)) {
        const id = fieldText(record, FIELDS[kind][0]);
        if (id !== '') yield [id, walked.begin(record)];
      }
      continue;
    }
    const packed = new PackedRecord(pack, paths);
    for (const [at, id] of pack.ids.entries()) {
      packed.from = packed.to;
      packed.to = pack.ends[at] as number;
      yield [id, packed];
    }
  }
}

// History/record: one reading of one kind, compared with what was recorded last.

/** The facts of a record, one record after the other: paths by number, and four numbers for each value. */
class Found {
  size = 0;
  paths = new Uint32Array(64);
  prints = new Int32Array(PRINT_WORDS * 64);
  /** By which the texts of the record at hand are asked for. */
  facts = new Uint32Array(64);

  clear(): void {
    this.size = 0;
  }

  add(path: number, prints: Int32Array, at: number, fact = 0): void {
    if (this.size === this.paths.length) {
      this.paths = longer(this.paths, 2 * this.size);
      this.prints = longer(this.prints, 2 * PRINT_WORDS * this.size);
      this.facts = longer(this.facts, 2 * this.size);
    }
    this.paths[this.size] = path;
    this.facts[this.size] = fact;
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
  look(record: ChangedRecord): void {
    record.each((no) => this.show(no));
  }

  /** Those of packs, with their ids. */
  recordsOf(packs: Iterable<Uint8Array>): Generator<[string, ChangedRecord]> {
    return recordsOf(packs, this.kind, this.paths);
  }

  take(subject: string, record: ChangedRecord, take: TakeChange): void {
    const { before, now, found } = this;
    const last = this.last.get(subject);
    before.begin();
    last?.paths.forEach((no, at) => {
      before.set(no, at);
    });
    now.begin();
    found.clear();
    record.each(this.find);
    const recorded = found.size;
    this.removed(subject, last, this.shown, take);
    for (let at = 0; at < recorded; at += 1) {
      const no = found.paths[at] as number;
      const was = before.get(no);
      const isAsItWas = () =>
        was !== undefined && last && isEqualPrint(last.values, PRINT_WORDS * was, found.prints, PRINT_WORDS * at);
      if (isAsItWas()) continue;
      const text = record.textOf(found.facts[at] as number);
      if (text === SECRET_TEXT) {
        // INVARIANT: nothing that stands for a secret is kept, so whether it changed is not known.
        found.prints.fill(0, PRINT_WORDS * at, PRINT_WORDS * (at + 1));
        if (isAsItWas()) continue;
      }
      take(this.kind, subject, this.last.pathOf(no).text, text);
    }
    if (this.isTrusted) this.last.set(subject, found.packed());
  }

  private readonly find: TakeRecorded = (no, prints, at, fact) => {
    this.now.set(no, this.found.size);
    this.found.add(no, prints, at, fact);
    this.show(no);
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
    take(this.kind, subject, '', undefined);
  }

  private show(no: number): void {
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
      if (of.has(no)) take(this.kind, subject, this.last.pathOf(no).text, undefined);
      else this.found.add(no, values, PRINT_WORDS * at);
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
    if (!isTrusted) for (const [, record] of pass.recordsOf(seen.changed)) pass.look(record);
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
    for (const [id, record] of pass.recordsOf(isFirst && changed instanceof PackList ? changed.drained() : changed)) {
      list?.changed(id);
      pass.take(id, record, take);
    }
    const gone = list?.gone() ?? [];
    if (!isFirst && pass.gained.size > 0) {
      const same = list?.same();
      // Facts from readings of other forms turn out to be gone: also of records that came before the one that showed it.
      if (isTrusted) for (const [id, record] of pass.recordsOf(seen.changed)) pass.take(id, record, take);
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
