// rules: how often each value of one fact was seen in one pass, for the trust gate. Cheap: it runs for every record.
// Values as they are up to 64 different ones, the rest as `…other`; times and numbers as `zero` or `set`; absence as `∅`.

import type { Fact } from '../../domain/facts.ts';
import type { Lists } from '../../domain/lists.ts';
import { redacted } from '../../domain/secrets.ts';
import type { ValuePart } from '../../domain/verdict.ts';
import { underLists } from '../compile/expressions.ts';
import { type RuleBits, wordsFor } from '../compile/program.ts';
import { factsIn, isOfType, isReadLate, type PathFact } from '../language/expression.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import type { ValueType } from '../record-types/field-types.ts';

// What one pass keeps of each value that it has seen, by a small integer, its code: how often, and the rules that it
// rules out.

export class CodeTable {
  /** By code. INVARIANT: replaced when it grows. */
  counts = new Int32Array(64);
  /** `words` of them for each code. INVARIANT: replaced when it grows. */
  ruledOut: RuleBits;
  readonly words: number;
  private used = 0;

  constructor(rules: number) {
    this.words = wordsFor(rules);
    this.ruledOut = new Int32Array(64 * this.words);
  }

  /** A code that stands for nothing yet, and rules out nothing. */
  begin(): number {
    if (this.used === this.counts.length) {
      this.counts = grown(this.counts);
      this.ruledOut = grown(this.ruledOut);
    }
    return this.used++;
  }

  count(code: number): void {
    this.counts[code] = this.countOf(code) + 1;
  }

  countOf(code: number): number {
    return this.counts[code] as number;
  }

  rulesOut(code: number, bits: RuleBits): void {
    this.ruledOut.set(bits, code * this.words);
  }
}

function grown(array: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(array.length * 2);
  larger.set(array);
  return larger;
}

const VALUES_MAX = 64;
/** Beyond this many values of one fact the rest have no code. */
const CODES_MAX = 1_000;
/** A power of two. */
const NEAR = 32;
const ABSENT = '∅';
const OTHER = '…other';

/** Whether a fact of this type has few values, so that they are counted and remembered as they are. */
export const hasFewValues = (type: ValueType): boolean => ['text', 'flag', 'boolean', 'score'].includes(type.kind);

export function isWholeScore(value: Fact | undefined): value is number {
  return typeof value === 'number' && value >= 0 && value <= 100 && Number.isInteger(value);
}

export class ValueCounts {
  /** By value, in the order in which they came. */
  private readonly codes = new Map<Fact, number>();
  /** The same of whole scores, where looking up is cheaper. -1: not seen. */
  readonly scoreCodes = new Int32Array(101).fill(-1);
  /** A text and its code where its length and a character of it lead: found without hashing the text, which is new with each record. */
  private readonly nearTexts = new Array<string>(NEAR).fill('');
  private readonly nearCodes = new Int32Array(NEAR).fill(-1);
  private other = 0;
  private none = 0;
  private zero = 0;
  private set = 0;

  /** `codesMax`: a part of a pass has a code for each value; which of them are the first is known when the parts are merged. */
  constructor(
    private readonly table: CodeTable,
    private readonly codesMax: number = CODES_MAX,
  ) {}

  addNone(): void {
    this.none++;
  }

  /** The code of a text that was added before, else -1. Does not count it. */
  codeOfText(text: string): number {
    const place = placeOf(text);
    if (this.nearTexts[place] === text) return this.nearCodes[place] as number;
    const code = this.codes.get(text);
    if (code === undefined) return -1;
    this.nearTexts[place] = text;
    this.nearCodes[place] = code;
    return code;
  }

  /** Counts a value unchanged. Returns its code and whether it is new; undefined when there are too many values. */
  add(value: Fact): { code: number; isNew: boolean } | undefined {
    const known = this.codes.get(value);
    const code = known ?? this.begin(value);
    if (code === undefined) {
      this.other++;
      return undefined;
    }
    this.table.count(code);
    return { code, isNew: known === undefined };
  }

  /** Counts a value by whether it is set. */
  addSet(value: Fact): void {
    if (typeof value === 'number') this.addNumber(value);
    else if (Array.isArray(value)) this.addList(value);
    else if (value === 0n) this.zero++;
    else this.set++;
  }

  addNumber(value: number): void {
    if (value === 0) this.zero++;
    else this.set++;
  }

  addList(value: readonly Fact[]): void {
    if (value.length === 0) this.zero++;
    else this.set++;
  }

  private begin(value: Fact): number | undefined {
    if (this.codes.size >= this.codesMax) return undefined;
    const code = this.table.begin();
    this.codes.set(value, code);
    if (isWholeScore(value)) this.scoreCodes[value] = code;
    return code;
  }

