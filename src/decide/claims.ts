// decide: claims. An episode's wish that a target be in a state stands until the episode ends; only what Trustward
// did is undone by Trustward, only when the last claim on it ends, and only when every claiming rule says `revert`.
import type { ActionName, ActionTraits } from '../domain/action.ts';
import type { AuditNote } from '../domain/audit-entry.ts';
import { cardOfTarget } from '../domain/bundles.ts';
import type { Claim } from '../domain/claim.ts';
import { type Episode, seenKey } from '../domain/episode.ts';
import { isAtLeast, leastMode } from '../domain/mode.ts';
import type { Rule } from '../domain/rule.ts';
import { amendEpisode, type FollowedEpisodes, isTrusted, subjectKey } from './episodes.ts';
import type { DecideInput } from './input.ts';
import { foundReversed, mayBeStale } from './reversals.ts';
import { isAlreadySo, isOwnStateSo, type Wish } from './wish.ts';
import { cappedMode, type KnownIntents } from './wishes.ts';

export class Claims {
  private readonly byId = new Map<string, Claim>();
  private readonly idsByTarget = new Map<string, Set<string>>();
  private readonly written = new Map<string, Claim>();
  /** INVARIANT: a dry run reasons as a live one would, but opens and ends no claim: these are acting state. */
  private readonly isLive: boolean;
  /** `rule action target` of attempts that reads may not show yet. */
  private readonly attemptedJustNow: readonly string[];
  /** By action and target: what was found where a person reversed it, as this run saw. */
  private readonly reversed = new Map<string, string>();
  readonly notes: AuditNote[] = [];

  constructor(
    private readonly input: DecideInput,
    private readonly followed: FollowedEpisodes,
  ) {
    this.isLive = isAtLeast(leastMode(input.runMode, input.daemonMode), 'approve');
    const attempts = [...input.standing.lastAttempts];
    this.attemptedJustNow = attempts.filter(([, at]) => mayBeStale(at, input)).map(([key]) => key);
    for (const claim of input.standing.claims) this.put(claim);
  }

  get changed(): Claim[] {
    return [...this.written.values()];
  }

  private open(): Claim[] {
    return [...this.byId.values()].filter(isOpen);
  }

  private openOn(target: string): Claim[] {
    return [...(this.idsByTarget.get(target) ?? [])].map((id) => this.byId.get(id) as Claim).filter(isOpen);
  }

  private put(claim: Claim): void {
    this.byId.set(claim.id, claim);
    const ids = this.idsByTarget.get(claim.target);
    if (ids) ids.add(claim.id);
    else this.idsByTarget.set(claim.target, new Set([claim.id]));
  }

  /** A missing or `off` rule orphans its claims; when it is back, they stand again. */
  orphan(): void {
    for (const claim of this.open()) {
      const active = this.input.activeRules.has(claim.rule);
      if (claim.status === 'standing' && !active) this.change(claim, 'orphaned', 'its rule is missing or off');
      if (claim.status === 'orphaned' && active) this.change(claim, 'standing', 'its rule is back');
    }
  }

  /** Looks at a trusted match whose target is so, or was so and is not any more. */
  observe(wish: Wish): void {
    if (!wish.episode || !wish.trusted || wish.traits.fieldWritten === undefined) return;
    if (isAlreadySo(wish)) this.observeSo(wish);
    else if (!isOwnStateSo(wish)) this.observeReversal(wish);
  }

  /** As it is after what other wishes of the episode have told. */
  episodeNow({ episode }: Wish): Episode | undefined {
    return episode && (this.followed.episodes.get(episode.id) ?? episode);
  }

  private observeSo(wish: Wish): void {
    const episode = this.episodeNow(wish) as Episode;
    const claims = this.openOn(wish.target).filter((claim) => claim.action === wish.traits.name);
    const first = claims[0];
    const isOwn = claims.some((claim) => claim.episodeId === episode.id);
    const mayClaim = first !== undefined && isAtLeast(wish.ownMode, 'approve') && this.wishesNow(wish);
    // Where no claim of its own will tell, it remembers what it saw: a later change back is a person's reversal all the same.
    if (!isOwn && !(mayClaim && this.isLive)) this.remember(wish, episode);
    if (!mayClaim) return;
    if (!isOwn) this.adopt(wish, first);
    for (const orphan of claims.filter((claim) => claim.status === 'orphaned')) {
      this.change(orphan, 'ended', `adopted by rule ${wish.rule.id}`);
    }
  }

  /** Whether the rule wishes it by now: not before it has matched for as long as it says, nor once a person reversed it. */
  wishesNow(wish: Wish): boolean {
    const episode = this.episodeNow(wish);
    // What an exemption protects is not held in its state any longer than who put it there wished.
    if (!episode || episode.overriddenAt !== undefined || wish.exemption !== undefined) return false;
    return wish.rule.forMs === 0 || this.input.nowMs - episode.matchingSince >= wish.rule.forMs;
  }

