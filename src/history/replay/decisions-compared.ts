// history: the decisions of a run, as it made them and as the replay made them again. In: both. Out: those that differ, in words. Ids and flips
// are not compared: ids are drawn anew, and a flip is found within a budget of the run.
import { canonicalJson } from '../../domain/canonical.ts';
import { shownName } from '../../domain/clip.ts';
import type { Decision, StoredDecision } from '../../domain/decision.ts';
import type { SubjectRef } from '../../domain/subjects.ts';

export interface DecisionDiffers {
  rule: string;
  subject: SubjectRef;
  target: string;
  was: string | undefined;
  is: string | undefined;
}

type Made = Pick<
  Decision,
  'rule' | 'subject' | 'action' | 'target' | 'decision' | 'reason' | 'mode' | 'verdict' | 'facts' | 'ruleHash'
>;

export interface MadeDecisions {
  written: readonly Made[];
  /** Ids of decisions that were in force. */
  ended: readonly string[];
}

export function comparedDecisions(
  was: MadeDecisions,
  is: MadeDecisions,
  inForce: readonly StoredDecision[],
): DecisionDiffers[] {
  return [...comparedWritten(was.written, is.written), ...comparedEnded(was.ended, is.ended, inForce)];
}

function comparedWritten(was: readonly Made[], is: readonly Made[]): DecisionDiffers[] {
  const made = byKey(is);
  const found: DecisionDiffers[] = [];
  for (const [key, before] of byKey(was)) {
    const after = made.get(key) ?? [];
    made.delete(key);
    for (let at = 0; at < Math.max(before.length, after.length); at += 1)
      found.push(...differing(before[at], after[at]));
  }
  for (const after of [...made.values()].flat()) found.push(...differing(undefined, after));
  return found;
}

function comparedEnded(
  was: readonly string[],
  is: readonly string[],
  inForce: readonly StoredDecision[],
): DecisionDiffers[] {
  const [before, after] = [new Set(was), new Set(is)];
  const known = new Map(inForce.map((decision) => [decision.id, decision]));
  return [...new Set([...was, ...is])].flatMap((id) => {
    if (before.has(id) === after.has(id)) return [];
    const decision = known.get(id);
    const { rule = '', subject = { kind: 'device', id: '' } as const, target = '' } = decision ?? {};
    const what = decision
      ? `ended: ${decision.decision} ${decision.reason}`
      : 'ended: a decision that was not in force';
    return [{ rule, subject, target, was: before.has(id) ? what : undefined, is: after.has(id) ? what : undefined }];
  });
}

function byKey(all: readonly Made[]): Map<string, Made[]> {
  const found = new Map<string, Made[]>();
  for (const one of all) {
    const { rule, subject, action, target } = one;
    const key = JSON.stringify([rule, subject.kind, subject.id, action, target]);
    found.set(key, [...(found.get(key) ?? []), one]);
  }
  return found;
}

function differing(was: Made | undefined, is: Made | undefined): DecisionDiffers[] {
  const one = (was ?? is) as Made;
  const head = { rule: one.rule, subject: one.subject, target: one.target };
  if (!was || !is) return [{ ...head, was: was && textOf(was), is: is && textOf(is) }];
  const fields = (['mode', 'verdict', 'ruleHash'] as const).filter((field) => was[field] !== is[field]);
  const facts = [...new Set([...Object.keys(was.facts), ...Object.keys(is.facts)])].filter(
    (path) => factText(was, path) !== factText(is, path),
  );
  const isSame = was.decision === is.decision && was.reason === is.reason;
  if (isSame && fields.length === 0 && facts.length === 0) return [];
  const more = (made: Made) => [
    textOf(made),
    ...fields.map((field) => `${field} ${made[field]}`),
    ...facts.map((path) => `${shownName(path)} ${shownName(factText(made, path))}`),
  ];
  return [{ ...head, was: more(was).join(', '), is: more(is).join(', ') }];
}

function textOf({ decision, reason }: Made): string {
  return `${decision} ${reason}`;
}

function factText({ facts }: Made, path: string): string {
  return Object.hasOwn(facts, path) ? canonicalJson(facts[path]) : 'absent';
}
