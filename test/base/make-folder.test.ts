// test: folders that are made where they are not there yet, and refused, in time, where nothing can be made. Each may hang the whole process if it is
// wrong, so the ones that hung Node run in a process of their own.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { makeFolder, makeFolderSync } from '../../src/base/files.ts';
import { built } from '../support/built.ts';

const dir = mkdtempSync(join(tmpdir(), 'trustward-'));
afterAll(() => rmSync(dir, { recursive: true }));

describe.each([
  ['makeFolder', async (path: string) => makeFolder(path, 0o700)],
  ['makeFolderSync', async (path: string) => makeFolderSync(path)],
])('%s', (name, make) => {
  it('makes a folder and those above it, and leaves one that is there', async () => {
    const deep = join(dir, name, 'a', 'b');
    await make(deep);
    await make(deep);
    expect(statSync(deep).isDirectory()).toBe(true);
    const link = join(dir, `${name}-link`);
    symlinkSync(deep, link);
    await make(link);
  });

  it('refuses a name that is a file', async () => {
    const file = join(dir, `${name}-file`);
    writeFileSync(file, '');
    await expect(make(file)).rejects.toMatchObject({ code: 'EEXIST' });
  });

  it('refuses a place where nothing can be made, and returns', () => {
    const module = JSON.stringify(built('src/base/files.ts'));
    const script = `import(${module}).then(async (m) => m.${name}('/proc/none/here')).catch((e) => console.log(e.code))`;
    const out = execFileSync(process.execPath, ['-e', script], { timeout: 60_000, killSignal: 'SIGKILL' });
    expect(String(out)).toBe('ENOENT\n');
  });
});
