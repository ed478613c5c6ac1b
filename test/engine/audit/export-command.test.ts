// test: `audit verify`, `export`, `archive` and `new-key` as an operator types them.
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildProgram } from '../../../src/faces/cli/program.ts';
import { ChainFolder } from './checkpoint-chain.ts';

let folder: ChainFolder;
let elsewhere: string;
beforeEach(async () => {
  folder = new ChainFolder();
  elsewhere = mkdtempSync(join(tmpdir(), 'trustward-elsewhere-'));
  await folder.fill(300, 100);
});
afterEach(() => {
  folder.remove();
  rmSync(elsewhere, { recursive: true, force: true });
});

async function audit(...args: string[]): Promise<{ code: number; out: string }> {
  const written: string[] = [];
  const io = { env: {}, out: (text: string) => void written.push(text), err: () => {}, untilStopped: async () => {} };
  const code = await buildProgram(io)(['audit', ...args]);
  return { code, out: written.join('') };
}

const onDatabase = (name: string, ...args: string[]) => audit(name, '--db', folder.file, ...args);
const publicKey = () => `${folder.file}.audit-key.pub`;

describe('audit verify', () => {
  it('shows that the record is whole, and how far it is sealed', async () => {
    const { code, out } = await onDatabase('verify');
    expect(code).toBe(0);
    expect(out).toMatch(
      /^the audit is whole: 300 entries, head [0-9a-f]{64}\n3 signed checkpoints agree, the last over entry 300\n$/,
    );
  });

  it('ends with 1 and names what was changed', async () => {
    folder.tamper((db) => db.run("UPDATE audit SET kind = 'notice' WHERE seq = 123"));
    const { code, out } = await onDatabase('verify');
    expect(code).toBe(1);
    expect(out).toBe(
      'the audit is broken at entry 123: its kind column differs from its content; 122 entries before it are whole\n',
    );
    expect(JSON.parse((await onDatabase('verify', '--format', 'json')).out)).toMatchObject({
      ok: false,
      bad: { seq: 123 },
    });
  });

  it('detects a replaced public key when a copy is given', async () => {
    const copy = join(elsewhere, 'key.pub');
    copyFileSync(publicKey(), copy);
    const other = new ChainFolder();
    await other.fill(1, 1);
    copyFileSync(`${other.file}.audit-key.pub`, publicKey());
    other.remove();
    expect((await onDatabase('verify')).code).toBe(1);
    expect((await onDatabase('verify', '--public-key', copy)).code).toBe(0);
  });

  it('names a missing key, and an export without one', async () => {
    rmSync(publicKey());
    await expect(onDatabase('verify')).rejects.toThrow(
      /the public key `.*` is missing: give a copy of it with --public-key/,
    );
    await expect(audit('verify', '--file', 'export.ndjson')).rejects.toThrow(/--file needs --public-key FILE/);
    writeFileSync(join(elsewhere, 'no-key'), 'no key');
    await expect(onDatabase('verify', '--public-key', join(elsewhere, 'no-key'))).rejects.toThrow(
      /does not hold an Ed25519 public key/,
    );
  });

  it('names a table that was dropped, also when its files are gone', async () => {
    folder.tamper((db) => db.exec('DROP TABLE audit_archives; DROP TABLE checkpoints'));
    for (const suffix of ['.checkpoints', '.audit-key', '.audit-key.pub']) rmSync(`${folder.file}${suffix}`);
    const { code, out } = await onDatabase('verify');
    expect(code).toBe(1);
    expect(out).toContain('`sqlite_schema` has no table `checkpoints`');
  });
});

describe('audit export', () => {
  it('can be verified elsewhere with only the public key', async () => {
    const file = join(elsewhere, 'audit.ndjson');
    expect((await onDatabase('export', '--out', file)).code).toBe(0);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const key = join(elsewhere, 'key.pub');
    copyFileSync(publicKey(), key);
    folder.remove();
    const { code, out } = await audit('verify', '--file', file, '--public-key', key);
    expect({ code, out }).toMatchObject({
      code: 0,
      out: expect.stringContaining('3 signed checkpoints agree, the last over entry 300'),
    });
    writeFileSync(file, readFileSync(file, 'utf8').replace('SN-77\\"', 'SN-78\\"'));
    expect(await audit('verify', '--file', file, '--public-key', key)).toMatchObject({
      code: 1,
      out: expect.stringContaining('at entry 77'),
    });
    await expect(audit('verify', '--file', join(elsewhere, 'none'), '--public-key', key)).rejects.toThrow(
      /cannot be read \(ENOENT\)/,
    );
  });

  it('writes only its lines to standard output', async () => {
    const { out } = await onDatabase('export', '--from', '299');
    const types = out
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type?: string }).type);
    expect(types).toEqual([undefined, 'entry', 'entry', 'checkpoint', 'end']);
  });
});

describe('audit archive', () => {
  it('moves the oldest entries to a file, and prints its place', async () => {
    const { code, out } = await onDatabase('archive', '--before', '250', '--reason', 'kept for a year');
    expect(code).toBe(0);
    const file = /entries 1 to 200 lie in (\S+),/.exec(out)?.[1] as string;
    expect((await audit('verify', '--file', file, '--public-key', publicKey())).code).toBe(0);
    expect((await onDatabase('verify')).out).toContain('entries before 201 are missing here');
  });

  it('removes nothing from a record that is not whole', async () => {
    folder.tamper((db) => db.run("UPDATE audit SET kind = 'notice' WHERE seq = 290"));
    await expect(onDatabase('archive', '--before', '250', '--reason', 'space')).rejects.toThrow(
      /nothing is archived: .* entry 290/,
    );
  });

  it('refuses an invalid bound', async () => {
    for (const bound of ['soon', '0', '-5', '2026-13-01', '1.5'])
      await expect(onDatabase('archive', '--before', bound, '--reason', 'space')).rejects.toThrow(
        /expected an entry's number, or a date/,
      );
    await expect(onDatabase('archive', '--before', '5')).rejects.toThrow(/--reason/);
    expect((await onDatabase('archive', '--before', '1999-01-01', '--reason', 'space')).out).toContain(
      'nothing to archive',
    );
  });
});

describe('audit new-key', () => {
  it('keeps the former key’s signatures valid, and is recorded', async () => {
    rmSync(`${folder.file}.audit-key`);
    expect((await onDatabase('new-key', '--reason', 'lost')).code).toBe(0);
    await folder.fill(50, 50);
    const { code, out } = await onDatabase('verify');
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('the last over entry 351') });
    expect((await onDatabase('list', '--kind', 'audit.key_replaced')).out).toContain('lost');
  });
});
