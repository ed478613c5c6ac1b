// sources: rows → a table of facts, each typed by the schema of its source. INVARIANT: nothing is guessed: a value of another type is left out and
// counted, and a key that several rows have counts for none of them.
import { createHash, type Hash } from 'node:crypto';
import { didYouMean } from '../base/nearest-name.ts';
import { isoTime } from '../base/time.ts';
import { giveWay } from '../base/turns.ts';
import { exactNumber, type Fact, type Facts, isBeyondTypes, showLiteral } from '../domain/facts.ts';
import type { FactTable, GivenField, GivenSource } from '../domain/given-facts.ts';
import { nameKey } from '../domain/identity.ts';
import { isOverlong } from '../domain/subjects.ts';
import { stringifyExact } from '../platform/contract/exact-json.ts';
import { memberOf, type RowSink, unusable } from './rows.ts';

const PROBLEMS_MAX = 20;
const TEXT_CHARS_MAX = 4_096;
const TEXTS_MAX = 1_000;

/** What a reading gives, before it has its times. */
export type TableContent = Pick<FactTable, 'hash' | 'rows' | 'repeated' | 'found' | 'problems'> & {
  /** Its text, a line for each key in order. */
  pieces: string[];
};

export class TableBuilder implements RowSink {
  private readonly rows = new Map<string, Facts>();
  private readonly repeated = new Set<string>();
  private readonly wrong: Record<string, number> = {};
  private readonly problems: string[] = [];
  private readonly keyOf: (row: Fact) => Fact | undefined;
  private readonly fields: readonly { field: GivenField; valueIn: (row: Fact) => Fact | undefined }[];
  private found = 0;
  private keyless = 0;

  /** `isText`: cells have no types, and an empty one has no value. */
  constructor(
    private readonly source: GivenSource,
    private readonly isText: boolean,
  ) {
    this.keyOf = memberOf(source.key.from);
    this.fields = source.fields.map((field) => ({ field, valueIn: memberOf(field.from) }));
  }

  columns(names: readonly string[]): void {
    for (const name of [this.source.key.from, ...this.source.fields.map(({ from }) => from)]) {
      // A column of JSON has members.
      const column = this.source.origin.by === 'postgres' && !names.includes(name) ? name.split('.')[0] : name;
      const count = names.filter((one) => one === column).length;
      if (count === 0) throw unusable(`there is no column \`${name}\`${didYouMean(name, names)}`);
      if (count > 1) throw unusable(`there are ${count} columns \`${name}\``);
    }
  }

  row(row: Facts, number: number): void {
    this.found += 1;
    if (this.found > this.source.rowsMax) throw unusable(`it has more than ${this.source.rowsMax} rows`);
    const written = this.keyOf(row);
    const key = typeof written === 'number' || typeof written === 'bigint' ? `${written}` : written;
    if (typeof key !== 'string' || key.trim() === '' || isOverlong(key)) {
      this.keyless += 1;
      this.problem(
        number,
        `\`${this.source.key.from}\` ${key === undefined || key === '' ? 'is missing' : 'is no key'}`,
      );
      return;
    }
    const folded = nameKey(key);
    if (this.repeated.has(folded) || this.rows.delete(folded)) {
      this.repeated.add(folded);
      this.problem(number, `the key \`${showLiteral(key)}\` is there already: none of its rows counts`);
      return;
    }
    const facts: Facts = {};
    for (const { field, valueIn } of this.fields) {
      const value = factOf(valueIn(row), field, this.isText);
      if (value === WRONG) {
        // Of no type that a field can have: it is unknown, where a value that is left out is absent.
        facts[field.name] = {};
        this.wrong[field.name] = (this.wrong[field.name] ?? 0) + 1;
        this.problem(
          number,
          `\`${field.from}\`: expected ${expectedOf(field)}, found \`${showLiteral(valueIn(row) ?? null)}\``,
        );
      } else if (value !== undefined) facts[field.name] = value;
    }
    this.rows.set(folded, facts);
  }

  /** Errors: AppError `api_answer` without a row, or without any key. */
  async finish(): Promise<TableContent> {
    if (this.found === 0) throw unusable('it has no row');
    if (this.keyless === this.found) throw unusable(`no row has a key in \`${this.source.key.from}\``);
    const { rows, repeated, problems } = this;
    const [pieces, hash]: [string[], Hash] = [[], createHash('sha256')];
    const lines = linesOf(rows, repeated);
    for (let next = lines.next(); !next.done; ) {
      let piece = '';
      for (let count = 0; count < LINES_OF_TURN && !next.done; count += 1, next = lines.next()) piece += next.value;
      hash.update(piece);
      pieces.push(piece);
      await giveWay();
    }
    const found = { rows: this.found, keyless: this.keyless, wrong: this.wrong };
    return { hash: hash.digest('hex'), rows, repeated, found, problems, pieces };
  }

