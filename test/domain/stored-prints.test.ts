// test: fingerprints that databases have stored stay what they are: others would have every identity of a fleet written again.
import { expect, it } from 'vitest';
import { FactPaths } from '../../src/domain/fact-prints.ts';
import { nameHash, printOfRecord } from '../../src/domain/identity-print.ts';

it('the fingerprints of a record and of a name are those of earlier versions', () => {
  const record = { DeviceID: 'd1', SerialNumber: 'S1', DeviceFriendlyName: 'Zoë', Big: 2n ** 62n, Emails: ['a@x.org'] };
  expect(printOfRecord('device', record)).toBe(7_377_433_335_725_906);
  expect(printOfRecord('user', { Email: 'a@x.org', Name: 'Ann' })).toBe(6_556_960_204_330_087);
  expect(nameHash('serial', 'S1')).toBe(2_987_191_540);
  expect(new FactPaths().print(record)).toBe(4_672_913_970_347_052);
});
