// decide: what a run observes about targets. A target in the proposed state is adopted or remembered. A target that has left that
// state was reversed by a person; the reversal then holds for every episode that proposes the same.
// In: proposals of trusted matches, claims. Out: claims and episodes changed, with notes for the audit.

import {
  type ActionName,
  type ActionOnTarget,
  type ActionTraits,
  isShownByOthers,
  kindOfTarget,
  summaryOfTarget,
  targetKey,
} from '../../domain/action.ts';
import type { AuditNote } from '../../domain/audit-entry.ts';
import type { ClaimFacts } from '../../domain/check.ts';
import { type Claim, type Episode, isOpenClaim, seenKey, seenOfKey } from '../../domain/episode.ts';
import { areOthers } from '../../domain/identity.ts';
import { settledMs } from '../../domain/intent.ts';
import { isLive, isOnTrial, leastMode, type Rule } from '../../domain/rule.ts';
import { isUsable } from '../../domain/snapshot.ts';
import { SOURCE_OF } from '../../domain/subjects.ts';
import type { Match } from '../../domain/verdict.ts';
import { amendEpisode, type FollowedEpisodes, isTrusted, subjectKey } from './episodes.ts';
import type { DecideInput } from './input.ts';
import {
  aimOf,
  cappedMode,
  devicesTouched,
  isAlreadySo,
  isOwnStateSo,
  isProposedByNow,
  type KnownIntents,
  ownStateOf,
  type Proposal,
} from './proposal.ts';
import {
  type AwayAndBack,
  attemptedJustNow,
  episodesReversed,
  foundReversed,
  isAgreed,
  isContradictedJustNow,
  isProposedBy,
  isUnread,
  mayBeStale,
  NamedActs,
  type Reversal,
  Shown,
} from './reversals.ts';

// The book of claims.

export class Claims {
  private readonly byId = new Map<string, Claim>();
  private readonly idsByTarget = new Map<string, Set<string>>();
  private readonly written = new Map<string, Claim>();
  /** INVARIANT: a dry run decides as a live one would, but opens and ends no claim by itself. A reversal that it saw is recorded. */
  readonly isLive: boolean;
  readonly notes: AuditNote[] = [];

  constructor(
    private readonly input: DecideInput,
    private readonly followed: FollowedEpisodes,
  ) {
    this.isLive = isLive(leastMode(input.runMode, input.daemonMode));
    for (const claim of input.openState.claims) this.put(claim);
  }

  get changed(): Claim[] {
    return [...this.written.values()];
  }

  open(): Claim[] {
    return [...this.byId.values()].filter(isOpenClaim);
  }

  /** The claims on the target of this action, in whichever state they need it. */
  openOn(aim: ActionOnTarget): Claim[] {
    return [...(this.idsByTarget.get(targetKey(aim, this.input.traits)) ?? [])]
      .map((id) => this.byId.get(id) as Claim)
      .filter(isOpenClaim);
  }

  /** The same claims, in the form that checks read. */
  factsOn(aim: ActionOnTarget): ClaimFacts[] {
    return this.openOn(aim).map(({ rule, action, episodeId, status }) => {
      const isOver = this.followed.episodes.get(episodeId)?.state === 'closed';
      return { rule, action, episodeId, status, isOver };
    });
  }

  private put(claim: Claim): void {
    this.byId.set(claim.id, claim);
    const key = targetKey(claim, this.input.traits);
    const ids = this.idsByTarget.get(key);
    if (ids) ids.add(claim.id);
    else this.idsByTarget.set(key, new Set([claim.id]));
  }

  /** A missing or `off` rule orphans its claims. When the rule is back, they are `standing` again. */
  orphan(): void {
    for (const claim of this.open()) {
      const active = this.input.activeRules.has(claim.rule);
      if (claim.status === 'standing' && !active) this.change(claim, 'orphaned', 'its rule is missing or off');
      if (claim.status === 'orphaned' && active) this.change(claim, 'standing', 'its rule is back');
    }
  }

