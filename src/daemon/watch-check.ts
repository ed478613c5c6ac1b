// The check `watch` of `/readyz`. In: the counters of watch, and how many scheduled times have passed since a time. Out: a check. It is
// public: it names no subject, and repeats no text of the API.
import { formatDuration } from '../domain/duration.ts';
import { timeText } from '../domain/time-text.ts';
import type { RestReason, WatchCounters } from '../domain/watch.ts';
import type { ReadyCheck } from '../http/index.ts';
import { countText, plural } from '../report/index.ts';

const REST_WORDS: Record<RestReason, string> = {
  no_whole_run: 'there is no whole run to count with',
  untrusted: 'the last whole run did not trust what it read',
  runs_missed: 'more than one scheduled run was missed',
  events_forbidden: 'the API does not let it read events (403): allow the credential to, or set TRUSTWARD_WATCH=0s',
  nothing_to_watch: 'no rule can be judged after events',
  many_subjects: 'new events name too many subjects for it',
  fact_moved: 'one fact moved the same way in many subjects',
  source_failed: 'the event log, or a subject that it names, could not be read',
};

/** What ends the rest; without an entry a whole run. */
const UNTIL: Partial<Record<RestReason, string>> = {
  nothing_to_watch: '',
  source_failed: ' while each look tries again',
};

/**
 * Nothing is wrong with the daemon: rules stay out of it, the platform's edition has no event log, or a source is not trusted, which reports
 * and alerts show.
 */
const NEVER_LATE: ReadonlySet<RestReason> = new Set(['nothing_to_watch', 'events_forbidden', 'untrusted']);

/** Not ok when no look was made for longer than one period of the schedule. */
export function watchCheck(counters: WatchCounters, missedSince: (atMs: number) => number): ReadyCheck {
  const name = 'watch';
  const { everyMs, state, lastLookAt } = counters;
  if (everyMs === 0) return { name, ok: true, text: 'off' };
  const every = `every ${formatDuration(everyMs)}`;
  const last = lastLookAt === undefined ? 'no look yet' : `last look ${timeText(lastLookAt)}`;
  const rest = [every, last, countedText(counters)].join('; ');
  if (state.kind === 'looks') return { name, ok: true, text: rest };
  const isLate = missedSince(state.sinceMs) > 1;
  const since = `since ${timeText(state.sinceMs)}`;
  if (state.kind === 'fails')
    return { name, ok: !isLate, text: `looks fail ${since} (${state.code}; see the log); ${rest}` };
  const isWrong = isLate && !NEVER_LATE.has(state.code);
  const until = UNTIL[state.code] ?? ', until a whole run';
  return { name, ok: !isWrong, text: `rests ${since}${until}: ${REST_WORDS[state.code]}; ${rest}` };
}

function countedText({
  since,
  looks,
  failed,
  runs,
  wholeRuns,
  events,
  named,
  strangers,
  unread,
}: WatchCounters): string {
  const counted = [
    plural(looks, 'look'),
    ...(failed > 0 ? [`${countText(failed)} failed`] : []),
    ...(events > 0 ? [plural(events, 'new event')] : []),
    ...(named > 0 ? [`${plural(named, 'subject')} named`] : []),
    ...(strangers > 0 ? [`${countText(strangers)} not found`] : []),
    ...(unread > 0 ? [`${countText(unread)} not readable`] : []),
    ...(runs > 0 ? [plural(runs, 'run')] : []),
    ...(wholeRuns > 0 ? [plural(wholeRuns, 'extra whole run')] : []),
  ];
  return `since ${timeText(since)}: ${counted.join(', ')}`;
}