  private remember({ traits, target }: Wish, episode: Episode): void {
    const key = seenKey(traits.name, target);
    // Right after an undoing of ours a stale read still shows what was undone: nobody else made it so.
    if (episode.seenSo.includes(key) || this.wasAttemptedJustNow(traits.inverse, target)) return;
    amendEpisode(this.followed, { ...episode, seenSo: [...episode.seenSo, key] });
  }

  private wasAttemptedJustNow(action: ActionName | undefined, target: string): boolean {
    return action !== undefined && this.attemptedJustNow.some((key) => key.endsWith(` ${action} ${target}`));
  }

  private adopt(wish: Wish, from: Claim): void {
    const claim: Claim = {
      ...from,
      id: this.input.ids.next(),
      episodeId: (wish.episode as NonNullable<Wish['episode']>).id,
      rule: wish.rule.id,
      subjectId: wish.card.id,
      status: 'standing',
      openedAt: this.input.nowMs,
      endedAt: undefined,
    };
    this.put(claim);
    if (!this.isLive) return;
    this.written.set(claim.id, claim);
    this.notes.push({ kind: 'claim.opened', body: { ...bodyOf(claim), adoptedFrom: from.id } });
  }

  /** INVARIANT: a state that changes right after an attempt may be a stale read; after the quiet period it is somebody's doing. */
  private observeReversal(wish: Wish): void {
    const { intent } = wish;
    const episode = this.episodeNow(wish);
    if (!episode || episode.overriddenAt !== undefined || wish.doubt !== undefined) return;
    // A field that is missing says nothing of what anybody did.
    if (wish.card.state[wish.traits.fieldWritten as string] === undefined) return;
    const own = this.openOn(wish.target).filter(
      (claim) => claim.episodeId === episode.id && claim.action === wish.traits.name,
    );
    const wasSo = own.length > 0 || episode.seenSo.includes(seenKey(wish.traits.name, wish.target));
    // Also after an attempt for another rule's episode: then it is done, or reversed, and in either case not to be done again.
    if (mayBeStale(intent?.settledAt, this.input) || this.wasAttemptedJustNow(wish.traits.name, wish.target)) {
      wish.isUntold = wasSo;
      return;
    }
    if (wasSo) {
      const found = wish.card.state[wish.traits.fieldWritten as string];
      this.override(episode, wish.traits, wish.target, found);
    }
    // Also those of earlier episodes that only wait for their undoing: there is nothing of ours left to undo.
    const waiting = this.openOn(wish.target).filter(
      ({ action, episodeId, openedAt }) =>
        action === wish.traits.name &&
        this.followed.episodes.get(episodeId)?.state === 'closed' &&
        !mayBeStale(openedAt, this.input),
    );
    for (const claim of [...own, ...waiting]) this.change(claim, 'overridden', 'a person reversed it');
  }

  /** Also where nothing matches now: a person who lifts our ban and bans later on has done so, whatever the rule says then. */
  observeReversals(known: KnownIntents): void {
    for (const claim of this.open()) {
      const found = foundReversed(claim, this.input, this.followed, known);
      const episode = this.followed.episodes.get(claim.episodeId);
      const traits = this.input.traits.get(claim.action);
      if (found === undefined || !episode || !traits) continue;
      if (episode.overriddenAt === undefined) this.override(episode, traits, claim.target, found);
      this.change(claim, 'overridden', 'a person reversed it');
    }
  }

  /** A person's word on a target holds for every episode that wishes the same, waiting ones too; what begins only now is new trouble. */
  heedReversals(wishes: readonly Wish[]): void {
    for (const wish of wishes) {
      const episode = this.episodeNow(wish);
      const found = this.reversed.get(seenKey(wish.traits.name, wish.target));
      if (found === undefined || !wish.trusted || !episode || episode.overriddenAt !== undefined) continue;
      if (!isOwnStateSo(wish) && episode.since < this.input.nowMs)
        this.override(episode, wish.traits, wish.target, found);
    }
  }

  private override(episode: Episode, traits: ActionTraits, target: string, found: string | undefined): void {
    if (found !== undefined) this.reversed.set(seenKey(traits.name, target), found);
    amendEpisode(this.followed, { ...episode, overriddenAt: this.input.nowMs });
    const drift = { field: traits.fieldWritten ?? '', expected: traits.valueWritten ?? null, found: found ?? null };
    const { id, rule, subject } = episode;
    const body = { episode: id, rule, subject: subject.id, action: traits.name, target, drift };
    this.notes.push({ kind: 'episode.overridden', body });
  }

  /** Wishes to undo: targets all of whose claims are over, with the trouble seen gone in this very run. */
  undoWishes(known: KnownIntents): Wish[] {
    const groups = new Map<string, Claim[]>();
    for (const claim of this.open()) {
      const key = `${claim.action}\u0000${claim.target}`;
      groups.set(key, [...(groups.get(key) ?? []), claim]);
    }
    return [...groups.values()].flatMap((claims) => this.undoOf(claims, known));
  }

