// An unpaged list of records, cut where it looks like the end of one: the same elements, and the same refusals, as when it is
// parsed whole, however its bytes come.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { ElementSplitter } from '../../src/platform/client/element-splitter.ts';
import { TransportFault } from '../../src/platform/client/fault.ts';
import { parseExact, stringifyExact } from '../../src/platform/contract.ts';

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
      for (const chunk of [bytes.subarray(0, cut), bytes.subarray(cut)]) passedOn += splitter.push(chunk)?.length ?? 0;
      splitter.end();
    }).toThrow('nested deeper');
    expect(passedOn).toBe(9);
  }
});
