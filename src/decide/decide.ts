// decide: verdicts + open state → episodes, claims, decisions, and what is to be done. Pure.
// The order of the questions is the design's (section 4); the first that applies is the decision's recorded reason.
import type { AuditNote } from '../domain/audit-entry.ts';
import type { Decision } from '../domain/decision.ts';
import { isFacts } from '../domain/facts.ts';
import { drained, eachInSteps } from '../domain/give-way.ts';
import type { IntentDraft } from '../domain/intent.ts';
import { intentKey } from '../domain/intent-key.ts';
import { isLive, isOnTrial, leastMode, MODES } from '../domain/mode.ts';
import type { PlannedIntent } from '../domain/plan.ts';
import { answer, reportTrials } from './answer.ts';
import { Claims } from './claims.ts';
import { describeDeletions, describeEnds } from './deletions.ts';
import { followEpisodes } from './episodes.ts';
import { Exemptions, memberOfAction, partiesOfSubject } from './exemptions.ts';
import { inOrderOfIds } from './in-order.ts';
import type { Decided, DecideInput, DraftToAct } from './input.ts';
import { Observations } from './observations.ts';
import { effectOf, isPlannable, type Proposal, proposalKey, serialHit } from './proposal.ts';
import { KnownIntents, proposalsOf } from './proposals.ts';
import { reconcileDecisions } from './reconcile-decisions.ts';
import { UndoProposals } from './undo-proposals.ts';

export function decide(input: DecideInput): Decided {
  return drained(deciding(input));
}

/** The same in steps of a few milliseconds: a run over a large fleet decides about thousands of targets. */
export function* deciding(given: DecideInput): Generator<void, Decided> {
  const input = inOrderOfIds(given);
  const followed = yield* followEpisodes(input);
  const claims = new Claims(input, followed);
  const known = new KnownIntents(input.openState.intents, input.traits);
  // What ends something needs the whole picture.
  const mayEnd = input.part === undefined;
  if (mayEnd) claims.orphan();

  const proposals = yield* proposalsOf(input, followed.matches, known);
  yield* markExempt(proposals, input);
  const observations = new Observations(input, followed, claims, known);
  yield* eachInSteps(proposals, (proposal) => observations.observe(proposal));
  observations.observeReversals();
  yield;
  observations.heedReversals();
  // What a person did to one target of an episode holds for all its proposals.
  for (const proposal of proposals) proposal.episode = observations.episodeNow(proposal);
  yield;
  const undos = mayEnd ? new UndoProposals(input, followed, claims, known).all() : [];
  for (const undo of undos) proposals.push(undo);
  yield;
  const limits = yield* answer(proposals, claims, input);
  describeDeletions(proposals, input.fleet);
  describeEnds(proposals, claims);
  reportTrials(proposals);
  yield;

  const reconciled = yield* reconcileDecisions(proposals, input);
  const acts = yield* draftsToAct(proposals, reconciled.idOf, reconciled.isUnchanged);
  const planned = yield* plannedIntents(proposals, reconciled.idOf, input);
  return {
    episodes: [...followed.changed.values()],
    claims: claims.changed,
    decisions: reconciled.written,
    ended: reconciled.ended,
    acts,
    planned,
    exemptionsUsed: [...new Set(proposals.flatMap((proposal) => proposal.exemption?.id ?? []))],
    limits,
    notes: [...followed.notes, ...claims.notes, ...reconciled.written.flatMap(notesOfDecision)],
  };
}

function* markExempt(proposals: readonly Proposal[], input: DecideInput): Generator<void, void> {
  const exemptions = new Exemptions(input.openState.exemptions ?? [], input.nowMs);
  if (exemptions.isEmpty) return;
  const owners = input.exemptOwners ?? new Map();
  yield* eachInSteps(proposals, (proposal) => {
    const serial = serialHit(proposal);
    const parties = partiesOfSubject(proposal.summary, serial, input.fleet, owners);
    Object.assign(proposal, exemptions.protecting(parties, [memberOfAction(proposal.summary, serial)]));
  });
}

