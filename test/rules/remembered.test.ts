// test: what one record has taught must not be applied to another: a pass over many records judges each as if it were alone.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Fact, Facts } from '../../src/domain/facts.ts';
import type { Judgement } from '../../src/domain/verdict.ts';
import { compileRules } from '../../src/rules/judge/evaluator.ts';
import { contextOf, ruleOf } from './sample-traits.ts';

const LONG_AGO = 1_750_000_000_000_000_000;
/** The next number that a double can hold there: between the two are 255 big integers. */
const NEXT = LONG_AGO + 256;
const fact = (path: string) => ({ var: path });
const RULES = [
  { '<': [fact('LastLogin'), LONG_AGO] },
  { '>=': [fact('LastLogin'), NEXT] },
  { '==': [fact('LastLogin'), LONG_AGO] },
  { '!=': [fact('MdmData.Timestamp'), 0] },
  { '<=': [fact('LoginCount'), 5] },
  { '>': [fact('LoginCount'), 9.5] },
  { and: [{ '<': [fact('TrustData.EntityTrustscore'), 50] }, { '!=': [fact('Platform'), 'Linux'] }] },
  { '==': [fact('TrustData.EntityTrustscore'), 99.5] },
  { '==': [fact('RegisteredStatus'), 'TRUE'] },
  { in: ['contractor', fact('Roles')] },
  { some: [fact('TrustData.Factors'), { '==': [fact('Value'), 'FAIL'] }] },
].map((when, index) => ruleOf(when, { id: `rule-${index}` }));

function judged(records: readonly Facts[]): Judgement {
  const judge = compileRules(RULES).judge('device', contextOf());
  for (const record of records) judge.accept(record);
  return judge.finish();
}

/** Verdicts by rule, added up. */
const counted = ({ tallies }: Judgement) =>
  tallies.map(({ match, no_match, unknown, error }) => [match, no_match, unknown, error]);

const odd: fc.Arbitrary<Fact> = fc.constantFrom<Fact[]>(null, '', 'x', true, [], {}, -1, -0, 0.5, 0n, -1n, 1e300, '0');
const number = fc.oneof(fc.integer({ min: -2, max: 12 }), fc.constantFrom(9.5, 5n, 9n, 0, 0n));
const time = fc.constantFrom<Fact[]>(
  LONG_AGO,
  NEXT,
  0,
  1,
  BigInt(LONG_AGO) + 1n,
  BigInt(NEXT),
  1.5,
  -3,
  LONG_AGO - 256,
);
const often = (usual: fc.Arbitrary<Fact>) => fc.oneof({ weight: 5, arbitrary: usual }, { weight: 1, arbitrary: odd });
const part = (fields: { [name: string]: fc.Arbitrary<Fact> }) =>
  fc.record(fields, { requiredKeys: [] }) as fc.Arbitrary<Facts>;
const plain = part({
  DeviceID: fc.constant('a'),
  LastLogin: often(time),
  LoginCount: often(number),
  Platform: often(fc.constantFrom('Linux', 'macOS')),
  RegisteredStatus: often(fc.constantFrom('TRUE', 'FALSE')),
  Roles: often(fc.array(fc.constantFrom<Fact[]>('contractor', 'employee', 3), { maxLength: 2 })),
  MdmData: often(part({ Timestamp: often(time) })),
  TrustData: often(
    part({
      EntityTrustscore: often(fc.oneof(fc.integer({ min: 0, max: 101 }), fc.constant(99.5))),
      Factors: often(fc.array(often(part({ Value: often(fc.constantFrom('OK', 'FAIL')) })), { maxLength: 2 })),
    }),
  ),
});
/** A record, and what it owns. */
const device = fc
  .tuple(plain, fc.constantFrom('as it is', 'no prototype', 'inherited', 'a key __proto__'))
  .map(([owned, how]): [Facts, Facts] => {
    if (how === 'no prototype') return [Object.assign(Object.create(null), owned), owned];
    if (how === 'inherited') return [Object.create(owned), {}];
    const key = { value: { Platform: 'macOS' }, enumerable: true };
    return [how === 'a key __proto__' ? Object.defineProperty({ ...owned }, '__proto__', key) : owned, owned];
  });

