// files: a folder that may not be there yet, with those above it. In: a path. Out: the folder, or the error of node:fs. Node's own `recursive` never
// returns where a folder is there and nothing can be made in it (below /proc, in a mount that is gone).
import { mkdirSync, statSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

export async function makeFolder(folder: string, mode?: number): Promise<void> {
  const make = () => mkdir(folder, mode);
  try {
    await make();
  } catch (error) {
    if (isThere(error) && (await stat(folder)).isDirectory()) return;
    if (!isBelowNothing(error, folder)) throw error;
    await makeFolder(dirname(folder), mode);
    await make();
  }
}

export function makeFolderSync(folder: string): void {
  try {
    mkdirSync(folder);
  } catch (error) {
    if (isThere(error) && statSync(folder).isDirectory()) return;
    if (!isBelowNothing(error, folder)) throw error;
    makeFolderSync(dirname(folder));
    mkdirSync(folder);
  }
}

function isThere(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EEXIST';
}

function isBelowNothing(error: unknown, folder: string): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT' && dirname(folder) !== folder;
}
