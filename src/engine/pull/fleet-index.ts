// pull: keeps a little of every device, to find shared serial numbers. In: records, or parts that another thread read. Out: the devices
// of a serial number, in the order of reading. Rows are bytes; which of them have a serial number is looked up when first asked.

import { clip, NAME_MAX } from '../../base/text.ts';
import { type Facts, isFacts, own, ownText, ownTexts } from '../../domain/facts.ts';
import type { FleetPart, KeyPart } from '../../domain/record-part.ts';
import {
  type Fleet,
  type FleetDevice,
  flagText,
  isOverlong,
  KEPT_NAME_BYTES_MAX,
  type Source,
} from '../../domain/subjects.ts';

// The keys of one reading, to find repeated ones.

const HEX = new Int8Array(128).fill(-1);
for (let digit = 0; digit < 16; digit += 1) HEX[digit.toString(16).charCodeAt(0)] = digit;
const DASHES = 0b1000_0100_0010_0001_0000_0000;
const UUID_LENGTH = 36;

/** Writes a UUID as four numbers; returns whether the text is one in its usual writing, from which it can be written again. */
export function writeUuid(text: string, ids: Uint32Array, at: number): boolean {
  if (text.length !== UUID_LENGTH) return false;
  let word = 0;
  let digits = 0;
  for (let index = 0; index < UUID_LENGTH; index += 1) {
    const code = text.charCodeAt(index);
    if (index < 24 && (DASHES >> index) & 1) {
      if (code !== 0x2d) return false;
      continue;
    }
    const digit = code < 128 ? (HEX[code] as number) : -1;
    if (digit < 0) return false;
    word = (word << 4) | digit;
    digits += 1;
    if ((digits & 7) === 0) ids[at + (digits >> 3) - 1] = word;
  }
  return true;
}

function uuidOf(ids: Uint32Array, at: number): string {
  const hex = [0, 1, 2, 3].map((word) => (ids[at + word] as number).toString(16).padStart(8, '0')).join('');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const SINGLE_ROWS = 1_024;
const EXPECTED_MAX = 2 ** 22;

export class KeySet {
  private readonly others = new Set<string>();
  private readonly parts: { from: number; ids: Uint32Array }[] = [];
  private count = 0;
  /** Rows, counted from 1; 0: a free place. INVARIANT: at most half of the places are taken. */
  private rows: Int32Array;
  private hashes: Uint32Array;
  /** Keys that came one by one. */
  private single = new Uint32Array(0);
  private singles = 0;

  /** `expected`: about how many keys will come. */
  constructor(expected = 0) {
    const places = 2 ** Math.ceil(Math.log2(2 * Math.min(expected, EXPECTED_MAX) + 4_096));
    this.rows = new Int32Array(places);
    this.hashes = new Uint32Array(places);
  }

  /** Returns whether the key is new. */
  add(key: string): boolean {
    if (this.singles * 4 === this.single.length) {
      this.single = new Uint32Array(4 * SINGLE_ROWS);
      this.singles = 0;
      this.parts.push({ from: this.count, ids: this.single });
    }
    if (!writeUuid(key, this.single, 4 * this.singles)) return this.addText(key);
    if (!this.insert(this.single, 4 * this.singles)) return false;
    this.singles += 1;
    return true;
  }

  /** Returns whether all of its keys are new. */
  addPart({ ids, others }: KeyPart): boolean {
    [this.single, this.singles] = [new Uint32Array(0), 0];
    this.parts.push({ from: this.count, ids });
    for (let at = 0; at < ids.length; at += 4) if (!this.insert(ids, at)) return false;
    return others.every((key) => this.addText(key));
  }

  private addText(key: string): boolean {
    if (this.others.has(key)) return false;
    this.others.add(key);
    return true;
  }

  /** INVARIANT: the next row of `parts` is the one at `at`. */
  private insert(ids: Uint32Array, at: number): boolean {
    if (2 * (this.count + 1) > this.rows.length) this.grow();
    const hash = hashOf(ids, at);
    const mask = this.rows.length - 1;
    let place = hash & mask;
    for (; this.rows[place] !== 0; place = (place + 1) & mask)
      if (this.hashes[place] === hash && this.isAt((this.rows[place] as number) - 1, ids, at)) return false;
    this.count += 1;
    this.rows[place] = this.count;
    this.hashes[place] = hash;
    return true;
  }

  private isAt(row: number, ids: Uint32Array, at: number): boolean {
    let part = this.parts.length - 1;
    while ((this.parts[part]?.from as number) > row) part -= 1;
    const { from, ids: own } = this.parts[part] as { from: number; ids: Uint32Array };
    const place = 4 * (row - from);
    return [0, 1, 2, 3].every((word) => own[place + word] === ids[at + word]);
  }

  private grow(): void {
    const [rows, hashes] = [this.rows, this.hashes];
    this.rows = new Int32Array(2 * rows.length);
    this.hashes = new Uint32Array(2 * rows.length);
    const mask = this.rows.length - 1;
    for (let old = 0; old < rows.length; old += 1) {
      if (rows[old] === 0) continue;
      let place = (hashes[old] as number) & mask;
      while (this.rows[place] !== 0) place = (place + 1) & mask;
      this.rows[place] = rows[old] as number;
      this.hashes[place] = hashes[old] as number;
    }
  }
}

function hashOf(ids: Uint32Array, at: number): number {
  let hash = Math.imul((ids[at] as number) ^ 0x9e3779b9, 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 15) ^ (ids[at + 1] as number), 0xc2b2ae35);
  hash = Math.imul(hash ^ (hash >>> 13) ^ (ids[at + 2] as number), 0x27d4eb2f);
  hash = Math.imul(hash ^ (hash >>> 16) ^ (ids[at + 3] as number), 0x165667b1);
  return (hash ^ (hash >>> 15)) >>> 0;
}

