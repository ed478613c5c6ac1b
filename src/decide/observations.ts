// decide: what a run observes about targets. A target in the proposed state is adopted or remembered. A target that has left that
// state was reversed by a person; the reversal then holds for every episode that proposes the same.
// In: proposals of trusted matches, claims. Out: claims and episodes changed, with notes for the audit.
import type { ActionName, ActionTraits } from '../domain/action.ts';
import type { Claim } from '../domain/claim.ts';
import { type Episode, seenKey, seenOfKey } from '../domain/episode.ts';
import { isOnTrial } from '../domain/mode.ts';
import { type AwayAndBack, NamedActs } from './away-and-back.ts';
import type { Claims } from './claims.ts';
import { amendEpisode, type FollowedEpisodes } from './episodes.ts';
import type { DecideInput } from './input.ts';
import { attemptedJustNow } from './own-reads.ts';
import { aimOf, isAlreadySo, isOwnStateSo, isProposedByNow, type Proposal } from './proposal.ts';
import type { KnownIntents } from './proposals.ts';
import {
  episodesReversed,
  foundReversed,
  isAgreed,
  isContradictedJustNow,
  isProposedBy,
  mayBeStale,
  type Reversal,
  Shown,
} from './reversals.ts';

export class Observations {
  /** `action target` of attempts that reads may not show yet, as `seenKey`. */
  private readonly attemptedJustNow: ReadonlySet<string>;
  /** By action and target. */
  private readonly reversals = new Map<string, Reversal>();
  private readonly shown: Shown;
  private readonly named: NamedActs;

  constructor(
    private readonly input: DecideInput,
    private readonly followed: FollowedEpisodes,
    private readonly claims: Claims,
    private readonly known: KnownIntents,
  ) {
    this.shown = new Shown(input);
    this.named = new NamedActs(input.namedActs ?? [], input);
    this.attemptedJustNow = attemptedJustNow(input.openState, input);
  }

  /** Handles a trusted match whose target is in the proposed state, or was and no longer is. */
  observe(proposal: Proposal): void {
    if (!proposal.episode || !proposal.trusted || proposal.traits.fieldWritten === undefined) return;
    if (isAlreadySo(proposal)) this.observeSo(proposal);
    else {
      if (!isOwnStateSo(proposal)) this.observeReversal(proposal);
      if (this.input.ownReads?.get(seenKey(proposal.traits.name, proposal.target)) === 'unread')
        proposal.isUnread = true;
      const isTold = this.episodeNow(proposal)?.overriddenAt !== undefined;
      if (!isTold && isContradictedJustNow(proposal, this.input, this.known, this.shown)) proposal.isUnsettled = true;
    }
  }

