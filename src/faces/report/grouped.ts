// report: items grouped by a key, in time that grows with their number. In: items. Out: groups in the order of their first items.

import { isoTime } from '../../base/time.ts';
import type { ReportCeiling, ReportLimit, ReportTrend, RunDecision } from '../../contract/report.ts';
import type { RunMatches } from '../../domain/run.ts';
import type { RunRecord } from '../../domain/store.ts';
import { type CellLine, countText, marked } from './fact-text.ts';

export function grouped<T>(items: readonly T[], keyOf: (item: T) => string): T[][] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return [...groups.values()];
}

/** What is done to a target is done once, however many rules propose it. */
export function actOf({ action, target }: Pick<RunDecision, 'action' | 'target'>): string {
  return `${action} ${target}`;
}

export function countActs(decisions: readonly RunDecision[]): number {
  return new Set(decisions.map(actOf)).size;
}

// What a run used of the limits of its rules and of the ceilings of its actions, and what its rules matched over time.

/** Of the rules that were judged. */
export function limitsOf({ findings }: Pick<RunRecord, 'findings'>): ReportLimit[] {
  return (findings?.tallies ?? []).flatMap(({ rule, match, judged, limits }) => {
    if (!judged || limits === undefined) return [];
    const { max, percent, allowed, targets, inDay } = limits;
    const day = inDay ? { ...inDay, crossed: inDay.subjects > inDay.allowed } : null;
    return [{ rule, matches: match, targets, max, percent, allowed, crossed: targets > allowed, inDay: day }];
  });
}

export function ceilingsOf({ findings }: Pick<RunRecord, 'findings'>): ReportCeiling[] {
  return (findings?.operator?.ceilings ?? []).map(({ action, window, used, allowed }) => ({
    action,
    window,
    used,
    allowed,
  }));
}

/** Of the rules of this run that some of these runs judged. `matches`: the oldest run first. */
export function trendOf(rules: readonly string[], matches: readonly RunMatches[]): ReportTrend[] {
  const judged = new Set(rules);
  return grouped(
    matches.filter(({ rule }) => judged.has(rule)),
    ({ rule }) => rule,
  ).map((counts) => ({
    rule: (counts[0] as RunMatches).rule,
    counts: counts.map(({ seq, startedAt, match }) => ({ seq, at: isoTime(startedAt), match })),
  }));
}

/** A line that all have is shown once, above them. */
export function sharedLines(rows: readonly (readonly string[])[]): ReadonlySet<string> {
  const [first = [], ...rest] = rows;
  return new Set(rest.length === 0 ? [] : first.filter((line) => rest.every((other) => other.includes(line))));
}

interface NamedReason {
  who: CellLine;
  why: string;
}

/** At most `max` names; of the rest of `count` only the number is shown. */
export function groupReasons(items: readonly NamedReason[], count: number, max: number): CellLine[] {
  const shown = items.slice(0, max);
  const lines = [...new Set(shown.map(({ why }) => why))].flatMap((why) => {
    const those = shown.filter((item) => item.why === why).map(({ who }) => who);
    return those.length === 1 ? [marked(...those, `: ${why}`)] : [`${why}:`, ...those];
  });
  const more = count - shown.length;
  return [...lines, ...(more > 0 ? [`and ${countText(more)} more`] : [])];
}
