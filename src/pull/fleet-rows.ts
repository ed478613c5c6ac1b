// pull: what is kept of each device of a fleet, as rows of bytes: a device takes some sixty of them instead of an object. In: records. Out:
// a part of the fleet index, and single devices of it again. Exact: texts that rows cannot hold are kept as JSON.
import { type Facts, own, ownText } from '../domain/facts.ts';
import type { FleetDevice } from '../domain/fleet.ts';
import type { FleetPart } from '../domain/record-part.ts';
import { flagText } from '../domain/target.ts';
import { uuidOf, writeUuid } from './key-set.ts';

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

export function serialOfRow(part: FleetPart, row: number): string {
  return textsOfRow(part, row)[part.ids ? 0 : 1] as string;
}

/** A device of a part as it was added. */
export function deviceOfRow(part: FleetPart, row: number, fieldsWritten: readonly string[]): FleetDevice {
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

export function serialHash(serial: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < serial.length; at += 1) hash = Math.imul(hash ^ serial.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}
