// A page parsed part by part: the same records, totals and refusals as when it is parsed whole, wherever it is cut.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { causeOf } from '../../src/platform/client/fault.ts';
import { pageOf, parseBody, partsOfPage, wholePage } from '../../src/platform/client/page-parts.ts';
import { Redactor } from '../../src/platform/client/redactor.ts';
import { stringifyExact } from '../../src/platform/contract.ts';

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
