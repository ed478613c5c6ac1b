// decide: whether a report is newer than those that an episode has seen. In: what it has seen by the path of a time, the times behind a
// verdict. Out: what it has seen with this one; and of a `no_match`, whether it is evidence. INVARIANT: what clears an episode is newer than
// every report that matched, does not go backwards, and is not of the future. Pure.
import type { OlderReport } from '../domain/check.ts';
import type { Episode, ReportTimes } from '../domain/episode.ts';

type Seen = Episode['reports'];

/** Clocks may differ by so much; a report that is further ahead was not made when it says. */
const AHEAD_MAX_MS = 300_000;

/** The same when this report is no newer. */
export function seenMatching(before: Seen, reported: ReportTimes = {}): Seen {
  return withReport(before, reported, true);
}

/**
 * newer: than what matched. undated: nothing shows when what matched was reported. An older report, or one of the future, is `unknown`: it neither
 * ends an episode nor counts toward `clear_for`.
 */
export type Clearing = { is: 'newer'; seen: Seen } | { is: 'undated' } | { is: 'older'; older: OlderReport };

export function clearingReport(nowMs: number, before: Seen = {}, reported: ReportTimes = {}): Clearing {
  // A time that the rule no longer goes by, or that the lists in use do not have, decides nothing.
  const dated = Object.entries(before).filter(([path]) => path in reported);
  for (const [path, { matched, newest }] of dated) {
    const ofMs = reported[path] ?? null;
    const older = (than: OlderReport['than'], thanMs: number): Clearing => ({
      is: 'older',
      older: { path, ofMs, than, thanMs },
    });
    if (ofMs === null || ofMs <= matched) return older('matched', matched);
    if (ofMs < newest) return older('seen', newest);
    if (ofMs - nowMs > AHEAD_MAX_MS) return older('now', nowMs);
  }
  return dated.length === 0 ? { is: 'undated' } : { is: 'newer', seen: withReport(before, reported, false) };
}

function withReport(before: Seen, reported: ReportTimes, isMatch: boolean): Seen {
  let seen = before;
  for (const [path, atMs] of Object.entries(reported)) {
    const known = before?.[path];
    // What has not matched yet is nothing to compare with.
    if (atMs === null || (!known && !isMatch)) continue;
    const matched = isMatch ? Math.max(known?.matched ?? atMs, atMs) : (known?.matched as number);
    const newest = Math.max(known?.newest ?? atMs, atMs);
    if (matched !== known?.matched || newest !== known.newest) seen = { ...seen, [path]: { matched, newest } };
  }
  return seen;
}
