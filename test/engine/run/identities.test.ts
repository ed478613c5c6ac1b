// test: whole runs keep identities up by difference. In: a platform in memory that changes between runs. Out: rows, and whether a run
// wrote any.
import { expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { type CountingDb, countingDatabase } from '../../support/counting-db.ts';
import { banRule, type OnPlatform, type Options, startOnPlatform } from '../../support/engine-on-platform.ts';

const WRITE = /^(INSERT INTO|UPDATE|DELETE FROM) (identities|identity_owners)\b/;
const PAGES = { more: 'owners: all' }; // no rule asks for owners: pages are read

function start(options: Options = {}): OnPlatform & { db: CountingDb; rows(): object[]; writes(): number } {
  const db = countingDatabase();
  const on = startOnPlatform({ db, rules: [banRule(PAGES)], ...options });
  const rows = () =>
    db.all('SELECT id, serial, name, owners, changed_at, gone_at FROM identities ORDER BY kind, id') as object[];
  const writes = () => {
    const found = [...db.asked].filter(([sql]) => WRITE.test(sql)).reduce((sum, [, { times }]) => sum + times, 0);
    db.asked.clear();
    return found;
  };
  return { ...on, db, rows, writes };
}

const shown = (id: string, at: number, over: object = {}) => ({
  id,
  serial: `S-${id}`,
  name: `device ${id}`,
  owners: null,
  changed_at: at,
  gone_at: null,
  ...over,
});

it('a run keeps what it has read, and the next run over the same fleet writes nothing of it', async () => {
  const { platform, clock, run, rows, writes } = start();
  for (const id of ['a', 'b', 'c']) platform.addDevice(id);
  const at = clock.now;
  await run('dry-run');
  expect(rows()).toEqual(['a', 'b', 'c'].map((id) => shown(id, at)));
  expect(writes()).toBeGreaterThan(0);
  clock.pass(60_000);
  await run('enforce');
  await run('enforce');
  expect(writes()).toBe(0);
});

it('only what differs is written: new, renamed, registered anew and gone, and what is gone stays known', async () => {
  const { platform, clock, run, rows, writes } = start();
  for (const id of ['a', 'b', 'c', 'd']) platform.addDevice(id);
  const first = clock.now;
  await run();
  writes();
  clock.pass(60_000);
  const second = clock.now;
  platform.patch('b', { DeviceFriendlyName: 'Renamed' });
  platform.devices.delete('c');
  platform.addDevice('c2', { SerialNumber: 'S-c' });
  await run();
  const expected = [
    shown('a', first),
    shown('b', second, { name: 'Renamed' }),
    shown('c', second, { gone_at: second }),
    shown('c2', second, { serial: 'S-c', name: 'device c2' }),
    shown('d', first),
  ];
  expect(rows()).toEqual(expected);
  expect(writes()).toBeLessThan(8);
  await run();
  expect(rows()).toEqual(expected);
  expect(writes()).toBe(0);
  clock.pass(60_000);
  platform.addDevice('c');
  await run();
  expect(rows()[2]).toEqual(shown('c', clock.now));
});

it('owners are kept from readings that show them, also through readings that do not', async () => {
  const { platform, clock, run, rows, rules, writes } = start({ rules: [banRule()] });
  platform.addDevice('a', { Emails: ['Ada@x.org'] });
  const at = clock.now;
  await run();
  expect(rows()).toEqual([shown('a', at, { owners: '["Ada@x.org"]' })]);
  writes();
  for (const rule of [banRule(PAGES), banRule()]) {
    rules(rule);
    await run();
  }
  expect(rows()).toEqual([shown('a', at, { owners: '["Ada@x.org"]' })]);
  expect(writes()).toBe(0);
});

it('an untrusted or broken reading changes nothing', async () => {
  const { platform, run, rows, writes } = start({
    settings: (all) => ({ ...all, trust: { ...all.trust, shrunkPercent: 20, shrunkRecords: 2 } }),
  });
  for (let at = 0; at < 20; at += 1) platform.addDevice(`d${at}`);
  await run();
  const before = rows();
  writes();
  platform.patch('d0', { DeviceFriendlyName: 'Renamed' });
  for (let at = 10; at < 20; at += 1) platform.devices.delete(`d${at}`);
  await run();
  platform.onRead = () => {
    throw new AppError('api_unreachable', 'down');
  };
  await expect(run()).rejects.toThrow('nothing was judged');
  expect([rows(), writes()]).toEqual([before, 0]);
});

it('a large first reading is kept whole', async () => {
  const { platform, db, run, writes } = start();
  for (let at = 0; at < 2_500; at += 1) platform.addDevice(`d${at}`);
  await run();
  expect(db.get('SELECT count(*) AS n FROM identities')).toEqual({ n: 2_500 });
  writes();
  await run();
  expect(writes()).toBe(0);
});
