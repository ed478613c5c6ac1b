// store: a digest of a set of rows that follows every insert and delete without reading the others. In: rows as text, in any order.
// Out: `ROWS:HASH`. It is LtHash (Bellare and Micciancio 1997; Lewi and others 2019): the sum of a hash of 1,024 numbers of 16 bits
// of each row; nobody can find another set of rows with the same sum.
import { createHash, hash } from 'node:crypto';

const LANES = 1_024;

export class RowSum {
  constructor(
    private rows = 0,
    private readonly lanes: Uint16Array = new Uint16Array(LANES),
  ) {}

  add(row: string): void {
    const own = lanesOf(row);
    for (let at = 0; at < LANES; at += 1) this.lanes[at] = (this.lanes[at] as number) + (own[at] as number);
    this.rows += 1;
  }

  remove(row: string): void {
    const own = lanesOf(row);
    for (let at = 0; at < LANES; at += 1) this.lanes[at] = (this.lanes[at] as number) - (own[at] as number);
    this.rows -= 1;
  }

  /** As it was stored. */
  static of(rows: number, bytes: Uint8Array): RowSum {
    return new RowSum(rows, new Uint16Array(Uint8Array.from(bytes).buffer));
  }

  get count(): number {
    return this.rows;
  }

  bytes(): Uint8Array {
    return new Uint8Array(this.lanes.buffer, this.lanes.byteOffset, this.lanes.byteLength);
  }

  copy(): RowSum {
    return new RowSum(this.rows, this.lanes.slice());
  }

  digest(): string {
    return `${this.rows}:${hash('sha256', this.bytes(), 'hex').slice(0, HASH_DIGITS)}`;
  }
}

/** 128 bits: finding another input for a given digest is out of reach. */
const HASH_DIGITS = 32;

function lanesOf(row: string): Uint16Array {
  const bytes = createHash('shake128', { outputLength: 2 * LANES })
    .update(row)
    .digest();
  return new Uint16Array(bytes.buffer, bytes.byteOffset, LANES);
}
