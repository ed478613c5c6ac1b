// history: what a recorded run shows to other rules than those that it judged. In: its frame, the rules of a what-if, the gaps of the record. Out:
// which rules can be judged on it, what they cannot be told. INVARIANT: what a run did not read is unknown there, and never a silent "no match".

import { shownName } from '../../base/text.ts';
import type { ActionName, ActionTraits } from '../../domain/action.ts';
import type { HistoryGap, RecordedPart, RunFrame } from '../../domain/recorded-history.ts';
import type { DifferingSubject } from '../../domain/replay.ts';
import type { Mode, Rule } from '../../domain/rule.ts';
import { type Coverage, isUsable } from '../../domain/snapshot.ts';
import { SOURCES, type Source, type SubjectSummary } from '../../domain/subjects.ts';
import type { Judgement } from '../../domain/verdict.ts';
import type { Decided } from '../../engine/decide/input.ts';
import { modeAfter, type Silence, silenceBefore } from '../../engine/run/pulled-snapshot.ts';
import { deletesDevices, readsBundles } from '../../engine/run/reading-needs.ts';

export interface RulesOfRun<R extends Rule = Rule> {
  judged: R[];
  /** A source that they need was not read: their episodes are frozen. */
  unjudged: R[];
}

/**
 * `lastWhole`: of the last run over whole lists. A run over rules that somebody chose read what these need: it shows nothing of the others, and
 * freezes nothing. A look judges what the last whole run judged. `areBundlesTold`: false: nothing asked for them.
 */
export function rulesOn<R extends Rule>(
  frame: RunFrame,
  rules: readonly R[],
  lastWhole: RulesOfRun<R> | undefined,
  actions: ReadonlyMap<ActionName, ActionTraits>,
  areBundlesTold: boolean,
): RulesOfRun<R> {
  if (frame.part) {
    const sources = frame.decidedOn ?? frame.sources;
    const isWatched = (rule: R) =>
      rule.watch && !deletesDevices(rule, actions) && rule.sources.every((source) => isUsable(sources[source]));
    return { judged: (lastWhole?.judged ?? []).filter(isWatched), unjudged: [] };
  }
  const judged = rules.filter(
    ({ sources, then }) =>
      sources.every((source) => wasAsked(frame, source)) && (areBundlesTold || !readsBundles(then, actions)),
  );
  const unjudged = frame.run.scoped ? [] : rules.filter((rule) => !judged.includes(rule));
  return { judged, unjudged };
}

/** A source that the server does not offer was asked for: its facts are unknown, and the rest goes on. */
function wasAsked({ sources }: RunFrame, source: Source): boolean {
  return sources[source].state === 'read' || sources[source].state === 'unavailable';
}

/**
 * The run as it would have been: in `enforce` unless `mode` is lower, with the platform and the counts of the replay; what is not in the record is
 * unknown.
 */
export function asIf(
  frame: RunFrame,
  {
    bundles,
    coverage,
    sinceWhole,
    mode,
  }: Pick<RunFrame, 'bundles' | 'coverage'> & {
    mode: Mode;
    sinceWhole: Pick<RecordedPart, 'counted' | 'attempts'> & { sinceSeq: number | undefined };
  },
): RunFrame {
  const { run, part } = frame;
  return {
    ...frame,
    run: { ...run, mode, daemonMode: 'enforce' },
    coverage,
    unavailable: unreadBy(frame),
    bundles,
    part: part && { ...part, ...sinceWhole, sinceSeq: sinceWhole.sinceSeq ?? part.sinceSeq },
  };
}

/** The modes of a what-if's runs: the first one after a day without any is dry. */
export class ModesAgain {
  dryRuns = 0;
  /** When the last run was completed, as far as the record shows. */
  private completedMs: number | undefined;

  /** Runs are missing: nobody knows when the last one was completed. */
  gap(): void {
    this.completedMs = undefined;
  }

  /** Each run once, in their order. */
  of(frame: RunFrame): Mode {
    const { run, part, judged, unjudged } = frame;
    const { mode } = modeAfter(this.silenceBefore(frame), 'enforce');
    if (mode !== 'enforce') this.dryRuns += 1;
    // One that could judge nothing is aborted.
    if (part === undefined && (judged.length > 0 || unjudged.length === 0)) this.completedMs = run.startedAt;
    return mode;
  }

  /** Earlier versions told it only where it made a difference. */
  private silenceBefore({ run, silentSince = run.silentSince }: RunFrame): Silence {
    if (silentSince !== undefined) return { since: silentSince ?? undefined };
    return run.mode === 'dry-run' ? silenceBefore(this.completedMs, run.startedAt) : { since: undefined };
  }
}

