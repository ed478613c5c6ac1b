// report: lists of devices, users and services, as other programs have them and as people read them. In: a page. Out: its JSON; words for what is
// known of a subject.

import { isoTime } from '../../base/time.ts';
import type { ListedShown } from '../../contract/nouns.ts';
import type { Output } from '../../contract/table.ts';
import { type FleetPage, FOUND_MAX, type ListedSubject } from '../../domain/fleet.ts';
import { digitOf, LISTED_FIELDS, LISTED_OF, type ListedName, listedValue, UNKNOWN } from '../../domain/listed-facts.ts';
import { PLATFORMS } from '../../domain/platform-values.ts';
import { SOURCE_OF, type SubjectKind } from '../../domain/subjects.ts';
import { countText } from './fact-text.ts';

export function fleetView(page: FleetPage, kind: SubjectKind): Output<'listSubjects'> {
  return {
    subjects: page.rows.map(listedView),
    readAt: page.readAt === undefined ? null : isoTime(page.readAt),
    total: page.total ?? null,
    isSorted: page.isSorted,
    counts: countsOf(page.counts, kind),
    next: page.next ?? null,
  };
}

function listedView({ identity, facts, rules, actions }: ListedSubject): ListedShown {
  const { kind, id, name, serial, platform, model, owners, firstAt, changedAt } = identity;
  return {
    ...{ kind, id, name, serial, platform, model, owners: owners === undefined ? null : [...owners] },
    banned: flagOf(facts, 'banned'),
    compromised: flagOf(facts, 'compromised'),
    enabled: flagOf(facts, 'enabled'),
    level: listedValue(facts, 'level') ?? null,
    ...{ rules: [...rules], actions: [...actions], firstAt: isoTime(firstAt), changedAt: isoTime(changedAt) },
  };
}

function flagOf(facts: number, name: ListedName): boolean | null {
  const value = listedValue(facts, name);
  return value === undefined ? null : value === 'true';
}

/** In the order of values, and what is not known last; values that nobody has are left out. */
function countsOf(all: FleetPage['counts'], kind: SubjectKind): Record<string, Record<string, number>> {
  const counts: Record<string, Record<string, number>> = {};
  for (const name of LISTED_OF[kind]) {
    const byDigit = new Map<number, number>();
    for (const [facts, count] of all)
      byDigit.set(digitOf(facts, name), (byDigit.get(digitOf(facts, name)) ?? 0) + count);
    const named = LISTED_FIELDS[name].values.map(
      (value, at) => [filterValue(name, value), byDigit.get(at + 1) ?? 0] as const,
    );
    const some = [...named, [UNKNOWN, byDigit.get(0) ?? 0] as const].filter(([, count]) => count > 0);
    counts[name] = Object.fromEntries(some);
  }
  return counts;
}

/** As the filter calls it. */
function filterValue(name: ListedName, value: string): string {
  return name === 'platform' ? value.toLowerCase() : value;
}

/** Words for the facts of one: the worst first. Of a list, one line. */
export function listedWords({
  kind,
  banned,
  compromised,
  enabled,
  level,
}: ListedShown): { text: string; tone: 'bad' | 'wait' | 'good' | 'calm' }[] {
  const words: ReturnType<typeof listedWords> = [];
  const add = (text: string, tone: 'bad' | 'wait' | 'good' | 'calm') => words.push({ text, tone });
  if (kind === 'service')
    add(enabled === null ? 'not known whether on' : enabled ? 'on' : 'off', enabled === false ? 'wait' : 'calm');
  if (compromised) add('compromised', 'bad');
  if (banned) add('banned', 'wait');
  if (kind !== 'service')
    add(
      level === null ? 'trust not known' : `trust ${level}`,
      level === 'Low' || level === 'AlwaysDeny' ? 'wait' : 'calm',
    );
  if (kind === 'device' && banned === null) add('not known whether banned', 'calm');
  return words;
}

/** A value of a filter, as people read it. */
export function filterWord(name: ListedName, value: string): string {
  if (value === UNKNOWN) return 'not known';
  if (name === 'platform') return PLATFORMS.find((one) => one.toLowerCase() === value) ?? value;
  if (name === 'level') return value;
  if (name === 'enabled') return value === 'true' ? 'on' : 'off';
  return value === 'true' ? name : 'no';
}

/** Where no reading has filled a list. */
export function notReadText(kind: SubjectKind): string {
  return `No trusted reading of ${SOURCE_OF[kind]} yet. A run reads them when a rule in force needs them, or TRUSTWARD_RECORD names them.`;
}

/** When a search, an owner or a rule finds too many. */
export const NOT_SORTED = `More than ${countText(FOUND_MAX)} are found, so they are listed as they are found, neither sorted nor counted: search for more of a name, or filter.`;
