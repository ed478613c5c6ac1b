// history: whom the rules of a what-if concern, to compare two of them. In: what was judged and decided at each run. Out: by rule, the subjects that
// it would have acted on or held, with when that was first; and those that it matches in the last recorded state.
import type { Decided } from '../../decide/input.ts';
import type { DifferingSubject } from '../../domain/rule-set-difference.ts';
import type { SubjectSummary } from '../../domain/target.ts';
import type { Judgement } from '../../domain/verdict.ts';

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
