// commands: `db restore`: a backup in the place of the database, whole or not at all; the former one is kept, and nothing acts on it
// before an operator has accepted it and resumed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { built } from '../../support/built.ts';
import { type Answered, command } from '../../support/in-process.ts';
import { type Organization, startOrganization } from '../../support/organization.ts';

let org: Organization;
let file: string;

beforeEach(async () => {
  org = await startOrganization({ devices: 30 });
  await org.run('enforce');
  file = join(org.dir, 'monday.db');
  await command(['db', 'backup', file], org.env);
  org.console.fleet.addDevice({ serial: 'LATER-1', mdm_compromised: 'TRUE' });
  await org.run('enforce');
});
afterEach(() => org.close());

const restore = (...more: string[]): Promise<Answered> => command(['db', 'restore', file, ...more], org.env);
const asides = () => readdirSync(org.dir).filter((name) => name.startsWith('trustward.db.before-restore-'));

function entriesOf(database: string): number {
  const db = new Database(database);
  try {
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
    return db.prepare('SELECT max(seq) FROM audit').pluck().get() as number;
  } finally {
    db.close();
  }
}

describe('a restored backup', () => {
  it('is in place, stopped and dry; the former database is kept, and so are its checkpoints outside', async () => {
    await org.composition.close();
    const [before, old] = [entriesOf(org.dbFile), entriesOf(file)];
    const outside = readFileSync(`${org.dbFile}.checkpoints`, 'utf8');
    const { code, out } = await restore('--replace');
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringMatching(/accept-restore.*\n.*resume/) });
    expect(entriesOf(org.dbFile)).toBe(old);
    expect(asides().map((name) => entriesOf(join(org.dir, name)))).toEqual([before]);
    expect(readFileSync(`${org.dbFile}.checkpoints`, 'utf8')).toBe(outside);
    org.console.fleet.addDevice({ serial: 'LATER-2', mdm_compromised: 'TRUE' });
    const run = await command(['run', '--mode', 'enforce', '--format', 'json'], org.env);
    expect(JSON.parse(run.out)).toMatchObject({
      run: { daemonMode: 'dry-run' },
      operator: { stoppedNow: { by: 'trustward' } },
    });
    expect(org.effects('device_banned')).toHaveLength(1);
    await command(['audit', 'accept-restore', '--reason', 'the disk died'], org.env);
    await command(['resume', '--reason', 'its report is right'], org.env);
    await command(['run', '--mode', 'enforce'], org.env);
    expect(org.effects('device_banned')).toHaveLength(2);
    expect(await command(['audit', 'verify'], org.env)).toMatchObject({ code: 0 });
  });

  it('is a restored one also when nothing happened since, and on a new machine with nothing but the key', async () => {
    await org.composition.close();
    rmSync(file);
    await command(['db', 'backup', file], org.env);
    const there = { ...org.env, TRUSTWARD_DB: join(org.dir, 'new', 'trustward.db') };
    mkdirSync(join(org.dir, 'new'));
    copyFileSync(`${org.dbFile}.audit-key`, `${there.TRUSTWARD_DB}.audit-key`);
    cpSync(`${org.dbFile}.audit-key.pub`, `${there.TRUSTWARD_DB}.audit-key.pub`);
    for (const env of [org.env, there]) {
      expect(await command(['db', 'restore', file], env)).toMatchObject({ code: 0 });
      const { out } = await command(['run', '--mode', 'enforce', '--format', 'json'], env);
      expect(JSON.parse(out).run.daemonMode).toBe('dry-run');
    }
  });

  it('takes the place of a database that was born on a new machine, and of its checkpoints', async () => {
    await org.composition.close();
    mkdirSync(join(org.dir, 'new'));
    const there = { ...org.env, TRUSTWARD_DB: join(org.dir, 'new', 'trustward.db') };
    await command(['run', '--mode', 'dry-run'], there);
    for (const end of ['.audit-key', '.audit-key.pub'])
      copyFileSync(`${org.dbFile}${end}`, `${there.TRUSTWARD_DB}${end}`);
    expect(await command(['db', 'restore', file, '--replace'], there)).toMatchObject({ code: 0 });
    const { out } = await command(['run', '--mode', 'enforce', '--format', 'json'], there);
    expect(JSON.parse(out).run.daemonMode).toBe('dry-run');
  });

  it('takes the place of a damaged database without being asked twice', async () => {
    await org.composition.close();
    const old = entriesOf(file);
    for (const end of ['-wal', '-shm']) rmSync(`${org.dbFile}${end}`, { force: true });
    writeFileSync(org.dbFile, 'Dear Sir, this is no database at all. '.repeat(100));
    expect(await restore()).toMatchObject({ code: 0 });
    expect(entriesOf(org.dbFile)).toBe(old);
    expect(readFileSync(join(org.dir, asides()[0] as string), 'utf8')).toContain('Dear Sir');
  });
});

describe('a restore is refused, and changes nothing,', () => {
  const kept = () => entriesOf(org.dbFile);

  it('while a process writes to the database', async () => {
    expect(await restore('--replace')).toMatchObject({ code: 1, err: expect.stringContaining('has an active writer') });
    await org.composition.close();
    expect(asides()).toEqual([]);
  });

  it.each<[string, () => void, RegExp]>([
    ['of an older state that is not meant', () => {}, /audit entries more than backup.*--replace/],
    ['of a missing backup', () => rmSync(file), /there is no backup/],
    ['of another file', () => writeFileSync(file, 'a letter '.repeat(900)), /damaged or not a database/],
    ['of a newer version', () => alter('PRAGMA user_version = 999'), /newer version/],
    [
      'of another address',
      () => alter("UPDATE meta SET value = 'https://other' WHERE key = 'address'"),
      /is of https:\/\/other/,
    ],
    [
      'of an edited audit',
      () => alter("DROP TRIGGER audit_no_update; UPDATE audit SET bytes = bytes || ' ' WHERE seq = 3"),
      /not restored: the audit is broken at entry 3/,
    ],
  ])('%s', async (_, happen, says) => {
    await org.composition.close();
    const before = kept();
    happen();
    const isAboutBackup = !/more than|is of/.test(String(says));
    expect(await restore(...(isAboutBackup ? ['--replace'] : []))).toMatchObject({ err: expect.stringMatching(says) });
    expect(kept()).toBe(before);
    expect(asides()).toEqual([]);
    expect(existsSync(`${org.dbFile}.restoring`)).toBe(false);
  });

  function alter(sql: string): void {
    const db = new Database(file);
    db.exec(sql);
    db.close();
  }
});

it('a restore that is killed at any step leaves the old database or the new one, whole', {
  timeout: 240_000,
}, async () => {
  await org.composition.close();
  const [before, old] = [entriesOf(org.dbFile), entriesOf(file)];
  const found = new Set<number>();
  const run = async (killAt: number) => {
    const args = [built('test/faces/cli/restore-killed.ts'), String(killAt), file];
    const child = spawn(process.execPath, args, {
      env: { PATH: process.env.PATH, ...org.env },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    return (await once(child, 'exit'))[1] as string | null;
  };
  for (let killAt = 1; (await run(killAt)) === 'SIGKILL'; killAt += 1) {
    expect(existsSync(`${org.dbFile}-wal`), `killed before step ${killAt}`).toBe(false);
    found.add(entriesOf(org.dbFile));
    for (const name of asides()) expect(entriesOf(join(org.dir, name))).toBeOneOf([before, old]);
  }
  expect([...found].sort()).toEqual([before, old].sort());
  expect(asides().some((name) => entriesOf(join(org.dir, name)) === before)).toBe(true);
});
