// history: all subjects of one kind, as the record shows them at one time of a replay. In: changes of facts. Out: records, found by id and by
// what joins them; which of them changed. Records of runs that did not see all fields are views without these.
import { type Fact, type Facts, isFacts, ownText, ownTexts } from '../../domain/facts.ts';
import type { FactChange } from '../../domain/look-back.ts';
import type { SubjectKind } from '../../domain/subjects.ts';

// An index from a key to the few things that have it: devices of a serial number, of an owner.

class ManyOf<T> {
  private readonly byKey = new Map<string, T | Set<T> | undefined>();

  add(key: string, one: T): void {
    const known = this.byKey.get(key);
    if (known === undefined) this.byKey.set(key, one);
    else if (known instanceof Set) known.add(one);
    else if (known !== one) this.byKey.set(key, new Set([known, one]));
  }

  /** A key stays: a map in which one key comes and goes a hundred thousand times becomes slow. */
  delete(key: string, one: T): void {
    const known = this.byKey.get(key);
    if (known instanceof Set) {
      known.delete(one);
      if (known.size === 0) this.byKey.set(key, undefined);
    } else if (known === one) this.byKey.set(key, undefined);
  }

  of(key: string): Iterable<T> {
    const known = this.byKey.get(key);
    return known === undefined ? [] : known instanceof Set ? known : [known];
  }

  clear(): void {
    this.byKey.clear();
  }
}

// A record, put together again from its facts by dotted path.

/** The keys of a path, one for each object on the way. */
export function keysOf(path: string): string[] {
  return path.split('.');
}

export function valueAt(record: Facts, keys: readonly string[]): Fact | undefined {
  let value: Fact | undefined = record;
  for (let at = 0; at < keys.length; at += 1) {
    const key = keys[at] as string;
    if (!isFacts(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

/** Sets the value at a path; undefined takes it away, and with it each object that is left empty. */
export function setAt(record: Facts, keys: readonly string[], value: Fact | undefined): void {
  const last = keys.length - 1;
  let holder = record;
  for (let at = 0; at < last; at += 1) {
    const key = keys[at] as string;
    let inner = Object.hasOwn(holder, key) ? holder[key] : undefined;
    if (!isFacts(inner)) {
      if (value === undefined) return;
      inner = {};
      setOwn(holder, key, inner);
    }
    holder = inner;
  }
  setOwn(holder, keys[last] as string, value);
  if (value === undefined && last > 0 && Object.keys(holder).length === 0) setAt(record, keys.slice(0, -1), undefined);
}

function setOwn(record: Facts, key: string, value: Fact | undefined): void {
  if (value === undefined) delete record[key];
  else if (key === '__proto__')
    Object.defineProperty(record, key, { value, enumerable: true, configurable: true, writable: true });
  else record[key] = value;
}

/** Objects are copied; lists are values, which nobody changes. */
function copyOf(record: Facts): Facts {
  const copy: Facts = {};
  for (const [key, value] of Object.entries(record)) setOwn(copy, key, isFacts(value) ? copyOf(value) : value);
  return copy;
}

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

/** Whether somebody who keeps what was found of a record is to look at it again, after a change of one of its facts. */
export type MayMatter = (
  subject: WorldSubject,
  path: string,
  before: Fact | undefined,
  now: Fact | undefined,
) => boolean;

interface Watching {
  touched: Set<WorldSubject>;
  mayMatter: MayMatter | undefined;
}

interface PathOfKind {
  keys: readonly string[];
  /** Records are found by it. */
  isJoined: boolean;
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
  private watching: Watching[] = [];
  private readonly byId = new Map<string, WorldSubject>();
  private readonly paths = new Map<string, PathOfKind>();
  /** Services whose documents were copied since `begin`. */
  private readonly copied = new Set<WorldSubject>();
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

  /** Changes of one time follow. */
  begin(): void {
    this.copied.clear();
  }

  remove(id: string): void {
    this.replace(this.subject(id), undefined);
  }

  /** What follows of these holds for one run: see `restore`. */
  keep(ids: Iterable<string>): void {
    for (const id of ids) {
      const subject = this.subject(id);
      if (this.brief.has(subject)) continue;
      this.brief.set(subject, subject.record);
      if (subject.record) this.replace(subject, copyOf(subject.record));
    }
  }

  restore(): void {
    for (const [subject, record] of this.brief) this.replace(subject, record);
    this.brief.clear();
  }

  /**
   * From now on those that change are added to it, and those whose brief changes are over; who asked for it empties it. `mayMatter`: absent: any
   * change does. Records that are new or others, and what they are found by, always do.
   */
  touched(mayMatter?: MayMatter): Set<WorldSubject> {
    const touched = new Set(this.all);
    this.watching.push({ touched, mayMatter });
    return touched;
  }

  /** Nobody takes from it any more. */
  leave(touched: Set<WorldSubject> | undefined): void {
    this.watching = this.watching.filter((each) => each.touched !== touched);
  }

  hasPath(path: string): boolean {
    return this.paths.has(path);
  }

  isSecret(path: string): boolean {
    return this.secrets.has(path);
  }

  /** `shows`: the paths that the run's readings have; undefined: all. */
  view(shows: ReadonlySet<string> | undefined): View & { key: string } {
    const hidden = shows ? [...this.paths.keys()].filter((path) => !shows.has(path)).sort() : [];
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

  set({ subject: id, path, value, secret }: FactChange): void {
    const subject = this.subject(id);
    const { keys, isJoined } = this.pathOf(path);
    if (secret) this.secrets.add(path);
    if (!subject.record) {
      if (value === undefined) return;
      this.replace(subject, {});
    }
    if (this.kind === 'service') this.copyDocument(subject);
    const record = subject.record as Facts;
    const before = valueAt(record, keys);
    if (isJoined) this.unjoin(subject);
    setAt(record, keys, this.kept(value));
    if (isJoined) this.join(subject);
    for (const { touched, mayMatter } of this.watching)
      if (isJoined || !mayMatter || mayMatter(subject, path, before, value)) touched.add(subject);
    for (const view of this.views.values()) view.delete(subject);
  }

  /** Decisions hold the documents of services. */
  private copyDocument(subject: WorldSubject): void {
    if (!this.copied.has(subject)) subject.record = copyOf(subject.record as Facts);
    this.copied.add(subject);
  }

  private pathOf(path: string): PathOfKind {
    let known = this.paths.get(path);
    if (!known) {
      known = { keys: keysOf(path), isJoined: JOINED[this.kind].includes(path) };
      this.paths.set(path, known);
    }
    return known;
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
    for (const { touched } of this.watching) touched.add(subject);
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
  for (const path of hidden) setAt(copy, keysOf(path), undefined);
  return copy;
}
