// decide, first step: verdicts → episodes. Only `no_match` on a trusted source ends one; unknown, error, absence and
// untrusted data freeze it: it does not end, nothing is undone, and `for` and `clear_for` start again.

import { eachInSteps } from '../../base/turns.ts';
import type { AuditNote } from '../../domain/audit-entry.ts';
import type { OlderReport } from '../../domain/check.ts';
import { closeEpisode, type Episode, type ReportTimes } from '../../domain/episode.ts';
import type { Rule } from '../../domain/rule.ts';
import { isUsable } from '../../domain/snapshot.ts';
import { SOURCE_OF } from '../../domain/subjects.ts';
import type { Match, OpenVerdict } from '../../domain/verdict.ts';
import type { DecideInput } from './input.ts';

// Whether a report is newer than those that an episode has seen. In: what it has seen by the path of a time, the times
// behind a verdict. Out: what it has seen with this one; and of a `no_match`, whether it is evidence. INVARIANT: what
// clears an episode is newer than every report that matched, does not go backwards, and is not of the future. Pure.

type Seen = Episode['reports'];

/** Clocks may differ by so much; a report that is further ahead was not made when it says. */
const AHEAD_MAX_MS = 300_000;

/** The same when this report is no newer. */
function seenMatching(before: Seen, reported: ReportTimes = {}): Seen {
  return withReport(before, reported, true);
}

/**
 * newer: than what matched. undated: nothing shows when what matched was reported. An older report, or one of the future, is `unknown`: it neither
 * ends an episode nor counts toward `clear_for`.
 */
type Clearing = { is: 'newer'; seen: Seen } | { is: 'undated' } | { is: 'older'; older: OlderReport };