  private problem(number: number, what: string): void {
    if (this.problems.length < PROBLEMS_MAX) this.problems.push(`row ${number}: ${what}`);
  }
}

const LINES_OF_TURN = 1_000;

function* linesOf(rows: ReadonlyMap<string, Facts>, repeated: ReadonlySet<string>): Generator<string> {
  for (const key of [...rows.keys()].sort()) yield `${stringifyExact([key, rows.get(key)])}\n`;
  for (const key of [...repeated].sort()) yield `${stringifyExact([key])}\n`;
}

const WRONG = Symbol('another type');

function expectedOf({ type, unit }: GivenField): string {
  if (type !== 'time') return type === 'texts' ? 'a list of texts' : `a ${type}`;
  if (unit === 'iso') return 'a time with its zone, such as 2026-11-28T22:00:00Z';
  return unit === 'utc' ? 'a time such as 2026-11-28 22:00:00' : `a time in ${unit} since 1970`;
}

/** Undefined: it has none. */
function factOf(value: Fact | undefined, field: GivenField, isText: boolean): Fact | undefined | typeof WRONG {
  if (value === undefined || value === null || (isText && value === '')) return undefined;
  switch (field.type) {
    case 'text':
    case 'version':
      return typeof value === 'string' && value.length <= TEXT_CHARS_MAX ? value : WRONG;
    case 'number':
      return numberOf(value, isText);
    case 'boolean':
      if (typeof value === 'boolean') return value;
      return isText && typeof value === 'string' && /^(true|false)$/i.test(value) ? /^t/i.test(value) : WRONG;
    case 'flag':
      return typeof value === 'string' && /^(true|false)$/i.test(value) ? value.toUpperCase() : WRONG;
    case 'texts':
      return textsOf(value, field.separator);
    case 'time':
      return timeOf(value, field.unit, isText);
  }
}

function numberOf(value: Fact, isText: boolean): number | bigint | typeof WRONG {
  if (isText && typeof value === 'string' && /^-?\d{1,300}(\.\d{1,300})?(e[+-]?\d{1,3})?$/i.test(value))
    return numberOf(exactNumber(value), false);
  return (typeof value === 'number' || typeof value === 'bigint') && !isBeyondTypes(value) ? value : WRONG;
}

function textsOf(value: Fact, separator: string | undefined): Fact | typeof WRONG {
  const texts =
    typeof value === 'string' && separator !== undefined
      ? value.split(separator).flatMap((part) => part.trim() || [])
      : value;
  const are =
    Array.isArray(texts) && texts.length <= TEXTS_MAX && texts.every((one) => factOf(one, TEXT, false) === one);
  return are ? texts : WRONG;
}

const TEXT: GivenField = { name: '', from: '', type: 'text' };
const ISO = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?) ?(Z|UTC|[+-]\d\d(?::?\d\d)?)?$/i;
const PER_MS = { s: 1_000, ms: 1, us: 1 / 1_000, ns: 1 / 1_000_000 };
/** 1973 and 2200: a time outside of them was written in another unit. */
const [EARLIEST_MS, LATEST_MS] = [1e11, 7_258_118_400_000];

/** Epoch ms. A zero, as a number or as the year 1, is how "never" is written. */
function timeOf(value: Fact, unit: GivenField['unit'], isText: boolean): number | undefined | typeof WRONG {
  if (unit === 'iso' || unit === 'utc') {
    const [, day, time, zone] = typeof value === 'string' ? (ISO.exec(value.trim()) ?? []) : [];
    if (day === undefined || (zone === undefined) !== (unit === 'utc')) return WRONG;
    const offset =
      zone === undefined || /^(z|utc)$/i.test(zone)
        ? 'Z'
        : zone.replace(/^(.\d\d):?(\d\d)?$/, (_, hours, minutes = '00') => `${hours}:${minutes}`);
    const [ofDay, ms] = [Date.parse(`${day}T00:00:00Z`), Date.parse(`${day}T${time}${offset}`)];
    if (Number.isNaN(ms) || isoTime(ofDay).slice(0, 10) !== day) return WRONG;
    return ms < EARLIEST_MS ? undefined : ms > LATEST_MS ? WRONG : ms;
  }
  const number = numberOf(value, isText);
  if (number === WRONG || unit === undefined) return WRONG;
  if (number <= 0) return undefined;
  const ms = Math.floor(Number(number) * PER_MS[unit]);
  return ms >= EARLIEST_MS && ms <= LATEST_MS ? ms : WRONG;
}
