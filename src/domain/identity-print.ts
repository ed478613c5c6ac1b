// domain: keyed fingerprints of identities: 128 bits for all that is kept of a record, so that an unchanged one is known without a look at
// what is stored. In: a key, a record, or an identity. Out: four numbers. It runs for every record of a fleet.

import { begin, mixText, mixWord, type PrintKey, PrintSeeds } from '../base/print-bits.ts';
import { type Facts, own } from './facts.ts';
import { FIELDS, fieldText, type ListedIdentity } from './identity.ts';
import { factsOf } from './listed-facts.ts';
import type { SubjectKind } from './subjects.ts';

export class IdentityPrinter {
  private readonly seeds: PrintSeeds;
  private readonly seed: Int32Array;

  constructor(key: PrintKey) {
    this.seeds = new PrintSeeds(key);
    this.seed = this.seeds.of('identity');
  }

  /** Without and with its owners, one after the other. Four times 0: they are not known. */
  prints(
    { id, serial, name, platform, model, owners, facts }: Omit<ListedIdentity, 'kind'>,
    out: Int32Array,
    at: number,
  ): void {
    const texts = [id, serial, name, platform, model];
    this.finish(texts, facts, undefined, out, at);
    if (owners === undefined) out.fill(0, at + 4, at + 8);
    else this.finish(texts, facts, owners, out, at + 4);
  }

  /** The same of a record: with its owners if it shows them, otherwise without. */
  printOfRecord(kind: SubjectKind, record: Facts, out: Int32Array, at: number): void {
    const owners = kind === 'device' ? own(record, 'Emails') : undefined;
    const texts = FIELDS[kind].map((field) => fieldText(record, field));
    this.finish(texts, factsOf(kind, record), Array.isArray(owners) ? owners : undefined, out, at);
  }

  /** No owners are another fingerprint than unknown ones. */
  private finish(
    texts: readonly string[],
    facts: number,
    owners: readonly unknown[] | undefined,
    out: Int32Array,
    at: number,
  ): void {
    begin(this.seed);
    mixWord(facts);
    for (const text of texts) mixText(0, text);
    for (const owner of owners ?? []) if (typeof owner === 'string') mixText(0, owner);
    mixWord(owners === undefined ? UNKNOWN : KNOWN);
    this.seeds.finish(out, at);
  }
}

/** No text begins so. */
const [UNKNOWN, KNOWN] = [-1, -2];