/** What a what-if took for true where the record does not show it. `kept`: ids of subjects that came back into the lists. */
export function notesOf(kept: ReadonlySet<string>, { dryRuns }: ModesAgain): string[] {
  const [first] = kept;
  const others = kept.size > 1 ? ` and ${kept.size - 1} more` : '';
  const runs = dryRuns === 1 ? '1 run was dry' : `${dryRuns} runs were dry`;
  return [
    ...(first === undefined
      ? []
      : [
          `${shownName(first)}${others} came back after lists lacked it, and count as not registered anew meanwhile: what the replay had done to them stayed.`,
        ]),
    ...(dryRuns === 0 ? [] : [`${runs}: none had been completed in the 24 hours before.`]),
  ];
}

/** Sources without an answer: facts from them are unknown. */
function unreadBy({ sources, unavailable }: RunFrame): Source[] {
  return [...new Set([...unavailable, ...SOURCES.filter((source) => sources[source].state !== 'read')])];
}

/** What the log was read for, less what is not in the record: events may be missing there. `fromMs`: see `eventsKnownFrom`. */
export function coverageWithout(
  coverage: readonly Coverage[],
  gaps: readonly HistoryGap[],
  fromMs: number,
): readonly Coverage[] {
  const known = coverage.flatMap((one) =>
    one.toMs < fromMs ? [] : [{ ...one, fromMs: Math.max(one.fromMs, fromMs) }],
  );
  return gaps.reduce<Coverage[]>((left, gap) => left.flatMap((stretch) => [...around(stretch, gap)]), known);
}

/** The history carries events on for as long (history/files), for the windows of rules. */
const CARRIED_MS = 31 * 86_400_000;

/**
 * Since when the record has all events, for a stretch that begins with this run: as long as the windows of its own rules reach back, or since the
 * first recorded run. Coverage may say more: the store forgets events that no window of its rules counts.
 */
export function eventsKnownFrom({ run, sources }: RunFrame, windowMs: number, firstMs: number): number {
  const ownMs = sources.events.state === 'read' ? windowMs : 0;
  return Math.min(run.startedAt - ownMs, Math.max(firstMs, run.startedAt - CARRIED_MS));
}

function* around({ fromMs, toMs }: Coverage, gap: HistoryGap): Iterable<Coverage> {
  if (gap.toMs < fromMs || gap.fromMs > toMs) yield { fromMs, toMs };
  else {
    if (fromMs < gap.fromMs) yield { fromMs, toMs: gap.fromMs - 1 };
    if (toMs > gap.toMs) yield { fromMs: gap.toMs, toMs };
  }
}

// Whom the rules of a what-if concern, to compare two of them.

/** By subject, of one rule. */
export type Concerned = ReadonlyMap<string, DifferingSubject>;

export interface MatchesNow {
  atMs: number;
  /** By rule. */
  matches: ReadonlyMap<string, Concerned>;
  unknown: ReadonlyMap<string, number>;
}

export class WhatIfFound {
  /** By rule: acted on, or held. */
  readonly concerned = new Map<string, Map<string, DifferingSubject>>();
  private last: { atMs: number; judgements: readonly Judgement[]; unknown: ReadonlyMap<string, number> } | undefined;

  decided({ decisions }: Pick<Decided, 'decisions'>, judgements: readonly Judgement[], atMs: number): void {
    const acting = decisions.filter(({ decision, verdict }) => decision !== 'skip' && verdict === 'match');
    if (acting.length === 0) return;
    const summaries = new Map<string, SubjectSummary>();
    for (const { matches } of judgements) for (const { summary } of matches) summaries.set(keyOf(summary), summary);
    for (const { rule, subject, subjectName } of acting) {
      const owners = ownersOf(summaries.get(keyOf(subject)));
      add(this.concerned, { rule, subject, subjectName, atMs, ...owners });
    }
  }

  /** A whole run: the next one takes its place. */
  judged(atMs: number, judgements: readonly Judgement[], unknown: ReadonlyMap<string, number>): void {
    this.last = { atMs, judgements, unknown };
  }

  /** Undefined: no run was judged. */
  now(): MatchesNow | undefined {
    if (!this.last) return undefined;
    const { atMs, judgements, unknown } = this.last;
    const matches = new Map<string, Map<string, DifferingSubject>>();
    for (const { rule, summary } of judgements.flatMap((judgement) => judgement.matches)) {
      const { kind, id, name } = summary;
      add(matches, { rule, subject: { kind, id }, subjectName: name, atMs, ...ownersOf(summary) });
    }
    return { atMs, matches, unknown };
  }
}

function add(byRule: Map<string, Map<string, DifferingSubject>>, one: DifferingSubject): void {
  const own = byRule.get(one.rule) ?? new Map<string, DifferingSubject>();
  byRule.set(one.rule, own);
  const key = keyOf(one.subject);
  if (!own.has(key)) own.set(key, one);
}

function keyOf({ kind, id }: Pick<SubjectSummary, 'kind' | 'id'>): string {
  return `${kind} ${id}`;
}

function ownersOf(summary: SubjectSummary | undefined): Pick<DifferingSubject, 'owners'> {
  return summary?.owners && summary.owners.length > 0 ? { owners: summary.owners } : {};
}
