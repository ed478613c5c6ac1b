// sources: text → rows. CSV (RFC 4180), NDJSON, or the list in a JSON value; UTF-8. In: pieces of bytes or a value. Out: each row with its number, to
// a sink. INVARIANT: what is malformed or may have been cut is an error as a whole, never a shorter list.
import { giveWay } from '../base/turns.ts';
import { AppError } from '../domain/errors.ts';
import { type Fact, type Facts, isFacts, own } from '../domain/facts.ts';
import type { GivenFormat } from '../domain/given-facts.ts';
import { parseExact } from '../platform/contract/exact-json.ts';

export interface RowSink {
  /** Before the rows, where there is a header. */
  columns(names: readonly string[]): void;
  /** `number`: as spreadsheets and editors count, the header being the first; in JSON the first row is 1. */
  row(row: Facts, number: number): void;
}

/** How a reading ended. `later`: it is being written, and is looked at again soon. `mark`: what shows at the next reading that nothing changed. */
export type Read = 'unchanged' | 'later' | { unchangedAtMs: number } | { atMs: number; mark: string | undefined };

/** More than this is refused: what is read whole is held in memory. */
export const BYTES_MAX = { csv: 512e6, ndjson: 512e6, json: 128e6 } as const satisfies Record<GivenFormat, number>;
const ROWS_OF_TURN = 1_000;
const CELL_CHARS_MAX = 65_536;
const COLUMNS_MAX = 1_000;

export function unusable(message: string): AppError {
  return new AppError('api_answer', message);
}

/** Errors: AppError `api_answer`: beyond `bytesMax`, or no UTF-8. */
export async function* textOf(pieces: AsyncIterable<Uint8Array>, bytesMax: number): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let bytes = 0;
  try {
    for await (const piece of pieces) {
      bytes += piece.length;
      if (bytes > bytesMax) throw unusable(`it is larger than ${bytesMax / 1e6} MB`);
      yield decoder.decode(piece, { stream: true });
    }
    yield decoder.decode();
  } catch (error) {
    if (error instanceof TypeError) throw unusable('it is not UTF-8 throughout: save it as UTF-8');
    throw error;
  }
}

export async function joined(texts: AsyncIterable<string>): Promise<string> {
  const parts: string[] = [];
  for await (const text of texts) parts.push(text);
  return parts.join('');
}

/** Of a CSV or NDJSON. `mustEnd`: nothing but the line break at its end shows that it is whole. */
export async function readLines(
  texts: AsyncIterable<string>,
  format: 'csv' | 'ndjson',
  mustEnd: boolean,
  sink: RowSink,
): Promise<void> {
  const reader = format === 'csv' ? new CsvReader(sink) : new NdjsonReader(sink);
  for await (const text of texts) reader.take(text);
  reader.end(mustEnd);
}

const CUT = 'it does not end with a line break, so it may be cut: write the last line whole';

class NdjsonReader {
  private rest = '';
  private line = 0;

  constructor(private readonly sink: RowSink) {}

  take(text: string): void {
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop() as string;
    if (this.rest.length > CELL_CHARS_MAX * 16) throw unusable(`line ${this.line + 1} is too long`);
    for (const line of lines) this.read(line);
  }

  end(mustEnd: boolean): void {
    if (mustEnd && this.rest !== '') throw unusable(CUT);
    this.read(this.rest);
  }

  private read(line: string): void {
    this.line += 1;
    if (line.trim() === '') return;
    const value = parsed(line, `line ${this.line}`);
    if (!isFacts(value)) throw unusable(`line ${this.line} is no object`);
    this.sink.row(value, this.line);
  }
}

/** Errors: AppError `api_answer` that does not repeat the text. */
export function parsed(text: string, what: string): Fact {
  try {
    return parseExact(text) as Fact;
  } catch {
    const page = /^\s*</.test(text) ? ': it begins like a page (HTML or XML)' : ', or it is cut';
    throw unusable(`${what} is not valid JSON${page}`);
  }
}

