// domain: changed records, packed for another thread: as they are; or as facts, each distinct one once, as its path, its fingerprint and its text, and of
// each record which facts it has. In: records, hostile. Out: bytes; the same again. INVARIANT: among facts nothing of a secret is, but that it is there.
import { deserialize, serialize } from 'node:v8';
import { GrowingBytes, GrowingNumbers } from '../base/growing.ts';
import { AS_VALUES } from '../base/packed-list.ts';
import { PRINT_WORDS, type PrintKey } from '../base/print-bits.ts';
import { addPrint, type FactPath, FactPaths, type TakeFact } from './fact-prints.ts';
import { type Fact, type Facts, isFacts } from './facts.ts';
import { FIELDS, fieldText } from './identity.ts';
import { isPlainlyCleanFact, JSON_FIELDS, withoutSecrets } from './secrets.ts';
import type { SubjectKind } from './subjects.ts';

export interface FactPack {
  paths: string[];
  /** By fact: which of `paths`, four numbers, and where in `texts` its JSON ends. */
  pathOf: Uint32Array;
  prints: Int32Array;
  textEnds: Uint32Array;
  texts: Uint8Array;
  /** By record: its id, and where in `facts` its own end. */
  ids: string[];
  ends: Uint32Array;
  facts: Uint32Array;
}

/** Where all facts of records are new, the thread that read them packs these; where few are, it is quicker to hand over the records. */
export type ChangedPack = FactPack | { records: Uint8Array };

export function unpackChanged(bytes: Uint8Array): ChangedPack {
  return deserialize(bytes) as ChangedPack;
}

export function packRecords(records: readonly Facts[]): Uint8Array {
  return serialize({ records: AS_VALUES.pack(records) } satisfies ChangedPack);
}

/** The JSON of each fact, made when it is asked for the first time. */
export function textsOf({ texts, textEnds }: FactPack): (fact: number) => string {
  const all = Buffer.from(texts.buffer, texts.byteOffset, texts.byteLength);
  const made: string[] = [];
  return (fact) => {
    made[fact] ??= all.toString('utf8', fact === 0 ? 0 : textEnds[fact - 1], textEnds[fact]);
    return made[fact] as string;
  };
}

/** Of what has a number, in one pack after the other: where it is in this one. */
class Places {
  private readonly packs: number[] = [];
  private readonly places: number[] = [];

  get(no: number, pack: number): number | undefined {
    return this.packs[no] === pack ? this.places[no] : undefined;
  }

  set(no: number, pack: number, place: number): number {
    this.packs[no] = pack;
    this.places[no] = place;
    return place;
  }
}

export class FactPacker {
  private readonly idField: string;
  private readonly pathOf = new GrowingNumbers(Uint32Array);
  private readonly prints = new GrowingNumbers(Int32Array);
  private readonly ends = new GrowingNumbers(Uint32Array);
  private readonly facts = new GrowingNumbers(Uint32Array);
  private paths: string[] = [];
  private readonly textEnds = new GrowingNumbers(Uint32Array);
  /** Texts would live as long as their pack, and be moved meanwhile. */
  private readonly texts = new GrowingBytes();
  private ids: string[] = [];
  private packs = 0;
  private readonly pathPlaces = new Places();
  private readonly factPlaces = new Places();
  private readonly sum = new Int32Array(PRINT_WORDS);
  private readonly recordTexts: RecordTexts;

  constructor(
    kind: SubjectKind,
    private readonly factPaths: FactPaths,
  ) {
    this.idField = FIELDS[kind][0] as string;
    this.recordTexts = new RecordTexts(factPaths.key);
  }

  get size(): number {
    return this.ids.length;
  }

  /** One without an id is left out. `out`, `at`: where its fingerprint goes. */
  add(record: Facts, out: Int32Array = this.sum, at = 0): void {
    const id = fieldText(record, this.idField);
    if (id === '') {
      this.factPaths.print(record, out, at);
      return;
    }
    this.recordTexts.begin(record);
    this.sum.fill(0);
    this.factPaths.walk(record, this.take);
    out.set(this.sum, at);
    this.ids.push(id);
    this.ends.push(this.facts.length);
  }

