// pull: the gate: each cause at its threshold, one record below and one above.
import { describe, expect, it } from 'vitest';
import type { Baseline } from '../../../src/domain/snapshot.ts';
import { distrust, type GateInput, TRUST_DEFAULT } from '../../../src/engine/pull/trust-gate.ts';

type Values = Baseline['values'];
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

function baselineOf(count: number, values: Values = {}): Baseline {
  return { source: 'devices', takenAt: 0, count, values };
}

interface Case extends Partial<Omit<GateInput, 'reading'>> {
  count?: number;
  unreadable?: number;
}

function codesOf({ count = 100, unreadable = 0, ...more }: Case): string[] {
  return reasonsOf({ count, unreadable, ...more }).map(({ code }) => code);
}

function reasonsOf({ count = 100, unreadable = 0, ...more }: Case) {
  const examples = unreadable === 0 ? [] : ['record 3: DeviceID is missing'];
  const reading = { source: 'devices' as const, count, unreadable: { count: unreadable, examples }, finishedAt: DAY };
  const rest = { repeatedKeys: [], values: {}, baseline: undefined, skewMs: 0, settings: TRUST_DEFAULT };
  return distrust({ reading, ...rest, ...more });
}

describe('the trust gate', () => {
  it.each<[string, Case, string[]]>([
    ['a first complete reading', {}, []],
    ['an empty first reading', { count: 0 }, []],
    ['one repeated key', { repeatedKeys: ['device-1'] }, ['repeated_key']],
    ['1 % of records without a key', { count: 99, unreadable: 1 }, []],
    ['more than 1 % of records without a key', { count: 98, unreadable: 1 }, ['unreadable_records']],
    ['no record with a key', { count: 0, unreadable: 1 }, ['unreadable_records']],
    ['an emptied list', { count: 0, baseline: baselineOf(3) }, ['empty']],
    ['an empty list that was empty before', { count: 0, baseline: baselineOf(0) }, []],
    ['shrunk by 20 %', { count: 80, baseline: baselineOf(100) }, []],
    ['shrunk by 21 %', { count: 79, baseline: baselineOf(100) }, ['shrunk']],
    ['shrunk by half, and by ten records', { count: 10, baseline: baselineOf(20) }, []],
    ['shrunk by half, and by eleven records', { count: 10, baseline: baselineOf(21) }, ['shrunk']],
    ['grown tenfold', { count: 1_000, baseline: baselineOf(100) }, []],
    ['grown to 10,000 records', { count: 10_000, baseline: baselineOf(1) }, []],
    ['grown to more than 10,000 records', { count: 10_001, baseline: baselineOf(1) }, ['grown']],
    ['grown to three times as many', { count: 60_000, baseline: baselineOf(20_000) }, []],
    ['grown to more than three times as many', { count: 60_001, baseline: baselineOf(20_000) }, ['grown']],
    ['a clock five minutes ahead', { skewMs: 300_000 }, []],
    ['a clock more than five minutes ahead', { skewMs: 301_000 }, ['clock_skew']],
    ['a clock more than five minutes behind', { skewMs: -301_000 }, ['clock_skew']],
    ['no clock to compare with', { skewMs: undefined }, []],
  ])('%s', (_, given, codes) => {
    expect(codesOf(given)).toEqual(codes);
  });

  describe('a fact that a rule reads', () => {
    const flag = (yes: number, no: number): Values => ({ 'MdmData.CompromisedStatus': { TRUE: yes, FALSE: no } });
    it.each<[string, number, Values, Values, string[]]>([
      ['moves by 20 points', 100, flag(0, 100), flag(20, 80), []],
      ['moves by 21 points', 100, flag(0, 100), flag(21, 79), ['fact_moved']],
      ['moves by 50 points, and by ten records', 20, flag(0, 20), flag(10, 10), []],
      ['moves by 55 points, and by eleven records', 20, flag(0, 20), flag(11, 9), ['fact_moved']],
      ['has a value that was there no more', 100, { Level: { High: 100 } }, { Level: { Low: 100 } }, ['fact_moved']],
      ['was not read at the last trusted reading', 100, {}, flag(100, 0), []],
    ])('%s', (_, count, before, now, codes) => {
      expect(codesOf({ count, values: now, baseline: baselineOf(count, before) })).toEqual(codes);
    });

    it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])(
      'a device that calls itself `%s` moves nothing',
      (name) => {
        const now = JSON.parse(`{"Model":{"MacBook":99,"${name}":1}}`) as Values;
        expect(codesOf({ values: now, baseline: baselineOf(100, { Model: { MacBook: 100 } }) })).toEqual([]);
        expect(codesOf({ values: { Model: { MacBook: 100 } }, baseline: baselineOf(100, now) })).toEqual([]);
      },
    );
  });

  it('names all causes, each with its figures', () => {
    const baseline = baselineOf(1_000, { Level: { High: 1_000 } });
    const values = { Level: { High: 10, Low: 90 } };
    const texts = reasonsOf({ unreadable: 5, repeatedKeys: ['a', 'b'], skewMs: -400_000, values, baseline }).map(
      (reason) => reason.text,
    );
    expect(texts).toEqual([
      'devices: 2 keys occur more than once, such as `a`',
      'devices: 5 of 105 records have no readable key (more than 1 %), such as: record 3: DeviceID is missing',
      'devices: 100 records, 900 fewer than in the last trusted reading (more than 20 %)',
      'devices: Level is `High` in 10.0 % of records, and was in 100.0 % at the last trusted reading',
      "devices: the server's clock is 400 s behind ours",
    ]);
  });

  it('the thresholds are configuration', () => {
    const settings = { ...TRUST_DEFAULT, shrunkPercent: 50, unreadablePercent: 10, skewMs: 1_000_000 };
    expect(codesOf({ count: 60, unreadable: 5, skewMs: 900_000, baseline: baselineOf(100), settings })).toEqual([]);
  });
});
