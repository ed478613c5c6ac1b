// The folders of one rule set. In: their text, as a setting or an option has it: one folder, or several as in PATH (`shared:own`). Out: folders,
// and how the files of each are called. A folder of that very name counts as one, whatever is in its name.
import { existsSync, realpathSync } from 'node:fs';
import { basename, delimiter, resolve } from 'node:path';
import type { RuleFolder } from '../evaluate/index.ts';

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

export function textOf(dirs: readonly string[]): string {
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