describe('a pass over many records', () => {
  it('judges each by its own properties, whatever came before it', () => {
    fc.assert(
      fc.property(fc.array(device, { minLength: 2, maxLength: 40 }), (records) => {
        const alone = records.map(([, owned]) => counted(judged([owned])));
        const sum = alone.reduce((all, one) => all.map((row, rule) => row.map((n, i) => n + (one[rule]?.[i] ?? 0))));
        expect(counted(judged(records.map(([record]) => record)))).toEqual(sum);
      }),
      { numRuns: 300 },
    );
  });

  it('counts each value as often as it comes', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 100 }), { minLength: 150, maxLength: 300 }), (scores) => {
        const { values } = judged(scores.map((EntityTrustscore) => ({ TrustData: { EntityTrustscore } })));
        const kept = [...new Set(scores)].slice(0, 64);
        const expected: Record<string, number> = {};
        for (const score of scores) {
          const name = kept.includes(score) ? String(score) : '…other';
          expected[name] = (expected[name] ?? 0) + 1;
        }
        expect({ ...values['TrustData.EntityTrustscore'] }).toEqual(expected);
      }),
    );
  });

  it('counts the values of every fact as a naive count does, whatever is in the records', () => {
    fc.assert(
      fc.property(fc.array(device, { minLength: 1, maxLength: 60 }), (records) => {
        const { values } = judged(records.map(([record]) => record));
        for (const path of Object.keys(TYPES)) expect({ ...values[path] }).toEqual(naive(path, records));
      }),
      { numRuns: 300 },
    );
  });

  it('counts texts that differ in little, and more of them than it keeps, as a naive count does', () => {
    const text = fc.integer({ min: 0, max: 120 }).map((n) => `${'ab'[n % 2]}${n % 3 === 0 ? 'x' : n}c`);
    fc.assert(
      fc.property(fc.array(fc.oneof(text, fc.constant('')), { minLength: 100, maxLength: 400 }), (texts) => {
        const records = texts.map((Platform): [Facts, Facts] => [{ Platform }, { Platform }]);
        expect({ ...judged(records.map(([record]) => record)).values.Platform }).toEqual(naive('Platform', records));
      }),
    );
  });
});

const isWhole = (value: Fact | undefined): boolean => typeof value === 'bigint' || Number.isInteger(value);
const isNumber = (value: Fact | undefined): value is number => typeof value === 'number' && Number.isFinite(value);
/** Whether a value has the type of the fact. */
const TYPES: { [path: string]: (value: Fact | undefined) => boolean } = {
  LastLogin: (value) => isWhole(value) && (value as number) >= 0,
  'MdmData.Timestamp': (value) => isWhole(value) && (value as number) >= 0,
  LoginCount: (value) => typeof value === 'bigint' || isNumber(value),
  'TrustData.EntityTrustscore': (value) => isNumber(value) && value >= 0 && value <= 100,
  Platform: (value) => typeof value === 'string',
  RegisteredStatus: (value) => value === 'TRUE' || value === 'FALSE',
  Roles: Array.isArray,
  'TrustData.Factors': Array.isArray,
};

/** By the properties that the records own. */
function naive(path: string, records: readonly [Facts, Facts][]): Record<string, number> {
  const counts: Record<string, number> = {};
  const kept = new Set<Fact>();
  for (const [, owned] of records) {
    let value: Fact | undefined = owned;
    for (const key of path.split('.'))
      value =
        typeof value === 'object' && !Array.isArray(value) && value && Object.hasOwn(value, key)
          ? value[key]
          : undefined;
    const name = nameOfValue(path, value, kept);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

function nameOfValue(path: string, value: Fact | undefined, kept: Set<Fact>): string {
  if (!TYPES[path]?.(value)) return '∅';
  if (!['Platform', 'RegisteredStatus', 'TrustData.EntityTrustscore'].includes(path)) {
    return (Array.isArray(value) ? value.length === 0 : Number(value) === 0) ? 'zero' : 'set';
  }
  if (kept.size < 64) kept.add(value as Fact);
  return kept.has(value as Fact) ? String(value) : '…other';
}
