// history: all subjects of one kind, as the record shows them at one time of a replay. In: changes of facts. Out: records, found by id and by
// what joins them; which of them changed. Records of runs that did not see all fields are views without these.
import { type Fact, type Facts, isFacts, ownText, ownTexts } from '../../domain/facts.ts';
import type { FactChange } from '../../domain/recorded-history.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import { ManyOf } from './many-of.ts';
import { copyOf, setAt } from './recorded-record.ts';

export interface WorldSubject {
  readonly kind: SubjectKind;
  readonly id: string;
  /** Its place among all that were ever there: small numbers, for tables of bits. */
  readonly index: number;
  /** Undefined: no list has it now. */
  record: Facts | undefined;
}

/** What the next run sees: paths that no reading of its form has are hidden. */
export interface View {
  of(subject: WorldSubject): Facts | undefined;
}

const JOINED: Record<SubjectKind, readonly string[]> = {
  device: ['SerialNumber', 'Emails'],
  user: ['SerialNumbers'],
  service: [],
};

export class WorldKind {
  /** By index; also those that are gone. */
  readonly all: WorldSubject[] = [];
  readonly bySerial = new ManyOf<WorldSubject>();
  /** Users by their own address, devices by those of their owners, in lower case. */
  readonly byEmail = new ManyOf<WorldSubject>();
  private watched: Set<WorldSubject>[] = [];
  private readonly byId = new Map<string, WorldSubject>();
  private readonly paths = new Set<string>();
  private readonly secrets = new Set<string>();
  private readonly brief = new Map<WorldSubject, Facts | undefined>();
  private readonly views = new Map<string, Map<WorldSubject, Facts>>();
  private readonly texts = new Map<string, string>();
  private there = 0;

  constructor(readonly kind: SubjectKind) {}

  get size(): number {
    return this.there;
  }

  get(id: string): WorldSubject | undefined {
    const subject = this.byId.get(id);
    return subject?.record && subject;
  }

  /** Everything is as nobody has seen it yet. */
  empty(): void {
    this.brief.clear();
    for (const subject of this.all) if (subject.record) this.replace(subject, undefined);
  }

  /** INVARIANT: what goes is applied before what comes: a list may take the place of an object, or an object that of a text. */
  change(changes: readonly FactChange[]): void {
    const copied = new Set<WorldSubject>();
    for (const change of changes) if (change.path === '') this.replace(this.subject(change.subject), undefined);
    for (const change of changes) if (change.path !== '' && change.value === undefined) this.set(change, copied);
    for (const change of changes) if (change.value !== undefined) this.set(change, copied);
  }

  /** For one run: see `restore`. */
  changeBriefly(changes: readonly FactChange[]): void {
    for (const { subject: id } of changes) {
      const subject = this.subject(id);
      if (this.brief.has(subject)) continue;
      this.brief.set(subject, subject.record);
      if (subject.record) this.replace(subject, copyOf(subject.record));
    }
    this.change(changes);
  }

  restore(): void {
    for (const [subject, record] of this.brief) this.replace(subject, record);
    this.brief.clear();
  }

  /** From now on those that change are added to it, and those whose brief changes are over; who asked for it empties it. */
  touched(): Set<WorldSubject> {
    const touched = new Set(this.all);
    this.watched.push(touched);
    return touched;
  }

  /** Nobody takes from it any more. */
  leave(touched: Set<WorldSubject> | undefined): void {
    this.watched = this.watched.filter((each) => each !== touched);
  }

  hasPath(path: string): boolean {
    return this.paths.has(path);
  }

  isSecret(path: string): boolean {
    return this.secrets.has(path);
  }

  /** `shows`: the paths that the run's readings have; undefined: all. */
  view(shows: ReadonlySet<string> | undefined): View & { key: string } {
    const hidden = shows ? [...this.paths].filter((path) => !shows.has(path)).sort() : [];
    if (hidden.length === 0) return { key: '', of: ({ record }) => record };
    const key = hidden.join('\n');
    const known = this.views.get(key) ?? new Map<WorldSubject, Facts>();
    this.views.set(key, known);
    return {
      key,
      of: (subject) => {
        if (!subject.record) return undefined;
        const made = known.get(subject) ?? without(subject.record, hidden);
        known.set(subject, made);
        return made;
      },
    };
  }

  private subject(id: string): WorldSubject {
    const known = this.byId.get(id);
    if (known) return known;
    const subject: WorldSubject = { kind: this.kind, id, index: this.all.length, record: undefined };
    this.all.push(subject);
    this.byId.set(id, subject);
    return subject;
  }

  private set({ subject: id, path, value, secret }: FactChange, copied: Set<WorldSubject>): void {
    const subject = this.subject(id);
    this.paths.add(path);
    if (secret) this.secrets.add(path);
    if (!subject.record) {
      if (value === undefined) return;
      this.replace(subject, {});
    }
    const record = subject.record as Facts;
    // Decisions hold the documents of services.
    if (this.kind === 'service' && !copied.has(subject)) subject.record = copyOf(record);
    copied.add(subject);
    const isJoined = JOINED[this.kind].includes(path);
    if (isJoined) this.unjoin(subject);
    setAt(subject.record as Facts, path, this.kept(value));
    if (isJoined) this.join(subject);
    this.touch(subject);
  }

  private replace(subject: WorldSubject, record: Facts | undefined): void {
    if (subject.record) {
      this.unjoin(subject);
      this.there -= 1;
    }
    subject.record = record;
    if (record) {
      this.join(subject);
      this.there += 1;
    }
    this.touch(subject);
  }

  private touch(subject: WorldSubject): void {
    for (const touched of this.watched) touched.add(subject);
    for (const view of this.views.values()) view.delete(subject);
  }

  private join(subject: WorldSubject): void {
    for (const serial of this.serialsOf(subject)) this.bySerial.add(serial, subject);
    for (const email of this.emailsOf(subject)) this.byEmail.add(email, subject);
  }

  private unjoin(subject: WorldSubject): void {
    for (const serial of this.serialsOf(subject)) this.bySerial.delete(serial, subject);
    for (const email of this.emailsOf(subject)) this.byEmail.delete(email, subject);
  }

  private serialsOf({ record }: WorldSubject): readonly string[] {
    if (!record || this.kind === 'service') return [];
    if (this.kind === 'user') return ownTexts(record, 'SerialNumbers') ?? [];
    const serial = ownText(record, 'SerialNumber');
    return serial === undefined ? [] : [serial];
  }

  private emailsOf({ id, record }: WorldSubject): readonly string[] {
    if (!record || this.kind === 'service') return [];
    return this.kind === 'user'
      ? [id.toLowerCase()]
      : (ownTexts(record, 'Emails') ?? []).map((email) => email.toLowerCase());
  }

  /** Most texts are the same in many records. */
  private kept(value: Fact | undefined): Fact | undefined {
    // Facts come shared, and records are changed in place.
    if (isFacts(value)) return copyOf(value);
    if (typeof value !== 'string' || value.length > TEXT_MAX) return value;
    const known = this.texts.get(value);
    if (known !== undefined) return known;
    if (this.texts.size < TEXTS_MAX) this.texts.set(value, value);
    return value;
  }
}

const TEXT_MAX = 32;
const TEXTS_MAX = 10_000;

function without(record: Facts, hidden: readonly string[]): Facts {
  const copy = copyOf(record);
  for (const path of hidden) setAt(copy, path, undefined);
  return copy;
}
