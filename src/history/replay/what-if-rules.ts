// history: what a recorded run shows to other rules than those that it judged. In: its frame, the rules of a what-if, the gaps of the record. Out:
// which rules can be judged on it, what they cannot be told. INVARIANT: what a run did not read is unknown there, and never a silent "no match".
import type { ActionName, ActionTraits } from '../../domain/action.ts';
import type { HistoryGap, RunFrame } from '../../domain/recorded-history.ts';
import type { Rule } from '../../domain/rule.ts';
import { type Coverage, isUsable } from '../../domain/snapshot.ts';
import { SOURCES, type Source } from '../../domain/subjects.ts';
import { deletesDevices } from '../../run/reading-needs.ts';

export interface RulesOfRun<R extends Rule = Rule> {
  judged: R[];
  /** A source that they need was not read: their episodes are frozen. */
  unjudged: R[];
}

/**
 * `lastWhole`: of the last run over whole lists. A run over rules that somebody chose read what these need: it shows nothing of the others, and
 * freezes nothing. A look judges what the last whole run judged.
 */
export function rulesOn<R extends Rule>(
  frame: RunFrame,
  rules: readonly R[],
  lastWhole: RulesOfRun<R> | undefined,
  actions: ReadonlyMap<ActionName, ActionTraits>,
): RulesOfRun<R> {
  if (frame.part) {
    const sources = frame.decidedOn ?? frame.sources;
    const isWatched = (rule: R) =>
      rule.watch && !deletesDevices(rule, actions) && rule.sources.every((source) => isUsable(sources[source]));
    return { judged: (lastWhole?.judged ?? []).filter(isWatched), unjudged: [] };
  }
  const judged = rules.filter((rule) => rule.sources.every((source) => wasAsked(frame, source)));
  const unjudged = frame.run.scoped ? [] : rules.filter((rule) => !judged.includes(rule));
  return { judged, unjudged };
}

/** A source that the server does not offer was asked for: its facts are unknown, and the rest goes on. */
function wasAsked({ sources }: RunFrame, source: Source): boolean {
  return sources[source].state === 'read' || sources[source].state === 'unavailable';
}

/** Sources without an answer: facts from them are unknown. */
export function unreadBy({ sources, unavailable }: RunFrame): Source[] {
  return [...new Set([...unavailable, ...SOURCES.filter((source) => sources[source].state !== 'read')])];
}

/** What the log was read for, less what is not in the record: events may be missing there. */
export function coverageWithout(coverage: readonly Coverage[], gaps: readonly HistoryGap[]): Coverage[] {
  return gaps.reduce<Coverage[]>((left, gap) => left.flatMap((stretch) => [...around(stretch, gap)]), [...coverage]);
}

function* around({ fromMs, toMs }: Coverage, gap: HistoryGap): Iterable<Coverage> {
  if (gap.toMs < fromMs || gap.fromMs > toMs) yield { fromMs, toMs };
  else {
    if (fromMs < gap.fromMs) yield { fromMs, toMs: gap.fromMs - 1 };
    if (toMs > gap.toMs) yield { fromMs: gap.toMs + 1, toMs };
  }
}
