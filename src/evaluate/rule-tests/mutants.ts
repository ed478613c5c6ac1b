// evaluate: small changes to a rule's condition, each of which some test of the rule should notice.
// In: a rule. Out: changed rules that still check, with a sentence each. What cannot be meant is left out.
import { formatDuration, parseDuration } from '../../domain/duration.ts';
import { type Fact, type Facts, isFacts } from '../../domain/facts.ts';
import { EVENT_SEVERITIES } from '../../domain/platform-values.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import { withChanges } from '../load/read-rule.ts';

export interface Mutant {
  description: string;
  rule: LoadedRule;
}

const MUTANTS_MAX = 400;

interface Edit {
  description: string;
  value: Fact;
}

export function mutantsOf(rule: LoadedRule): Mutant[] {
  const edits = [
    ...editsOf(rule.when, false).map((edit) => ({
      description: edit.description,
      changes: { when: edit.value } as Facts,
    })),
    ...freshEdits(rule.raw),
  ];
  const mutants: Mutant[] = [];
  for (const { description, changes } of edits.slice(0, MUTANTS_MAX)) {
    const changed = withChanges(rule, changes);
    if (changed) mutants.push({ description, rule: changed });
  }
  return mutants;
}

function freshEdits(raw: Facts): { description: string; changes: Facts }[] {
  const fresh = raw.fresh;
  if (!isFacts(fresh)) return [];
  return Object.entries(fresh).flatMap(([path, written]) => {
    const { [path]: _, ...others } = fresh;
    const ms = typeof written === 'string' ? parseDuration(written) : undefined;
    const half =
      ms === undefined
        ? []
        : [
            {
              description: `fresh ${path}: ${written} → half`,
              changes: { fresh: { ...fresh, [path]: formatDuration(ms / 2) } },
            },
          ];
    return [{ description: `fresh ${path}: ${written} → left out`, changes: { fresh: others } }, ...half];
  });
}

const SWAPS: Record<string, readonly string[]> = {
  '==': ['!='],
  '!=': ['=='],
  '===': ['!=='],
  '!==': ['==='],
  '<': ['<=', '>'],
  '<=': ['<', '>'],
  '>': ['>=', '<'],
  '>=': ['>', '<'],
  and: ['or'],
  or: ['and'],
  some: ['all', 'none'],
  all: ['some', 'none'],
  none: ['some'],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  min: ['max'],
  max: ['min'],
  starts_with: ['ends_with'],
  ends_with: ['starts_with'],
  version_lt: ['version_lte', 'version_gt'],
  version_lte: ['version_lt', 'version_gt'],
  version_gt: ['version_gte', 'version_lt'],
  version_gte: ['version_gt', 'version_lt'],
};
const EVENT_OPERATORS = new Set(['event_count', 'event_distinct', 'since_last_event']);

/** All single changes of a condition. `isPath`: inside `var` or `missing`, whose texts are no values. */
function editsOf(value: Fact, isPath: boolean): Edit[] {
  if (Array.isArray(value)) return listEdits(value, isPath);
  if (!isFacts(value)) return isPath ? [] : literalEdits(value);
  const name = Object.keys(value)[0];
  if (name === undefined) return [];
  const operands = value[name] as Fact;
  if (EVENT_OPERATORS.has(name) && isFacts(operands)) {
    return eventEdits(operands).map((edit) => ({ ...edit, value: { [name]: edit.value } }));
  }
  const edits: Edit[] = (SWAPS[name] ?? []).map((other) => ({
    description: `${name} → ${other}`,
    value: { [other]: operands },
  }));
  if (name === '!' || name === '!!')
    edits.push({ description: `${name} left out`, value: Array.isArray(operands) ? (operands[0] ?? null) : operands });
  if (name === 'and' || name === 'or') edits.push(...withoutOne(operands, name));
  const path = name === 'var' || name === 'missing' || name === 'missing_some';
  const inner = path && Array.isArray(operands) && name === 'var' ? defaultEdits(operands) : editsOf(operands, path);
  return [...edits, ...inner.map((edit) => ({ ...edit, value: { [name]: edit.value } }))];
}

/** The default in `{"var": [path, default]}` is a value. */
function defaultEdits([path, fallback]: Fact[]): Edit[] {
  if (fallback === undefined || path === undefined) return [];
  return literalEdits(fallback).map((edit) => ({
    description: `default ${edit.description}`,
    value: [path, edit.value],
  }));
}

function withoutOne(operands: Fact, name: string): Edit[] {
  if (!Array.isArray(operands) || operands.length < 2) return [];
  return operands.map((_, index) => ({
    description: `operand ${index + 1} of ${name} left out`,
    value: { [name]: operands.toSpliced(index, 1) },
  }));
}

function listEdits(list: Fact[], isPath: boolean): Edit[] {
  const isValues =
    !isPath && list.length > 1 && list.every((item) => typeof item === 'string' || typeof item === 'number');
  const shorter = isValues
    ? list.map((item, index) => ({ description: `${String(item)} left out`, value: list.toSpliced(index, 1) }))
    : [];
  const changed = list.flatMap((item, index) =>
    editsOf(item, isPath).map((edit) => ({ ...edit, value: list.with(index, edit.value) })),
  );
  return [...shorter, ...changed];
}

function literalEdits(value: Fact): Edit[] {
  const to = (other: Fact): Edit => ({ description: `${show(value)} → ${show(other)}`, value: other });
  if (typeof value === 'boolean') return [to(!value)];
  if (typeof value === 'number') return [to(value + 1), to(value - 1)];
  if (typeof value === 'bigint') return [to(value + 1_000_000_000n)];
  if (typeof value !== 'string') return [];
  if (value === 'TRUE') return [to('FALSE')];
  if (value === 'FALSE') return [to('TRUE')];
  const ms = parseDuration(value);
  if (ms !== undefined && ms > 0) return [to(formatDuration(ms * 2)), to(formatDuration(Math.ceil(ms / 2)))];
  return [to(`${value}~`)];
}

function eventEdits(filter: Facts): Edit[] {
  const edits: Edit[] = [];
  for (const [key, value] of Object.entries(filter)) {
    const { [key]: _, ...others } = filter;
    if (key === 'within' && typeof value === 'string') {
      edits.push(
        ...literalEdits(value).map((edit) => ({
          description: `within ${edit.description}`,
          value: { ...filter, within: edit.value },
        })),
      );
    } else if (key === 'severity') {
      edits.push(
        ...severityEdits(value).map((other) => ({
          description: `severity ${show(value)} → ${other}`,
          value: { ...filter, severity: other },
        })),
      );
    } else if (key === 'where') {
      edits.push({ description: 'where left out', value: others });
      edits.push(
        ...editsOf(value, false).map((edit) => ({
          description: `where ${edit.description}`,
          value: { ...filter, where: edit.value },
        })),
      );
    } else if (key !== 'of') edits.push({ description: `${key} left out`, value: others });
  }
  return edits;
}

/** The severities beside it; DEBUG is the same as none. */
function severityEdits(value: Fact): string[] {
  const rank = (EVENT_SEVERITIES as readonly Fact[]).indexOf(value);
  return [EVENT_SEVERITIES[rank - 1], EVENT_SEVERITIES[rank + 1]].filter((each) => each !== undefined);
}

const show = (value: Fact): string => (typeof value === 'bigint' ? `${value}` : JSON.stringify(value));
