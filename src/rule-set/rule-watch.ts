// Polls the rules folder: notifications of the file system miss files renamed into place, folders made anew, swapped
// links and network mounts. Editors write a file in several steps, so a change counts once it has settled.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../domain/ports.ts';

/** One poll notices a change, and the next takes it if the folder is unchanged: within two of these. */
const LOOK_EVERY_MS = 1_000;
const FOLDERS_DEEP_MAX = 16;

export interface RuleWatch {
  /** Resolves when a reload under way has ended. */
  stop(): Promise<void>;
}

/**
 * Calls `changed` once for the current folder, so that nothing between loading and watching is missed, and again after
 * each change; never twice at a time. `failed` receives what `changed` throws, once for the same folder, and each
 * further poll tries again.
 */
export function watchRules(
  dir: string,
  clock: Clock,
  changed: () => Promise<void>,
  failed: (error: unknown) => void,
): RuleWatch {
  const ending = new AbortController();
  const watching = async () => {
    let [taken, seen, reported] = ['', '', ''];
    for (;;) {
      await clock.sleep(LOOK_EVERY_MS, ending.signal);
      const now = (await looksOf(dir, '', 0)).join('\n');
      if (now === seen && now !== taken) {
        try {
          await changed();
          taken = now;
        } catch (error) {
          if (now !== reported) failed(error);
          reported = now;
        }
      }
      seen = now;
    }
  };
  const ended = watching().catch((error: unknown) => {
    if (!ending.signal.aborted) failed(error);
  });
  return {
    stop: () => {
      ending.abort();
      return ended;
    },
  };
}

/** One line per file: its name, and what changes whenever its content may have. */
async function looksOf(dir: string, below: string, depth: number): Promise<string[]> {
  const entries = await readdir(join(dir, below), { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return [`${below} cannot be read`];
  const looks = [`${below}/`];
  for (const entry of entries) {
    if (entry.name.startsWith('.')) continue;
    const path = join(below, entry.name);
    if (!entry.isDirectory()) looks.push(await lookAt(join(dir, path)));
    else if (depth < FOLDERS_DEEP_MAX) looks.push(...(await looksOf(dir, path, depth + 1)));
  }
  return looks;
}

async function lookAt(file: string): Promise<string> {
  const found = await stat(file, { bigint: true }).catch(() => undefined);
  return found ? `${file} ${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}` : `${file} cannot be read`;
}
