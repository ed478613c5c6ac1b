// What lies beside a database, copied to another place: the keys, the checkpoints outside, the endpoint's token, the history, archives of the audit
// and the embedded console. In: the names that they begin with. Out: copies that only their owner reads, each whole or not there.
import { chmodSync, closeSync, existsSync, openSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { archiveFolderOf } from '../audit/archive.ts';
import { checkpointFileOf } from '../audit/checkpoint-file.ts';
import { privateKeyFileOf, publicKeyFileOf } from '../audit/signing-key.ts';
import { consoleDatabaseOf } from '../config/database.ts';
import { AppError } from '../domain/errors.ts';
import { syncFolderOf, writeWhole } from '../files/durable-file.ts';
import { makeFolderSync } from '../files/make-folder.ts';
import { evidenceFolder } from '../history/evidence/evidence-files.ts';
import { copyHistory } from '../history/files/copy.ts';
import { historyFolderOf } from '../history/files/segment-files.ts';
import { openAsItIs } from '../store/inspect.ts';

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** Errors: AppError `conflict` for a place that has another key, `store_failed`; those of node:fs. */
export async function copyBeside(source: string, target: string): Promise<void> {
  refuseOtherKey(source, target);
  const folder = dirname(target);
  makeFolderSync(folder);
  chmodSync(folder, FOLDER_MODE);
  for (const fileOf of [privateKeyFileOf, publicKeyFileOf, tokenFileOf]) copyFile(fileOf(source), fileOf(target));
  copyCheckpoints(source, target);
  const { left } = copyHistory(historyFolderOf(source), historyFolderOf(target));
  if (left.length > 0)
    throw new AppError(
      'store_failed',
      `\`${left[0]}\` of the history is damaged: move it to another folder, and repeat`,
    );
  for (const folderOf of [evidenceFolder, archiveFolderOf]) copyFolder(folderOf(source), folderOf(target));
  await copyConsole(consoleDatabaseOf({ beside: source }), consoleDatabaseOf({ beside: target }));
}

/** The last file to change: with it, the copy is of the same state as the database. */
export function copyCheckpoints(source: string, target: string): void {
  copyFile(checkpointFileOf(source), checkpointFileOf(target));
}

function tokenFileOf(beside: string): string {
  return `${beside}.token`;
}

function refuseOtherKey(source: string, target: string): void {
  const [own, there] = [privateKeyFileOf(source), privateKeyFileOf(target)];
  if (!existsSync(there) || readFileSync(own, 'utf8') === readFileSync(there, 'utf8')) return;
  const text = `\`${there}\` is the key of another database: the folder of an organization belongs to one database`;
  throw new AppError('conflict', `${text}; set it aside, or give another TRUSTWARD_STATE`);
}

function copyFile(source: string, target: string): void {
  if (existsSync(source)) writeWhole(target, readFileSync(source, 'utf8'), FILE_MODE);
}

/** Text files, one level deep: archives and daily evidence. */
function copyFolder(source: string, target: string): void {
  if (!existsSync(source)) return;
  makeFolderSync(target);
  chmodSync(target, FOLDER_MODE);
  for (const entry of readdirSync(source, { withFileTypes: true }))
    if (entry.isFile() && !entry.name.endsWith('.new')) copyFile(join(source, entry.name), join(target, entry.name));
}

async function copyConsole(source: string, target: string): Promise<void> {
  if (!existsSync(source)) return;
  const aside = join(dirname(target), `.${basename(target)}.new`);
  rmSync(aside, { force: true }); // of a process that was killed
  closeSync(openSync(aside, 'wx', FILE_MODE));
  const from = openAsItIs(source);
  try {
    await from.copyTo(aside);
  } finally {
    from.close();
  }
  for (const end of ['-wal', '-shm']) rmSync(`${target}${end}`, { force: true });
  renameSync(aside, target);
  syncFolderOf(target);
}
