// decide: verdicts + open state → episodes, claims, decisions, and what is to be done. Pure.
// The questions are asked in the order of checks/stages.ts; the first that applies is the decision's recorded reason.

import { canonicalJson } from '../../base/json.ts';
import { drained, eachInSteps } from '../../base/turns.ts';
import { deletionOf, deletionTarget, type Effect, type OwnersView } from '../../domain/action.ts';
import type { Answer } from '../../domain/check.ts';
import { type Decision, keyOfDecision, type StoredDecision } from '../../domain/decision.ts';
import { intentKey } from '../../domain/digest.ts';
import { guardsOf } from '../../domain/guards.ts';
import type { IntentDraft } from '../../domain/intent.ts';
import { nameOfUnwarned } from '../../domain/notice.ts';
import type { PlannedIntent } from '../../domain/plan.ts';
import { stepOfText } from '../../domain/rollout.ts';
import { isLive, isOnTrial, leastMode, MODES } from '../../domain/rule.ts';
import type { OpenState } from '../../domain/store.ts';
import { type Fleet, type FleetDevice, hasNoKnownDevice } from '../../domain/subjects.ts';
import type { Flip, Judgement } from '../../domain/verdict.ts';
import { answer, reportTrials } from './answer.ts';
import { type FollowedEpisodes, followEpisodes } from './episodes.ts';
import { Exemptions, memberOfAction, partiesOfSubject } from './exemptions.ts';
import { areOwnersHidden } from './guards.ts';
import type { Decided, DecideInput, DraftToAct } from './input.ts';
import { noticesAfter } from './notices.ts';
import { Claims, Observations, UndoProposals } from './observations.ts';
import {
  aimOf,
  effectOf,
  isPlannable,
  KnownIntents,
  type Proposal,
  proposalKey,
  proposalsOf,
  serialHit,
  weighs,
} from './proposal.ts';
import { Rollouts } from './rollouts.ts';

// Decide, after the answers: what each deletion takes, for the person who approves it.

type Serials = ReadonlyMap<string, ReadonlySet<string>>;

function describeDeletions(proposals: readonly Proposal[], fleet: Fleet): void {
  const deleting = proposals.filter(
    ({ traits, summary }) => traits.deletesDevices && !(summary.kind === 'user' && hasNoKnownDevice(summary)),
  );
  if (deleting.length === 0) return;
  const known = fleet.serialsOf(ownersOf(deleting, fleet));
  const planned = deleting.filter(({ answer }) => answer !== undefined && isPlannable(answer));
  const taken = new Map<Proposal['ownMode'], Taken>();
  for (const proposal of deleting) {
    const together = taken.get(proposal.ownMode) ?? new Taken(planned.filter((other) => weighs(other, proposal)));
    taken.set(proposal.ownMode, together);
    proposal.deletion = describeDeletion(proposal, fleet, known, together);
  }
}

/** Claims on the target end with it: a deleted device is no longer banned, and may be registered again. */
function describeEnds(proposals: readonly Proposal[], claims: Claims): void {
  for (const proposal of proposals.filter(({ traits }) => traits.removesTarget)) {
    const open = claims.openOn(aimOf(proposal));
    proposal.ends = [...new Set(open.map(({ action, rule }) => `${action} of rule ${rule}`))].sort();
  }
}

function describeDeletion(
  proposal: Proposal,
  fleet: Fleet,
  known: Serials | undefined,
  taken: Taken,
): Proposal['deletion'] {
  const { serial, email } = deletionTarget(proposal.target, proposal.settings);
  const devices = fleet.devicesOf(serial);
  const ofUser = email === undefined ? undefined : new Set(proposal.summary.serials);
  const view: OwnersView = {
    keepsAnother: (owner) => {
      const serials = ofUser ?? (known && (known.get(owner) ?? new Set<string>()));
      return serials && [...serials].some((other) => other !== serial && !taken.has(other, owner));
    },
    losesThisToo: (owner) => taken.has(serial, owner),
  };
  // An untrusted list of devices does not show who else has this one.
  const shown = known || email === undefined ? devices : [];
  return { devices: shown, deletion: deletionOf(email, shown, view) };
}

/** What the deletions of one plan take together. */
class Taken {
  private readonly whole = new Set<string>();
  private readonly mappings = new Map<string, Set<string>>();