  /** Of the records since the last one. */
  pack(): Uint8Array {
    const { paths, ids } = this;
    const [pathOf, prints, ends, facts] = [this.pathOf, this.prints, this.ends, this.facts].map((all) => all.taken());
    const [textEnds, texts] = [this.textEnds.taken(), this.texts.taken()];
    [this.paths, this.ids] = [[], []];
    this.packs += 1;
    return serialize({ paths, pathOf, prints, textEnds, texts, ids, ends, facts });
  }

  private readonly take: TakeFact = (path, print, value, known) => {
    addPrint(this.sum, 0, print, 0);
    const place = known < 0 ? undefined : this.factPlaces.get(known, this.packs);
    this.facts.push(place ?? this.added(path, print, value, known));
  };

  private added(path: FactPath, print: Int32Array, value: Fact, known: number): number {
    if (isPlainlyCleanFact(path.text, value)) {
      const place = this.append(path, print, factText(value));
      return known < 0 ? place : this.factPlaces.set(known, this.packs, place);
    }
    const text = this.recordTexts.of(path.text, value);
    return this.append(path, text === SECRET_TEXT ? NO_PRINT : print, text);
  }

  private append(path: FactPath, print: Int32Array, text: string): number {
    const place = this.pathPlaces.get(path.no, this.packs);
    this.pathOf.push(place ?? this.pathPlaces.set(path.no, this.packs, this.paths.push(path.text) - 1));
    for (let word = 0; word < PRINT_WORDS; word += 1) this.prints.push(print[word] as number);
    this.texts.addText(text);
    this.textEnds.push(this.texts.length);
    return this.textEnds.length - 1;
  }
}

/** Of a secret: whether it changed is not known. */
const NO_PRINT = new Int32Array(PRINT_WORDS);

/** The JSON of facts of one record after another, and SECRET_TEXT for a secret: most facts are known to be none without a look at the record. */
export class RecordTexts {
  private record: Facts = {};
  private secret: ReadonlySet<string> | undefined;

  constructor(private readonly key: PrintKey) {}

  begin(record: Facts): void {
    this.record = record;
    this.secret = undefined;
  }

  of(path: string, value: Fact): string {
    if (isPlainlyCleanFact(path, value)) return factText(value);
    this.secret ??= secretPathsOf(this.record, this.key);
    return this.secret.has(path) ? SECRET_TEXT : factText(value);
  }
}

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

/**
 * In the place of a secret, which is not recorded. No fact has this text: an object is recorded as a whole only when it is empty, or when a key in
 * it has a dot or no name.
 */
export const SECRET_TEXT = '{"$secret":true}';

/** The JSON of a fact, equal in every digit: integers beyond 2^53 are whole numbers in it; a number beyond all types is `1e999`. */
export function factText(value: Fact): string {
  switch (typeof value) {
    case 'bigint':
      return value.toString();
    case 'number':
      return numberText(value);
    case 'object':
      return value === null ? 'null' : Array.isArray(value) ? `[${value.map(factText).join(',')}]` : membersText(value);
    default:
      return JSON.stringify(value);
  }
}

/** A whole number with an exponent is read as a number, never as a bigint. */
function numberText(value: number): string {
  if (Number.isFinite(value)) {
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? value.toExponential() : JSON.stringify(value);
  }
  return value > 0 ? '1e999' : '-1e999';
}

function membersText(value: { [key: string]: Fact }): string {
  let text = '';
  for (const key of Object.keys(value)) {
    const member = value[key];
    if (member !== undefined) text += `${text === '' ? '' : ','}${keyText(key)}:${factText(member)}`;
  }
  return `{${text}}`;
}

/** Members of records have few names. */
const keyTexts = new Map<string, string>();
const [KEYS_MAX, KEY_LENGTH_MAX] = [1_000, 64];

function keyText(key: string): string {
  const known = keyTexts.get(key);
  if (known !== undefined) return known;
  const text = JSON.stringify(key);
  if (keyTexts.size < KEYS_MAX && key.length <= KEY_LENGTH_MAX) keyTexts.set(key, text);
  return text;
}