// What is kept of each device of a fleet, as rows of bytes: a device takes some sixty of them instead of an object.

/** Between two texts of a row. A row that holds one of these in a text is kept as JSON, with all others of its part. */
const BETWEEN = '\t';
const END = '\n';

/** A row of a part whose owners are not known has none; `kinds` shows the difference. */
const OWNED = 'owned';

interface KindNode {
  next: Map<string | undefined, KindNode>;
  kind: number | undefined;
}

const newNode = (): KindNode => ({ next: new Map(), kind: undefined });

function step(node: KindNode, text: string | undefined): KindNode {
  const known = node.next.get(text);
  if (known) return known;
  const fresh = newNode();
  node.next.set(text, fresh);
  return fresh;
}

export class FleetRows {
  private readonly ids: string[] = [];
  /** Serial number, name and owners. */
  private readonly texts: string[][] = [];
  private readonly hashes: number[] = [];
  private readonly kindOf: number[] = [];
  private readonly kinds: (string | undefined)[][] = [];
  private readonly owned = newNode();
  private readonly unowned = newNode();

  /** `fieldsWritten`: what is kept of each device to tell whether an action is done. */
  constructor(private readonly fieldsWritten: readonly string[]) {}

  get length(): number {
    return this.texts.length;
  }

  add(record: Facts): void {
    const serial = ownText(record, 'SerialNumber') ?? '';
    const owners = own(record, 'Emails');
    const row = [serial, ownText(record, 'DeviceFriendlyName') ?? ''];
    if (Array.isArray(owners)) for (const owner of owners) if (typeof owner === 'string') row.push(owner);
    this.ids.push(ownText(record, 'DeviceID') ?? '');
    this.texts.push(row);
    this.hashes.push(serialHash(serial));
    this.kindOf.push(this.kindOfRecord(record, Array.isArray(owners)));
  }

  /** Found text by text: putting one key together for each record would cost more. */
  private kindOfRecord(record: Facts, isOwned: boolean): number {
    const platform = ownText(record, 'Platform') ?? '';
    const model = ownText(record, 'Model') ?? '';
    let node = step(step(isOwned ? this.owned : this.unowned, platform), model);
    for (const field of this.fieldsWritten) node = step(node, flagText(record, field));
    if (node.kind === undefined) {
      const state = this.fieldsWritten.map((field) => flagText(record, field));
      node.kind = this.kinds.push([platform, model, isOwned ? OWNED : undefined, ...state]) - 1;
    }
    return node.kind;
  }

