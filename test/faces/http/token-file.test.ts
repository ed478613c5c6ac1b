// http: the token of the first start.
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hashOfToken } from '../../../src/domain/endpoint-token.ts';
import { hashVerifier, loadOrCreateToken, tokenHash } from '../../../src/faces/http/sign-in.ts';

function database(): string {
  const folder = mkdtempSync(join(tmpdir(), 'trustward-token-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'trustward.db');
}

describe('the token file', () => {
  it('is made once, beside the database, for its owner alone', () => {
    const db = database();
    const made = loadOrCreateToken(db);
    expect(made).toMatchObject({ file: `${db}.token`, created: true });
    expect(made.token).toMatch(/^[\w-]{43}$/);
    expect(statSync(made.file).mode & 0o777).toBe(0o600);
    expect(readFileSync(made.file, 'utf8')).toBe(`${made.token}\n`);
    expect(loadOrCreateToken(db)).toEqual({ ...made, created: false });
    expect(loadOrCreateToken(database()).token).not.toBe(made.token);
  });

  it('is made although a start before, killed while making it, had the same process number', () => {
    const db = database();
    writeFileSync(`${db}.token.${process.pid}.new`, 'half', { mode: 0o600 });
    const { file, token } = loadOrCreateToken(db);
    expect(readFileSync(file, 'utf8')).toBe(`${token}\n`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('is refused when others can read it', () => {
    const db = database();
    const { file } = loadOrCreateToken(db);
    chmodSync(file, 0o644);
    expect(() => loadOrCreateToken(db)).toThrow(`run \`chmod 600 ${file}\``);
  });

  it('is refused when it holds no token', () => {
    const db = database();
    writeFileSync(`${db}.token`, '\n', { mode: 0o600 });
    expect(() => loadOrCreateToken(db)).toThrow('holds no token');
  });

  it('cannot be made in a missing folder, which is reported in one line', () => {
    expect(() => loadOrCreateToken('/no/such/folder/trustward.db')).toThrow(/^the token file .* \(ENOENT\): [^\n]*$/);
  });
});

describe('the token verifier', () => {
  it('knows each token by its hash, and no other', () => {
    const ofHash = hashVerifier([
      { name: 'a', scope: 'read', hash: tokenHash('token-a') },
      { name: 'b', scope: 'admin', hash: tokenHash('token-b') },
    ]);
    const verify = (token: string) => ofHash(hashOfToken(token));
    expect(verify('token-a')).toEqual({ name: 'a', scope: 'read' });
    expect(verify('token-b')).toEqual({ name: 'b', scope: 'admin' });
    expect(verify('token-c')).toBeUndefined();
    expect(verify('')).toBeUndefined();
  });
});
