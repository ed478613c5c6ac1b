// decide: reversals. Whether the target of a claim, as a trusted snapshot shows it, is no longer in the claimed state.
// In: a claim and what was pulled. Out: the value found, or undefined when nothing shows that a person changed it. Pure.
import type { ActionTraits } from '../domain/action.ts';
import { MEMBERSHIP, membershipOf } from '../domain/bundles.ts';
import type { Claim } from '../domain/claim.ts';
import { elapsedMs } from '../domain/steady-time.ts';
import { SOURCE_OF } from '../domain/subjects.ts';
import { type FollowedEpisodes, subjectKey } from './episodes.ts';
import type { DecideInput } from './input.ts';
import type { KnownIntents } from './proposals.ts';

/**
 * INVARIANT: a state that changes right after an attempt, or while an attempt of ours is in doubt, may be a stale read or
 * our own change. A missing field does not show what anybody did.
 */
export function foundReversed(
  claim: Claim,
  input: DecideInput,
  followed: FollowedEpisodes,
  known: KnownIntents,
): string | undefined {
  const traits = input.traits.get(claim.action);
  const kind = followed.episodes.get(claim.episodeId)?.subject.kind;
  if (!traits?.fieldWritten || !kind || known.doubtOn(claim)) return undefined;
  const reading = input.sources[SOURCE_OF[kind]];
  if (reading.state !== 'read' || !reading.trusted) return undefined;
  const undo = traits.inverse && known.of(traits.inverse, claim.target, claim.episodeId);
  if (undo && (undo.outcome !== 'failed' || mayBeStale(undo.settledAt, input))) return undefined;
  const settledAt = known.byId(claim.intentId)?.settledAt;
  if (mayBeStale(settledAt, input)) return undefined;
  const found =
    kind === 'device'
      ? deviceStateOf(claim, input, traits.fieldWritten)
      : stateOf(claim, input, followed, traits.fieldWritten);
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

/** The whole fleet is known, so a claim whose rule is missing is checked as well. */
function deviceStateOf(claim: Claim, input: DecideInput, field: string): string | undefined {
  return input.fleet.devicesOf(claim.target).find((device) => device.id === claim.subjectId)?.state[field];
}

/** The list of bundles is whole, so a claim whose rule is missing is checked there as well. */
function stateOf(
  claim: Claim,
  { bundles }: DecideInput,
  followed: FollowedEpisodes,
  field: string,
): string | undefined {
  if (field === MEMBERSHIP) return membershipOf(bundles, claim.target);
  return followed.others.get(subjectKey(claim.rule, claim.subjectId))?.summary.state[field];
}

/** Whether what this run read may be older than what was recorded at that time. */
export function mayBeStale(atMs: number | undefined, { steady, quietMs }: DecideInput): boolean {
  return atMs !== undefined && elapsedMs(steady, atMs) < quietMs;
}
