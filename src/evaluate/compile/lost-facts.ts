// evaluate: rules under lists that lack some of what they read. In: a loaded rule, the version of the lists. Out: the rule with each such fact
// marked as lost, and their names. A lost fact is unknown whatever a single record shows, so that every stage judges the same facts. It is
// unknown for `missing` and for a default, too: that a list lacks a fact says nothing about a device.
import { type Lists, listsHave, notInLists } from '../../domain/lists.ts';
import type { Expression, FactRef, Operator } from '../language/expression.ts';
import { textOf } from '../language/expression-text.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';

/** What a path is read of: the rule's subject, or an element of a joined list. */
type Holder = 'device' | 'user' | 'service' | undefined;

/** The same rule when nothing is lost. */
export function underLists<R extends Pick<LoadedRule, 'subject' | 'condition' | 'reportTimes'>>(
  rule: R,
  lists: Lists,
): R {
  const { condition, lost } = marked(rule, lists);
  const reportTimes = lists === 'v1' ? rule.reportTimes : rule.reportTimes?.filter((path) => has(rule.subject, path));
  if (lost.length === 0 && reportTimes?.length === rule.reportTimes?.length) return rule;
  return { ...rule, condition, ...(reportTimes && { reportTimes }) };
}

export interface LosingRule {
  rule: string;
  subject: LoadedRule['subject'];
  facts: string[];
}

/** Of these rules, those that lose facts under lists of version 2. */
export function rulesThatLose(rules: readonly LoadedRule[]): LosingRule[] {
  return rules.flatMap((rule) => {
    const facts = marked(rule, 'v2').lost;
    return facts.length === 0 ? [] : [{ rule: rule.id, subject: rule.subject, facts }];
  });
}

function marked({ subject, condition }: Pick<LoadedRule, 'subject' | 'condition'>, lists: Lists) {
  if (lists === 'v1') return { condition, lost: [] };
  const lost = new Set<string>();
  return { condition: mark(condition, subject, undefined, lost), lost: [...lost].sort() };
}

/** `item`: what the elements are of, inside a loop over whole records. `lost` is added to. */
function mark(part: Expression, subject: Holder, item: Holder, lost: Set<string>): Expression {
  switch (part.op) {
    case 'fact': {
      const path = lostOf(part.fact, subject);
      if (path === undefined) return part;
      lost.add(path);
      return { ...part, fact: { ...part.fact, lost: path } as FactRef };
    }
    case 'item': {
      const path = pathInElement(part.path);
      return path === '' || has(item, path) ? part : replaced(part, elementPath(item, path), lost);
    }
    case 'list':
      return { ...part, items: part.items.map((each) => mark(each, subject, item, lost)) };
    case 'call': {
      const { looksIn, body } = part.operator;
      const paths = looksIn ? part.args.flatMap(pathsIn) : [];
      const missed = paths.find((path) => !has(looksIn === 'item' ? item : subject, path));
      if (missed !== undefined) return replaced(part, looksIn === 'item' ? elementPath(item, missed) : missed, lost);
      const inner = body && part.args[0] ? elementsOf(part.args[0]) : undefined;
      const args = part.args.map((arg, at) => mark(arg, subject, body?.arg === at ? inner : item, lost));
      return { ...part, args };
    }
    default:
      return part;
  }
}

/** The path that a fact is lost for: its own, or that of a timestamp that vouches for it. */
function lostOf(fact: FactRef, subject: Holder): string | undefined {
  const path = fact.kind === 'look_back' ? fact.past.present : fact;
  if (path.kind !== 'path') return undefined;
  if (!has(subject, path.label)) return path.label;
  return path.fresh.find(({ label }) => !has(subject, label))?.label;
}

/** A part of `TrustData` is there, and the whole of it is not: what is left of it is no answer to whether it is missing. */
function has(holder: Holder, path: string): boolean {
  if (holder === undefined || holder === 'service' || path === '$now') return true;
  // Owners are found by a device's `Emails`, and a user's devices by `SerialNumbers`, which v2 lists do not have.
  const [first, , ...rest] = path.split('.');
  if (first === '$owners')
    return listsHave('v2', 'devices', 'Emails') && (rest.length === 0 || has('user', rest.join('.')));
  if (first === '$devices')
    return listsHave('v2', 'users', 'SerialNumbers') && (rest.length === 0 || has('device', rest.join('.')));
  return listsHave('v2', holder === 'device' ? 'devices' : 'users', path);
}

function elementsOf(list: Expression): Holder {
  if (list.op === 'fact' && list.fact.kind === 'path') {
    const [first, ...rest] = list.fact.path;
    if (rest.length > 0) return undefined;
    return first === '$owners' ? 'user' : first === '$devices' ? 'device' : undefined;
  }
  if (list.op !== 'call') return undefined;
  return list.operator
    .elementsOf?.(list.args)
    .map(elementsOf)
    .find((each) => each !== undefined);
}

function elementPath(item: Holder, path: string): string {
  return `${item === 'user' ? '$owners' : '$devices'}[].${path}`;
}

/** `reduce` reads its element behind `current`. */
function pathInElement(path: readonly string[]): string {
  const own = path[0] === 'current' || path[0] === 'accumulator' ? path.slice(1) : path;
  return own.join('.');
}

/** The paths that `missing` looks for, and no texts of conditions that choose between them. */
function pathsIn(part: Expression): string[] {
  if (part.op === 'literal') return typeof part.value === 'string' ? [part.value] : [];
  if (part.op === 'list') return part.items.flatMap(pathsIn);
  if (part.op !== 'call' || part.type.kind === 'boolean' || part.type.kind === 'condition') return [];
  return part.args.flatMap(pathsIn);
}

/** In place of an operation or of a part of an element whose answer is lost. */
function replaced(part: Expression, path: string, lost: Set<string>): Expression {
  lost.add(path);
  const text = textOf(part);
  const operator: Operator = {
    name: 'lost',
    key: () => `(lost ${path} ${text})`,
    text: () => text,
    isDoubtful: true,
    value: (_, { reasons }) => {
      const unknown = reasons.unknown(path, notInLists(path), 'not_in_lists');
      return () => unknown;
    },
  };
  return { op: 'call', operator, args: [], type: part.type, place: part.place };
}
