// report: decisions and unknowns grouped for people: by rule and action, by rule and reason, by rule and missing fact.
// In: a report. Out: groups in the report's order. Nothing is left out here: the writers limit what they print.
import type { ActionName } from '../domain/action.ts';
import type { ReasonCode } from '../domain/decision.ts';
import { type ActKind, actKindOf } from './act-kind.ts';
import { capWordsOf } from './decision-words.ts';
import { grouped } from './grouped.ts';
import type { Report, RunDecision } from './report.ts';
import type { Who } from './who.ts';

export interface ActGroup {
  rule: string;
  title: string;
  /** Why it is not done: `lowered to mode dry-run by the run`. Empty when nothing lowered the mode. */
  limits: string[];
  action: ActionName;
  /** It undoes what the rule did, because the rule no longer matches. */
  undo: boolean;
  decisions: RunDecision[];
}

export interface ReasonGroup {
  rule: string;
  title: string;
  action: ActionName;
  reason: ReasonCode;
  decisions: RunDecision[];
}

export interface UnknownGroup {
  rule: string;
  title: string;
  /** Subjects whose verdict was unknown or an error. */
  count: number;
  /** The facts that were missing, the most frequent first. */
  missing: { fact: string; count: number }[];
  examples: { who: Who; reason: string }[];
}

export function actGroups(report: Report, kind: ActKind): ActGroup[] {
  const acts = report.decisions.filter((decision) => actKindOf(decision) === kind);
  return grouped(acts, ({ rule, action }) => `${rule} ${action}`).map((decisions) => ({
    ...headOf(report, decisions),
    limits: [...new Set(decisions.flatMap((decision) => capWordsOf(decision) ?? []))],
    undo: decisions.every(({ verdict }) => verdict === 'no_match'),
    decisions,
  }));
}

export function reasonGroups(report: Report, decision: 'hold' | 'skip'): ReasonGroup[] {
  const those = report.decisions.filter((item) => item.decision === decision);
  return grouped(those, ({ rule, action, reason, inPlan }) => `${rule} ${action} ${reason} ${inPlan}`).map(
    (decisions) => ({ ...headOf(report, decisions), reason: (decisions[0] as RunDecision).reason, decisions }),
  );
}

export function unknownGroups({ rules }: Report): UnknownGroup[] {
  return rules
    .filter((rule) => rule.unknown + rule.error > 0)
    .map(({ id, title, unknown, error, missing, examples }) => ({
      rule: id,
      title,
      count: unknown + error,
      missing: Object.entries(missing)
        .map(([fact, count]) => ({ fact, count }))
        .sort((a, b) => b.count - a.count),
      examples: examples.map(({ subject, name, serial, owners, reason }) => ({
        who: { id: subject, name, serial, owners },
        reason,
      })),
    }));
}

function headOf(report: Report, decisions: RunDecision[]): Pick<ActGroup, 'rule' | 'title' | 'action'> {
  const { rule, action } = decisions[0] as RunDecision;
  return { rule, action, title: report.rules.find(({ id }) => id === rule)?.title ?? '' };
}
