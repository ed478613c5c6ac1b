// Fingerprints are those of Chaskey-12 as it was published, differ between keys and kinds of things, and change with every value.
import { describe, expect, it } from 'vitest';
import { begin, mixBytes, mixUnits, mixWord, PrintSeeds } from '../../src/base/print-bits.ts';
import { FactPaths } from '../../src/domain/fact-prints.ts';
import type { Fact, Facts } from '../../src/domain/facts.ts';
import { nameHash } from '../../src/store/identities.ts';
import { identityOfRecord, PRINT_KEY, printOfFacts } from '../support/print-key.ts';

/** Of the bytes 0, 1, 2 and so on, by their number: http://mouha.be/chaskey/ */
const VECTORS: Record<number, string> = {
  0: '43cb1f41 51eba0c2 ff0a8ac3 7ee3f642',
  4: '0b2b62db 1e9e3f50 a1b8dcad b4279ae0',
  12: 'c040258c f25392c0 9f6b5dc0 35c3d638',
  16: '5dd0e2a9 fb5eac8c 633a392e 500c36f3',
  20: 'ece3bdb9 17e5a589 64aa2eef 9a75eced',
  32: '77962784 07c647fa dd752c0f d2f5a799',
  60: 'a8f07a68 366fc33b af00eefb 1a48a9df',
};
const hex = (print: Int32Array) => [...print].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join(' ');

function printOfBytes(length: number, change?: number): Int32Array {
  const [seeds, out] = [new PrintSeeds(PRINT_KEY), new Int32Array(4)];
  const bytes = Uint8Array.from({ length: length + 6 }, (_, at) => (at === change ? 200 : at % 100));
  begin(seeds.of('bytes'));
  mixBytes(new DataView(bytes.buffer), 3, 3 + length);
  seeds.finish(out, 0);
  return out;
}

describe('a fingerprint', () => {
  it.each(Object.entries(VECTORS))('of %s bytes is the published one', (length, expected) => {
    const [seeds, out] = [new PrintSeeds(PRINT_KEY), new Int32Array(4)];
    begin(seeds.key);
    for (let at = 0; at < Number(length); at += 4) mixWord(at | ((at + 1) << 8) | ((at + 2) << 16) | ((at + 3) << 24));
    seeds.finish(out, 0);
    expect(hex(out)).toBe(expected);
  });

  it('of bytes is that of their words, and another one for each byte, number of bytes and zero at the end', () => {
    const all = new Set<string>();
    for (let length = 0; length <= 70; length += 1) {
      all.add(hex(printOfBytes(length)));
      for (let change = 3; change < 3 + length; change += 1) all.add(hex(printOfBytes(length, change)));
    }
    expect(all.size).toBe(71 + (70 * 71) / 2);
    const [seeds, out] = [new PrintSeeds(PRINT_KEY), new Int32Array(4)];
    begin(seeds.of('bytes'));
    for (const word of [20, 0, 0, 0]) mixWord(word);
    for (let at = 3; at < 23; at += 4) mixWord(at | ((at + 1) << 8) | ((at + 2) << 16) | ((at + 3) << 24));
    seeds.finish(out, 0);
    expect(hex(printOfBytes(20))).toBe(hex(out));
  });

  it('of a text is that of its units, however long it is and wherever in a block it begins', () => {
    const [seeds, made, expected] = [new PrintSeeds(PRINT_KEY), new Int32Array(4), new Int32Array(4)];
    for (let length = 0; length <= 60; length += 1) {
      for (let before = 0; before <= 4; before += 1) {
        const codes = Array.from({ length }, (_, at) => (at * 7_919 + 60_000) & 0xffff);
        begin(seeds.key);
        for (let word = 0; word < before; word += 1) mixWord(word);
        mixUnits(String.fromCharCode(...codes));
        seeds.finish(made, 0);
        begin(seeds.key);
        for (let word = 0; word < before; word += 1) mixWord(word);
        for (let at = 0; at < length; at += 2) mixWord((codes[at] as number) | ((codes[at + 1] ?? 0) << 16));
        seeds.finish(expected, 0);
        expect(hex(made), `${length} units after ${before} words`).toBe(hex(expected));
      }
    }
  });

  it('is another one for values of another type, place, length or order', () => {
    const values: Fact[] = [
      '',
      '\0',
      '\0\0',
      'a',
      'ab',
      'ba',
      '1',
      1,
      -0,
      0,
      1n,
      0n,
      2n ** 63n,
      `${2n ** 63n}`,
      -(2n ** 63n),
    ];
    const others: Fact[] = [
      true,
      false,
      null,
      [],
      {},
      [[]],
      [{}],
      [null],
      ['a', 'b'],
      ['ab'],
      ['b', 'a'],
      [['a'], 'b'],
    ];
    const objects: Fact[] = [
      [{ a: 'b' }],
      [{ a: 'b', c: 'd' }],
      [{ c: 'd', a: 'b' }],
      [{ a: { b: 'c' } }],
      [{ ab: '' }],
    ];
    const all = [...values, ...others, ...objects];
    const prints = all.flatMap((value) => [hex(printOfFacts({ A: value })), hex(printOfFacts({ B: value }))]);
    expect(new Set(prints).size).toBe(2 * all.length);
  });

  it('of a record does not depend on the order of its facts', () => {
    expect(printOfFacts({ A: 1, B: { C: 2, D: 3 } })).toEqual(printOfFacts({ B: { D: 3, C: 2 }, A: 1 }));
  });

  it('is another one with another key, and of another kind of thing', () => {
    const [record, key] = [{ DeviceID: 'd' }, PRINT_KEY.map((word, at) => (at === 3 ? word ^ 1 : word))];
    const prints = [printOfFacts(record), printOfFacts(record, new FactPaths(key)), identityOfRecord('device', record)];
    expect(new Set(prints.flatMap((print) => [...print])).size).toBe(12);
  });

  it('of an identity is another one for owners that are none, unknown, or cut elsewhere', () => {
    const records: Facts[] = [
      {},
      { Emails: [] },
      { Emails: [''] },
      { Emails: ['ab'] },
      { Emails: ['a', 'b'] },
      { Model: 'ab' },
    ];
    const prints = records.map((record) => hex(identityOfRecord('device', { DeviceID: 'd', ...record })));
    expect(new Set(prints).size).toBe(records.length);
  });
});

it('the hash of a name is that of earlier versions: it is in their indexes', () => {
  const hashes = [nameHash('serial', 'S1'), nameHash('name', 'ada mac'), nameHash('id', ''), nameHash('id', 'é日本x')];
  expect(hashes).toEqual([2_987_191_540, 3_950_337_029, 645_178_003, 424_569_513]);
});