  private undoOf(claims: Claim[], known: KnownIntents): Wish[] {
    const judged = new Map(this.input.judged.map((rule) => [rule.id, rule]));
    const rules = claims.flatMap((claim) => judged.get(claim.rule) ?? []);
    if (claims.some((claim) => claim.status === 'orphaned') || rules.length < claims.length) return [];
    const episodes = claims.map((claim) => this.followed.episodes.get(claim.episodeId));
    if (episodes.some((episode) => episode?.state !== 'closed')) return [];
    const closedLast = Math.max(...episodes.map((episode) => episode?.closedAt ?? 0));
    if (episodes.some((episode) => episode?.closedAt === closedLast && episode.closeReason === 'gone'))
      return this.endAll(claims, 'its subject is gone');
    if (rules.some((rule) => !rule.revert)) return this.endAll(claims, 'a claiming rule does not revert');
    if (rules.some((rule) => !isTrusted(rule, this.input)) || claims.some((claim) => this.isTroubled(claim))) return [];
    return this.undoSeen(claims, rules, known);
  }

  /** Whether a claim's subject is in trouble again, or may be: its own episode is over, but what is seen of it is not calm. */
  private isTroubled({ rule, subjectId }: Claim): boolean {
    const key = subjectKey(rule, subjectId);
    const verdict = this.followed.others.get(key)?.verdict;
    return this.followed.open.has(key) || (verdict !== undefined && verdict !== 'no_match');
  }

  /** One wish for each claiming subject that is seen calm in this very run: together they are one intent. */
  private undoSeen(claims: Claim[], rules: Rule[], known: KnownIntents): Wish[] {
    const latest = new Map(claims.map((claim) => [subjectKey(claim.rule, claim.subjectId), claim]));
    const wishes = [...latest.values()].flatMap((claim) => this.undoWish(claim, rules, known) ?? []);
    if (wishes.length === 0) return [];
    if (wishes.some(isAlreadySo)) {
      // INVARIANT: what is read right after an attempt may be older than it: to be undone already takes a quiet period.
      const isFresh = claims.some(({ openedAt }) => mayBeStale(openedAt, this.input));
      return isFresh ? [] : this.endAll(claims, 'it was undone already');
    }
    const spoken = new Set(wishes.map((wish) => wish.episode?.id));
    this.endAll(
      claims.filter((claim) => !spoken.has(claim.episodeId)),
      'its trouble was over, and its subject is not there any more or has a later claim',
    );
    return wishes;
  }

  private undoWish(claim: Claim, claiming: Rule[], known: KnownIntents): Wish | undefined {
    const rule = claiming.find(({ id }) => id === claim.rule) as Rule;
    const inverse = this.input.traits.get(claim.action)?.inverse;
    const traits = inverse && this.input.traits.get(inverse);
    const seen = this.followed.others.get(subjectKey(claim.rule, claim.subjectId));
    if (!traits || seen?.verdict !== 'no_match') return undefined;
    return {
      rule,
      trusted: true,
      traits,
      settings: {},
      target: claim.target,
      card: cardOfTarget(seen.card, traits, claim.target, this.input.bundles),
      facts: seen.facts,
      episode: this.followed.episodes.get(claim.episodeId),
      devices: seen.card.kind === 'device' ? this.input.fleet.devicesOf(claim.target) : [],
      intent: known.of(traits.name, claim.target, claim.episodeId),
      doubt: known.doubtOn(claim.target),
      undo: true,
      ...cappedMode(claiming, this.input),
      answer: undefined,
    };
  }

  /** Claims end without a call. */
  private endAll(claims: Claim[], reason: string): [] {
    for (const claim of claims) this.change(claim, 'ended', reason);
    return [];
  }

  private change(claim: Claim, status: Claim['status'], reason: string): void {
    const open = isOpen({ ...claim, status });
    const after = { ...claim, status, endedAt: open ? undefined : this.input.nowMs };
    this.byId.set(claim.id, after);
    if (status === 'ended' && !this.isLive) return;
    this.written.set(claim.id, after);
    this.notes.push({
      kind: status === 'orphaned' ? 'claim.orphaned' : open ? 'claim.opened' : 'claim.ended',
      body: { ...bodyOf(after), reason },
    });
  }

  /** A wish whose target another rule's open claim wants otherwise: named, for the conflict step. */
  opposing(wish: Wish): Claim | undefined {
    return this.openOn(wish.target).find((claim) => {
      if (claim.rule === wish.rule.id) return false;
      const traits = this.input.traits.get(claim.action);
      const episode = this.followed.episodes.get(claim.episodeId);
      return episode?.state !== 'closed' && traits?.inverse === wish.traits.name;
    });
  }
}

function isOpen(claim: Claim): boolean {
  return claim.status === 'standing' || claim.status === 'orphaned';
}

function bodyOf(claim: Claim): AuditNote['body'] {
  const { id, rule, subjectId, action, target, intentId } = claim;
  return { claim: id, rule, subject: subjectId, action, target, intent: intentId };
}
