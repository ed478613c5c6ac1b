// pull: keeps a little of every device, to find shared serial numbers. In: records, or parts that another thread read. Out: the devices
// of a serial number, in the order of reading. Rows are bytes; which of them have a serial number is looked up when first asked.
import type { Facts } from '../domain/facts.ts';
import type { Fleet, FleetDevice } from '../domain/fleet.ts';
import type { FleetPart } from '../domain/record-part.ts';
import { deviceOfRow, FleetRows, serialHash, serialOfRow } from './fleet-rows.ts';

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
