// The active rule set: loaded whole or not at all. A changed folder that cannot be loaded, or not in time, leaves the last
// good set active, also that of an earlier holder of the same process.

import { existsSync, realpathSync } from 'node:fs';
import { opendir, stat } from 'node:fs/promises';
import { basename, delimiter, dirname, join, resolve } from 'node:path';
import type { ActionName, ActionTraits } from '../../domain/action.ts';
import { AppError } from '../../domain/errors.ts';
import { guardsOf } from '../../domain/guards.ts';
import type { Lists } from '../../domain/lists.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import type { Evaluator } from '../../domain/verdict.ts';
import type { ActiveRules } from '../../engine/run/engine.ts';
import { refusalText } from '../../faces/report/fact-text.ts';
import { compileRules } from '../judge/evaluator.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import { problemLine } from '../language/problem.ts';
import { filesOf } from '../load/guards-file.ts';
import type { NamedLists } from '../load/named-lists.ts';
import { type KnownRules, loadRules, type RuleFolder } from '../load/read-rule.ts';
import { readRuleFile } from '../load/rule-text.ts';
import { readSigners, SIGNATURE_FILE, signedSet, whoSigned } from '../load/signatures.ts';

// The folders of one rule set. In: their text, as a setting or an option has it: one folder, or several as in PATH (`shared:own`). Out: folders,
// and how the files of each are called. A folder of that very name counts as one, whatever is in its name.

export function foldersIn(text: string): string[] {
  if (!text.includes(delimiter) || existsSync(text)) return [text];
  return text.split(delimiter).filter((part) => part !== '');
}