  /** Everything added so far. `known`: the ids as numbers, when all of them are UUIDs. */
  part(known?: Uint32Array): FleetPart {
    const ids = known?.length === 4 * this.ids.length ? known : this.idsOfAll();
    const rows = ids ? this.texts : this.texts.map((row, index) => [this.ids[index] as string, ...row]);
    const { text, starts, isJson } = written(rows);
    const bytes = Buffer.from(text);
    return {
      ids,
      rows: bytes,
      starts: bytes.length === text.length ? starts : startsIn(bytes, rows.length),
      serialHashes: Uint32Array.from(this.hashes),
      kindOf: Uint32Array.from(this.kindOf),
      kinds: this.kinds,
      isJson,
    };
  }

  private idsOfAll(): Uint32Array | undefined {
    const ids = new Uint32Array(4 * this.ids.length);
    const isWhole = this.ids.every((id, row) => writeUuid(id, ids, 4 * row));
    return isWhole ? ids : undefined;
  }
}

function written(rows: readonly string[][]): { text: string; starts: Uint32Array; isJson: boolean } {
  const plain = joined(rows, (row) => row.join(BETWEEN));
  const count = rows.reduce((sum, row) => sum + row.length, 0);
  const isPlain = plain.text.isWellFormed() && plain.text.split(/[\t\n]/).length === count + 1;
  return isPlain ? { ...plain, isJson: false } : { ...joined(rows, (row) => JSON.stringify(row)), isJson: true };
}

function joined(rows: readonly string[][], textOf: (row: string[]) => string): { text: string; starts: Uint32Array } {
  const starts = new Uint32Array(rows.length + 1);
  let text = '';
  rows.forEach((row, index) => {
    text += textOf(row) + END;
    starts[index + 1] = text.length;
  });
  return { text, starts };
}

function startsIn(bytes: Uint8Array, rows: number): Uint32Array {
  const starts = new Uint32Array(rows + 1);
  for (let row = 0; row < rows; row += 1) starts[row + 1] = bytes.indexOf(0x0a, starts[row]) + 1;
  return starts;
}

function serialOfRow(part: FleetPart, row: number): string {
  return textsOfRow(part, row)[part.ids ? 0 : 1] as string;
}

/** A device of a part as it was added. */
function deviceOfRow(part: FleetPart, row: number, fieldsWritten: readonly string[]): FleetDevice {
  const texts = textsOfRow(part, row);
  const id = part.ids ? uuidOf(part.ids, 4 * row) : (texts.shift() as string);
  const [, name = '', ...owners] = texts;
  const [platform = '', model = '', owned, ...state] = part.kinds[part.kindOf[row] as number] ?? [];
  return {
    id,
    name,
    platform,
    model,
    state: Object.fromEntries(fieldsWritten.map((field, index) => [field, state[index]])),
    owners: owned === undefined ? undefined : owners,
  };
}

function textsOfRow({ rows, starts, isJson }: FleetPart, row: number): string[] {
  const bytes = Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength);
  const text = bytes.toString('utf8', starts[row], (starts[row + 1] as number) - 1);
  return isJson ? (JSON.parse(text) as string[]) : text.split(BETWEEN);
}

