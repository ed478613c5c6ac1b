// Where answers are cut: elements of unpaged lists, parts of pages, pieces of arrays, and their bytes as text.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { PieceCutter } from '../../src/platform/client/caller.ts';
import { ElementSplitter } from '../../src/platform/client/element-splitter.ts';
import { causeOf, TransportFault } from '../../src/platform/client/fault.ts';
import { jsonTextOf, pageOf, parseBody, partsOfPage, wholePage } from '../../src/platform/client/page-parts.ts';
import { Redactor } from '../../src/platform/client/redactor.ts';
import { parseExact, stringifyExact } from '../../src/platform/contract.ts';

describe('An unpaged list of records, cut where it looks like the end of one', () => {
  function split(bytes: Buffer, cuts: number[]): { batches: unknown[][] } | 'refused' {
    const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
    const splitter = new ElementSplitter(1e6);
    const batches: unknown[][] = [];
    try {
      for (let index = 1; index < places.length; index++) {
        const elements = splitter.push(bytes.subarray(places[index - 1], places[index]));
        if (elements) batches.push(elements);
      }
      const left = splitter.end();
      return { batches: left ? [...batches, left] : batches };
    } catch (error) {
      if (error instanceof TransportFault || error instanceof AppError) return 'refused';
      throw error;
    }
  }

  function whole(text: string): unknown[] | 'refused' {
    try {
      const value = parseExact(text);
      return Array.isArray(value) ? value : 'refused';
    } catch {
      return 'refused';
    }
  }

  const elements = (bytes: Buffer, cuts: number[]) => {
    const found = split(bytes, cuts);
    return found === 'refused' ? found : found.batches.flat();
  };

  const hostile = fc.constantFrom('', 'a', '"},{"DeviceID":"', '},{"DeviceID":', ']', '\\', 'é日本😀', '\\"},');
  const device = fc.record({
    DeviceID: fc.oneof(hostile, fc.uuid()),
    Note: hostile,
    LastLogin: fc.bigInt({ min: 1n << 60n, max: 1n << 61n }),
    Parts: fc.array(fc.record({ DeviceID: hostile }), { maxLength: 3 }),
  });
  const devices = fc.array(device, { minLength: 1, maxLength: 12 });
  const cuts = fc.array(fc.nat(), { maxLength: 8 });

  it('records that hold what looks like their end come whole, wherever their bytes are cut', () => {
    fc.assert(
      fc.property(devices, cuts, (list, places) => {
        const text = stringifyExact(list);
        expect(elements(Buffer.from(text), places)).toEqual(list);
      }),
      { numRuns: 500 },
    );
  });

  it('a list with bytes changed is taken or refused as it is when it is parsed whole', () => {
    const change = fc.tuple(fc.nat(), fc.constantFrom(...Buffer.from('"\\[]{},:01 a')));
    fc.assert(
      fc.property(devices, cuts, fc.array(change, { minLength: 1, maxLength: 2 }), (list, places, changes) => {
        const bytes = Buffer.from(stringifyExact(list));
        for (const [at, to] of changes) bytes[at % bytes.length] = to;
        expect(elements(bytes, places)).toEqual(whole(bytes.toString('utf8')));
      }),
      { numRuns: 1_000 },
    );
  });

  it('records are given as soon as the next one begins, and the last ones when the list ends', () => {
    const list = Array.from({ length: 9 }, (_, index) => ({ DeviceID: `d-${index}`, Filler: 'x'.repeat(80) }));
    const bytes = Buffer.from(JSON.stringify(list));
    const found = split(bytes, [bytes.indexOf('"d-3"'), bytes.indexOf('"d-7"')]);
    expect(found).toMatchObject({ batches: [{ length: 3 }, { length: 4 }, { length: 1 }, { length: 1 }] });
  });

  it('a list that ends within what was not looked through yet is refused', () => {
    const list = Array.from({ length: 9 }, (_, index) => ({ DeviceID: `d-${index}`, Filler: 'x'.repeat(80) }));
    const bytes = Buffer.from(JSON.stringify(list));
    for (const length of [bytes.length - 1, bytes.length - 2, bytes.length - 40, bytes.indexOf('"d-8"')])
      expect(split(bytes.subarray(0, length), [])).toBe('refused');
    expect(split(Buffer.concat([bytes, Buffer.from(' 1')]), [])).toBe('refused');
  });

  it('records before one that is nested too deep are passed on, wherever the bytes are cut', () => {
    const records = Array.from({ length: 9 }, (_, index) => `{"DeviceID":"${index}"}`);
    const deep = `{"DeviceID":"deep","x":${'['.repeat(300)}${']'.repeat(300)}}`;
    const bytes = Buffer.from(`[${[...records, deep, ...records].join(',')}]`);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const splitter = new ElementSplitter(1e6);
      let passedOn = 0;
      expect(() => {
        for (const chunk of [bytes.subarray(0, cut), bytes.subarray(cut)])
          passedOn += splitter.push(chunk)?.length ?? 0;
        splitter.end();
      }).toThrow('nested deeper');
      expect(passedOn).toBe(9);
    }
  });
});