/** `shared/`, `acme/`: the last part of each, where these differ. */
function labelled(dirs: readonly string[]): RuleFolder[] {
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

/** A set that was loaded, and the lists beside it, also those that no rule reads. */
interface RuleSet {
  rules: LoadedRule[];
  hash: string;
  lists: NamedLists;
}

export interface KeptRules {
  /** Undefined: this process has not seen a good set yet. */
  set: RuleSet | undefined;
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
    // Also a file that is watched itself.
    looks.push(await lookAt(join(dir, below)));
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

/** A disk or network mount that does not answer is not waited for any longer. */
const LOAD_MS_MAX = 10_000;

/** A folder's rules, or what is wrong with it. */
type Found = RuleSet | { error: AppError; isLate: boolean };

interface RuleChange {
  /** Of the set that is active afterwards; undefined: there is none. */
  hash: string | undefined;
  refused: string | undefined;
  /** Of a set that is in order now. */
  signedBy: string[] | undefined;
}

export class RuleHolder {
  private current: ActiveRules | undefined;
  private loaded: readonly LoadedRule[] = [];
  private named: NamedLists = new Map();
  /** What was wrong with the folder when last loaded, one line each; undefined when the active set is the folder's. */
  refusal: readonly string[] | undefined;
  /** The folder could not be read in time when last loaded: it may be in order without another change. */
  isLate = false;

  private readonly reads: BoundedRead;

  constructor(
    private readonly dir: string,
    private readonly traits: ReadonlyMap<ActionName, ActionTraits>,
    private readonly log: Log,
    clock: Clock,
    private readonly lists: Lists = 'v1',
    private readonly known?: KnownRules,
    private readonly kept?: KeptRules,
    private readonly signers?: string,
  ) {
    this.reads = new BoundedRead(clock, LOAD_MS_MAX);
  }

  /** Errors: AppError `rules` when there has been no good set yet. */
  active(): ActiveRules {
    if (this.current) return this.current;
    if (!this.refusal) throw new AppError('internal', 'rules were used before they were loaded');
    throw noRules(this.refusal);
  }

  all(): readonly LoadedRule[] {
    return this.loaded;
  }

  /** The lists that they can read. */
  namedLists(): NamedLists {
    return this.named;
  }

  /** Errors: as loadRuleFolder. */
  async load(): Promise<void> {
    const found = await this.look();
    if ('error' in found) throw found.error;
    this.take(found);
  }

  /** The first time, for who has work without rules too: what is wrong is in `refusal`, and an earlier holder's last good set is active. */
  async begin(): Promise<void> {
    const { set, refused } = this.kept ?? {};
    if (set) this.current = activate(set.rules, set.hash, this.lists);
    this.loaded = set?.rules ?? [];
    this.named = set?.lists ?? new Map();
    this.refusal = refused?.split('\n');
    this.take(await this.look());
  }

  /**
   * Loads again; returns what was wrong, in which case the last good set stays active. INVARIANT: a change is recorded
   * before it is in force: when `record` fails, everything stays the same. Errors: AppError `stopped` by the signal.
   */
  async reload(record: (change: RuleChange) => Promise<void>, signal?: AbortSignal): Promise<string | undefined> {
    const found = await this.look(signal);
    const refused = 'error' in found ? found.error.message : undefined;
    const before = this.current?.hash;
    const hash = 'error' in found ? before : found.hash;
    if (hash !== before || refused !== this.refusal?.join('\n'))
      await record({ hash, refused, signedBy: 'error' in found ? undefined : guardsOf(found.rules)?.signedBy });
    this.take(found);
    return refused;
  }

  private async look(signal?: AbortSignal): Promise<Found> {
    try {
      const { known, signers } = this;
      const read = (over: AbortSignal) => loadRuleFolder(this.dir, this.traits, { signal: over, known, signers });
      const found = await this.reads.of(read, signal);
      return found === 'late' ? this.late() : found;
    } catch (error) {
      if (error instanceof AppError && error.code === 'rules') return { error, isLate: false };
      throw error;
    }
  }

  private late(): Found {
    const where = `the rules folder \`${this.dir}\` could not be read within ${LOAD_MS_MAX / 1_000} s`;
    const error = new AppError('rules', `${where}: look whether its disk or network mount answers`);
    return { error, isLate: true };
  }

  /** Rules with unchanged meaning stay, with their event windows. */
  private take(found: Found): void {
    const before = this.current?.hash;
    const refusedBefore = this.refusal?.join('\n');
    this.isLate = 'error' in found && found.isLate;
    this.refusal = 'error' in found ? found.error.message.split('\n') : undefined;
    if (this.kept) this.kept.refused = this.refusal?.join('\n');
    if ('error' in found) {
      if (found.error.message === refusedBefore) return;
      const problems = found.error.message.replaceAll('\n', '; ');
      const then = before === undefined ? 'there is no good set yet' : 'the last good set stays active';
      this.log.error({ rulesDir: this.dir }, `rules were refused, ${then}: ${problems}`);
      return;
    }
    const { rules, hash, lists } = found;
    if (this.kept) this.kept.set = { rules, hash, lists };
    this.loaded = rules;
    this.named = lists;
    if (hash === before) {
      if (refusedBefore !== undefined)
        this.log.info({ rules: rules.length, hash }, 'rules are in order again, unchanged');
      return;
    }
    this.current = activate(rules, hash, this.lists);
    if (before !== undefined || refusedBefore !== undefined)
      this.log.info({ rules: rules.length, hash }, `rules loaded: ${rules.length}`);
  }
}

/** INVARIANT: it quotes nothing of the folder: it is answered over HTTP. */
function noRules(refusal: readonly string[]): AppError {
  const rest = '`trustward rules check` and the log have the details';
  return new AppError('rules', `no rules are loaded, since ${refusalText(refusal)}; ${rest}`);
}

/** Compiles a loaded set. Those of mode `off` are not active. */
export function activate(loaded: readonly LoadedRule[], hash: string, lists: Lists = 'v1'): ActiveRules {
  const rules = loaded.filter((rule) => rule.mode !== 'off');
  const compile = sharingEvents(lists);
  const chosen = new Map<string, Evaluator>();
  return {
    rules,
    hash,
    files: filesOf(loaded),
    evaluator: compile(rules),
    only: (ids) => {
      const key = [...ids].sort().join(' ');
      const known = chosen.get(key) ?? compile(rules.filter((rule) => ids.includes(rule.id)));
      chosen.set(key, known);
      return known;
    },
  };
}

/**
 * INVARIANT: what one evaluator of a set observes, all of them observe. The log is read once: events that a run over
 * chosen rules read would be missing in the windows of the next whole run, which would call an incomplete count
 * complete.
 */
function sharingEvents(lists: Lists): (rules: readonly LoadedRule[]) => Evaluator {
  const all: Evaluator[] = [];
  return (rules) => {
    const own = compileRules(rules, lists, all[0]?.lookBack);
    all.push(own);
    return {
      ...own,
      observe: (events) => {
        for (const each of all) each.observe(events);
      },
    };
  };
}

interface LoadOptions {
  signal?: AbortSignal;
  known?: KnownRules | undefined;
  /** The file of those who have to vouch for all that is read; undefined: nobody has to. */
  signers?: string | undefined;
}

/** `folders`: one, or several as in PATH. Errors: AppError `rules`, with every problem of every file, one per line; also without any rule. */
export async function loadRuleFolder(
  folders: string,
  traits: ReadonlyMap<ActionName, ActionTraits>,
  { signal, known, signers }: LoadOptions = {},
): Promise<RuleSet & Pick<Awaited<ReturnType<typeof loadRules>>, 'read'>> {
  const dirs = foldersIn(folders);
  const set = await loadRules(labelled(dirs), { traits, known }, signal).catch((error: NodeJS.ErrnoException) => {
    if (error.code === undefined) throw error;
    const what = error.code === 'ENOENT' ? 'does not exist' : `cannot be read (${error.code})`;
    const where = `the rules folder \`${dirs.find((dir) => isIn(dir, error.path)) ?? folders}\` ${what}`;
    throw new AppError('rules', `${where}: give a folder of rule files in TRUSTWARD_RULES or --rules`);
  });
  if (set.problems.length > 0) throw new AppError('rules', set.problems.map(problemLine).join('\n'));
  if (set.rules.length === 0) {
    const what = `there is no rule in \`${folders}\`: nothing can be judged or undone`;
    throw new AppError('rules', `${what}; add a rule file, or give its folder in TRUSTWARD_RULES or --rules`);
  }
  return signers === undefined ? set : vouchedFor(set, labelled(dirs), signers);
}

/** Each folder has a signature of its own. Errors: AppError `rules`, one line for whatever is not covered. */
async function vouchedFor<Set extends Awaited<ReturnType<typeof loadRules>>>(
  set: Set,
  folders: readonly RuleFolder[],
  file: string,
): Promise<Set> {
  const listed = await readRuleFile(dirname(resolve(file)), basename(file), 'list of signers');
  if (typeof listed !== 'string')
    throw new AppError('rules', `${file}:1:1: ${listed.message}: TRUSTWARD_RULES_SIGNERS names who may sign the rules`);
  const signers = readSigners(listed, file);
  const [names, problems, files]: [string[], string[], { file: string; text: string }[]] = [[], [], []];
  for (const { dir, label } of folders) {
    const text = await readRuleFile(dir, SIGNATURE_FILE, 'signature');
    const of = whoSigned(
      text,
      set.read.filter((one) => one.dir === dir),
      signers,
    );
    names.push(...of.signedBy);
    problems.push(...of.problems.map((problem) => problemLine({ ...problem, file: `${label}${problem.file}` })));
    if (typeof text === 'string') files.push({ file: `${label}${SIGNATURE_FILE}`, text });
  }
  if (problems.length > 0) throw new AppError('rules', problems.join('\n'));
  return signedSet(set, [...new Set(names)].sort(), files);
}

function isIn(dir: string, path: string | undefined): boolean {
  return path !== undefined && join(path, '/').startsWith(join(dir, '/'));
}
