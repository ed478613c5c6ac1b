// rules: a folder of rules, or several → loaded rules, and every problem of every file.
// In: folders and the actions' traits. Out: rules in the order of their ids; a broken file never hides the others.
import { digestOf } from '../../domain/digest.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import { byPosition, Problems, type RuleProblem } from '../language/problem.ts';
import { type ReadOptions, readRule } from './read-rule.ts';
import { listRuleFiles, readRuleFile, readRuleText } from './rule-text.ts';

export interface RuleSetLoad {
  rules: LoadedRule[];
  problems: RuleProblem[];
  /** SHA-256 over the rules' ids and hashes: equal sets, equal hash. */
  hash: string;
}

/** One of several folders whose rules make one set. */
export interface RuleFolder {
  dir: string;
  /** Before the names of its files, so that they differ from those of another folder; empty where there is one. */
  label: string;
}

/** Rules as they were read before, for a process that loads equal files again and again: reading a text costs more than all else of a rule. */
export class KnownRules {
  private readonly rules = new Map<string, LoadedRule>();

  /** Another name, text or set of actions is another rule. */
  of(text: string, file: string, options: ReadOptions): ReturnType<typeof parseRule> {
    const key = JSON.stringify([[...options.traits.keys()], file, text]);
    const known = this.rules.get(key);
    if (known) return { rule: known };
    const parsed = parseRule(text, file, options);
    if ('problems' in parsed) return parsed;
    const [oldest] = this.rules.keys();
    if (this.rules.size >= KNOWN_MAX) this.rules.delete(oldest as string);
    this.rules.set(key, parsed.rule);
    return parsed;
  }
}

const KNOWN_MAX = 5_000;

/**
 * Loads every `.yaml`, `.yml` and `.json` file under each folder, sub-folders included; its `examples`, and names that begin
 * with a dot, are ignored. An empty folder gives no rules and no problems. A missing folder throws; so does `signal`,
 * between two files.
 */
export async function loadRules(
  from: string | readonly RuleFolder[],
  options: ReadOptions & { known?: KnownRules | undefined },
  signal: AbortSignal | undefined = undefined,
): Promise<RuleSetLoad> {
  const [rules, problems]: [LoadedRule[], RuleProblem[]] = [[], []];
  for (const { dir, label } of typeof from === 'string' ? [{ dir: from, label: '' }] : from) {
    const found = await listRuleFiles(dir);
    problems.push(...found.problems.map((problem) => ({ ...problem, file: `${label}${problem.file}` })));
    for (const name of found.files) {
      signal?.throwIfAborted();
      const file = `${label}${name}`;
      const text = await readRuleFile(dir, name);
      if (typeof text !== 'string') {
        problems.push({ ...text, file });
        continue;
      }
      const parsed = options.known?.of(text, file, options) ?? parseRule(text, file, options);
      if ('problems' in parsed) problems.push(...parsed.problems);
      else {
        const same = rules.find((rule) => rule.id === parsed.rule.id);
        if (same) problems.push(duplicate(parsed.rule, same, text));
        else rules.push(parsed.rule);
      }
    }
  }
  rules.sort((a, b) => (a.id < b.id ? -1 : 1));
  return { rules, problems: problems.sort(byPosition), hash: digestOf(rules.map(({ id, hash }) => [id, hash])) };
}

/** Parses and checks one file's text. The end of `file` decides between YAML and JSON. Never throws. */
export function parseRule(
  text: string,
  file: string,
  options: ReadOptions,
): { rule: LoadedRule } | { problems: RuleProblem[] } {
  const read = readRuleText(text, file.endsWith('.json'));
  if ('faults' in read) return { problems: read.faults.map((fault) => ({ file, ...fault })) };
  const problems = new Problems(file, read.positionOf);
  const rule = readRule(read.value, text, file, (test) => read.positionOf(['tests', test]).line, options, problems);
  return rule ? { rule } : { problems: problems.list.sort(byPosition) };
}

function duplicate(rule: LoadedRule, first: LoadedRule, text: string): RuleProblem {
  const line = text.split('\n').findIndex((row) => /^\s*"?id"?\s*:/.test(row)) + 1;
  const message = `the id \`${rule.id}\` is used by \`${first.file}\` already; ids are unique`;
  return { file: rule.file, line: Math.max(1, line), column: 1, code: 'duplicate_id', message };
}
