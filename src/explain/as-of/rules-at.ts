// explain: what the rules of a recorded run say of a record of that time. In: the run, the rule files that were in force, the record. Out: for
// each rule about this kind of subject its verdict with the whole tree, and what was decided then. A rule that cannot be judged says why.

import type { TrustEvent } from '../../domain/event.ts';
import type { DecidedNow, Explanation } from '../../domain/explanation.ts';
import type { Facts } from '../../domain/facts.ts';
import type { LookBack } from '../../domain/look-back.ts';
import type { RecordedRun } from '../../domain/recorded-history.ts';
import type { Source } from '../../domain/subjects.ts';
import type { Joins } from '../../domain/verdict.ts';
import type { WhyRule } from '../../domain/why.ts';
import { explain, type LoadedRule } from '../../evaluate/index.ts';

export interface JudgedAt {
  id: string;
  /** As the readings of that run showed it. */
  record: Facts;
  joins: Joins;
  events: readonly TrustEvent[];
  /** What rules knew of the past when that run began; undefined: none looks back. */
  lookBack: LookBack | undefined;
}

/** As that run judged, by its clock. */
export function judgeAt(rules: readonly LoadedRule[], run: RecordedRun, { id, ...seen }: JudgedAt): WhyRule[] {
  const { frame } = run;
  const nowMs = frame.steady.nowMs;
  const context = {
    nowMs,
    windowsAtMs: frame.coverage.at(-1)?.toMs,
    coverage: frame.coverage,
    unavailable: new Set(frame.unavailable),
    joins: seen.joins,
    events: seen.events,
    lookBack: seen.lookBack,
    readAtMs: readAtMs(run),
    lists: frame.settings.lists,
  };
  const decided = decidedAt(run, id);
  return rules.map((rule): WhyRule => {
    const head = { rule: rule.id, title: rule.title, mode: rule.mode, revert: rule.revert };
    const decisions = decided.filter((one) => one.rule === rule.id);
    const { verdict, reason, flips, tree }: Explanation = explain(rule, seen.record, context);
    return { ...head, verdict, reason, flip: flips[0], tree, decisions };
  });
}

/** What was in force after the run: unchanged ones of earlier runs, and those that it wrote. */
export function decidedAt({ openState, written, ended }: RecordedRun, id: string): DecidedNow[] {
  const gone = new Set([...ended, ...written.map((one) => one.id)]);
  return [...openState.decisions.filter((one) => !gone.has(one.id)), ...written]
    .filter(({ subject }) => subject.id === id)
    .map(({ rule, action, target, decision, reason, reasonText, verdict, mode, facts, effect }) => ({
      ...{ rule, action, target, decision, reason, reasonText, verdict, mode, facts, effect },
      notAsked: [],
    }));
}

/** Of a look: as deciding was handed them. */
function readAtMs({ frame }: RecordedRun): Partial<Record<Source, number>> {
  const readings = Object.values(frame.decidedOn ?? frame.sources);
  return Object.fromEntries(
    readings.flatMap(({ source, state, finishedAt }) => (state === 'read' ? [[source, finishedAt]] : [])),
  );
}