function serialHash(serial: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < serial.length; at += 1) hash = Math.imul(hash ^ serial.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** Rows of devices that are added one by one are written this many at a time. */
const ROWS_AT_ONCE = 1_000;
const NONE = -1;

/** By serial number: the first row, the last one, and for each row the next one. */
interface Chains {
  first: Int32Array;
  last: Int32Array;
  next: Int32Array;
}

export class FleetIndex implements Fleet {
  private readonly parts: { from: number; part: FleetPart }[] = [];
  private added: FleetRows;
  private count = 0;
  private chains: Chains | undefined;
  /** Set when the list was read whole, in the form that names owners, and is trusted. */
  tellsOwners = false;

  /** `fieldsWritten`: what is kept of each device to tell whether an action is done. */
  constructor(private readonly fieldsWritten: readonly string[] = []) {
    this.added = new FleetRows(fieldsWritten);
  }

  add(record: Facts): void {
    this.added.add(record);
    if (this.added.length === ROWS_AT_ONCE) this.writeAdded();
  }

  /** Devices after all that were added before, with the same `fieldsWritten`. */
  addPart(part: FleetPart): void {
    this.writeAdded();
    this.parts.push({ from: this.count, part });
    this.count += part.kindOf.length;
    this.chains = undefined;
  }

  devicesOf(serialNumber: string): FleetDevice[] {
    this.writeAdded();
    this.chains ??= this.linked();
    const { first, next } = this.chains;
    const hash = serialHash(serialNumber);
    const found: FleetDevice[] = [];
    for (let row = first[hash & (first.length - 1)] as number; row !== NONE; row = next[row] as number) {
      const { from, part } = this.partOf(row);
      if (part.serialHashes[row - from] !== hash || serialOfRow(part, row - from) !== serialNumber) continue;
      found.push(deviceOfRow(part, row - from, this.fieldsWritten));
    }
    return found;
  }

  serialsOf(owners: ReadonlySet<string>): Map<string, Set<string>> | undefined {
    if (!this.tellsOwners) return undefined;
    this.writeAdded();
    const found = new Map<string, Set<string>>();
    for (const { part } of this.parts) {
      for (let row = 0; row < part.kindOf.length; row += 1) {
        for (const owner of deviceOfRow(part, row, this.fieldsWritten).owners ?? []) {
          const email = owner.toLowerCase();
          if (owners.has(email)) found.set(email, (found.get(email) ?? new Set()).add(serialOfRow(part, row)));
        }
      }
    }
    return found;
  }

  private writeAdded(): void {
    if (this.added.length === 0) return;
    const part = this.added.part();
    this.added = new FleetRows(this.fieldsWritten);
    this.addPart(part);
  }

  private linked(): Chains {
    const places = 2 ** Math.ceil(Math.log2(this.count + 2));
    const first = new Int32Array(places).fill(NONE);
    const last = new Int32Array(places);
    const next = new Int32Array(this.count).fill(NONE);
    for (const { from, part } of this.parts) {
      part.serialHashes.forEach((hash, row) => {
        const place = hash & (places - 1);
        if (first[place] === NONE) first[place] = from + row;
        else next[last[place] as number] = from + row;
        last[place] = from + row;
      });
    }
    return { first, last, next };
  }

  private partOf(row: number): { from: number; part: FleetPart } {
    let [low, high] = [0, this.parts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.parts[middle]?.from as number) <= row) low = middle;
      else high = middle - 1;
    }
    return this.parts[low] as { from: number; part: FleetPart };
  }
}

// A record is unreadable only when its key is; anything else odd in it becomes an `unknown` fact later.

type RecordSource = Exclude<Source, 'events'>;

/** `isOverlong`: a device chooses its serial number, so this says nothing of the list. */
type ReadRecord = { ok: true; key: string; record: Facts } | { ok: false; reason: string; isOverlong?: true };

export function readRecord(source: RecordSource, value: unknown): ReadRecord {
  if (!isFacts(value)) return { ok: false, reason: `not an object but ${kindOf(value)}` };
  const key = ownText(value, KEY_FIELD[source]);
  if (key === undefined || key === '') return { ok: false, reason: fault(value, KEY_FIELD[source]) };
  if (source === 'devices' && ownText(value, 'SerialNumber') === undefined) {
    return { ok: false, reason: `${fault(value, 'SerialNumber')} (DeviceID ${key})` };
  }
  const reason = overlong(source, value, key);
  return reason === undefined ? { ok: true, key, record: value } : { ok: false, reason, isOverlong: true };
}

function overlong(source: RecordSource, record: Facts, key: string): string | undefined {
  const field = KEY_FIELD[source];
  const isLonger = `is longer than ${KEPT_NAME_BYTES_MAX} bytes`;
  if (isOverlong(key)) return `${field} ${isLonger} (${clip(key, NAME_MAX)})`;
  const ofKey = `(${field} ${key})`;
  if (source === 'devices' && isOverlong(ownText(record, 'SerialNumber') ?? ''))
    return `SerialNumber ${isLonger} ${ofKey}`;
  if (source === 'users' && ownTexts(record, 'SerialNumbers')?.some(isOverlong))
    return `one of its SerialNumbers ${isLonger} ${ofKey}`;
  return undefined;
}

const KEY_FIELD: Record<RecordSource, string> = { devices: 'DeviceID', users: 'Email', services: 'ServiceID' };

function fault(record: Facts, field: string): string {
  if (!Object.hasOwn(record, field)) return `${field} is missing`;
  return record[field] === '' ? `${field} is empty` : `${field} is ${kindOf(record[field])}, not text`;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
