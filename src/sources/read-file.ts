// sources: a file → rows. In: the folder that a process is set to, a path below it. Out: the rows and when the file was written, or that it is as it
// was. Only a regular file inside of the folder is opened, and only one that stayed the same while it was read counts.
import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, open, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { AppError } from '../domain/errors.ts';
import type { GivenOrigin } from '../domain/given-facts.ts';
import { BYTES_MAX, joined, parsed, type Read, type RowSink, readLines, rowsIn, textOf, unusable } from './rows.ts';

/** Who writes a file needs no longer than this between two writes. */
const SETTLED_MS = 1_000;

/** Opens a regular file below `folder`; links that lead out of it are refused. Errors: AppError `config`, `api_answer`. */
export async function openBelow(folder: string, path: string): Promise<FileHandle> {
  try {
    const [root, real] = [await realpath(folder), await realpath(join(folder, path))];
    if (!real.startsWith(`${root}${sep}`)) throw unusable(`\`${path}\` leads out of the folder of sources`);
    // Opening a device can have effects: it is looked at first, and again when it is open, since it can be another file by then.
    if (!(await stat(real)).isFile()) throw unusable(`\`${path}\` is not a regular file`);
    const handle = await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    if ((await handle.stat()).isFile()) return handle;
    await handle.close();
    throw unusable(`\`${path}\` is not a regular file`);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw unusable(`\`${path}\` cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`);
  }
}

/** The text of a small file below `folder`, as much as `bytesMax` of it. Errors: as `openBelow`. */
export async function textBelow(folder: string, path: string, bytesMax: number): Promise<string> {
  const handle = await openBelow(folder, path);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytesMax), 0, bytesMax, 0);
    return buffer.subarray(0, bytesRead).toString('utf8');
  } finally {
    await handle.close();
  }
}

const markOf = ({ ino, size, mtimeNs }: BigIntStats): string => `${ino} ${size} ${mtimeNs}`;

/** As a reading would mark it now; undefined: there is no such file. It is not opened. */
export async function markNow(folder: string, path: string): Promise<string | undefined> {
  return stat(join(folder, path), { bigint: true }).then(markOf, () => undefined);
}

export async function readGivenFile(
  origin: GivenOrigin & { by: 'file' },
  { folder, mark, nowMs }: { folder: string; mark: string | undefined; nowMs: number },
  sink: RowSink,
): Promise<Read> {
  const handle = await openBelow(folder, origin.path);
  try {
    const before = await handle.stat({ bigint: true });
    const [writtenMs, size] = [Number(before.mtimeMs), Number(before.size)];
    const seen = markOf(before);
    if (seen === mark) return 'unchanged';
    if (writtenMs <= nowMs && nowMs - writtenMs < SETTLED_MS) return 'later';
    const bytesMax = BYTES_MAX[origin.format];
    if (size > bytesMax) throw unusable(`it is larger than ${bytesMax / 1e6} MB`);
    // The stream must not close the file, which is looked at afterwards.
    const texts = textOf(handle.createReadStream({ autoClose: false, start: 0 }), bytesMax);
    if (origin.format === 'json') {
      await rowsIn(parsed(await joined(texts), 'it'), origin.list, sink);
    } else await readLines(texts, origin.format, true, sink);
    const after = await handle.stat({ bigint: true });
    if (after.size !== before.size || after.mtimeNs !== before.mtimeNs) return 'later';
    return { atMs: Math.min(writtenMs, nowMs), mark: seen };
  } finally {
    await handle.close().catch(() => {}); // nothing was written to it
  }
}
