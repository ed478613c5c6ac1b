// web: the intents of a plan as a page shows them: by rules and action, a part of each. In: a plan, and what the address asks for. Out:
// groups with some of their intents. Pure.
import { nameKey } from '../../../domain/identity.ts';
import type { Plan, PlannedIntent } from '../../../domain/plan.ts';
import { grouped } from '../../../report/grouped.ts';

const PAGE = 50;
/** Of all groups together: of each it shows an equal part, and at least some. */
const ROWS_MAX = 100;
const GROUP_ROWS_MIN = 5;

export interface PlanQuery {
  /** A part of a target, or of an id, name, serial number or owner of what it is about; in any case. */
  q?: string | undefined;
  /** One group alone, by its place. */
  group?: number | undefined;
  /** The place of its first intent that is shown. */
  from?: number | undefined;
  /** How many of them are compared with now. */
  rows?: number | undefined;
}

export interface PlanGroup {
  /** Its place among all groups of the plan: it stays the same with any query. */
  at: number;
  rules: string[];
  action: string;
  /** All of them, whatever is searched for. */
  total: number;
  /** How many the text names. */
  found: number;
  from: number;
  intents: PlannedIntent[];
}

/** All groups of the plan in its order, each with a page of its intents; with a text, those that it names. */
export function groupsOf({ intents }: Pick<Plan, 'intents'>, { q, group, from = 0 }: PlanQuery): PlanGroup[] {
  const part = nameKey(q ?? '');
  const groups = grouped(intents, (one) => [...rulesOf(one), one.action].join(' '));
  const equal = Math.max(GROUP_ROWS_MIN, Math.floor(ROWS_MAX / groups.length));
  const size = group === undefined ? Math.min(PAGE, equal) : PAGE;
  let left = ROWS_MAX;
  return groups.flatMap((all, at) => {
    if (group !== undefined && group !== at) return [];
    const [first] = all as [PlannedIntent];
    const found = part === '' ? all : all.filter((one) => isNamed(one, part));
    const begin = group === undefined ? 0 : from;
    const shown = found.slice(begin, begin + Math.min(size, left));
    left -= shown.length;
    const { action } = first;
    return [{ at, rules: rulesOf(first), action, total: all.length, found: found.length, from: begin, intents: shown }];
  });
}

export function rulesOf({ basis }: Pick<PlannedIntent, 'basis'>): string[] {
  return [...new Set(basis.map(({ rule }) => rule))].sort();
}

function isNamed({ target, basis, effect }: PlannedIntent, part: string): boolean {
  const devices = effect.devices.flatMap(({ id, name, serial, owners = [] }) => [id, name, serial ?? '', ...owners]);
  return [target, ...basis.map(({ subjectId }) => subjectId), ...devices].some((name) => nameKey(name).includes(part));
}