function clearingReport(nowMs: number, before: Seen = {}, reported: ReportTimes = {}): Clearing {
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

/** A match of this run with its episode; none when the rule's source is untrusted and no episode was open. */
export interface FollowedMatch {
  rule: Rule;
  match: Match;
  trusted: boolean;
  episode: Episode | undefined;
}

export interface FollowedEpisodes {
  matches: FollowedMatch[];
  /** What this run saw of subjects that have an open episode or claim but do not match, by `rule subject`. */
  others: Map<string, OpenVerdict>;
  /** Every episode known in this run by id, in its current state. */
  episodes: Map<string, Episode>;
  /** By episode: what this run read cleared it, but is not newer than what it has seen. */
  older: Map<string, OlderReport>;
  /** `rule subject` of the episodes that are currently not closed. */
  open: Set<string>;
  /** The episodes that this run changed, by id. */
  changed: Map<string, Episode>;
  notes: AuditNote[];
}

export function subjectKey(rule: string, subjectId: string): string {
  return `${rule}\u0000${subjectId}`;
}

/** Whether no source that the rule reads is untrusted. */
export function isTrusted(rule: Rule, input: Pick<DecideInput, 'sources'>): boolean {
  return rule.sources.every((source) => isUsable(input.sources[source]));
}

export function* followEpisodes(input: DecideInput): Generator<void, FollowedEpisodes> {
  const followed: FollowedEpisodes = {
    matches: [],
    others: new Map(),
    episodes: new Map(input.openState.episodes.map((episode) => [episode.id, episode])),
    older: new Map(),
    open: new Set(),
    changed: new Map(),
    notes: [],
  };
  const open = new Map<string, Episode>();
  for (const episode of input.openState.episodes) {
    if (episode.state !== 'closed') open.set(subjectKey(episode.rule, episode.subject.id), episode);
  }
  const rules = new Map(input.judged.map((rule) => [rule.id, rule]));
  const seen = new Set<string>();
  for (const judgement of input.judgements) {
    yield* eachInSteps(judgement.matches, (match) => {
      const rule = rules.get(match.rule);
      if (rule) followMatch(input, followed, rule, match, open, seen);
    });
    for (const verdict of judgement.open) followed.others.set(subjectKey(verdict.rule, verdict.summary.id), verdict);
  }
  yield;
  if (input.part === undefined || input.part.isCheck) followUnmatched(input, followed, rules, open, seen);
  yield;
  for (const { rule, subject, state } of followed.episodes.values()) {
    if (state !== 'closed') followed.open.add(subjectKey(rule, subject.id));
  }
  return followed;
}

function followMatch(
  input: DecideInput,
  followed: FollowedEpisodes,
  rule: Rule,
  match: Match,
  open: Map<string, Episode>,
  seen: Set<string>,
): void {
  const key = subjectKey(rule.id, match.summary.id);
  const trusted = isTrusted(rule, input);
  const before = open.get(key);
  seen.add(key);
  if (!trusted) {
    const episode = before && keep(followed, before, frozen(before, input.nowMs));
    followed.matches.push({ rule, match, trusted, episode });
    return;
  }
  const after = before ? matchingAgain(before, input.nowMs) : opened(input, rule, match);
  const reports = seenMatching(after.reports, match.reported);
  const episode = keep(followed, before, reports === after.reports ? after : { ...after, reports });
  followed.matches.push({ rule, match, trusted, episode });
}

function followUnmatched(
  input: DecideInput,
  followed: FollowedEpisodes,
  rules: Map<string, Rule>,
  open: Map<string, Episode>,
  seen: Set<string>,
): void {
  const unjudged = new Set(input.unjudged.map((rule) => rule.id));
  for (const [key, before] of open) {
    if (seen.has(key)) continue;
    // Of a subject that a check did not read, or whose rule it did not judge, it knows nothing.
    if (input.part && !(input.part.hasRead(before.subject) && followed.others.has(key))) continue;
    const rule = rules.get(before.rule);
    if (!rule) {
      if (unjudged.has(before.rule)) keep(followed, before, frozen(before, input.nowMs));
      continue;
    }
    const after = unmatched(input, followed, rule, before, followed.others.get(key));
    keep(followed, before, after);
    if (after.state === 'closed') followed.notes.push(closedNote(after));
  }
}

function unmatched(
  input: DecideInput,
  followed: FollowedEpisodes,
  rule: Rule,
  before: Episode,
  seen: OpenVerdict | undefined,
): Episode {
  if (!isTrusted(rule, input)) return frozen(before, input.nowMs);
  if (seen?.verdict === 'no_match') return cleared(input, followed, rule, before, seen);
  if (seen !== undefined) return { ...frozen(before, input.nowMs), absentSince: undefined };
  // A list that was not read does not show who is absent from it.
  if (input.sources[SOURCE_OF[rule.subject]].state !== 'read') return frozen(before, input.nowMs);
  const absentSince = Math.min(before.absentSince ?? input.nowMs, input.nowMs);
  if (input.nowMs - absentSince >= input.settings.goneAfterMs) return closeEpisode(before, 'gone', input.nowMs);
  return { ...frozen(before, input.nowMs), absentSince };
}

function opened(input: DecideInput, rule: Rule, match: Match): Episode {
  const now = input.nowMs;
  return {
    id: input.ids.next(),
    rule: rule.id,
    subject: { kind: match.summary.kind, id: match.summary.id },
    since: now,
    matchingSince: now,
    state: 'matching',
    stateSince: now,
    absentSince: undefined,
    seenSo: [],
    overriddenAt: undefined,
    closedAt: undefined,
    closeReason: undefined,
  };
}

/** A time in the future was written before the clock was set back: what is counted from it starts again. */
function matchingAgain(before: Episode, now: number): Episode {
  if (before.state === 'matching' && before.matchingSince <= now) return before;
  return { ...before, state: 'matching', stateSince: now, matchingSince: now, absentSince: undefined };
}

function frozen(before: Episode, now: number): Episode {
  return before.state === 'frozen' ? before : { ...before, state: 'frozen', stateSince: now };
}

/** INVARIANT: what a rule undoes ends with better evidence than it began: a newer report, or a second reading where nothing has a time. */
function cleared(
  { nowMs }: DecideInput,
  { older }: FollowedEpisodes,
  rule: Rule,
  before: Episode,
  { reported }: OpenVerdict,
): Episode {
  if (!rule.revert) return clearing(before, rule, nowMs, true);
  const report = clearingReport(nowMs, before.reports, reported);
  if (report.is === 'undated') return clearing(before, rule, nowMs, false);
  if (report.is === 'newer')
    return clearing({ ...before, ...(report.seen && { reports: report.seen }) }, rule, nowMs, true);
  older.set(before.id, report.older);
  return { ...frozen(before, nowMs), absentSince: undefined };
}

/** `isEnough`: one reading is enough, if the rule does not ask for a time. */
function clearing(before: Episode, rule: Rule, now: number, isEnough: boolean): Episode {
  const isClearing = before.state === 'clearing' && before.stateSince <= now;
  const isLongEnough = now - (isClearing ? before.stateSince : now) >= rule.clearForMs;
  if (isLongEnough && (isEnough || isClearing)) return closeEpisode(before, 'cleared', now);
  return isClearing ? before : { ...before, state: 'clearing', stateSince: now, absentSince: undefined };
}

function closedNote({ id, rule, subject, since, closeReason }: Episode): AuditNote {
  return {
    kind: 'episode.closed',
    body: { episode: id, rule, subject: { kind: subject.kind, id: subject.id }, since, reason: closeReason },
  };
}

/** Records an episode's current state; only what differs from before is written. */
function keep(followed: FollowedEpisodes, before: Episode | undefined, after: Episode): Episode {
  followed.episodes.set(after.id, after);
  if (before === undefined || !sameEpisode(before, after)) followed.changed.set(after.id, after);
  return after;
}

function sameEpisode(a: Episode, b: Episode): boolean {
  if (a === b) return true;
  const isSame = a.state === b.state && a.stateSince === b.stateSince && a.absentSince === b.absentSince;
  return isSame && a.reports === b.reports;
}

/** Changes an episode that this run already followed (it was seen in the wanted state, or overridden). */
export function amendEpisode(followed: FollowedEpisodes, after: Episode): void {
  followed.changed.set(after.id, after);
  followed.episodes.set(after.id, after);
}
