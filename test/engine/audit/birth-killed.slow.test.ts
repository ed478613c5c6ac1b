// test: what a kill (kill -9) leaves at each step of a first start on a new database, and on one of an earlier version: the next start is an
// ordinary one, and the database is named outside before its first entry. Most of them are copies of the files as they were at that step.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { CheckpointFile, checkpointFileOf, parseDatabaseLine } from '../../../src/engine/audit/signing-key.ts';
import { composeEngine } from '../../../src/runtime/compose/compose.ts';
import { readConfig } from '../../../src/runtime/config/config.ts';
import { openReadOnly } from '../../../src/store/sqlite/database.ts';
import { built, ROOT } from '../../support/built.ts';
import { ChainFolder } from './checkpoint-chain.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'trustward-birth-'));
  folders.push(folder);
  return join(folder, 'trustward.db');
}

const envOf = (file: string) => ({
  TRUSTWARD_API_URL: 'http://127.0.0.1:9',
  TRUSTWARD_API_KEY: 'a-key-that-is-not-used',
  TRUSTWARD_DB: file,
  TRUSTWARD_RULES: join(ROOT, 'rules'),
  TRUSTWARD_LOG_LEVEL: 'silent',
});

/** Returns the steps that it printed. */
async function start(file: string, ...args: ['kill' | 'keep', ...string[]]): Promise<string[]> {
  const child = spawn(process.execPath, [built('test/engine/audit/birth.ts'), ...args], {
    env: { PATH: process.env.PATH, ...envOf(file) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  let said = '';
  for await (const text of child.stdout.setEncoding('utf8')) said += text;
  expect(await exited).toEqual(args[0] === 'keep' ? [0, null] : [null, 'SIGKILL']);
  return said.split('\n').slice(0, -1);
}

interface Birth {
  steps: string[];
  /** Those at which it may be killed, from 1 on. */
  kills: number[];
  /** The database as a kill before the nth step leaves it, with what is beside it. */
  keptBefore(step: number): string;
}

async function keptBirth(newFile: () => string): Promise<Birth> {
  const steps = await start(newFile(), 'keep', '');
  const kills = stepsToKill(steps);
  const [folder, file] = [dirname(newFolder()), newFile()];
  expect(await start(file, 'keep', folder, ...kills.map(String))).toHaveLength(steps.length);
  return { steps, kills, keptBefore: (step) => join(folder, String(step), basename(file)) };
}

/** INVARIANT of a birth: nothing is in the audit before the name is outside. */
function isNamedBeforeItsFirstEntry(file: string): boolean {
  if (!existsSync(file)) return true;
  const db = openOrUndefined(file);
  if (!db) return true;
  try {
    const entries = Number(db.get<{ n: number }>('SELECT count(*) AS n FROM audit')?.n);
    return entries === 0 || new CheckpointFile(checkpointFileOf(file)).look().named !== undefined;
  } finally {
    db.close();
  }
}

/** Undefined: its tables are not made yet. */
function openOrUndefined(file: string): ReturnType<typeof openReadOnly> | undefined {
  try {
    return openReadOnly(file);
  } catch {
    return undefined;
  }
}

async function isOrdinaryNow(file: string): Promise<void> {
  const { engine, verifyAudit, close } = await composeEngine(readConfig(envOf(file)));
  try {
    expect(engine.checkpointer?.restored()).toBeUndefined();
    expect(engine.daemonMode).toBe('dry-run'); // the default: nothing lowered it
    expect(await engine.store.stop()).toBeUndefined();
    expect(await engine.store.audit({ kind: 'database.restored', limit: 1 })).toEqual([]);
    expect(await verifyAudit()).toMatchObject({ ok: true });
    const { named } = new CheckpointFile(checkpointFileOf(file)).look();
    expect(parseDatabaseLine(named ?? '')?.database).toMatch(/^[0-9a-z]{26}$/);
  } finally {
    await close();
  }
}

/** Every step around the key, the name outside and the first entry; of those before, each migration is much like the next. */
function stepsToKill(steps: readonly string[]): number[] {
  const isName = (name: string) => /\.(audit-key|checkpoints)\./.test(name);
  const [from, to] = [steps.findIndex(isName) - 5, steps.findLastIndex(isName) + 6];
  const appended = steps.indexOf('appended');
  const isNear = (index: number) => (index >= from && index <= to) || Math.abs(index - appended) < 2;
  return steps.map((_, index) => index + 1).filter((at) => isNear(at - 1) || (at < from && at % 16 === 1));
}

describe('a first start', { timeout: 400_000 }, () => {
  it('that is killed at any step is followed by an ordinary one', async () => {
    const { steps, kills, keptBefore } = await keptBirth(newFolder);
    expect(steps.findIndex((name) => name.includes('checkpoints'))).toBeGreaterThan(0);
    expect(kills.length).toBeGreaterThan(20);
    for (const at of kills) {
      const name = `killed before step ${at}: ${steps[at - 1]}`;
      expect(isNamedBeforeItsFirstEntry(keptBefore(at)), name).toBe(true);
      await isOrdinaryNow(keptBefore(at));
    }
  });

  it('is really killed, around the name outside and the first entry, and is followed by an ordinary one', async () => {
    const steps = await start(newFolder(), 'keep', '');
    const kept = steps.findIndex((name) => name.includes('checkpoints'));
    for (const at of [kept + 1, steps.indexOf('appended') + 1]) {
      const file = newFolder();
      await start(file, 'kill', String(at));
      expect(isNamedBeforeItsFirstEntry(file), `killed before step ${at}: ${steps[at - 1]}`).toBe(true);
      await isOrdinaryNow(file);
    }
  });
});

describe('the first start of this version on a database of an earlier one', { timeout: 400_000 }, () => {
  it('that is killed at any step is followed by an ordinary one, with all checkpoints', async () => {
    const old = new ChainFolder(newFolder());
    await old.fill(20, 5);
    const lines = old.lines();
    old.writeLines(lines, []);
    old.tamper((db) => void db.run("DELETE FROM meta WHERE key = 'database'"));
    const copy = () => {
      const file = newFolder();
      for (const end of ['', '.checkpoints', '.audit-key', '.audit-key.pub'])
        cpSync(`${old.file}${end}`, `${file}${end}`);
      return file;
    };
    const isStarted = async (file: string) => {
      await isOrdinaryNow(file);
      expect(new CheckpointFile(checkpointFileOf(file)).lines()?.slice(0, lines.length)).toEqual(lines);
    };
    const { steps, kills, keptBefore } = await keptBirth(copy);
    for (const at of kills) await isStarted(keptBefore(at));
    const killed = copy();
    await start(killed, 'kill', String(steps.findIndex((name) => name.includes('checkpoints')) + 1));
    await isStarted(killed);
  });
});
