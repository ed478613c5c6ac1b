// Lists that rules share: a file `NAME.yaml` in a folder `lists` of the rules → its entries, checked. In: texts of files.
// Out: lists by their names, or what is wrong. A condition reads one as {"var": "$lists.NAME"}.
import { basename, dirname, extname } from 'node:path';
import { didYouMean } from '../../base/nearest-name.ts';
import { type Fact, isFacts, showLiteral } from '../../domain/facts.ts';
import { ownPart } from '../language/expression.ts';
import type { LoadedRule, NamedList } from '../language/loaded-rule.ts';
import { type Place, Problems, type RuleProblem } from '../language/problem.ts';
import { readRuleText } from './rule-text.ts';

const FOLDER = 'lists';
const ENTRIES_MAX = 10_000;
const NAME_CHARS_MAX = 100;
const KNOWN_MAX = 200;
const KEYS = ['description', 'entries'];

export type NamedLists = ReadonlyMap<string, NamedList>;

/** Whether a file of a rules folder is a list, and not a rule: its own folder is called `lists`. */
export function isListFile(file: string): boolean {
  return basename(dirname(file)) === FOLDER;
}

/** Lists by their names, from the texts of their files, or why one is not read; a refused one is empty. `known`: those of equal files, read before. Never throws. */
export function readLists(
  files: Iterable<readonly [file: string, text: string | RuleProblem, ...unknown[]]>,
  known = new Map<string, NamedList>(),
): { lists: NamedLists; problems: RuleProblem[] } {
  const lists = new Map<string, NamedList>();
  const problems: RuleProblem[] = [];
  for (const [file, text] of files) {
    const read = knownList(known, file, text);
    const same = lists.get(read.list.name);
    if (same) {
      const message = `the list \`${same.name}\` is in \`${same.file}\` already; names of lists are unique`;
      problems.push({ file, line: 1, column: 1, code: 'duplicate_id', message });
    } else lists.set(read.list.name, read.list);
    problems.push(...read.problems);
  }
  return { lists, problems };
}

function knownList(known: Map<string, NamedList>, file: string, text: string | RuleProblem): ListRead {
  if (typeof text !== 'string') return refused(file, [{ ...text, file }]);
  const key = JSON.stringify([file, text]);
  const list = known.get(key);
  if (list) return { list, problems: [] };
  const read = readList(text, file);
  const [oldest] = known.keys();
  if (known.size >= KNOWN_MAX) known.delete(oldest as string);
  if (read.problems.length === 0) known.set(key, read.list);
  return read;
}

/** Those that no rule reads, by their names. */
export function unusedLists(lists: NamedLists, rules: readonly LoadedRule[]): NamedList[] {
  const used = new Set(rules.flatMap((rule) => rule.lists.map(({ name }) => name)));
  return [...lists.values()].filter(({ name }) => !used.has(name));
}

interface ListRead {
  list: NamedList;
  problems: RuleProblem[];
}

const nameOf = (file: string): string => basename(file, extname(file));

function refused(file: string, problems: RuleProblem[]): ListRead {
  return { list: { name: nameOf(file), file, text: '', entries: [] }, problems };
}

function readList(text: string, file: string): ListRead {
  const read = readRuleText(text, file.endsWith('.json'), 'list');
  if ('faults' in read)
    return refused(
      file,
      read.faults.map((fault) => ({ file, ...fault })),
    );
  const name = nameOf(file);
  const problems = new Problems(file, read.positionOf);
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) || name.length > NAME_CHARS_MAX) {
    const message = `the file of a list is called as the list: lower-case words joined by hyphens, up to ${NAME_CHARS_MAX} characters; rename it`;
    problems.add('format', [], message);
  }
  const entries = entriesOf(read.value, problems);
  if (problems.list.length > 0) return refused(file, problems.list);
  return { list: { name, file, text, entries }, problems: [] };
}

function entriesOf(value: Fact, problems: Problems): NamedList['entries'] {
  if (!isFacts(value)) {
    problems.add('format', [], 'expected a list: an object with `entries`, and `description` if you like');
    return [];
  }
  for (const key of Object.keys(value)) {
    if (!KEYS.includes(key)) problems.add('format', [key], `there is no \`${key}\` in a list${didYouMean(key, KEYS)}`);
  }
  const description = ownPart(value, 'description');
  if (description !== undefined && typeof description !== 'string')
    problems.add('format', ['description'], `\`description\`: expected a text, found \`${showLiteral(description)}\``);
  const entries = ownPart(value, 'entries');
  if (!Array.isArray(entries)) {
    const found = entries === undefined ? '' : `, found \`${showLiteral(entries)}\``;
    problems.add('format', entries === undefined ? [] : ['entries'], `\`entries\`: expected a list of values${found}`);
    return [];
  }
  if (entries.length === 0) {
    const why = 'a condition on it would be the same for every subject';
    problems.add(
      'value',
      ['entries'],
      `\`entries\` is empty: ${why}; take it out of the rules, or set these to \`off\``,
    );
  }
  if (entries.length > ENTRIES_MAX) {
    problems.add(
      'too_large',
      ['entries'],
      `\`entries\`: a list has at most ${ENTRIES_MAX} of them, found ${entries.length}`,
    );
    return [];
  }
  const known = new Map<Fact, number>();
  return entries.filter((entry, at) => {
    if (!isEntry(entry, at, entries, problems)) return false;
    const before = known.get(entry);
    if (before !== undefined)
      problems.add(
        'value',
        ['entries', at],
        `\`entries[${at}]\`: \`${showLiteral(entry)}\` is \`entries[${before}]\` already`,
      );
    known.set(entry, at);
    return true;
  }) as NamedList['entries'];
}

function isEntry(entry: Fact, at: number, entries: readonly Fact[], problems: Problems): boolean {
  const place: Place = ['entries', at];
  const kind = kindOf(entry);
  const first = kindOf(entries[0] ?? null);
  const refuse = (code: 'type' | 'value', message: string) => {
    problems.add(code, place, `\`entries[${at}]\`: ${message}`);
    return false;
  };
  if (kind === undefined) return refuse('type', `expected a text or a number, found \`${showLiteral(entry)}\``);
  if (first !== undefined && kind !== first) {
    const quotes = kind === 'number' || first === 'number' ? '; a text of digits stands in quotes' : '';
    return refuse('type', `expected a ${first} as the first entry is, found \`${showLiteral(entry)}\`${quotes}`);
  }
  if (typeof entry === 'string' && entry.trim() !== entry) return refuse('value', 'it begins or ends with a space');
  if (entry === '') return refuse('value', 'it is empty');
  return true;
}

function kindOf(entry: Fact): 'text' | 'number' | undefined {
  if (typeof entry === 'string') return 'text';
  return typeof entry === 'number' || typeof entry === 'bigint' ? 'number' : undefined;
}
