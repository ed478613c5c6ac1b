// store: how large the database is, and how much its disk still takes. In: the name of its file. Out: bytes. It does not keep the event
// loop waiting: a file system that hangs hangs for itself.
import { stat, statfs } from 'node:fs/promises';
import type { DiskUse } from '../domain/store-figures.ts';

/** Rejects when the file system refuses to say. */
export async function diskUse(file: string): Promise<DiskUse> {
  const [database, log, disk] = await Promise.all([sizeOf(file), sizeOf(`${file}-wal`), statfs(file)]);
  return { database, log, free: disk.bavail * disk.bsize, size: disk.blocks * disk.bsize };
}

/** 0 for a file that is not there. */
async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}
