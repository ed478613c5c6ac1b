// decide, last step: wishes with answers → decisions. One is written when it is new or changed; a standing one is
// carried, so that a thousand standing matches do not write a thousand rows a run.
import { canonicalJson } from '../domain/canonical.ts';
import type { Decision, StoredDecision } from '../domain/decision.ts';
import type { Effect } from '../domain/effect.ts';
import { isAtLeast } from '../domain/mode.ts';
import type { DecideInput } from './input.ts';
import { type Answer, effectOf, type Wish } from './proposal.ts';

/** Of a rule whose source is untrusted, so many decisions are written; the tallies count all of its matches. */
const UNTRUSTED_MAX = 100;

export interface CarriedDecisions {
  written: Decision[];
  ended: string[];
  idOf(wish: Wish): string;
  isCarried(wish: Wish): boolean;
}

export function carryDecisions(wishes: readonly Wish[], input: DecideInput): CarriedDecisions {
  const standing = new Map(input.standing.decisions.map((decision) => [keyOfDecision(decision), decision]));
  const judged = new Set(input.judged.map((rule) => rule.id));
  const ids = new Map<Wish, string>();
  const carried = new Set<Wish>();
  const kept = new Set<string>();
  const written: Decision[] = [];
  const untrusted = new Map<string, number>();
  for (const wish of wishes) {
    const before = standing.get(keyOf(wish));
    if (before && isSame(before, wish) && !needsNewIntent(wish)) {
      isBeyondExamples(wish, untrusted); // it counts as one of them
      ids.set(wish, before.id);
      carried.add(wish);
      kept.add(before.id);
      continue;
    }
    if (isBeyondExamples(wish, untrusted)) continue;
    const decision = decisionOf(wish, input);
    ids.set(wish, decision.id);
    written.push(decision);
  }
  const ended = input.standing.decisions
    .filter(({ id, rule }) => !kept.has(id) && (judged.has(rule) || !input.activeRules.has(rule)))
    .map(({ id }) => id);
  return { written, ended, idOf: (wish) => ids.get(wish) ?? '', isCarried: (wish) => carried.has(wish) };
}

function keyOf(wish: Wish): string {
  return [wish.rule.id, wish.card.kind, wish.card.id, wish.traits.name, wish.target].join('\u0000');
}

function keyOfDecision({ rule, subject, action, target }: StoredDecision): string {
  return [rule, subject.kind, subject.id, action, target].join('\u0000');
}

function isSame(before: StoredDecision, wish: Wish): boolean {
  const answer = wish.answer as Answer;
  return (
    before.decision === answer.decision &&
    before.reason === answer.reason &&
    // A dry run between live ones changes nothing about what is held or skipped.
    (before.mode === wish.mode || answer.decision !== 'act') &&
    before.ruleHash === wish.rule.hash &&
    before.episodeId === wish.episode?.id &&
    changesSame(before, wish)
  );
}

/** What a person reads before approving must be what is there now: a document may have been edited, an owner or a ban may have come. */
function changesSame({ effect }: StoredDecision, wish: Wish): boolean {
  if (wish.traits.changes === undefined && !wish.traits.removesTarget) return true;
  const now = effectOf(wish);
  if (wish.traits.removesTarget && now.text !== effect.text) return false;
  return contentOf(now) === contentOf(effect);
}

function contentOf({ changes, deletion, ends }: Effect): string {
  return canonicalJson([changes ?? null, deletion ?? null, ends ?? null]);
}

/** A live act whose intent is no longer there (withdrawn, or lost with a crash) is a new decision. */
function needsNewIntent(wish: Wish): boolean {
  return wish.answer?.decision === 'act' && isAtLeast(wish.mode, 'approve') && wish.intent === undefined;
}

function isBeyondExamples(wish: Wish, counts: Map<string, number>): boolean {
  if (wish.answer?.reason !== 'untrusted_source') return false;
  const count = (counts.get(wish.rule.id) ?? 0) + 1;
  counts.set(wish.rule.id, count);
  return count > UNTRUSTED_MAX;
}

function decisionOf(wish: Wish, input: DecideInput): Decision {
  const answer = wish.answer as Answer;
  return {
    id: input.ids.next(),
    rule: wish.rule.id,
    ruleHash: wish.rule.hash,
    subject: { kind: wish.card.kind, id: wish.card.id },
    subjectName: wish.card.name,
    verdict: wish.undo ? 'no_match' : 'match',
    since: wish.episode?.since ?? input.nowMs,
    decision: answer.decision,
    reason: answer.reason,
    reasonText: answer.text,
    action: wish.traits.name,
    target: wish.target,
    mode: wish.mode,
    cappedBy: wish.cappedBy,
    facts: wish.facts,
    effect: effectOf(wish),
    episodeId: wish.episode?.id,
    intentId: wish.intent?.id,
    outcome: undefined,
    outcomeText: undefined,
  };
}