const about = { method: 'GET', path: '/api/v1/devices' };
const redactor = new Redactor();
const answerOf = (text: string | Buffer) => ({ status: 200, headers: {}, body: Buffer.from(text) });

/** What came of reading: a page, or the code, cause and line of an error. */
function resultOf(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return [error.code, causeOf(error), error.message];
  }
}

const inParts = (text: string | Buffer) =>
  resultOf(() => wholePage(partsOfPage(about, answerOf(text), 'devices', redactor)));
const atOnce = (text: string | Buffer) =>
  resultOf(() => pageOf(about, parseBody(about, answerOf(text), Buffer.from(text)), 'devices', redactor));

/** Larger than what is parsed at once, with all that looks like the end of a record and is none. */
const devices = Array.from({ length: 400 }, (_, index) => ({
  DeviceID: `d-${index}`,
  Note: '"},{"DeviceID":"no"}],"count":1}'.repeat(index % 4),
  Name: 'é日本😀'.repeat(index % 3),
  LastLogin: 1_763_700_000_123_456_000n + BigInt(index),
  Parts: index % 7 === 0 ? [{ DeviceID: 'inner' }, { DeviceID: 'inner too' }] : [],
  Filler: 'x'.repeat(300),
}));
const list = stringifyExact(devices);

const FORMS = {
  'a page': `{"devices":${list},"count":400}`,
  'a page with its count first': `{"count":400,"devices":${list}}`,
  'a page in an envelope': `{"error_code":0,"data":{"devices":${list},"count":400}}`,
  'a bare list': list,
};

describe('a large page', () => {
  it.each(Object.entries(FORMS))('is parsed part by part: %s', (_, text) => {
    const parts = partsOfPage(about, answerOf(text), 'devices', redactor);
    const sizes = [...parts].map((part) => part.records.length);
    expect(sizes.length).toBeGreaterThan(2);
    expect(Math.max(...sizes)).toBeLessThan(200);
    expect(inParts(text)).toEqual(atOnce(text));
    expect(inParts(text)).toMatchObject({ records: { length: 400 } });
  });

  it.each([
    ['whose list has another name', `{"others":${list},"count":400}`],
    ['whose envelope reports an error', `{"error_code":7,"error":"no","data":{"devices":${list}}}`],
    ['with a large list that is not its own', `{"more":${list},"devices":[],"count":0}`],
    ['with text behind its list', `{"devices":${list},"note":"]"}`],
    ['with another list behind it', `{"devices":${list},"count":400,"more":[{"DeviceID":"m"}]}`],
    ['with a text before it that looks like its beginning', `{"note":"[{\\"","devices":${list}}`],
    ['whose list is only a text', `{"a":"b[{"DeviceID":1},${list.slice(1, -1)}]"}`],
    ['with white space all over', JSON.stringify(JSON.parse(`{"devices":${list}}`), null, 2)],
    ['that is cut off', `{"devices":${list.slice(0, -200)}`],
    ['that ends too early', `{"devices":${list}`],
    ['with a comma too many', `{"devices":${list.slice(0, -1)},],"count":400}`],
    ['with a record that is none', `{"devices":${list.replace('"d-390"', "'d-390'")},"count":400}`],
    ['with a bracket too many', `{"devices":${list}],"count":400}`],
    ['that begins with a byte order mark', `\ufeff{"devices":${list},"count":400}`],
  ])('%s is taken or refused as it is when it is parsed whole', (_, text) => {
    expect(inParts(text)).toEqual(atOnce(text));
  });

  it.each([
    ['that names its list twice', `{"devices":${list},"count":400,"devices":[]}`],
    ['that names its list twice, at last as nothing', `{"devices":${list},"count":400,"devices":null}`],
  ])('%s is refused, since records of the wrong one were seen', (_, text) => {
    expect(inParts(text)).toMatchObject(['api_answer', 'garbage', expect.stringContaining('names its list twice')]);
  });

  it('with any bytes changed is taken or refused as it is when it is parsed whole', () => {
    const bytes = Buffer.from(FORMS['a page']);
    const change = fc.record({
      at: fc.oneof(
        fc.nat(bytes.length - 1),
        fc.nat(40),
        fc.nat(40).map((back) => bytes.length - 1 - back),
      ),
      to: fc.constantFrom(...Buffer.from('"\\[]{},:019 a\x7f'), 0xff),
    });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        const broken = Buffer.from(bytes);
        for (const { at, to } of changes) broken[at] = to;
        expect(inParts(broken)).toEqual(atOnce(broken));
      }),
      { numRuns: 150 },
    );
  });
});

