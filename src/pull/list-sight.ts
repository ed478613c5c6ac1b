// pull: what a whole list shows of whether its source moves: the sum of its records' fingerprints, and its newest report. In: records with their
// fingerprints, in any order and parts. Out: two values. It runs for every record of a fleet.
import { type Facts, own } from '../domain/facts.ts';
import type { Sight } from '../domain/movement.ts';
import type { SightPart } from '../domain/record-part.ts';
import type { SubjectKind } from '../domain/subjects.ts';
import { epochMsOf } from '../domain/timestamp.ts';

/** When a platform, a device or a person last reported something, by kind. Fields of one level, then of those within. */
const TIMES: Readonly<Record<SubjectKind, readonly (readonly [string, string?])[]>> = {
  device: [['LastLogin'], ['CreatedAt'], ['MdmData', 'Timestamp'], ['TrustData', 'UpdatedAt']],
  user: [['LastLogin'], ['CreatedAt'], ['TrustData', 'UpdatedAt']],
  service: [['LastUpdatedAt'], ['CreatedAt']],
};

export class ListSight {
  private readonly times: (typeof TIMES)[SubjectKind];
  private low = 0;
  private high = 0;
  private newestMs = 0;

  /** `latestMs`: a later time is wrong, and a device may send any. */
  constructor(
    kind: SubjectKind,
    private readonly latestMs: number,
  ) {
    this.times = TIMES[kind];
  }

  add(record: Facts, print: number): void {
    this.sum(print % SPAN, Math.floor(print / SPAN));
    for (const [field, within] of this.times) {
      const found = own(record, field);
      const time = within === undefined ? found : own(found, within);
      if (typeof time === 'bigint' || typeof time === 'number') this.see(epochMsOf(time) ?? 0);
    }
  }

  addPart({ low, high, newestMs }: SightPart): void {
    this.sum(low, high);
    this.see(newestMs);
  }

  get part(): SightPart {
    return { low: this.low, high: this.high, newestMs: this.newestMs };
  }

  get sight(): Sight {
    return { content: `${this.high} ${this.low}`, newestMs: this.newestMs === 0 ? undefined : this.newestMs };
  }

  private sum(low: number, high: number): void {
    this.low = (this.low + low) % SPAN;
    this.high = (this.high + high) % SPAN;
  }

  private see(timeMs: number): void {
    if (timeMs > this.newestMs && timeMs <= this.latestMs) this.newestMs = Math.floor(timeMs);
  }
}

const SPAN = 2 ** 32;