  /** All values, in the order in which they came. */
  part(): ValuePart {
    const { other, none, zero, set } = this;
    const counts = [...this.codes.values()].map((code) => this.table.countOf(code));
    return { values: [...this.codes.keys()], counts, other, none, zero, set };
  }

  /** `name`: of the fact. Secrets are redacted. */
  result(name: string): Record<string, number> {
    return countsOf(name, this.part());
  }
}

/** What a baseline keeps of the counts of one fact. */
function countsOf(name: string, { values, counts, other, none, zero, set }: ValuePart): Record<string, number> {
  const result: Record<string, number> = Object.create(null);
  for (const [at, value] of values.slice(0, VALUES_MAX).entries()) {
    const key = String(redacted(value, name));
    result[key] = (result[key] ?? 0) + (counts[at] as number);
  }
  const rest = counts.slice(VALUES_MAX).reduce((sum, count) => sum + count, other);
  if (rest > 0) result[OTHER] = rest;
  if (zero > 0) result.zero = zero;
  if (set > 0) result.set = set;
  if (none > 0) result[ABSENT] = none;
  return result;
}

function placeOf(text: string): number {
  const { length } = text;
  return length === 0 ? 0 : (length * 5 + text.charCodeAt(length >> 1)) & (NEAR - 1);
}

// How many records have each value of one fact, kept while records come, change and go: replays count a fleet once, and
// then what changes of it. In: values. Out: the counts that one pass over all records gives (`value-counts.ts`).
// INVARIANT: it counts what `FactReader` counts.

const [NONE, ZERO, SET] = [0, 1, 2];

export class ValueTally {
  /** Of values that are counted as they are, in the order in which they came. */
  private readonly codes = new Map<Fact, number>();
  private readonly counts = [0, 0, 0];

  constructor(
    readonly path: readonly string[],
    private readonly type: PathFact['type'],
  ) {}

  /** Returns its code, by which it is taken out again. */
  add(value: Fact | undefined): number {
    const code = this.codeOf(value);
    this.counts[code] = (this.counts[code] ?? 0) + 1;
    return code;
  }

  remove(code: number): void {
    this.counts[code] = (this.counts[code] as number) - 1;
  }

  result(): Record<string, number> {
    const { counts } = this;
    const present = [...this.codes].filter(([, code]) => (counts[code] as number) > 0);
    const [none = 0, zero = 0, set = 0] = counts;
    const listed = {
      values: present.map(([value]) => value),
      counts: present.map(([, code]) => counts[code] as number),
    };
    return countsOf(this.path.join('.'), { ...listed, other: 0, none, zero, set });
  }

  private codeOf(value: Fact | undefined): number {
    if (value === undefined || value === null || !isOfType(value, this.type)) return NONE;
    if (!hasFewValues(this.type)) return isZero(value) ? ZERO : SET;
    const known = this.codes.get(value);
    if (known !== undefined) return known;
    this.codes.set(value, this.counts.length);
    return this.counts.length;
  }
}

function isZero(value: Fact): boolean {
  return value === 0 || value === 0n || (Array.isArray(value) && value.length === 0);
}

/** One for each fact that a pass over the records of these rules' subjects counts. `rules`: of one kind of subject. */
export function valueTallies(rules: readonly LoadedRule[], lists: Lists): ValueTally[] {
  const found = new Map<string, ValueTally>();
  for (const fact of rules.flatMap((rule) => factsIn(underLists(rule, lists).condition))) {
    if (fact.kind !== 'path' || isReadLate(fact)) continue;
    const key = JSON.stringify(fact.path);
    if (!found.has(key)) found.set(key, new ValueTally(fact.path, fact.type));
  }
  return [...found.values()];
}

export class ValueMerge {
  private readonly byValue = new Map<Fact, number>();
  private readonly rest = { other: 0, none: 0, zero: 0, set: 0 };

  add({ values, counts, ...part }: ValuePart): void {
    for (const [at, value] of values.entries()) {
      const count = counts[at] as number;
      const known = this.byValue.get(value);
      if (known !== undefined || this.byValue.size < VALUES_MAX) this.byValue.set(value, (known ?? 0) + count);
      else this.rest.other += count;
    }
    for (const what of ['other', 'none', 'zero', 'set'] as const) this.rest[what] += part[what];
  }

  /** `name`: of the fact. */
  result(name: string): Record<string, number> {
    return countsOf(name, { values: [...this.byValue.keys()], counts: [...this.byValue.values()], ...this.rest });
  }
}