  /** The episode's current state, after the observations of its other proposals. */
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
    // Without a claim of its own the episode remembers what it saw: a later change back is a person's reversal as well.
    if (!isOwn && !(mayClaim && this.claims.isLive)) this.remember(proposal, episode);
    if (!mayClaim) return;
    if (!isOwn) this.claims.adopt(proposal, first);
    if (this.input.part !== undefined) return;
    for (const orphan of claims.filter((claim) => claim.status === 'orphaned')) {
      this.claims.change(orphan, 'ended', `adopted by rule ${proposal.rule.id}`);
    }
  }

  private remember({ traits, target }: Proposal, episode: Episode): void {
    const key = seenKey(traits.name, target);
    // Right after our own undo a stale read still shows the state that was undone: nobody else caused it.
    if (!this.wasAttemptedJustNow(traits.inverse, target)) this.rememberSo(episode.id, key);
  }

  private rememberSo(id: string, key: string): void {
    const episode = this.followed.episodes.get(id);
    if (episode && !episode.seenSo.includes(key))
      amendEpisode(this.followed, { ...episode, seenSo: [...episode.seenSo, key] });
  }

  private wasAttemptedJustNow(action: ActionName | undefined, target: string): boolean {
    return action !== undefined && this.attemptedJustNow.has(seenKey(action, target));
  }

  /** INVARIANT: a state that changes right after an attempt may be a stale read. After the quiet period somebody changed it. */
  private observeReversal(proposal: Proposal): void {
    const { intent } = proposal;
    const episode = this.episodeNow(proposal);
    if (!episode || proposal.doubt !== undefined) return;
    // A missing field does not show what anybody did.
    if (proposal.summary.state[proposal.traits.fieldWritten as string] === undefined) return;
    const own = this.claims
      .openOn(aimOf(proposal))
      .filter((claim) => claim.episodeId === episode.id && claim.action === proposal.traits.name);
    const isTold = episode.overriddenAt !== undefined;
    const wasSo = own.length > 0 || episode.seenSo.includes(seenKey(proposal.traits.name, proposal.target));
    // An attempt for another rule's episode counts too: it was done, or done and reversed, and is not repeated in either case.
    if (mayBeStale(intent?.settledAt, this.input) || this.wasAttemptedJustNow(proposal.traits.name, proposal.target)) {
      proposal.isUnsettled = wasSo && !isTold;
      return;
    }
    if (!isAgreed(this.input, proposal.traits, proposal.target)) {
      proposal.isUnread = wasSo && !isTold;
      return;
    }
    if (wasSo && !isTold) {
      const found = proposal.summary.state[proposal.traits.fieldWritten as string] as string;
      this.reverse(episode, { traits: proposal.traits, target: proposal.target, subject: episode.subject, found });
    }
    for (const claim of own) this.claims.change(claim, 'overridden', 'a person reversed it');
  }

  /** Applies even if nothing matches now: if a person lifts our ban and later bans the device, that ban is the person's. */
  observeReversals(): void {
    const { input, followed, known, shown } = this;
    for (const claim of this.claims.open()) {
      const found = foundReversed(claim, input, followed, known, shown);
      const episode = followed.episodes.get(claim.episodeId);
      const traits = input.traits.get(claim.action);
      if (!episode || !traits) continue;
      if (found === undefined) {
        this.observeAwayAndBack(claim, episode, traits);
        continue;
      }
      const subject = { kind: episode.subject.kind, id: claim.subjectId };
      this.reverse(episode, { traits, target: claim.target, subject, found });
      this.claims.change(claim, 'overridden', 'a person reversed it');
    }
    for (const episode of followed.episodes.values()) this.observeSeen(episode);
  }

  /** What is there now is as we left it, and somebody else did it: it is left to them, for every claim on the target. */
  private observeAwayAndBack(claim: Claim, episode: Episode, traits: ActionTraits): void {
    const { kind } = episode.subject;
    const subject = { kind, id: claim.subjectId };
    const found = this.shown.stateOf(subject, traits, claim.target);
    if (found === undefined || found !== traits.valueWritten || this.known.doubtOn(claim)) return;
    const named = this.named.awayAndBack(claim, kind, traits);
    if (!named) return;
    this.reverse(episode, { traits, target: claim.target, subject, found, named });
    for (const one of this.claims.openOn(claim))
      if (one.action === claim.action) this.claims.change(one, 'overridden', 'a person reversed it and did it again');
  }

  /**
   * What an episode saw done without a claim of its own, although nothing is known of its match now: its rule may not be judged. What its rule does not
   * propose is none of its own: it was seen while the rule was missing, or the rule was another one.
   */
  private observeSeen(episode: Episode): void {
    if (episode.state === 'closed' || episode.overriddenAt !== undefined) return;
    for (const key of episode.seenSo) {
      const { action, target } = seenOfKey(key);
      const traits = this.input.traits.get(action);
      if (!traits || !isProposedBy(episode, { traits, target }, this.input)) continue;
      if (this.known.doubtOn({ action, target }) || !isAgreed(this.input, traits, target)) continue;
      if (this.wasAttemptedJustNow(action, target) || this.wasAttemptedJustNow(traits.inverse, target)) continue;
      const found = this.shown.stateOf(episode.subject, traits, target);
      if (found === undefined || found === traits.valueWritten) continue;
      this.reverse(episode, { traits, target, subject: episode.subject, found });
      return;
    }
  }

  heedReversals(): void {
    const { input, followed, shown } = this;
    for (const [episode, reversal, isProposed] of episodesReversed(
      [...this.reversals.values()],
      input,
      followed,
      shown,
    ))
      if (isProposed) this.override(episode, reversal);
      else this.rememberSo(episode.id, seenKey(reversal.traits.name, reversal.target));
  }

  private reverse(episode: Episode, reversal: Reversal): void {
    const key = seenKey(reversal.traits.name, reversal.target);
    // One that is read counts for more: it is there.
    if (!reversal.named || !this.reversals.has(key)) this.reversals.set(key, reversal);
    if (episode.overriddenAt === undefined) this.override(episode, reversal);
  }

  private override(episode: Episode, { traits, target, found, named }: Reversal): void {
    amendEpisode(this.followed, { ...episode, overriddenAt: this.input.nowMs });
    const seen = named
      ? { events: eventsOf(named) }
      : { drift: { field: traits.fieldWritten ?? '', expected: traits.valueWritten ?? null, found } };
    const { id, rule, subject } = episode;
    const body = { episode: id, rule, subject: subject.id, action: traits.name, target, ...seen };
    this.claims.notes.push({ kind: 'episode.overridden', body });
  }
}

/** The evidence, as the audit has it. */
function eventsOf({ away, back }: AwayAndBack) {
  return [away, back].map(({ event, atMs, action, by }) => ({ event, at: atMs, action, by: by ?? null }));
}
