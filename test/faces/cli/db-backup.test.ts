// commands: `db backup`: a whole copy, taken while a daemon writes; never over another file, never a partial one.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifyCopy } from '../../../src/faces/cli/db.ts';
import { type Daemon, startDaemon } from '../../../src/runtime/daemon/daemon.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { backupDatabase } from '../../../src/store/sqlite/backup.ts';
import { command } from '../../support/in-process.ts';
import { type Organization, startOrganization } from '../../support/organization.ts';

let org: Organization;
let kept: string;
let file: string;

beforeEach(async () => {
  org = await startOrganization({
    devices: 30,
    compromised: 2,
    env: { TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *' },
  });
  await org.run('enforce');
  kept = join(org.dir, 'kept');
  mkdirSync(kept);
  file = join(kept, 'monday.db');
});
afterEach(() => org.close());

const backup = (...more: string[]) => command(['db', 'backup', file, ...more], org.env);

/** The mode of a run, as `explain` shows it without a daemon. */
async function modeExplained(): Promise<string> {
  const [serial = ''] = org.effects('device_banned');
  const { out } = await command(['explain', 'ban-compromised-device', serial, '--format', 'json'], org.env);
  return JSON.parse(out).decisions[0].mode;
}

function rowsOf(database: string, table: string): unknown[] {
  const db = new Database(database, { readonly: true });
  try {
    return db.prepare(`SELECT * FROM ${table}`).all();
  } finally {
    db.close();
  }
}

describe('a backup', () => {
  it('is one whole file that only its owner can read, with every row, and nothing beside it', async () => {
    const { code, out } = await backup('--format', 'json');
    expect(code).toBe(0);
    const { seq, hash } = await org.composition.engine.store.auditHead();
    expect(JSON.parse(out)).toMatchObject({ file, audit: { ok: true, entries: seq, head: hash, bad: null } });
    expect(readdirSync(kept)).toEqual(['monday.db']);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    for (const table of ['runs', 'claims', 'audit', 'checkpoints', 'intents'])
      expect(rowsOf(file, table), table).toEqual(rowsOf(org.dbFile, table));
    expect(rowsOf(file, 'claims')).toHaveLength(2);
    // Reading it needs no working files of SQLite: it can be on a read-only medium.
    expect(readdirSync(kept)).toEqual(['monday.db']);
  });

  it('leaves the database unchanged, without an entry in its audit', async () => {
    const before = await org.composition.engine.store.auditHead();
    await backup();
    expect(await org.composition.engine.store.auditHead()).toEqual(before);
  });

  it('is whole while a daemon does one run after the other', async () => {
    const daemon: Daemon = await startDaemon(org.composition);
    let isDone = false;
    const runs = (async () => {
      while (!isDone) await org.run('dry-run');
    })();
    for (let turn = 0; turn < 5; turn += 1) {
      const { code, out } = await command(['db', 'backup', `${file}.${turn}`, '--format', 'json'], org.env);
      expect(code).toBe(0);
      expect(JSON.parse(out).audit).toMatchObject({ ok: true, bad: null });
    }
    isDone = true;
    await runs;
    await daemon.stop();
  });

  it('never replaces another file', async () => {
    writeFileSync(file, 'a letter');
    const { code, out, err } = await backup();
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(`\`${file}\` is there already`);
    expect(readFileSync(file, 'utf8')).toBe('a letter');
    expect(readdirSync(kept)).toEqual(['monday.db']);
  });

  it('does not replace a file that appears while it is made', async () => {
    const meanwhile = async () => writeFileSync(file, 'a letter');
    await expect(backupDatabase(org.dbFile, file, systemClock, meanwhile)).rejects.toThrow('is there already');
    expect(readFileSync(file, 'utf8')).toBe('a letter');
    expect(readdirSync(kept)).toEqual(['monday.db']);
  });

  it('is not reported as broken when the daemon has sealed more of the audit since', async () => {
    const { checked } = await backupDatabase(org.dbFile, file, systemClock, async (copy) => {
      await org.run('dry-run');
      return verifyCopy(org.dbFile, copy);
    });
    expect(checked).toMatchObject({ ok: true, bad: undefined });
    expect(checked.entries).toBeLessThan((await org.composition.engine.store.auditHead()).seq);
  });

  it('that cannot be made leaves no partial file', async () => {
    file = join(kept, 'no', 'folder.db');
    expect(await backup()).toMatchObject({ code: 1, out: '' });
    file = join(kept, 'monday.db');
    const none = await command(['db', 'backup', file, '--db', join(org.dir, 'none.db')], org.env);
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining('there is no database') });
    expect(readdirSync(kept)).toEqual([]);
  });

  it('of a damaged database is refused, and the damage is named', async () => {
    await org.composition.close();
    const db = new Database(org.dbFile);
    db.pragma('journal_mode = DELETE');
    db.close();
    const bytes = readFileSync(org.dbFile);
    bytes.fill(0x5a, 4096 * 3, 4096 * 20);
    writeFileSync(org.dbFile, bytes);
    const { code, err } = await backup();
    expect(code).toBe(1);
    expect(err).toContain('damaged');
    expect(readdirSync(kept)).toEqual([]);
    expect(existsSync(file)).toBe(false);
  });

  it('of a database with an edited audit is kept, and the command ends with 1 and names the entry', async () => {
    await org.composition.close();
    const db = new Database(org.dbFile);
    db.exec('DROP TRIGGER audit_no_update');
    db.exec("UPDATE audit SET bytes = replace(bytes, 'enforce', 'dry-run') WHERE seq = 3");
    db.close();
    const { code, out } = await backup();
    expect(code).toBe(1);
    expect(out).toContain('the audit is broken at entry 3');
    expect(rowsOf(file, 'claims')).toHaveLength(2);
  });

  it('is restored by the printed commands, is noticed by the engine, and works after it was accepted', async () => {
    const { out } = await backup('--format', 'json');
    await org.run('dry-run');
    await org.composition.close();
    const [restore, , accept, resume] = JSON.parse(out).restore as string[];
    expect(restore).toBe(`trustward db restore ${file} --db ${org.dbFile}`);
    expect(await command(['db', 'restore', file, '--replace'], org.env)).toMatchObject({ code: 0 });
    await org.restart();
    expect(org.composition.engine.daemonMode).toBe('dry-run');
    await org.composition.close();
    expect(await modeExplained()).toBe('dry-run');
    expect(accept).toContain('audit accept-restore');
    await command(['audit', 'accept-restore', '--reason', 'the disk died'], org.env);
    expect(resume).toContain('trustward resume');
    expect(await modeExplained()).toBe('enforce');
    await org.restart();
    expect(org.composition.engine.daemonMode).toBe('enforce');
  });
});
