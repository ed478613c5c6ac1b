// The folders of one rule set. In: their text, as a setting or an option has it: one folder, or several as in PATH (`shared:own`). Out: folders,
// and how the files of each are called. A folder of that very name counts as one, whatever is in its name.
import { existsSync, realpathSync } from 'node:fs';
import { opendir, stat } from 'node:fs/promises';
import { basename, delimiter, join, resolve } from 'node:path';
import type { Clock } from '../../domain/ports.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import type { RuleFolder } from '../load/load-rules.ts';

export function foldersIn(text: string): string[] {
  if (!text.includes(delimiter) || existsSync(text)) return [text];
  return text.split(delimiter).filter((part) => part !== '');
}

/** `shared/`, `acme/`: the last part of each, where these differ. */
export function labelled(dirs: readonly string[]): RuleFolder[] {
  if (dirs.length === 1) return dirs.map((dir) => ({ dir, label: '' }));
  const names = dirs.map((dir) => basename(resolve(dir)));
  const differ = new Set(names).size === names.length;
  return dirs.map((dir, at) => ({ dir, label: `${differ ? names[at] : dir}/` }));
}

function textOf(dirs: readonly string[]): string {
  return dirs.join(delimiter);
}

/** A text that names them, with the last part of each only: what is audited and answered names no path of the server. */
export function withoutPaths(text: string, folders: string): string {
  const longestFirst = foldersIn(folders).sort((one, other) => other.length - one.length);
  return longestFirst.reduce((shown, dir) => shown.replaceAll(dir, basename(resolve(dir))), text);
}

/** The last part of each, as of the folders of another machine: none of them need be here. */
export function folderNames(text: string): string {
  return textOf(text.split(delimiter).map((dir) => basename(dir)));
}

/** By their real paths: folders with two names are the same. */
export function realFolders(text: string): string {
  return textOf(foldersIn(text).map((dir) => (existsSync(dir) ? realpathSync(dir) : resolve(dir))));
}

export interface KeptRules {
  /** Undefined: this process has not seen a good set yet. */
  set: { rules: readonly LoadedRule[]; hash: string } | undefined;
  /** What was wrong with the folder when last loaded. */
  refused: string | undefined;
  /** What the audit has of that; undefined: it was not looked at. */
  audited: { refused: string | undefined } | undefined;
}

export class LastGoodRules {
  private readonly kept = new Map<string, { loadedWith: string; rules: KeptRules }>();

  /** Other folders, actions or lists begin without a good set, as a process that starts with them does. */
  of(organization: string, loadedWith: readonly unknown[]): KeptRules {
    const key = JSON.stringify(loadedWith);
    const known = this.kept.get(organization);
    if (known?.loadedWith === key) return known.rules;
    const rules: KeptRules = { set: undefined, refused: undefined, audited: undefined };
    this.kept.set(organization, { loadedWith: key, rules });
    return rules;
  }
}

// Polls folders of rules, or of organizations: notifications of the file system miss files renamed into place, folders
// made anew, swapped links and network mounts.

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

// Reads of a folder whose disk or network mount may not answer: each is waited for only so long, and one at a time is
// under way.

export class BoundedRead {
  /** A read that was not waited for any longer. No other one begins before it ends. */
  private overdue: Promise<unknown> | undefined;

  constructor(
    private readonly clock: Pick<Clock, 'sleep'>,
    private readonly msMax: number,
  ) {}

  /** `late`: it did not end in time, or an earlier one has not ended yet. Errors: those of the read, and of `signal`. */
  async of<T extends object>(read: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T | 'late'> {
    if (this.overdue) return 'late';
    const over = new AbortController();
    const reading = read(over.signal);
    const waiting = this.clock.sleep(this.msMax, signal ? AbortSignal.any([over.signal, signal]) : over.signal);
    try {
      const found = await Promise.race([reading, waiting]);
      if (found) return found;
      this.leave(reading);
      return 'late';
    } finally {
      over.abort();
    }
  }

  private leave(reading: Promise<unknown>): void {
    const ended = () => {
      this.overdue = undefined;
    };
    this.overdue = reading.then(ended, ended);
  }
}
