// decide: how far each rule with a rollout is, and what people did that stops it. In: the states, episodes, proposals, the run. Out: who is
// among the share, states to write with their audit notes. INVARIANT: what Trustward undid itself does not count. Pure.

import type { AuditNote } from '../../domain/audit-entry.ts';
import { placeAmong } from '../../domain/digest.ts';
import type { Episode } from '../../domain/episode.ts';
import type { Intent } from '../../domain/intent.ts';
import {
  ALL,
  beginning,
  passed,
  paused,
  type Rollout,
  type RolloutFacts,
  type RolloutState,
  rolloutFacts,
  stateOfRollout,
  stepText,
  whyBraked,
} from '../../domain/rollout.ts';
import { isLive, leastMode, type Rule } from '../../domain/rule.ts';
import { type FollowedEpisodes, isTrusted } from './episodes.ts';
import type { DecideInput } from './input.ts';
import type { Proposal } from './proposal.ts';

type RuleWithRollout = Rule & { rollout: Rollout };

export class Rollouts {
  readonly notes: AuditNote[] = [];
  private readonly rules: RuleWithRollout[];
  private readonly before = new Map<string, RolloutState>();
  /** As of this run. A dry one shows what a live one would do, and writes nothing. */
  private readonly states = new Map<string, RolloutState>();
  /** What people did, which any run writes that is the first to see it: a later one may not see it any more. */
  private readonly counted = new Map<string, Pick<RolloutState, 'reversed' | 'exempted'>>();
  private readonly isWritten: boolean;

  constructor(private readonly input: DecideInput) {
    this.isWritten = input.part === undefined && isLive(leastMode(input.runMode, input.daemonMode));
    this.rules = input.judged.filter((rule): rule is RuleWithRollout => rule.rollout !== undefined);
    for (const rule of this.rules) {
      const before = stateOfRollout(rule, input.openState.rollouts);
      if (before) this.before.set(rule.id, before);
      const state = input.part === undefined ? this.moved(rule, before) : before;
      if (state) this.states.set(rule.id, state);
    }
  }

  facts(rule: Rule, subjectId: string): RolloutFacts | undefined {
    return rule.rollout && rolloutFacts(rule, this.states.get(rule.id), placeAmong(ALL, rule.id, subjectId));
  }

  get changed(): RolloutState[] {
    if (this.isWritten) return [...this.states.values()].filter((state) => this.before.get(state.rule) !== state);
    return [...this.before.values()].flatMap((state) => {
      const counted = this.counted.get(state.rule);
      return counted ? [{ ...state, ...counted }] : [];
    });
  }

  private moved(rule: RuleWithRollout, before: RolloutState | undefined): RolloutState | undefined {
    const { nowMs, steady, freeze, openState } = this.input;
    const mayAct = isLive(rule.mode) && isTrusted(rule, this.input) && !openState.stop && !freeze;
    if (!mayAct) return before && paused(before);
    const after = before
      ? passed(rule.rollout, before, steady)
      : { ...beginning(rule.id, rule.rollout, nowMs), countedAt: steady.nowMs };
    if (!before) this.note('rollout.began', rule, after);
    else if (after.step > before.step) this.note('rollout.widened', rule, after);
    return after;
  }

  private note(
    kind: 'rollout.began' | 'rollout.widened' | 'rollout.braked',
    { id, rollout }: RuleWithRollout,
    state: RolloutState,
  ): void {
    if (!this.isWritten) return;
    const { step, braked } = state;
    const share = (rollout.steps[step] as number) / 100;
    const about = { rule: id, step: step + 1, steps: rollout.steps.length, percent: share };
    const text = braked?.why ?? stepText(rollout, { ...state, countedAt: undefined });
    this.notes.push({ kind, body: { ...about, text } });
  }

