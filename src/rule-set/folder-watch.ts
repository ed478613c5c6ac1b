// Polls folders of rules, or of organizations: notifications of the file system miss files renamed into place, folders made anew, swapped
// links and network mounts. Editors write a file in several steps, so a change counts once it has settled.
import { opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../domain/ports.ts';

/** One poll notices a change, and the next takes it if the folder is unchanged: within two of these. */
const LOOK_EVERY_MS = 1_000;
const FOLDERS_DEEP_MAX = 16;
/** A fuller folder is refused when it is loaded. */
const LOOKS_MAX = 10_000;

export interface FolderWatch {
  /** Ends the reading of the folders; resolves when a reload under way has ended. */
  stop(): Promise<void>;
}

/**
 * Calls `changed` once for the current folders, so that nothing between loading and watching is missed, and again after
 * each change; never twice at a time. `changed` returns false when they must be loaded again, though they did not
 * change. `failed` receives what `changed` throws, once for the same content. After either, each further poll tries again.
 */
export function watchFolders(
  dirs: readonly string[],
  clock: Clock,
  changed: (ending: AbortSignal) => Promise<boolean>,
  failed: (error: unknown) => void,
): FolderWatch {
  const ending = new AbortController();
  const { signal } = ending;
  const watching = async () => {
    let [taken, seen, reported] = ['', '', ''];
    for (;;) {
      await clock.sleep(LOOK_EVERY_MS, signal);
      const now = (await unlessEnded(looksOf(dirs), signal)).join('\n');
      if (now === seen && now !== taken) {
        try {
          if (await changed(signal)) taken = now;
        } catch (error) {
          signal.throwIfAborted();
          if (now !== reported) failed(error);
          reported = now;
        }
      }
      seen = now;
    }
  };
  const over = watching().catch((error: unknown) => {
    if (!signal.aborted) failed(error);
  });
  return {
    stop: () => {
      ending.abort();
      return over;
    },
  };
}

/** A disk that does not answer must not keep the process from ending. */
async function unlessEnded<T>(looking: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let end = () => {};
  const ended = new Promise<never>((_, reject) => {
    end = () => reject(signal.reason);
    signal.addEventListener('abort', end, { once: true });
  });
  try {
    return await Promise.race([looking, ended]);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** One line per file: its name, and what changes whenever its content may have. */
async function looksOf(dirs: readonly string[]): Promise<string[]> {
  const all: string[][] = [];
  for (const dir of dirs) {
    const looks: string[] = [];
    await lookInto(looks, dir, '', 0);
    all.push(looks.sort());
  }
  return all.flat();
}

async function lookInto(looks: string[], dir: string, below: string, depth: number): Promise<void> {
  looks.push(`${below}/`);
  try {
    for await (const entry of await opendir(join(dir, below))) {
      if (entry.name.startsWith('.') || (entry.isDirectory() && entry.name.endsWith('.history'))) continue;
      if (looks.length > LOOKS_MAX) return;
      const path = join(below, entry.name);
      if (!entry.isDirectory()) looks.push(await lookAt(join(dir, path)));
      else if (depth < FOLDERS_DEEP_MAX) await lookInto(looks, dir, path, depth + 1);
    }
  } catch {
    looks.push(`${below} cannot be read`);
  }
}

async function lookAt(file: string): Promise<string> {
  const found = await stat(file, { bigint: true }).catch(() => undefined);
  return found ? `${file} ${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}` : `${file} cannot be read`;
}