  /** An intent for another episode already claims what is proposed: the proposal's episode claims it too. */
  adopt(proposal: Proposal, from: Claim): void {
    const claim: Claim = {
      ...from,
      id: this.input.ids.next(),
      episodeId: (proposal.episode as NonNullable<Proposal['episode']>).id,
      rule: proposal.rule.id,
      subjectId: proposal.summary.id,
      status: 'standing',
      openedAt: this.input.nowMs,
      endedAt: undefined,
    };
    this.put(claim);
    if (!this.isLive) return;
    this.written.set(claim.id, claim);
    this.notes.push({ kind: 'claim.opened', body: { ...bodyOf(claim), adoptedFrom: from.id } });
  }

  /** Ends claims without a call. Returns no proposals: this is the answer to the search for proposals to undo. */
  endAll(claims: Claim[], reason: string): [] {
    for (const claim of claims) this.change(claim, 'ended', reason);
    return [];
  }

  change(claim: Claim, status: Claim['status'], reason: string): void {
    const open = isOpenClaim({ ...claim, status });
    const after = { ...claim, status, endedAt: open ? undefined : this.input.nowMs };
    this.byId.set(claim.id, after);
    if (status === 'ended' && !this.isLive) return;
    this.written.set(claim.id, after);
    this.notes.push({
      kind: status === 'orphaned' ? 'claim.orphaned' : open ? 'claim.opened' : 'claim.ended',
      body: { ...bodyOf(after), reason },
    });
  }
}

function bodyOf(claim: Claim): AuditNote['body'] {
  const { id, rule, subjectId, action, target, intentId } = claim;
  return { claim: id, rule, subject: subjectId, action, target, intent: intentId };
}

