// decide, last step: answered proposals → decisions. A decision is written when it is new or changed. An unchanged one stays in
// force without a new row, so that a thousand lasting matches do not write a thousand rows a run.
import { canonicalJson } from '../domain/canonical.ts';
import type { Answer } from '../domain/check.ts';
import { type Decision, keyOfDecision, type StoredDecision } from '../domain/decision.ts';
import type { Effect } from '../domain/effect.ts';
import { eachInSteps } from '../domain/give-way.ts';
import { isLive } from '../domain/mode.ts';
import type { Flip } from '../domain/verdict.ts';
import type { DecideInput } from './input.ts';
import { effectOf, type Proposal } from './proposal.ts';

/** The number of decisions written for a rule whose source is untrusted; the tallies count all of its matches. */
const UNTRUSTED_MAX = 100;

export interface ReconciledDecisions {
  written: Decision[];
  ended: string[];
  idOf(proposal: Proposal): string;
  isUnchanged(proposal: Proposal): boolean;
}

export function* reconcileDecisions(
  proposals: readonly Proposal[],
  input: DecideInput,
): Generator<void, ReconciledDecisions> {
  const inForce = new Map(input.openState.decisions.map((decision) => [keyOfDecision(decision), decision]));
  const judged = new Set(input.judged.map((rule) => rule.id));
  const ids = new Map<Proposal, string>();
  const unchanged = new Set<Proposal>();
  const kept = new Set<string>();
  const replaced = new Set<string>();
  const written: Decision[] = [];
  const untrusted = new Map<string, number>();
  const former = formerFlips(input.openState.decisions);
  yield* eachInSteps(proposals, (proposal) => {
    const before = inForce.get(keyOf(proposal));
    if (before && isSame(before, proposal) && !needsNewIntent(proposal)) {
      isBeyondExamples(proposal, untrusted); // it counts as one of them
      ids.set(proposal, before.id);
      unchanged.add(proposal);
      kept.add(before.id);
      return;
    }
    if (isBeyondExamples(proposal, untrusted)) return;
    const decision = decisionOf(proposal, proposal.flip ?? former(proposal), input);
    ids.set(proposal, decision.id);
    written.push(decision);
    if (before) replaced.add(before.id);
  });
  const isOver = ({ id, rule }: StoredDecision) =>
    input.part === undefined
      ? !kept.has(id) && (judged.has(rule) || !input.activeRules.has(rule))
      : replaced.has(id) && !kept.has(id);
  const ended = input.openState.decisions.filter(isOver).map(({ id }) => id);
  return {
    written,
    ended,
    idOf: (proposal) => ids.get(proposal) ?? '',
    isUnchanged: (proposal) => unchanged.has(proposal),
  };
}

function keyOf({ rule, summary, traits, target }: Proposal): string {
  return keyOfDecision({ rule: rule.id, subject: summary, action: traits.name, target });
}

function isSame(before: StoredDecision, proposal: Proposal): boolean {
  const answer = proposal.answer as Answer;
  return (
    before.decision === answer.decision &&
    before.reason === answer.reason &&
    // A dry run between live ones changes nothing about what is held or skipped.
    (before.mode === proposal.mode || answer.decision !== 'act') &&
    before.ruleHash === proposal.rule.hash &&
    before.episodeId === proposal.episode?.id &&
    changesSame(before, proposal)
  );
}

/** A person approves what they read, so it must be current: a document may have been edited, an owner or a ban added. */
function changesSame({ effect }: StoredDecision, proposal: Proposal): boolean {
  if (proposal.traits.changes === undefined && !proposal.traits.removesTarget) return true;
  const now = effectOf(proposal);
  if (proposal.traits.removesTarget && now.text !== effect.text) return false;
  return contentOf(now) === contentOf(effect);
}

function contentOf({ changes, deletion, ends }: Effect): string {
  return canonicalJson([changes ?? null, deletion ?? null, ends ?? null]);
}

/** A live act whose intent no longer exists (withdrawn, or lost in a crash) is a new decision. */
function needsNewIntent(proposal: Proposal): boolean {
  return proposal.answer?.decision === 'act' && isLive(proposal.mode) && proposal.intent === undefined;
}

/**
 * The flip of an earlier decision about the same verdict of the same rule: judging looks for no other one. Indexed when first asked
 * for: most runs write nothing.
 */
function formerFlips(inForce: readonly StoredDecision[]): (proposal: Proposal) => Flip | undefined {
  const key = (...about: string[]) => about.join('\u0000');
  let known: Map<string, Flip> | undefined;
  return ({ rule, summary, undo }) => {
    known ??= new Map(
      inForce.flatMap(({ rule, ruleHash, subject, verdict, flip }) =>
        flip ? [[key(rule, ruleHash, subject.kind, subject.id, verdict), flip] as const] : [],
      ),
    );
    return known.get(key(rule.id, rule.hash, summary.kind, summary.id, undo ? 'no_match' : 'match'));
  };
}

function isBeyondExamples(proposal: Proposal, counts: Map<string, number>): boolean {
  if (proposal.answer?.reason !== 'untrusted_source') return false;
  const count = (counts.get(proposal.rule.id) ?? 0) + 1;
  counts.set(proposal.rule.id, count);
  return count > UNTRUSTED_MAX;
}

function decisionOf(proposal: Proposal, flip: Flip | undefined, input: DecideInput): Decision {
  const answer = proposal.answer as Answer;
  return {
    id: input.ids.next(),
    rule: proposal.rule.id,
    ruleHash: proposal.rule.hash,
    subject: { kind: proposal.summary.kind, id: proposal.summary.id },
    subjectName: proposal.summary.name,
    verdict: proposal.undo ? 'no_match' : 'match',
    since: proposal.episode?.since ?? input.nowMs,
    decision: answer.decision,
    reason: answer.reason,
    reasonText: answer.reasonText,
    action: proposal.traits.name,
    target: proposal.target,
    mode: proposal.mode,
    cappedBy: proposal.cappedBy,
    facts: proposal.facts,
    flip,
    effect: effectOf(proposal),
    episodeId: proposal.episode?.id,
    intentId: proposal.intent?.id,
    outcome: undefined,
    outcomeText: undefined,
  };
}
