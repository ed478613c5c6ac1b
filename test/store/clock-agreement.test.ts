// test: what was kept of the clocks, also by an earlier version.

import { expect, it } from 'vitest';
import { canonicalJson } from '../../src/base/json.ts';
import { elapsedMs } from '../../src/base/time.ts';
import { steadyTime } from '../../src/runtime/system/clock.ts';
import { readClockAgreement } from '../../src/store/run-rows.ts';
import { answered, migrate, openDatabase } from '../../src/store/sqlite/database.ts';

it('of an earlier version, it lets no stretch be known or ends one early', () => {
  const db = openDatabase(':memory:');
  migrate(db);
  const kept = { boot: 'first', apartMs: 900_000, sinceMs: 1_000_000, fromMs: 100_000 };
  db.upsert('meta', { key: 'clock_agreement', value: canonicalJson(kept) }, 'key');
  const later = { nowMs: () => 4_000_000, monotonicMs: () => 60_000 };
  const reading = steadyTime(later, 'second', answered(db, readClockAgreement)).read();
  expect([elapsedMs(reading, 2_000_000), elapsedMs(reading, 500_000)]).toEqual([1_100_000, 2_100_000]);
  db.close();
});
