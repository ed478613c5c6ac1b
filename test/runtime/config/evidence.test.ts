import { expect, test } from 'vitest';
import { EVIDENCE_THRESHOLDS } from '../../../src/domain/evidence.ts';
import { evidenceThresholdsOf } from '../../../src/runtime/config/config.ts';

const read = (text: string) => evidenceThresholdsOf({ TRUSTWARD_EVIDENCE: text });

test('thresholds that are not named keep their defaults', () => {
  expect(evidenceThresholdsOf({})).toEqual(EVIDENCE_THRESHOLDS);
  expect(read('enforce-days=30, unknown=2 %')).toEqual({
    ...EVIDENCE_THRESHOLDS,
    daysMin: { approve: 7, enforce: 30 },
    unknownPercentMax: 2,
  });
});

test.each(['days=3', 'enforce-days', 'flaps=-1', 'coverage=101', 'unknown=many', 'constructor=1'])(
  '`%s` is refused with what was expected',
  (text) => {
    expect(() => read(text)).toThrow(/^configuration: TRUSTWARD_EVIDENCE has `.*`: expected /);
  },
);

test('enforce cannot be earned in fewer days than approve', () => {
  expect(() => read('approve-days=20')).toThrow('enforce-days is less than approve-days');
});
