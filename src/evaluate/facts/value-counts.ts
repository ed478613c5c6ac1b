// evaluate: how often each value of one fact was seen in one pass, for the trust gate. Cheap: it runs for every record.
// Values as they are up to 64 different ones, the rest as `…other`; times and numbers as `zero` or `set`; absence as `∅`.
import type { Fact } from '../../domain/facts.ts';
import { redacted } from '../../domain/secrets.ts';
import type { ValuePart } from '../../domain/verdict.ts';
import type { ValueType } from '../record-types/field-types.ts';
import type { CodeTable } from './code-table.ts';

export const VALUES_MAX = 64;
/** Beyond this many values of one fact the rest have no code. */
const CODES_MAX = 1_000;
/** A power of two. */
const NEAR = 32;
export const ABSENT = '∅';
export const OTHER = '…other';

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
export function countsOf(name: string, { values, counts, other, none, zero, set }: ValuePart): Record<string, number> {
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
