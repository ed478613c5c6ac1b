// bench: lists of devices of a large fleet, as `GET /api/subjects/device` and the page read them: the first page, each filter, each order, a word's
// beginning, few and many that match a rule. In: the number of devices, 1,000,000 by default. Out: milliseconds of each, the median of seven, and
// how long saving the names of a first list takes. Usage: npm run bench -- fleet [DEVICES]. Reach: each first page ≤ 200 ms.
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FleetQuery } from '../src/domain/fleet.ts';
import { identityOf, type ListedIdentity } from '../src/domain/identity.ts';
import { linkEntry } from '../src/engine/audit/signing-key.ts';
import { systemClock } from '../src/runtime/system/clock.ts';
import { migrate, openDatabase } from '../src/store/sqlite/database.ts';
import { SqliteStore } from '../src/store/sqlite/sqlite-store.ts';
import { deviceText, idOf } from './cycle/fleet.ts';
import { isShort, report } from './figures.ts';

const DEVICES = Number(process.argv.slice(2).find((arg) => /^\d+$/.test(arg)) ?? (isShort ? 50_000 : 1_000_000));
const ROUNDS = 7;
const folder = mkdtempSync(join(tmpdir(), 'trustward-fleet-'));
const file = join(folder, 'trustward.db');

/** With owners; one of 97 is banned. */
function* devices(): Generator<ListedIdentity> {
  for (let index = 0; index < DEVICES; index += 1) {
    const record = JSON.parse(deviceText(index, DEVICES / 2));
    yield identityOf('device', { ...record, Banned: index % 97 === 0 ? 'TRUE' : 'FALSE' });
  }
}

const ASKED: Record<string, Partial<FleetQuery>> = {
  'first page': {},
  'by name, from the end': { isDescending: true },
  'by trust level': { sort: 'level' },
  'by platform': { sort: 'platform' },
  'banned first': { sort: 'banned', isDescending: true },
  'compromised first': { sort: 'compromised', isDescending: true },
  banned: { facts: { banned: 'true' } },
  compromised: { facts: { compromised: 'true' } },
  'of a platform': { facts: { platform: 'ios' } },
  'of a trust level': { facts: { level: 'Low' } },
  'of a platform, banned, by trust level': { facts: { platform: 'ios', banned: 'true' }, sort: 'level' },
  'of an owner': { owner: 'user-0000017@acme.example' },
  'a word that few have (4711)': { q: '4711' },
  'a word that many have (pers)': { q: 'pers' },
  'two words (ios 99)': { q: 'ios 99' },
  'a serial number': { q: 'C000000ABC' },
  'a word that nobody has': { q: 'zebra' },
  'a word that many have, compromised': { q: 'person', facts: { compromised: 'true' } },
  'of a rule that 1,000 match': { rule: 'few' },
  'of a rule that 5 % match': { rule: 'many' },
  'of that rule, of a platform': { rule: 'many', facts: { platform: 'ios', level: 'Low' } },
};

try {
  const db = openDatabase(file);
  migrate(db);
  const store = new SqliteStore(db, linkEntry, systemClock);
  const started = process.cpuUsage();
  await store.saveIdentities([{ kind: 'device', changed: devices(), had: undefined, readAt: 1 }]);
  const { user, system } = process.cpuUsage(started);
  process.stdout.write(
    `names of ${DEVICES} devices made and saved: ${((user + system) / 1e6).toFixed(1)} s of processor time, ${(statSync(file).size / 1e6).toFixed(0)} MB\n`,
  );
  const columns = ['id', 'rule', 'kind', 'subject', 'since', 'matching_since', 'state', 'state_since'];
  for (const [rule, count] of [
    ['few', Math.min(1_000, DEVICES / 50)],
    ['many', DEVICES / 20],
  ] as const) {
    const rows = Array.from({ length: count }, (_, at) => {
      const subject = idOf(at * Math.floor(DEVICES / count));
      return [`${rule}-${at}`, rule, 'device', subject, 1, 1, 'matching', 1];
    });
    db.transaction(() => db.insertMany('episodes', columns, rows));
  }
  const base: FleetQuery = { kind: 'device', facts: {}, sort: 'name', isDescending: false, limit: 50 };
  for (const [what, asked] of Object.entries(ASKED)) {
    const times: number[] = [];
    let shown = '';
    for (let round = 0; round < ROUNDS; round += 1) {
      const begun = systemClock.monotonicMs();
      const page = await store.fleetPage({ ...base, ...asked });
      times.push(systemClock.monotonicMs() - begun);
      shown = `${page.rows.length} of ${page.total ?? 'many'}`;
    }
    const value = times.toSorted((one, other) => one - other)[Math.floor(ROUNDS / 2)] as number;
    report({ bench: 'fleet', what: `${DEVICES} devices: ${what} (${shown})`, value, unit: 'ms', atMost: 200 });
  }
  await store.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