  /** After the observations of this run: the numbers of the brake, and what they stop. */
  brake({ episodes }: FollowedEpisodes, proposals: readonly Proposal[]): void {
    if (this.states.size === 0) return;
    for (const rule of this.rules) {
      const state = this.states.get(rule.id);
      if (!state || state.braked) continue;
      const acted = this.actedSince(state);
      const reversed = [...episodes.values()].filter(
        (episode) => episode.rule === rule.id && this.isReversed(episode, acted.get(episode.id), state),
      );
      const exempted = proposals.filter(
        ({ rule: { id }, undo, exemption, episode }) =>
          id === rule.id && !undo && exemption && exemption.createdAt >= state.since && acted.has(episode?.id ?? ''),
      );
      this.count(rule, state, {
        reversed: joined(state.reversed, reversed),
        exempted: joined(
          state.exempted,
          exempted.flatMap(({ episode }) => episode ?? []),
        ),
      });
    }
    for (const proposal of proposals)
      if (!proposal.undo) proposal.rollout = this.facts(proposal.rule, proposal.summary.id);
  }

  private count(
    rule: RuleWithRollout,
    state: RolloutState,
    counted: Pick<RolloutState, 'reversed' | 'exempted'>,
  ): void {
    const isSame = counted.reversed === state.reversed && counted.exempted === state.exempted;
    const why = whyBraked(rule.rollout, counted);
    if (isSame && why === undefined) return;
    if (!isSame) this.counted.set(rule.id, counted);
    // A run over a part stops nothing: the next whole one does.
    if (this.input.part !== undefined) return;
    const after = { ...state, ...counted };
    const braked = why === undefined ? after : { ...paused(after), braked: { at: this.input.nowMs, why } };
    this.states.set(rule.id, braked);
    if (why !== undefined) this.note('rollout.braked', rule, braked);
  }

  /** What the rule did since its rollout began, by episode. */
  private actedSince({ rule, beganAt }: RolloutState): Map<string, Intent> {
    const acted = new Map<string, Intent>();
    for (const intent of this.input.openState.intents) {
      const { undo, mode, attempts, outcome, createdAt, basis } = intent;
      if (undo || !isLive(mode) || attempts === 0 || outcome === 'failed' || createdAt < beganAt) continue;
      for (const one of basis) if (one.rule === rule) acted.set(one.episodeId, intent);
    }
    return acted;
  }

  private isReversed(
    { id, overriddenAt }: Episode,
    acted: Intent | undefined,
    { since }: Pick<RolloutState, 'since'>,
  ): boolean {
    if (!acted || overriddenAt === undefined || overriddenAt < since) return false;
    if (this.isOwn(acted, id, overriddenAt)) return false;
    // What this run has just seen reversed is still claimed in its input; what was released and is not undone yet is so in later ones too.
    const { claims, episodes } = this.input.openState;
    const wasSeen = episodes.some((before) => before.id === id && before.overriddenAt !== undefined);
    return !wasSeen || !claims.some(({ episodeId }) => episodeId === id);
  }

  /**
   * A plan of undos overrides the episodes of its targets: that is ours, and was planned because of the brake or for a person. What a ceiling left of it, a later plan undoes.
   */
  private isOwn({ action, target }: Intent, episode: string, overriddenAt: number): boolean {
    const inverse = this.input.traits.get(action)?.inverse;
    return this.input.openState.intents.some(
      (undo) =>
        undo.released === true &&
        undo.planId !== undefined &&
        undo.action === inverse &&
        undo.target === target &&
        (undo.createdAt <= overriddenAt
          ? overriddenAt <= (undo.settledAt ?? overriddenAt)
          : undo.basis.some(({ episodeId }) => episodeId === episode)),
    );
  }
}

/** The same list when nothing is new. */
function joined(known: readonly string[], episodes: readonly Episode[]): readonly string[] {
  const fresh = episodes.map(({ id }) => id).filter((id) => !known.includes(id));
  return fresh.length === 0 ? known : [...known, ...new Set(fresh)];
}