const records = Array.from({ length: 30_000 }, (_, at) => ({ DeviceID: `d${at}`, Note: 'x'.repeat(at % 90) }));
const whole = Buffer.from(JSON.stringify(records));

/** The pieces of the list, cut anywhere. */
function piecesOf(chunks: Iterable<Buffer>): Buffer[] {
  const cutter = new PieceCutter(1_000_000);
  const pieces: Buffer[] = [];
  for (const chunk of chunks) {
    const piece = cutter.push(chunk);
    if (piece) pieces.push(piece);
  }
  const last = cutter.end();
  return last ? [...pieces, last] : pieces;
}

function* ofSize(size: number): Iterable<Buffer> {
  for (let at = 0; at < whole.length; at += size) yield whole.subarray(at, at + size);
}

function* elementByElement(): Iterable<Buffer> {
  for (const [at, record] of records.entries()) yield Buffer.from(`${at === 0 ? '[' : ','}${JSON.stringify(record)}`);
  yield Buffer.from(']');
}

describe('a list in pieces', () => {
  it.each([
    ['1 byte', () => ofSize(1)],
    ['7 bytes', () => ofSize(7)],
    ['60 bytes', () => ofSize(60)],
    ['64 KiB', () => ofSize(65_536)],
    ['one element', elementByElement],
  ])('has every record once, in pieces of half a megabyte, when it comes in chunks of %s', (_, chunks) => {
    const pieces = piecesOf(chunks());
    expect(pieces.flatMap((piece) => JSON.parse(`[${piece}]`))).toEqual(records);
    expect(pieces.length).toBe(Math.ceil(whole.length / 2 ** 19));
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(2 ** 19 + 2 * 65_536);
  });
});

const parsed = (text: string): unknown => {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return 'refused';
  }
};

describe('the text of an answer', () => {
  it('has the same meaning as the bytes, whatever they contain', () => {
    const name = fc.string({ unit: 'binary', maxLength: 20 });
    const values = fc.oneof(name, fc.integer(), fc.constant('x'.repeat(1_030)));
    const records = fc.array(fc.array(fc.tuple(name, values), { maxLength: 6 }), { maxLength: 6 });
    fc.assert(
      fc.property(records, (value) => {
        const bytes = Buffer.from(JSON.stringify(value));
        expect(JSON.parse(jsonTextOf(bytes))).toEqual(value);
      }),
    );
  });

  it('is accepted and refused like the bytes themselves, even where they are broken', () => {
    const piece = fc.constantFrom(
      '"',
      '\\',
      'é',
      '日本',
      '😀',
      'a',
      '1',
      '[',
      ']',
      ',',
      ' ',
      '\\u00',
      '\\u00e9',
      '\u2028',
    );
    const broken = fc.constantFrom([0xff], [0xc3], [0xe6, 0x97], [0xf0, 0x9f, 0x98], [0x80], [0xed, 0xa0, 0x80]);
    const bytes = fc.array(
      fc.oneof(
        piece.map((text) => [...Buffer.from(text)]),
        broken,
      ),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(bytes, fc.boolean(), (parts, isQuoted) => {
        const inner = Buffer.from(parts.flat());
        const whole = isQuoted ? Buffer.concat([Buffer.from('"'), inner, Buffer.from('"')]) : inner;
        expect(parsed(jsonTextOf(whole))).toEqual(parsed(whole.toString('utf8')));
      }),
      { numRuns: 2_000 },
    );
  });

  it('does not make an escape of what must not be escaped, wherever a block of it ends', () => {
    for (const length of [0, 1_021, 1_022, 1_023, 1_024]) {
      const wrong = Buffer.from(`"${'x'.repeat(length)}\\é"`);
      expect(parsed(jsonTextOf(wrong))).toBe('refused');
      const right = Buffer.from(`"${'x'.repeat(length)}\\\\é"`);
      expect(JSON.parse(jsonTextOf(right))).toBe(`${'x'.repeat(length)}\\é`);
    }
  });

  it('is of one byte a character, so that names of other letters do not make all of it twice as large', () => {
    const bytes = Buffer.from(JSON.stringify(Array.from({ length: 200 }, (_, index) => `Jürgen ${index} 日本 😀`)));
    expect(Buffer.from(jsonTextOf(bytes), 'latin1').toString('latin1')).toBe(jsonTextOf(bytes));
    expect(JSON.parse(jsonTextOf(bytes))).toEqual(JSON.parse(bytes.toString('utf8')));
  });

  it('keeps a character whole that lies across two blocks', () => {
    for (let length = 1_018; length < 1_026; length++) {
      const text = `${'x'.repeat(length)}日本😀${'y'.repeat(1_100)}é`;
      expect(JSON.parse(jsonTextOf(Buffer.from(JSON.stringify(text))))).toBe(text);
    }
  });
});
