// support: where the build of this run of the suite has a file of src/ or test/ (see build.ts).
// In: a path from the root of the project. Out: the file to give to Node.
import { join } from 'node:path';

export const ROOT = new URL('../..', import.meta.url).pathname;
export const BUILD = join(ROOT, '.test-build');

/** V8's own cache; it goes by the hash of each module's text. */
export const COMPILED = join(BUILD, 'compiled');

/** Has `trustward`, as an installation has it on PATH. */
export const BIN = join(BUILD, 'bin');

export function built(path: string): string {
  return join(BUILD, path.replace(/\.tsx?$/, '.js'));
}
