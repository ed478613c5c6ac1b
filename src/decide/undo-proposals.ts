// decide: proposals to undo. Trustward undoes only what it did, only when the last claim on it ends, and only when every claiming
// rule has `revert`. In: claims whose episodes are over. Out: proposals, or claims ended without one.

import type { ActionName } from '../domain/action.ts';
import { summaryOfTarget } from '../domain/bundles.ts';
import type { Claim } from '../domain/claim.ts';
import type { Rule } from '../domain/rule.ts';
import type { Claims } from './claims.ts';
import { type FollowedEpisodes, isTrusted, subjectKey } from './episodes.ts';
import type { DecideInput } from './input.ts';
import { isAlreadySo, type Proposal } from './proposal.ts';
import { cappedMode, type KnownIntents } from './proposals.ts';
import { isAgreed, mayBeStale } from './reversals.ts';

export class UndoProposals {
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
    return [...groups.values()].flatMap((claims) => this.undoOf(claims));
  }

  private undoOf(claims: Claim[]): Proposal[] {
    const judged = new Map(this.input.judged.map((rule) => [rule.id, rule]));
    const rules = claims.flatMap((claim) => judged.get(claim.rule) ?? []);
    if (claims.some((claim) => claim.status === 'orphaned') || rules.length < claims.length) return [];
    const episodes = claims.map((claim) => this.followed.episodes.get(claim.episodeId));
    const isOver = (claim: Claim) => this.followed.episodes.get(claim.episodeId)?.state === 'closed';
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

  /** Whether a claim's subject matches again, or may: its own episode is over, but this run did not see a `no_match`. */
  private mayMatchAgain({ rule, subjectId }: Claim): boolean {
    const key = subjectKey(rule, subjectId);
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
    const seen = this.followed.others.get(subjectKey(claim.rule, claim.subjectId));
    if (!traits || seen?.verdict !== 'no_match') return undefined;
    return {
      rule,
      trusted: true,
      traits,
      settings: {},
      target: claim.target,
      summary: summaryOfTarget(seen.summary, traits, claim.target, this.input.bundles),
      facts: seen.facts,
      flip: seen.flip,
      episode: this.followed.episodes.get(claim.episodeId),
      devices: seen.summary.kind === 'device' ? this.input.fleet.devicesOf(claim.target) : [],
      intent: this.known.of(traits.name, claim.target, claim.episodeId),
      doubt: this.known.doubtOn(claim),
      undo: true,
      ...cappedMode(claiming, this.input),
      answer: undefined,
    };
  }
}
