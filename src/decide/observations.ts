// decide: what a run's look at the targets tells. A target that is so is adopted or remembered; one that was so and is not
// any more was reversed by a person, whose word then holds for every episode that wishes the same.
// In: wishes of trusted matches, claims. Out: claims and episodes changed, with notes for the audit.
import type { ActionName, ActionTraits } from '../domain/action.ts';
import { type Episode, seenKey } from '../domain/episode.ts';
import { isOnTrial } from '../domain/mode.ts';
import type { Claims } from './claims.ts';
import { amendEpisode, type FollowedEpisodes } from './episodes.ts';
import type { DecideInput } from './input.ts';
import { aimOf, isAlreadySo, isOwnStateSo, isProposedByNow, type Proposal } from './proposal.ts';
import type { KnownIntents } from './proposals.ts';
import { foundReversed, mayBeStale } from './reversals.ts';

export class Observations {
  /** `action target` of attempts that reads may not show yet, as `seenKey`. */
  private readonly attemptedJustNow: ReadonlySet<string>;
  /** By action and target: what was found where a person reversed it, as this run saw. */
  private readonly reversed = new Map<string, string>();

  constructor(
    private readonly input: DecideInput,
    private readonly followed: FollowedEpisodes,
    private readonly claims: Claims,
  ) {
    const attempts = [...input.openState.lastAttempts];
    const justNow = attempts.filter(([, at]) => mayBeStale(at, input));
    // A rule's id holds no space; a target may hold anything, also what looks like another action on another target.
    this.attemptedJustNow = new Set(justNow.map(([key]) => key.slice(key.indexOf(' ') + 1)));
  }

  /** Looks at a trusted match whose target is so, or was so and is not any more. */
  observe(proposal: Proposal): void {
    if (!proposal.episode || !proposal.trusted || proposal.traits.fieldWritten === undefined) return;
    if (isAlreadySo(proposal)) this.observeSo(proposal);
    else if (!isOwnStateSo(proposal)) this.observeReversal(proposal);
  }

  /** As it is after what other wishes of the episode have told. */
  episodeNow({ episode }: Proposal): Episode | undefined {
    return episode && (this.followed.episodes.get(episode.id) ?? episode);
  }

  private observeSo(proposal: Proposal): void {
    const episode = this.episodeNow(proposal) as Episode;
    const claims = this.claims.openOn(aimOf(proposal)).filter((claim) => claim.action === proposal.traits.name);
    const first = claims[0];
    const isOwn = claims.some((claim) => claim.episodeId === episode.id);
    const mayClaim =
      first !== undefined && !isOnTrial(proposal.ownMode) && isProposedByNow(proposal, episode, this.input.nowMs);
    // Where no claim of its own will tell, it remembers what it saw: a later change back is a person's reversal all the same.
    if (!isOwn && !(mayClaim && this.claims.isLive)) this.remember(proposal, episode);
    if (!mayClaim) return;
    if (!isOwn) this.claims.adopt(proposal, first);
    for (const orphan of claims.filter((claim) => claim.status === 'orphaned')) {
      this.claims.change(orphan, 'ended', `adopted by rule ${proposal.rule.id}`);
    }
  }

  private remember({ traits, target }: Proposal, episode: Episode): void {
    const key = seenKey(traits.name, target);
    // Right after an undoing of ours a stale read still shows what was undone: nobody else made it so.
    if (episode.seenSo.includes(key) || this.wasAttemptedJustNow(traits.inverse, target)) return;
    amendEpisode(this.followed, { ...episode, seenSo: [...episode.seenSo, key] });
  }

  private wasAttemptedJustNow(action: ActionName | undefined, target: string): boolean {
    return action !== undefined && this.attemptedJustNow.has(seenKey(action, target));
  }

  /** INVARIANT: a state that changes right after an attempt may be a stale read; after the quiet period it is somebody's doing. */
  private observeReversal(proposal: Proposal): void {
    const { intent } = proposal;
    const episode = this.episodeNow(proposal);
    if (!episode || proposal.doubt !== undefined) return;
    // A field that is missing says nothing of what anybody did.
    if (proposal.summary.state[proposal.traits.fieldWritten as string] === undefined) return;
    const own = this.claims
      .openOn(aimOf(proposal))
      .filter((claim) => claim.episodeId === episode.id && claim.action === proposal.traits.name);
    const isTold = episode.overriddenAt !== undefined;
    const wasSo = own.length > 0 || episode.seenSo.includes(seenKey(proposal.traits.name, proposal.target));
    // Also after an attempt for another rule's episode: then it is done, or reversed, and in either case not to be done again.
    if (mayBeStale(intent?.settledAt, this.input) || this.wasAttemptedJustNow(proposal.traits.name, proposal.target)) {
      proposal.isUnsettled = wasSo && !isTold;
      return;
    }
    if (wasSo && !isTold) {
      const found = proposal.summary.state[proposal.traits.fieldWritten as string];
      this.override(episode, proposal.traits, proposal.target, found);
    }
    // Also those of earlier episodes that only wait for their undoing: there is nothing of ours left to undo.
    const waiting = this.claims
      .openOn(aimOf(proposal))
      .filter(
        ({ action, episodeId, openedAt }) =>
          action === proposal.traits.name &&
          this.followed.episodes.get(episodeId)?.state === 'closed' &&
          !mayBeStale(openedAt, this.input),
      );
    for (const claim of [...own, ...waiting]) this.claims.change(claim, 'overridden', 'a person reversed it');
  }

  /** Also where nothing matches now: a person who lifts our ban and bans later on has done so, whatever the rule says then. */
  observeReversals(known: KnownIntents): void {
    for (const claim of this.claims.open()) {
      const found = foundReversed(claim, this.input, this.followed, known);
      const episode = this.followed.episodes.get(claim.episodeId);
      const traits = this.input.traits.get(claim.action);
      if (found === undefined || !episode || !traits) continue;
      if (episode.overriddenAt === undefined) this.override(episode, traits, claim.target, found);
      this.claims.change(claim, 'overridden', 'a person reversed it');
    }
  }

  /** A person's word on a target holds for every episode that wishes the same, waiting ones too; what begins only now is new trouble. */
  heedReversals(proposals: readonly Proposal[]): void {
    for (const proposal of proposals) {
      const episode = this.episodeNow(proposal);
      const found = this.reversed.get(seenKey(proposal.traits.name, proposal.target));
      if (found === undefined || !proposal.trusted || !episode || episode.overriddenAt !== undefined) continue;
      if (!isOwnStateSo(proposal) && episode.since < this.input.nowMs)
        this.override(episode, proposal.traits, proposal.target, found);
    }
  }

  private override(episode: Episode, traits: ActionTraits, target: string, found: string | undefined): void {
    if (found !== undefined) this.reversed.set(seenKey(traits.name, target), found);
    amendEpisode(this.followed, { ...episode, overriddenAt: this.input.nowMs });
    const drift = { field: traits.fieldWritten ?? '', expected: traits.valueWritten ?? null, found: found ?? null };
    const { id, rule, subject } = episode;
    const body = { episode: id, rule, subject: subject.id, action: traits.name, target, drift };
    this.claims.notes.push({ kind: 'episode.overridden', body });
  }
}
