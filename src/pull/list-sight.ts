// pull: what a whole list shows of whether its source moves: a sum over its records, and its newest report. In: records with their
// fingerprints, in any order and parts. Out: two values. It runs for every record of a fleet.
// Each fingerprint is printed once more before it is added: it is a sum itself, and two devices that swap a fact would have the same one.

import { addPrint } from '../domain/fact-prints.ts';
import { type Facts, own } from '../domain/facts.ts';
import type { Sight } from '../domain/movement.ts';
import { begin, mixWord, type PrintKey, PrintSeeds } from '../domain/print-bits.ts';
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
  private readonly seeds: PrintSeeds;
  private readonly seed: Int32Array;
  private readonly print = new Int32Array(4);
  private readonly sum = new Int32Array(4);
  private newestMs = 0;

  /** `latestMs`: a later time is wrong, and a device may send any. */
  constructor(
    kind: SubjectKind,
    private readonly latestMs: number,
    key: PrintKey,
  ) {
    this.times = TIMES[kind];
    this.seeds = new PrintSeeds(key);
    this.seed = this.seeds.of('list');
  }

  /** `prints`, `at`: where its four numbers are. */
  add(record: Facts, prints: Int32Array, at: number): void {
    begin(this.seed);
    for (let word = at; word < at + 4; word += 1) mixWord(prints[word] as number);
    this.seeds.finish(this.print, 0);
    addPrint(this.sum, 0, this.print, 0);
    for (const [field, within] of this.times) {
      const found = own(record, field);
      const time = within === undefined ? found : own(found, within);
      if (typeof time === 'bigint' || typeof time === 'number') this.see(epochMsOf(time) ?? 0);
    }
  }

  addPart({ sum, newestMs }: SightPart): void {
    addPrint(this.sum, 0, sum, 0);
    this.see(newestMs);
  }

  get part(): SightPart {
    return { sum: this.sum, newestMs: this.newestMs };
  }

  get sight(): Sight {
    return { content: this.sum.join(' '), newestMs: this.newestMs === 0 ? undefined : this.newestMs };
  }

  private see(timeMs: number): void {
    if (timeMs > this.newestMs && timeMs <= this.latestMs) this.newestMs = Math.floor(timeMs);
  }
}