function* draftsToAct(
  proposals: readonly Proposal[],
  idOf: (proposal: Proposal) => string,
  isUnchanged: (proposal: Proposal) => boolean,
): Generator<void, DraftToAct[]> {
  const acting = proposals.filter((proposal) => proposal.answer?.decision === 'act');
  // A rule in dry-run never shares an intent with one that enforces: it would gain a claim on what the other did. They are separated
  // by the rules' own modes, so that a dry run has the intents of a live one.
  const drafts: DraftToAct[] = [];
  const groups = MODES.flatMap((ownMode) => merged(acting.filter((proposal) => proposal.ownMode === ownMode)));
  yield* eachInSteps(groups, (group) => {
    drafts.push({
      draft: draftOf(group, idOf),
      mode: (group[0] as Proposal).mode,
      // Only a live act continues a failed intent. A dry one shows what would be done, and has an intent of its own.
      retryOf: group.find((proposal) => isLive(proposal.mode) && proposal.intent !== undefined)?.intent?.id,
      isUnchanged: group.every(isUnchanged),
    });
  });
  return drafts;
}

/** In a dry run: all that a person or a live run would do, by rules of mode `approve` and `enforce`. Otherwise: what waits for approval. */
function* plannedIntents(
  proposals: readonly Proposal[],
  idOf: (proposal: Proposal) => string,
  input: DecideInput,
): Generator<void, PlannedIntent[]> {
  const live = isLive(leastMode(input.runMode, input.daemonMode));
  const sealed = proposals.filter(({ answer, ownMode }) => {
    if (!answer || isOnTrial(ownMode)) return false;
    return isPlannable(answer) && (answer.decision === 'hold' || !live);
  });
  // A proposal that may act does not wait because another rule's equal proposal waits: a live run has two intents too.
  const [held, acting] = [sealed.filter(isHeld), sealed.filter((proposal) => !isHeld(proposal))];
  const planned: PlannedIntent[] = [];
  yield* eachInSteps([...merged(held), ...merged(acting)], (group) => {
    const draft = draftOf(group, idOf);
    const first = group[0] as Proposal;
    const { reason = '', reasonText = '' } = first.answer ?? {};
    planned.push({ ...draft, key: intentKey(draft), held: isHeld(first), reason, reasonText });
  });
  return planned;
}

function isHeld({ answer }: Proposal): boolean {
  return answer?.decision === 'hold';
}

/**
 * Equal proposals (one action, one target) of several rules or subjects are one intent.
 * INVARIANT: undos are grouped apart: they are based on a match that has ended.
 */
function merged(proposals: readonly Proposal[]): Proposal[][] {
  const groups = new Map<string, Proposal[]>();
  for (const proposal of proposals) {
    if (proposal.episode === undefined) continue;
    const key = `${proposal.undo}\u0000${proposalKey(proposal)}`;
    const group = groups.get(key);
    if (group) group.push(proposal);
    else groups.set(key, [proposal]);
  }
  return [...groups.values()];
}

function draftOf(group: readonly Proposal[], idOf: (proposal: Proposal) => string): IntentDraft {
  const first = group[0] as Proposal;
  return {
    action: first.traits.name,
    target: first.target,
    settings: first.settings,
    undo: first.undo,
    basis: group.map((proposal) => ({
      rule: proposal.rule.id,
      ruleHash: proposal.rule.hash,
      subjectId: proposal.summary.id,
      episodeId: proposal.episode?.id ?? '',
      decisionId: idOf(proposal),
      facts: proposal.facts,
    })),
    effect: effectOf(first),
  };
}

/** What goes back and forth by our own acts needs a person: the alert is about this entry. */
function notesOfDecision(decision: Decision): AuditNote[] {
  const made = decisionNote(decision);
  const { rule, action, target, mode, reason, reasonText } = decision;
  if (reason !== 'matches_again' || !isLive(mode)) return [made];
  return [made, { kind: 'decision.flapped', body: { rule, action, target, reasonText } }];
}

function decisionNote(decision: Decision): AuditNote {
  const {
    id,
    rule,
    ruleHash,
    subject,
    decision: name,
    reason,
    reasonText,
    action,
    target,
    mode,
    facts,
    episodeId,
  } = decision;
  return {
    kind: 'decision.made',
    body: {
      decision: id,
      rule,
      ruleHash,
      subject: { kind: subject.kind, id: subject.id },
      answer: name,
      reason,
      reasonText,
      action,
      target,
      mode,
      facts: isFacts(facts) ? facts : {},
      episode: episodeId,
    },
  };
}
