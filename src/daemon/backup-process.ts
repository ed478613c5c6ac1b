// The daemon's backup, made by the command `db backup` in a process of its own: copying and checking a large database takes minutes, which
// the daemon neither waits for nor feels. In: two file names. Out: a verified copy under the second name, or an AppError and no such file.
import { rmSync } from 'node:fs';
import { AppError } from '../domain/errors.ts';
import { endOf, faultOf, runBeside } from './own-process.ts';

export interface MadeBackup {
  bytes: number;
  /** Of the audit in the copy. */
  entries: number;
}

export type MakeBackup = (database: string, target: string, signal: AbortSignal) => Promise<MadeBackup>;

/**
 * Killed at once when `signal` aborts. Errors: AppError `stopped`; `store_failed` with the last words of the process; `store_damaged` when
 * the audit of the copy is broken: it replaces no good one.
 */
export const makeBackup: MakeBackup = async (database, target, signal) => {
  const { code, out, err } = await runBeside(['db', 'backup', target, '--db', database, '--format', 'json'], signal);
  if (signal.aborted) throw new AppError('stopped', 'the backup was broken off');
  const result = resultOf(out);
  if (result === undefined || code === null || code > 1) {
    throw new AppError('store_failed', faultOf(err) ?? endOf(code));
  }
  if (code === 1 || !result.audit.ok) {
    rmSync(target, { force: true });
    const text = 'the audit in the copy is broken, and so is that of the database: `trustward audit verify` says where';
    throw new AppError('store_damaged', text);
  }
  return { bytes: result.bytes, entries: result.audit.entries };
};

function resultOf(text: string): { bytes: number; audit: { ok: boolean; entries: number } } | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
