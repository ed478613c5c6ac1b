// evaluate: small changes to a rule's condition, each of which some test of the rule should notice.
// In: a rule. Out: changed rules, with a description each. Changes that the checks refuse are left out.
import { formatDuration, parseDuration } from '../../domain/duration.ts';
import { type Fact, type Facts, isFacts } from '../../domain/facts.ts';
import type { Language } from '../check/scope.ts';
import { type Edit, type EditsOf, literalEdits, within } from '../language/edits.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import { withChanges } from '../load/read-rule.ts';

export interface Mutant {
  description: string;
  rule: LoadedRule;
}

const MUTANTS_MAX = 400;

/** One after the other, as they are asked for. */
export function* mutantsOf(rule: LoadedRule, language: Language): Generator<Mutant> {
  const edits = [
    ...editsOfWritten(rule.when, 'values', language).map(({ description, value }) => ({
      description,
      changes: { when: value } as Facts,
    })),
    ...freshEdits(rule.raw),
  ];
  for (const { description, changes } of edits.slice(0, MUTANTS_MAX)) {
    const changed = withChanges(rule, changes, language);
    if (changed) yield { description, rule: changed };
  }
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

/** All single changes of a condition. Each operator has its own. */
function editsOfWritten(value: Fact, texts: 'values' | 'paths', language: Language): Edit[] {
  const editsOf: EditsOf = (inner, innerTexts) => editsOfWritten(inner, innerTexts, language);
  if (Array.isArray(value)) return listEdits(value, texts, editsOf);
  if (!isFacts(value)) return texts === 'paths' ? [] : literalEdits(value);
  const name = Object.keys(value)[0];
  if (name === undefined) return [];
  const written = value[name] as Fact;
  const form = language.get(name);
  const swaps = (form?.swaps ?? []).map(
    (other): Edit => ({ description: `${name} → ${other}`, value: { [other]: written } }),
  );
  const inner = form?.innerEdits ? form.innerEdits(written, editsOf) : editsOf(written, 'values');
  return [...swaps, ...(form?.edits?.(written, name) ?? []), ...within(inner, (part) => ({ [name]: part }))];
}

function listEdits(list: Fact[], texts: 'values' | 'paths', editsOf: EditsOf): Edit[] {
  const isValues =
    texts === 'values' && list.length > 1 && list.every((item) => typeof item === 'string' || typeof item === 'number');
  const shorter = isValues
    ? list.map((item, index) => ({ description: `${String(item)} left out`, value: list.toSpliced(index, 1) }))
    : [];
  const changed = list.flatMap((item, index) => within(editsOf(item, texts), (edited) => list.with(index, edited)));
  return [...shorter, ...changed];
}
