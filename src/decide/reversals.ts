// decide: reversals. Whether a target, as a trusted snapshot shows it, is no longer in the state that a claim or an episode knows of it, and which
// episodes that concerns. In: claims, episodes and what was pulled. Out: the value found, or undefined when nothing shows that a person changed it. Pure.
import type { ActionTraits } from '../domain/action.ts';
import { MEMBERSHIP, membershipOf } from '../domain/bundles.ts';
import type { Claim } from '../domain/claim.ts';
import { type Episode, seenKey } from '../domain/episode.ts';
import { contradicts } from '../domain/intent.ts';
import { elapsedMs } from '../domain/steady-time.ts';
import { SOURCE_OF, type SubjectRef } from '../domain/subjects.ts';
import { type StateRead, summaryOf } from '../domain/target.ts';
import type { AwayAndBack } from './away-and-back.ts';
import type { FollowedEpisodes } from './episodes.ts';
import type { DecideInput } from './input.ts';
import { aimOf, type Proposal } from './proposal.ts';
import { add, type KnownIntents } from './proposals.ts';

/**
 * INVARIANT: a state that changes right after an attempt, or while an attempt of ours is in doubt, may be a stale read or
 * our own change. A missing field does not show what anybody did.
 */
export function foundReversed(
  claim: Claim,
  input: DecideInput,
  followed: FollowedEpisodes,
  known: KnownIntents,
  shown: Shown,
): string | undefined {
  const traits = input.traits.get(claim.action);
  const kind = followed.episodes.get(claim.episodeId)?.subject.kind;
  if (!traits?.fieldWritten || !kind || known.doubtOn(claim) || !isAgreed(input, traits, claim.target))
    return undefined;
  const undo = traits.inverse && known.of(traits.inverse, claim.target, claim.episodeId);
  if (undo && (undo.outcome !== 'failed' || mayBeStale(undo.settledAt, input))) return undefined;
  const settledAt = known.byId(claim.intentId)?.settledAt;
  if (mayBeStale(settledAt, input)) return undefined;
  const found = shown.stateOf({ kind, id: claim.subjectId }, traits, claim.target);
  if (found === traits.valueWritten) return undefined;
  return undo && !isWhollyReversed(claim, input, traits) ? undefined : found;
}

/** An undo that failed may have been done in part: until nothing is left to undo, that is not somebody's reversal. */
function isWhollyReversed(
  { target }: Claim,
  input: DecideInput,
  { fieldWritten, valueWritten }: ActionTraits,
): boolean {
  return input.fleet.devicesOf(target).every(({ state }) => state[fieldWritten as string] !== valueWritten);
}

/**
 * What the trusted lists of this run show of a subject, whichever rule asks. The whole fleet and the list of bundles are known; of a
 * service, what some verdict of this run is about.
 */
export class Shown {
  private services: Map<string, StateRead> | undefined;

  constructor(private readonly input: Pick<DecideInput, 'sources' | 'fleet' | 'bundles' | 'judgements'>) {}

  stateOf({ kind, id }: SubjectRef, { fieldWritten }: ActionTraits, target: string): string | undefined {
    const { sources, fleet, bundles } = this.input;
    const reading = sources[SOURCE_OF[kind]];
    if (reading.state !== 'read' || !reading.trusted || fieldWritten === undefined) return undefined;
    if (fieldWritten === MEMBERSHIP) return membershipOf(bundles, target);
    if (kind === 'device') return fleet.devicesOf(target).find((device) => device.id === id)?.state[fieldWritten];
    return this.serviceStates().get(id)?.[fieldWritten];
  }

  private serviceStates(): ReadonlyMap<string, StateRead> {
    const services = this.input.judgements.filter(({ kind }) => kind === 'service');
    this.services ??= new Map(
      services.flatMap(({ matches, open }) => [...matches, ...open].map(({ summary }) => [summary.id, summary.state])),
    );
    return this.services;
  }
}

/** A reversal that this run saw: of which action, on which target, seen of which subject. */
export interface Reversal {
  traits: ActionTraits;
  target: string;
  subject: SubjectRef;
  found: string;
  /** No reading shows it: the target is as we left it, and the event log names who took it back and did it again. */
  named?: AwayAndBack;
}

/**
 * The episodes that a reversal concerns: all that propose what was reversed for this target, whether this run judges their rules or not, whether they
 * are due, and whatever their verdict is now; and those whose rule is missing, of which nobody knows what it proposes when it is back. An episode
 * that begins now is a new match.
 */
