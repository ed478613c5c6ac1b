// report: what a run used of the limits of its rules and of the ceilings of its actions, and what its rules matched over time. In: a
// stored run, and counts of earlier ones. Out: figures; a run of an earlier version has no limits and ceilings.
import type { RunMatches } from '../domain/run.ts';
import type { RunRecord } from '../domain/store.ts';
import { isoTime } from '../domain/time-text.ts';
import type { ReportCeiling, ReportLimit, ReportTrend } from './figures.ts';
import { grouped } from './grouped.ts';

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