  constructor(planned: readonly Proposal[]) {
    for (const { target, settings } of planned) {
      const { serial, email } = deletionTarget(target, settings);
      if (email === undefined) this.whole.add(serial);
      else this.mappings.set(serial, (this.mappings.get(serial) ?? new Set()).add(email.toLowerCase()));
    }
  }

  has(serial: string, owner: string): boolean {
    return this.whole.has(serial) || this.mappings.get(serial)?.has(owner) === true;
  }
}

/** The user of a user rule is known by their own record. */
function ownersOf(proposals: readonly Proposal[], fleet: Fleet): Set<string> {
  const devices = proposals.flatMap(({ summary }): FleetDevice[] =>
    summary.kind === 'device' ? fleet.devicesOf(summary.serial) : [],
  );
  return new Set(devices.flatMap(({ owners }) => owners ?? []).map((owner) => owner.toLowerCase()));
}

// Puts what a run saw into one order, so that the API's order of a list decides nothing: a ceiling takes the first of
// the matches, an effect names the first of the devices.

function inOrderOfIds(input: DecideInput): DecideInput {
  return {
    ...input,
    judgements: input.judgements.map(inOrder),
    fleet: orderedFleet(input.fleet),
    openState: orderedState(input.openState),
  };
}

/** Verdicts on one subject stay in the order of its rules. */
function inOrder(judgement: Judgement): Judgement {
  return {
    ...judgement,
    matches: sorted(judgement.matches, ({ summary }) => summary.id),
    open: sorted(judgement.open, ({ summary }) => summary.id),
  };
}

function orderedFleet(fleet: Fleet): Fleet {
  return {
    devicesOf: (serial) => sorted(fleet.devicesOf(serial), ({ id }) => id),
    serialsOf: (owners) => fleet.serialsOf(owners),
    hidesOwners: fleet.hidesOwners ?? false,
  };
}

/** Rows come in whatever order the store has them; intents are given in the order in which they were made. */
function orderedState(state: OpenState): OpenState {
  return {
    ...state,
    episodes: sorted(state.episodes, ({ id }) => id),
    claims: sorted(state.claims, ({ id }) => id),
    decisions: sorted(state.decisions, ({ id }) => id),
    intents: state.intents.toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)),
  };
}

