// evaluate: a rules folder → the names and texts of its rule files. The only file here that reads files. In: a folder,
// hostile: pipes, devices, links and any number of files. Out: texts, and a problem for whatever is not read. It never
// waits for a file that is not a regular one, nor reads more of one than a rule can have.
import { constants, type Dir } from 'node:fs';
import { open, opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { RuleProblem } from '../language/problem.ts';
import { TEXT_BYTES_MAX } from './rule-text.ts';

/** Files and folders, those that are no rules included. */
const ENTRIES_MAX = 10_000;
const FOLDERS_DEEP_MAX = 16;
/** Rules to copy from. They become active when they are moved up, not by being shipped beside the others. */
const EXAMPLES = 'examples';
/** The history of a database that lies beside the rules: its evidence is JSON, and no rule. */
const HISTORY = '.history';

export interface RuleFiles {
  files: string[];
  problems: RuleProblem[];
}

/**
 * Every `.yaml`, `.yml` and `.json` file under `dir` in order of names, sub-folders included; its `examples`, linked
 * folders, the history of a database and names that begin with a dot are left out. A missing folder throws.
 */
export async function listRuleFiles(dir: string): Promise<RuleFiles> {
  const found = { files: [], problems: [], entries: 0 };
  await listInto(found, dir, '', 0);
  found.files.sort();
  return found;
}

async function listInto(
  found: RuleFiles & { entries: number },
  dir: string,
  below: string,
  depth: number,
): Promise<void> {
  if (depth > FOLDERS_DEEP_MAX) {
    const message = `folders are nested deeper than ${FOLDERS_DEEP_MAX} levels; move these rules up`;
    found.problems.push(problemOf(below, 'too_deep', message));
    return;
  }
  for await (const entry of await openFolder(join(dir, below), below !== '')) {
    if (entry.name.startsWith('.')) continue;
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    found.entries++;
    if (found.entries > ENTRIES_MAX) {
      const message = `there are more than ${ENTRIES_MAX} files and folders; give a folder that holds only rules`;
      if (found.entries === ENTRIES_MAX + 1) found.problems.push(problemOf(path, 'too_large', message));
      return;
    }
    if (entry.isDirectory() && (path === EXAMPLES || path.endsWith(HISTORY))) continue;
    if (entry.isDirectory()) await listInto(found, dir, path, depth + 1);
    else if (/\.(ya?ml|json)$/.test(entry.name) && !entry.name.endsWith('.schema.json')) found.files.push(path);
  }
}

/** A sub-folder that has just been removed counts as empty. The rules folder itself must exist. */
async function openFolder(path: string, mayBeGone: boolean): Promise<Dir | []> {
  return opendir(path, { bufferSize: 256 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' && mayBeGone) return [];
    throw error;
  });
}

/** The text of a file, or why it is not read. Never throws. */
export async function readRuleFile(dir: string, file: string, what = 'rule'): Promise<string | RuleProblem> {
  try {
    const bytes = await readRegular(join(dir, file));
    if (bytes === undefined)
      return problemOf(file, 'unreadable', `it is not a regular file; put the ${what} into a file, or remove this`);
    if (bytes.length <= TEXT_BYTES_MAX) return bytes.toString('utf8');
    const message = `the file is larger than ${TEXT_BYTES_MAX / 1024} KiB; a ${what} has one file`;
    return problemOf(file, 'too_large', message);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    return problemOf(file, 'unreadable', `the file cannot be read (${code})`);
  }
}

/** Up to one byte more than a rule can have; undefined when it is not a regular file. */
async function readRegular(path: string): Promise<Buffer | undefined> {
  // Opening a device can have effects: it is looked at first. What is opened is looked at again, since it can be
  // another file by then; a pipe that nobody writes to is opened without waiting.
  if (!(await stat(path)).isFile()) return undefined;
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    if (!(await handle.stat()).isFile()) return undefined;
    // The size that the system gives is not always that of the text, as under /proc.
    const bytes = Buffer.allocUnsafe(TEXT_BYTES_MAX + 1);
    let length = 0;
    while (length < bytes.length) {
      const { bytesRead } = await handle.read(bytes, length, bytes.length - length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return bytes.subarray(0, length);
  } finally {
    await handle.close();
  }
}

function problemOf(file: string, code: RuleProblem['code'], message: string): RuleProblem {
  return { file, line: 1, column: 1, code, message };
}
