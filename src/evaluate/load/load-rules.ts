// evaluate: the rules folder → loaded rules, and every problem of every file. The only file here that reads files.
// In: a folder and the actions' traits. Out: rules in the order of their ids; a broken file never hides the others.
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOf } from '../../domain/canonical.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import { byPosition, Problems, type RuleProblem } from '../language/problem.ts';
import { type ReadOptions, readRule } from './read-rule.ts';
import { readRuleText, TEXT_BYTES_MAX } from './rule-text.ts';

export interface RuleSetLoad {
  rules: LoadedRule[];
  problems: RuleProblem[];
  /** SHA-256 over the rules' ids and hashes: equal sets, equal hash. */
  hash: string;
}

const FILES_MAX = 10_000;
const FOLDERS_DEEP_MAX = 16;

/**
 * Loads every `.yaml`, `.yml` and `.json` file under `dir`, sub-folders included; names that begin with a dot are ignored.
 * An empty folder gives no rules and no problems. A missing folder throws.
 */
export async function loadRules(dir: string, options: ReadOptions): Promise<RuleSetLoad> {
  const files = await ruleFiles(dir, '', 0);
  const rules: LoadedRule[] = [];
  const problems: RuleProblem[] = [];
  for (const file of files.sort()) {
    const text = await readText(join(dir, file));
    if (typeof text !== 'string') {
      problems.push({ file, line: 1, column: 1, ...text });
      continue;
    }
    const parsed = parseRule(text, file, options);
    if ('problems' in parsed) problems.push(...parsed.problems);
    else {
      const same = rules.find((rule) => rule.id === parsed.rule.id);
      if (same) problems.push(duplicate(parsed.rule, same, text));
      else rules.push(parsed.rule);
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
  const rule = readRule(read.value, file, (test) => read.positionOf(['tests', test]).line, options, problems);
  return rule ? { rule } : { problems: problems.list.sort(byPosition) };
}

function duplicate(rule: LoadedRule, first: LoadedRule, text: string): RuleProblem {
  const line = text.split('\n').findIndex((row) => /^\s*"?id"?\s*:/.test(row)) + 1;
  const message = `the id \`${rule.id}\` is used by \`${first.file}\` already; ids are unique`;
  return { file: rule.file, line: Math.max(1, line), column: 1, code: 'duplicate_id', message };
}

async function ruleFiles(dir: string, below: string, depth: number): Promise<string[]> {
  if (depth > FOLDERS_DEEP_MAX) return [];
  const entries = await readdir(join(dir, below), { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    // A sub-folder that has just been removed counts as empty. The rules folder itself must exist.
    if (error.code === 'ENOENT' && below !== '') return [];
    throw error;
  });
  const files: string[] = [];
  for (const entry of entries) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.name.startsWith('.') || files.length > FILES_MAX) continue;
    if (entry.isDirectory()) files.push(...(await ruleFiles(dir, path, depth + 1)));
    else if (/\.(ya?ml|json)$/.test(entry.name) && !entry.name.endsWith('.schema.json')) files.push(path);
  }
  return files;
}

async function readText(path: string): Promise<string | { code: 'unreadable' | 'too_large'; message: string }> {
  try {
    const { size } = await stat(path);
    if (size > TEXT_BYTES_MAX)
      return {
        code: 'too_large',
        message: `the file is larger than ${TEXT_BYTES_MAX / 1024} KiB; a rule has one file`,
      };
    return await readFile(path, 'utf8');
  } catch (error) {
    return {
      code: 'unreadable',
      message: `the file cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`,
    };
  }
}
