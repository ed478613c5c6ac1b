// test: what one record has taught must not be applied to another: a pass over many records judges each as if it were alone.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Fact, Facts } from '../../src/domain/facts.ts';
import type { Judgement } from '../../src/domain/verdict.ts';
import { compileRules } from '../../src/evaluate/index.ts';
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
});