/** Most lists are in order already. */
function sorted<T>(all: T[], idOf: (one: T) => string): T[] {
  for (let at = 1; at < all.length; at += 1)
    if (idOf(all[at - 1] as T) > idOf(all[at] as T)) return all.toSorted((a, b) => compare(idOf(a), idOf(b)));
  return all;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

// Decide, last step: answered proposals → decisions.

/** The number of decisions written for a rule whose source is untrusted; the tallies count all of its matches. */
const UNTRUSTED_MAX = 100;

interface ReconciledDecisions {
  written: Decision[];
  ended: string[];
  idOf(proposal: Proposal): string;
  isUnchanged(proposal: Proposal): boolean;
}

function* reconcileDecisions(
  proposals: readonly Proposal[],
  input: DecideInput,
  { changed }: Pick<FollowedEpisodes, 'changed'>,
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
  const isCheck = input.part?.isCheck === true;
  const isOver = ({ id, rule, episodeId }: StoredDecision) =>
    input.part === undefined
      ? !kept.has(id) && (judged.has(rule) || !input.activeRules.has(rule))
      : !kept.has(id) && (replaced.has(id) || (isCheck && changed.get(episodeId ?? '')?.state === 'closed'));
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
    (answer.reason !== 'rollout' || stepOfText(before.reasonText) === stepOfText(answer.reasonText)) &&
    // A dry run between live ones changes nothing about what is held or skipped.
    (before.mode === proposal.mode || answer.decision !== 'act') &&
    before.ruleHash === proposal.rule.hash &&
    before.episodeId === proposal.episode?.id &&
    // When it is due becomes known when the notice is delivered.
    (answer.reason === 'notice' || answer.reason === 'notice_undelivered'
      ? before.reasonText === answer.reasonText
      : true) &&
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

export function decide(input: DecideInput): Decided {
  return drained(deciding(input));
}

/** The same in steps of a few milliseconds: a run over a large fleet decides about thousands of targets. */
export function* deciding(given: DecideInput): Generator<void, Decided> {
  const input = inOrderOfIds(given);
  const followed = yield* followEpisodes(input);
  const claims = new Claims(input, followed);
  const known = new KnownIntents(input.openState.intents, input.traits);
  // What ends something needs the whole picture, or the subject's own record, read for this alone.
  const isCheck = input.part?.isCheck === true;
  const mayEnd = input.part === undefined || isCheck;
  if (input.part === undefined) claims.orphan();

  const rollouts = new Rollouts(input);
  const proposals = yield* proposalsOf(input, followed.matches, known, (rule, id) => rollouts.facts(rule, id));
  yield* markExempt(proposals, input);
  const observations = new Observations(input, followed, claims, known);
  // In a check they are only what an undo conflicts with: it begins nothing.
  if (!isCheck) yield* eachInSteps(proposals, (proposal) => observations.observe(proposal));
  observations.observeReversals();
  yield;
  observations.heedReversals();
  // What a person did to one target of an episode holds for all its proposals.
  for (const proposal of proposals) proposal.episode = observations.episodeNow(proposal);
  rollouts.brake(followed, proposals);
  yield;
  const undos = mayEnd ? new UndoProposals(input, followed, claims, known).all() : [];
  for (const undo of undos) proposals.push(undo);
  yield;
  const limits = yield* answer(proposals, claims, input);
  if (isCheck) proposals.splice(0, proposals.length, ...undos);
  describeDeletions(proposals, input.fleet);
  describeEnds(proposals, claims);
  reportTrials(proposals);
  yield;

  const before = new Set(input.openState.episodes.map(({ id }) => id));
  const reconciled = yield* reconcileDecisions(proposals, input, followed);
  const notices = noticesAfter(proposals, followed, input);
  const acts = yield* draftsToAct(proposals, reconciled.idOf, reconciled.isUnchanged);
  const planned = yield* plannedIntents(proposals, reconciled.idOf, input);
  return {
    // A new match begins with the next run.
    episodes: [...followed.changed.values()].filter(({ id }) => !isCheck || before.has(id)),
    claims: claims.changed,
    decisions: reconciled.written,
    ended: reconciled.ended,
    acts,
    planned,
    exemptionsUsed: [...new Set(proposals.flatMap((proposal) => proposal.exemption?.id ?? []))],
    limits,
    notices: { begin: notices.begin, ended: notices.ended },
    rollouts: rollouts.changed,
    notes: [...notices.notes, ...followed.notes, ...claims.notes, ...rollouts.notes],
  };
}

function* markExempt(proposals: readonly Proposal[], input: DecideInput): Generator<void, void> {
  const exemptions = new Exemptions(input.openState.exemptions ?? [], input.nowMs, guardsOf(input.judged));
  if (exemptions.isEmpty) return;
  const owners = input.exemptOwners ?? new Map();
  yield* eachInSteps(proposals, (proposal) => {
    const serial = serialHit(proposal);
    const parties = partiesOfSubject(proposal.summary, serial, input.fleet, owners);
    const guard = exemptions.guarding(parties) ?? (areOwnersHidden(proposal) ? exemptions.guardingUnread : undefined);
    Object.assign(proposal, exemptions.protecting(parties, [memberOfAction(proposal.summary, serial)]), { guard });
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
  // A rule that warns nobody does not wait for the people of another one.
  const [warned, others] = [held.filter(isWarned), held.filter((proposal) => !isWarned(proposal))];
  yield* eachInSteps([...merged(others), ...merged(warned), ...merged(acting)], (group) => {
    const draft = draftOf(group, idOf);
    const first = group[0] as Proposal;
    const { reason = '', reasonText = '' } = first.answer ?? {};
    planned.push({ ...draft, key: intentKey(draft), held: isHeld(first), reason, reasonText });
  });
  return planned;
}

function isWarned({ notice }: Proposal): boolean {
  return notice !== undefined && notice.waits.length + notice.unwarned.length > 0;
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
    effect: effectOfAll(group),
  };
}

/** Several rules may warn others of one action. */
function effectOfAll(group: readonly Proposal[]): Effect {
  const effect = effectOf(group[0] as Proposal);
  const unwarned = [...new Set(group.flatMap(({ notice }) => notice?.unwarned.map(nameOfUnwarned) ?? []))];
  return unwarned.length === 0 ? effect : { ...effect, unwarned };
}