function wasShownReversed({ episodeId, action, target }: Claim, { episodes }: FollowedEpisodes): boolean {
  return episodes.get(episodeId)?.shownReversed?.includes(seenKey(action, target)) === true;
}

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
      if (isUnread(this.input, { action: proposal.traits.name, target: proposal.target })) proposal.isUnread = true;
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
    if (claims.some((claim) => wasShownReversed(claim, this.followed))) this.doubt(first);
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
    const found = ownStateOf(proposal);
    if (found === undefined) return;
    const own = this.claims
      .openOn(aimOf(proposal))
      .filter((claim) => claim.episodeId === episode.id && claim.action === proposal.traits.name);
    const isTold = episode.overriddenAt !== undefined;
    const wasSo = own.length > 0 || episode.seenSo.includes(seenKey(proposal.traits.name, proposal.target));
    // An attempt for another rule's episode counts too: it was done, or done and reversed, and is not repeated in either case.
    if (
      mayBeStale(intent && settledMs(intent), this.input) ||
      this.wasAttemptedJustNow(proposal.traits.name, proposal.target)
    ) {
      proposal.isUnsettled = wasSo && !isTold;
      return;
    }
    if (!isAgreed(this.input, proposal.traits, proposal.target)) {
      proposal.isUnread = wasSo && !isTold;
      return;
    }
    if (wasSo && !isTold) {
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
      if (!isAgreed(input, traits, claim.target)) {
        if (isUnread(input, claim)) this.doubt(claim);
        continue;
      }
      const subject = { kind: episode.subject.kind, id: claim.subjectId };
      this.reverse(episode, { traits, target: claim.target, subject, found });
      this.claims.change(claim, 'overridden', 'a person reversed it');
    }
    for (const episode of followed.episodes.values()) this.observeSeen(episode);
  }

  /** Whose the state is, is not known from now on. Noted for each claim on the target, since each may be the last to end. */
  private doubt(claim: Claim): void {
    for (const one of this.claims.openOn(claim)) {
      const episode = this.followed.episodes.get(one.episodeId);
      if (!episode || one.action !== claim.action || wasShownReversed(one, this.followed)) continue;
      const shownReversed = [...(episode.shownReversed ?? []), seenKey(one.action, one.target)];
      amendEpisode(this.followed, { ...episode, shownReversed });
    }
  }

  /** What is there now is as we left it, and somebody else did it: it is left to them, for every claim on the target. */
  private observeAwayAndBack(claim: Claim, episode: Episode, traits: ActionTraits): void {
    const { kind } = episode.subject;
    const subject = { kind, id: claim.subjectId };
    const found = this.shown.stateOf(subject, traits, claim.target);
    if (found === undefined || found !== traits.valueWritten || this.known.doubtOn(claim)) return;
    const named = this.named.awayAndBack(claim, this.shown.by(subject, traits, claim.target), traits);
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

// Proposals to undo.

export class UndoProposals {
  /** Trusted matches by `rule subject`. */
  private matched: ReadonlyMap<string, Match> | undefined;

  constructor(
    private readonly input: DecideInput,
    private readonly followed: FollowedEpisodes,
    private readonly claims: Claims,
    private readonly known: KnownIntents,
  ) {}

  /** Proposals to undo: for targets whose claims are all over, where this very run saw that the rules do not match. */
  all(): Proposal[] {
    const groups = new Map<string, Claim[]>();
    for (const claim of this.claims.open()) {
      const key = `${claim.action}\u0000${claim.target}`;
      groups.set(key, [...(groups.get(key) ?? []), claim]);
    }
    return [...groups.values()].flatMap((claims) => {
      const mayBeTheirs = claims.some((claim) => wasShownReversed(claim, this.followed));
      return this.undoOf(claims).map((undo) => (mayBeTheirs ? { ...undo, mayBeTheirs } : undo));
    });
  }

  private undoOf(claims: Claim[]): Proposal[] {
    const judged = new Map(this.input.judged.map((rule) => [rule.id, rule]));
    const rules = claims.flatMap((claim) => judged.get(claim.rule) ?? []);
    if (claims.some((claim) => claim.status === 'orphaned') || rules.length < claims.length) return [];
    const episodes = claims.map((claim) => this.followed.episodes.get(claim.episodeId));
    const isOver = (claim: Claim) =>
      this.followed.episodes.get(claim.episodeId)?.state === 'closed' || this.passedOn(claim) !== undefined;
    if (!claims.every(isOver))
      return this.undosRefused(
        claims.filter((claim) => !isOver(claim)),
        rules,
      );
    const closedLast = Math.max(...episodes.map((episode) => episode?.closedAt ?? 0));
    if (episodes.some((episode) => episode?.closedAt === closedLast && episode.closeReason === 'gone'))
      return this.claims.endAll(claims, 'its subject is gone');
    if (rules.some((rule) => !rule.revert)) return this.claims.endAll(claims, 'a claiming rule does not revert');
    if (rules.some((rule) => !isTrusted(rule, this.input)) || claims.some((claim) => this.mayMatchAgain(claim)))
      return [];
    return this.undoSeen(claims, rules);
  }

  /** What would be undone if what cleared it were newer. Only where nothing else keeps it: the answer names the report. */
  private undosRefused(open: Claim[], rules: Rule[]): Proposal[] {
    const isOlder = open.every(({ episodeId }) => this.followed.older.has(episodeId));
    if (!isOlder || rules.some((rule) => !rule.revert)) return [];
    return open.flatMap((claim) => {
      const proposal = this.undoProposal(claim, rules);
      if (!proposal || isAlreadySo(proposal)) return [];
      return [{ ...proposal, older: this.followed.older.get(claim.episodeId) }];
    });
  }

  /**
   * The match of a user who no longer has the claimed device: the user's record and those of the device agree that it is somebody else's. A device
   * that is in no list may come back as it was.
   */
  private passedOn({ rule, subjectId, action, target }: Claim): Match | undefined {
    this.matched ??= new Map(
      this.followed.matches.flatMap(({ rule: { id }, match, trusted }) =>
        trusted ? [[subjectKey(id, match.summary.id), match] as const] : [],
      ),
    );
    const match = this.matched.get(subjectKey(rule, subjectId));
    const traits = this.input.traits.get(action);
    if (!match || !traits || !isShownByOthers(traits, match.summary.kind)) return undefined;
    // The rule may have been edited, and read no devices now.
    if (!isUsable(this.input.sources[SOURCE_OF[kindOfTarget(traits)]])) return undefined;
    const owners = this.input.fleet.devicesOf(target).map((device) => device.owners);
    if (!areOthers(owners, subjectId)) return undefined;
    return match.summary.serials?.includes(target) === false ? match : undefined;
  }

  /** Whether a claim's subject matches again, or may: its own episode is over, but this run did not see a `no_match`. */
  private mayMatchAgain(claim: Claim): boolean {
    if (this.passedOn(claim) !== undefined) return false;
    const key = subjectKey(claim.rule, claim.subjectId);
    const verdict = this.followed.others.get(key)?.verdict;
    return this.followed.open.has(key) || (verdict !== undefined && verdict !== 'no_match');
  }

  /** One proposal for each claiming subject that this very run saw as `no_match`: together they are one intent. */
  private undoSeen(claims: Claim[], rules: Rule[]): Proposal[] {
    const latest = new Map(claims.map((claim) => [subjectKey(claim.rule, claim.subjectId), claim]));
    const proposals = [...latest.values()].flatMap((claim) => this.undoProposal(claim, rules) ?? []);
    if (proposals.length === 0) return [];
    if (proposals.some(isAlreadySo)) {
      // INVARIANT: a read right after an attempt may be older than it: that it is already undone is known only after a quiet period.
      const isFresh = claims.some(({ openedAt }) => mayBeStale(openedAt, this.input));
      const isUnread = claims.some(({ action, target }) => !this.isAgreed(action, target));
      return isFresh || isUnread ? [] : this.claims.endAll(claims, 'it was undone already');
    }
    const spoken = new Set(proposals.map((proposal) => proposal.episode?.id));
    this.claims.endAll(
      claims.filter((claim) => !spoken.has(claim.episodeId)),
      'its match was over, and its subject no longer exists or has a later claim',
    );
    return proposals;
  }

  private isAgreed(action: ActionName, target: string): boolean {
    const traits = this.input.traits.get(action);
    return traits === undefined || isAgreed(this.input, traits, target);
  }

  private undoProposal(claim: Claim, claiming: Rule[]): Proposal | undefined {
    const rule = claiming.find(({ id }) => id === claim.rule) as Rule;
    const inverse = this.input.traits.get(claim.action)?.inverse;
    const traits = inverse && this.input.traits.get(inverse);
    const other = this.followed.others.get(subjectKey(claim.rule, claim.subjectId));
    const passed = this.passedOn(claim);
    const seen = passed ?? (other?.verdict === 'no_match' ? other : undefined);
    if (!traits || !seen) return undefined;
    return {
      rule,
      trusted: true,
      traits,
      settings: {},
      target: claim.target,
      summary: summaryOfTarget(seen.summary, traits, claim.target, this.input.bundles),
      // What it rests on, so that an approved undo is refused when the user has it again.
      facts: passed ? { ...seen.facts, SerialNumbers: seen.summary.serials ?? [] } : seen.facts,
      flip: seen.flip,
      episode: this.followed.episodes.get(claim.episodeId),
      devices: devicesTouched(traits, claim.target, { ...seen.summary, serial: claim.target }, this.input.fleet),
      intent: this.known.of(traits.name, claim.target, claim.episodeId),
      doubt: this.known.doubtOn(claim),
      undo: true,
      isPassedOn: passed !== undefined,
      ...cappedMode(claiming, this.input),
      answer: undefined,
    };
  }
}
