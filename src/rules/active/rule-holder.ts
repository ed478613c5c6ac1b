// The active rule set: loaded whole or not at all. A changed folder that cannot be loaded, or not in time, leaves the last
// good set active, also that of an earlier holder of the same process.
import { join } from 'node:path';
import type { ActionName, ActionTraits } from '../../domain/action.ts';
import { AppError } from '../../domain/errors.ts';
import type { Lists } from '../../domain/lists.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import type { Evaluator } from '../../domain/verdict.ts';
import type { ActiveRules } from '../../engine/run/engine.ts';
import { refusalText } from '../../faces/report/fact-text.ts';
import { compileRules } from '../judge/evaluator.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import { problemLine } from '../language/problem.ts';
import { type KnownRules, loadRules } from '../load/load-rules.ts';
import { BoundedRead, foldersIn, type KeptRules, labelled } from './rule-folders.ts';

/** A disk or network mount that does not answer is not waited for any longer. */
const LOAD_MS_MAX = 10_000;

/** A folder's rules, or what is wrong with it. */
type Found = { rules: readonly LoadedRule[]; hash: string } | { error: AppError; isLate: boolean };

export interface RuleChange {
  /** Of the set that is active afterwards; undefined: there is none. */
  hash: string | undefined;
  refused: string | undefined;
}

export class RuleHolder {
  private current: ActiveRules | undefined;
  private loaded: readonly LoadedRule[] = [];
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
    if (hash !== before || refused !== this.refusal?.join('\n')) await record({ hash, refused });
    this.take(found);
    return refused;
  }

  private async look(signal?: AbortSignal): Promise<Found> {
    try {
      const read = (over: AbortSignal) => loadRuleFolder(this.dir, this.traits, over, this.known);
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
    const { rules, hash } = found;
    if (this.kept) this.kept.set = { rules, hash };
    this.loaded = rules;
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
export function noRules(refusal: readonly string[]): AppError {
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
    files: new Map(loaded.map(({ file, text }) => [file, text])),
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

/** `folders`: one, or several as in PATH. Errors: AppError `rules`, with every problem of every file, one per line; also without any rule. */
export async function loadRuleFolder(
  folders: string,
  traits: ReadonlyMap<ActionName, ActionTraits>,
  signal?: AbortSignal,
  known?: KnownRules,
): Promise<{ rules: readonly LoadedRule[]; hash: string }> {
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
  return set;
}

function isIn(dir: string, path: string | undefined): boolean {
  return path !== undefined && join(path, '/').startsWith(join(dir, '/'));
}
