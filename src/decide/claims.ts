// decide: the book of claims. A claim records that an episode needs a target in a state; it holds until the episode ends.
// In: the open claims. Out: those that changed, with notes for the audit. observations.ts and undo-proposals.ts decide why they change.
import type { AuditNote } from '../domain/audit-entry.ts';
import type { ClaimFacts } from '../domain/check.ts';
import type { Claim } from '../domain/claim.ts';
import { isLive, leastMode } from '../domain/mode.ts';
import { type ActionOnTarget, targetKey } from '../domain/target-key.ts';
import type { FollowedEpisodes } from './episodes.ts';
import type { DecideInput } from './input.ts';
import type { Proposal } from './proposal.ts';

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
    return [...this.byId.values()].filter(isOpen);
  }

  /** The claims on the target of this action, in whichever state they need it. */
  openOn(aim: ActionOnTarget): Claim[] {
    return [...(this.idsByTarget.get(targetKey(aim, this.input.traits)) ?? [])]
      .map((id) => this.byId.get(id) as Claim)
      .filter(isOpen);
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
}

function isOpen(claim: Claim): boolean {
  return claim.status === 'standing' || claim.status === 'orphaned';
}

function bodyOf(claim: Claim): AuditNote['body'] {
  const { id, rule, subjectId, action, target, intentId } = claim;
  return { claim: id, rule, subject: subjectId, action, target, intent: intentId };
}
