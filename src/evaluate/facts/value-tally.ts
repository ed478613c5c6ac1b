// evaluate: how many records have each value of one fact, kept while records come, change and go: replays count a fleet once, and then what changes of
// it. In: values. Out: the counts that one pass over all records gives (`value-counts.ts`). INVARIANT: it counts what `FactReader` counts.
import type { Fact } from '../../domain/facts.ts';
import type { Lists } from '../../domain/lists.ts';
import { underLists } from '../compile/lost-facts.ts';
import type { PathFact } from '../language/expression.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import { isOfType } from '../language/typed-value.ts';
import { factsIn, isReadLate } from '../language/walk.ts';
import { countsOf, hasFewValues } from './value-counts.ts';

const [NONE, ZERO, SET] = [0, 1, 2];

export class ValueTally {
  /** Of values that are counted as they are, in the order in which they came. */
  private readonly codes = new Map<Fact, number>();
  private readonly counts = [0, 0, 0];

  constructor(
    readonly path: readonly string[],
    private readonly type: PathFact['type'],
  ) {}

  /** Returns its code, by which it is taken out again. */
  add(value: Fact | undefined): number {
    const code = this.codeOf(value);
    this.counts[code] = (this.counts[code] ?? 0) + 1;
    return code;
  }

  remove(code: number): void {
    this.counts[code] = (this.counts[code] as number) - 1;
  }

  result(): Record<string, number> {
    const { counts } = this;
    const present = [...this.codes].filter(([, code]) => (counts[code] as number) > 0);
    const [none = 0, zero = 0, set = 0] = counts;
    const listed = {
      values: present.map(([value]) => value),
      counts: present.map(([, code]) => counts[code] as number),
    };
    return countsOf(this.path.join('.'), { ...listed, other: 0, none, zero, set });
  }

  private codeOf(value: Fact | undefined): number {
    if (value === undefined || value === null || !isOfType(value, this.type)) return NONE;
    if (!hasFewValues(this.type)) return isZero(value) ? ZERO : SET;
    const known = this.codes.get(value);
    if (known !== undefined) return known;
    this.codes.set(value, this.counts.length);
    return this.counts.length;
  }
}

function isZero(value: Fact): boolean {
  return value === 0 || value === 0n || (Array.isArray(value) && value.length === 0);
}

/** One for each fact that a pass over the records of these rules' subjects counts. `rules`: of one kind of subject. */
export function valueTallies(rules: readonly LoadedRule[], lists: Lists): ValueTally[] {
  const found = new Map<string, ValueTally>();
  for (const fact of rules.flatMap((rule) => factsIn(underLists(rule, lists).condition))) {
    if (fact.kind !== 'path' || isReadLate(fact)) continue;
    const key = JSON.stringify(fact.path);
    if (!found.has(key)) found.set(key, new ValueTally(fact.path, fact.type));
  }
  return [...found.values()];
}
