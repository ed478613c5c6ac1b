// The daemon's backup, made by the command `db backup` in a process of its own: copying and checking a large database takes minutes, which
// the daemon neither waits for nor feels. In: two file names. Out: a verified copy under the second name, or an AppError and no such file.
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AppError } from '../domain/errors.ts';

export interface MadeBackup {
  bytes: number;
  /** Of the audit in the copy. */
  entries: number;
}

export type MakeBackup = (database: string, target: string, signal: AbortSignal) => Promise<MadeBackup>;

/** No credential is handed on: it reads files and nothing else. */
const PASSED_ON = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'TZ', 'LD_LIBRARY_PATH'];
const TEXT_MAX = 1_000_000;

const OWN = 'trustward: ';
const CRASH = /^\w*Error\b.*:|^FATAL ERROR: /;

/**
 * Killed at once when `signal` aborts. Errors: AppError `stopped`; `store_failed` with the last words of the process; `store_damaged` when
 * the audit of the copy is broken: it replaces no good one.
 */
export const makeBackup: MakeBackup = async (database, target, signal) => {
  const { code, out, err } = await run(['db', 'backup', target, '--db', database, '--format', 'json'], signal);
  if (signal.aborted) throw new AppError('stopped', 'the backup was broken off');
  const result = resultOf(out);
  if (result === undefined || code === null || code > 1) {
    throw new AppError('store_failed', faultOf(err) ?? `its process ended with ${code ?? 'a signal'}`);
  }
  if (code === 1 || !result.audit.ok) {
    rmSync(target, { force: true });
    const text = 'the audit in the copy is broken, and so is that of the database: `trustward audit verify` says where';
    throw new AppError('store_damaged', text);
  }
  return { bytes: result.bytes, entries: result.audit.entries };
};

/** What it said last. A process that crashes writes a stack and its version after what went wrong. */
function faultOf(err: string): string | undefined {
  const lines = err.trim().split('\n').filter(Boolean);
  const fault =
    lines.findLast((line) => line.startsWith(OWN)) ?? lines.find((line) => CRASH.test(line)) ?? lines.at(-1);
  return fault?.replace(OWN, '');
}

function resultOf(text: string): { bytes: number; audit: { ok: boolean; entries: number } } | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function run(args: string[], signal: AbortSignal): Promise<{ code: number | null; out: string; err: string }> {
  // From sources the loader is needed there, too; what is built needs none.
  const extension = extname(import.meta.url);
  const main = fileURLToPath(new URL(`../main${extension}`, import.meta.url));
  const loader = extension === '.ts' ? ['--import', 'tsx'] : [];
  const env = Object.fromEntries(PASSED_ON.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
  const child = spawn(process.execPath, [...loader, main, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = () => child.kill('SIGKILL');
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => {
    if (out.length < TEXT_MAX) out += chunk;
  });
  child.stderr.on('data', (chunk: Buffer) => {
    err = `${err}${chunk}`.slice(-TEXT_MAX);
  });
  if (signal.aborted) kill();
  signal.addEventListener('abort', kill, { once: true });
  try {
    return await new Promise((resolve, reject) => {
      child.on('error', (error) =>
        reject(new AppError('store_failed', `its process cannot be started (${error.message})`)),
      );
      child.on('spawn', () => lessUrgent(child.pid));
      child.on('close', (code) => resolve({ code, out, err }));
    });
  } finally {
    signal.removeEventListener('abort', kill);
  }
}

/** The daemon goes first. */
function lessUrgent(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It has ended already, or this may not be changed here.
  }
}