export function* episodesReversed(
  reversals: readonly Reversal[],
  input: DecideInput,
  followed: FollowedEpisodes,
  shown: Shown,
): Generator<[Episode, Reversal, isProposed: boolean], void> {
  if (reversals.length === 0) return;
  const bySubject = new Map<string, Reversal[]>();
  for (const reversal of reversals) {
    const { subject, target } = reversal;
    const ids = subject.kind === 'device' ? input.fleet.devicesOf(target).map(({ id }) => id) : [];
    for (const id of new Set([subject.id, ...ids])) add(bySubject, `${subject.kind} ${id}`, reversal);
  }
  const byEpisode = decidedBefore(reversals, input);
  // By their times, a match of before a clock was set back would be new.
  const before = new Set(input.openState.episodes.map(({ id }) => id));
  for (const episode of followed.episodes.values()) {
    const { id, subject, state, overriddenAt } = episode;
    if (state === 'closed' || overriddenAt !== undefined || !before.has(id)) continue;
    const own = bySubject.get(`${subject.kind} ${subject.id}`) ?? [];
    const proposed = [...own.filter((one) => isProposedBy(episode, one, input)), ...(byEpisode.get(id) ?? [])];
    const reversal = proposed.find((one) => isConcerned(episode, one, shown));
    if (reversal) yield [episode, reversal, true];
    else if (!input.activeRules.has(episode.rule))
      for (const one of own) if (isConcerned(episode, one, shown)) yield [episode, one, false];
  }
}

/**
 * A subject that is in the state is not concerned by a reversal that was read. INVARIANT: by one that the log alone names, only a subject that is in
 * the state is, for a match from before it: an event keeps nobody from being acted on who is not.
 */
function isConcerned({ subject, since }: Episode, { traits, target, named }: Reversal, shown: Shown): boolean {
  const isSo = shown.stateOf(subject, traits, target) === traits.valueWritten;
  return named ? isSo && since < named.away.atMs : !isSo;
}

/** Whether the rule of an episode, as it is now, does this on this target. */
export function isProposedBy(
  { rule: id, subject }: Episode,
  { traits, target }: Pick<Reversal, 'traits' | 'target'>,
  input: DecideInput,
): boolean {
  const rule = input.activeRules.get(id);
  const serial = subject.kind === 'device' ? target : '';
  const summary = { ...summaryOf(subject.kind, {}), id: subject.id, serial };
  return (rule?.then ?? []).some(
    ({ action, with: settings }) => action === traits.name && traits.target.of(summary, settings).includes(target),
  );
}

/** By episode: what decisions in force propose of it. Its subject may be in no list now. */
function decidedBefore(reversals: readonly Reversal[], { openState }: DecideInput): Map<string, Reversal[]> {
  const byKey = new Map(reversals.map((reversal) => [seenKey(reversal.traits.name, reversal.target), reversal]));
  const found = new Map<string, Reversal[]>();
  for (const { action, target, episodeId } of openState.decisions) {
    const reversal = byKey.get(seenKey(action, target));
    if (reversal && episodeId !== undefined) add(found, episodeId, reversal);
  }
  return found;
}

/** Whether something of ours that is done on the proposal's target contradicts what was read, within the quiet period after it. */
export function isContradictedJustNow(
  proposal: Proposal,
  input: DecideInput,
  known: KnownIntents,
  shown: Shown,
): boolean {
  const { traits, target, summary } = proposal;
  const last = known.lastDoneOn(aimOf(proposal), traits);
  if (!last || !mayBeStale(last.intent.settledAt, input)) return false;
  const stateOf = (id: string) => shown.stateOf({ kind: summary.kind, id }, last.traits, target);
  return contradicts(last.intent, last.traits, stateOf);
}

/** Whether a list may be believed that shows it reversed. Where no list was read, and in a record of an earlier version, it counts as it is. */
export function isAgreed(
  { ownReads }: Pick<DecideInput, 'ownReads'>,
  { name, fieldWritten }: ActionTraits,
  target: string,
): boolean {
  return ownReads === undefined || fieldWritten === MEMBERSHIP || ownReads.get(seenKey(name, target)) === 'as_listed';
}

/** Whether what this run read may be older than what was recorded at that time. */
export function mayBeStale(
  atMs: number | undefined,
  { steady, quietMs }: Pick<DecideInput, 'steady' | 'quietMs'>,
): boolean {
  return atMs !== undefined && elapsedMs(steady, atMs) < quietMs;
}