/** The rows in a JSON value; how many. */
export async function rowsIn(body: Fact, list: string | undefined, sink: RowSink, before = 0): Promise<number> {
  const rows = list === undefined ? body : memberOf(list)(body);
  const where = list === undefined ? 'it' : `\`${list}\` in it`;
  if (!Array.isArray(rows)) {
    const hint = list === undefined && isFacts(body) ? '; `list` names the member that has it' : '';
    throw unusable(`${where} is no list of rows${hint}`);
  }
  let number = before;
  for (const row of rows) {
    number += 1;
    if (!isFacts(row)) throw unusable(`row ${number} is no object`);
    sink.row(row, number);
    if (number % ROWS_OF_TURN === 0) await giveWay();
  }
  return rows.length;
}

/** A member of that whole name goes before one on the path that the dots make: `@odata.nextLink` is a name. Prototypes are never read. */
export function memberOf(path: string): (value: Fact) => Fact | undefined {
  const steps = path.split('.');
  if (steps.length === 1) return (value) => own(value, path);
  return (value) => own(value, path) ?? steps.reduce<Fact | undefined>((part, step) => own(part, step), value);
}

type CsvState = 'begin' | 'plain' | 'quoted' | 'closed';

class CsvReader {
  private state: CsvState = 'begin';
  private cell = '';
  private cells: string[] = [];
  private header: string[] | undefined;
  private number = 0;
  /** A carriage return that ends a row if a line feed follows. */
  private isReturned = false;

  constructor(private readonly sink: RowSink) {}

  take(text: string): void {
    let from = 0;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (this.state === 'quoted') {
        if (code !== QUOTE) continue;
        this.add(text.slice(from, at));
        this.state = 'closed';
        from = at + 1;
        continue;
      }
      if (this.isReturned && code !== FEED) throw this.fault('a carriage return stands alone');
      if (code === QUOTE) {
        if (this.state === 'plain') throw this.fault('a quotation mark stands in a cell that does not begin with one');
        // Two of them within quotation marks are one.
        if (this.state === 'closed') this.add('"');
        this.state = 'quoted';
        from = at + 1;
      } else if (code === COMMA || code === FEED || code === RETURN) {
        this.add(text.slice(from, at));
        from = at + 1;
        if (code === RETURN) this.isReturned = true;
        else this.close(code === FEED);
      } else if (this.state === 'closed') throw this.fault('a cell goes on after its closing quotation mark');
      else this.state = 'plain';
    }
    this.add(text.slice(from));
  }

  end(mustEnd: boolean): void {
    if (this.state === 'quoted') throw this.fault('a quotation mark is not closed: it may be cut');
    const isBegun = this.state !== 'begin' || this.cells.length > 0 || this.isReturned;
    if (isBegun && mustEnd) throw unusable(CUT);
    if (isBegun) this.close(true);
    if (!this.header) throw unusable('it is empty');
  }

  private add(text: string): void {
    this.cell += text;
    if (this.cell.length > CELL_CHARS_MAX) throw this.fault(`a cell has more than ${CELL_CHARS_MAX} characters`);
  }

  private close(isRow: boolean): void {
    this.cells.push(this.cell);
    this.cell = '';
    this.state = 'begin';
    this.isReturned = false;
    if (this.cells.length > COLUMNS_MAX) throw this.fault(`it has more than ${COLUMNS_MAX} cells`);
    if (!isRow) return;
    const { cells, header } = this;
    this.cells = [];
    this.number += 1;
    if (!header) {
      this.header = cells.map((cell) => cell.trim());
      this.sink.columns(this.header);
      return;
    }
    // An empty line.
    if (cells.length === 1 && cells[0] === '' && header.length > 1) return;
    if (cells.length !== header.length) {
      this.number -= 1;
      throw this.fault(`it has ${cells.length} cells, and the header ${header.length}: it may be cut`);
    }
    const row: Facts = Object.create(null) as Facts;
    for (let at = 0; at < cells.length; at += 1) row[header[at] as string] = cells[at] as string;
    this.sink.row(row, this.number);
  }

  private fault(what: string): AppError {
    return unusable(`row ${this.number + 1}: ${what}`);
  }
}

const [QUOTE, COMMA, FEED, RETURN] = [0x22, 0x2c, 0x0a, 0x0d];
