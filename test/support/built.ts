// support: where the build of this run of the suite has a file of src/ or test/ (see build.ts).
// In: a path from the root of the project. Out: the file to give to Node.
import { accessSync, constants, readFileSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';

export const ROOT = new URL('../..', import.meta.url).pathname;
export const BUILD = join(ROOT, '.test-build');

/** V8's own cache; it goes by the hash of each module's text. */
export const COMPILED = join(BUILD, 'compiled');

const MEMORY = '/dev/shm';
const ROOM_BYTES = 4 * 1024 ** 3;

/** For what tests write: in memory where there is room for it, since thousands of commits would each wait for the disk. */
export function temporaryFolder(): string {
  try {
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .find((line) => line.split(' ')[1] === MEMORY);
    const { bavail, bsize } = statfsSync(MEMORY);
    accessSync(MEMORY, constants.W_OK);
    if (mount && !/\bnoexec\b/.test(mount) && bavail * bsize > ROOM_BYTES) return MEMORY;
  } catch {
    // There is none.
  }
  return tmpdir();
}

/** Has `trustward`, as an installation has it on PATH. */
export const BIN = join(BUILD, 'bin');

export function built(path: string): string {
  return join(BUILD, path.replace(/\.tsx?$/, '.js'));
}

/**
 * Tests import what was built too, as Node loads it: Vite transforms no source again, and a thread or a process that the program begins is
 * compiled by nobody.
 */
export const FROM_BUILD = {
  name: 'from-build',
  enforce: 'pre',
  resolveId(source: string, importer: string | undefined): string | undefined {
    if (!importer || !/^\.{1,2}\/.*\.tsx?$/.test(source)) return undefined;
    const path = relative(ROOT, resolve(dirname(importer), source));
    return path.startsWith('src/') ? built(path) : undefined;
  },
} as const;
