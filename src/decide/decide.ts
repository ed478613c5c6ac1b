// decide: verdicts + standing state → episodes, claims, decisions, and what is to be done. Pure.
// The order of the questions is the design's (section 4); the first that applies is the decision's recorded reason.
import type { AuditNote } from '../domain/audit-entry.ts';
import type { Decision } from '../domain/decision.ts';
import { isFacts } from '../domain/facts.ts';
import { type IntentDraft, intentKey } from '../domain/intent.ts';
import { isAtLeast, leastMode, MODES } from '../domain/mode.ts';
import type { PlannedIntent } from '../domain/plan.ts';
import { Claims } from './claims.ts';
import { tellDeletions, tellEnds } from './deletions.ts';
import { followEpisodes } from './episodes.ts';
import { Exemptions, partiesOfCard } from './exemptions.ts';
import type { Decided, DecideInput, DraftToAct } from './input.ts';
import { Observations } from './observations.ts';
import { effectOf, isPlannable, type Wish, wishKey } from './proposal.ts';
import { KnownIntents, wishesOf } from './proposals.ts';
import { carryDecisions } from './reconcile-decisions.ts';
import { answerAlone } from './steps.ts';
import { answerTogether } from './together.ts';
import { UndoWishes } from './undo-proposals.ts';

export function decide(input: DecideInput): Decided {
  const followed = followEpisodes(input);
  const claims = new Claims(input, followed);
  const known = new KnownIntents(input.standing.intents);
  claims.orphan();

  const wishes = wishesOf(input, followed.matches, known);
  markExempt(wishes, input);
  const observations = new Observations(input, followed, claims);
  for (const wish of wishes) observations.observe(wish);
  observations.observeReversals(known);
  observations.heedReversals(wishes);
  // What a person did to one target of an episode holds for all that it wishes.
  for (const wish of wishes) wish.episode = observations.episodeNow(wish);
  wishes.push(...new UndoWishes(input, followed, claims, known).all());
  for (const wish of wishes) wish.answer = answerAlone(wish, input);
  answerTogether(wishes, claims, input);
  tellDeletions(wishes, input.fleet);
  tellEnds(wishes, claims);

  const carried = carryDecisions(wishes, input);
  return {
    episodes: [...followed.changed.values()],
    claims: claims.changed,
    decisions: carried.written,
    ended: carried.ended,
    acts: draftsToAct(wishes, carried.idOf, carried.isCarried),
    planned: plannedIntents(wishes, carried.idOf, input),
    exemptionsUsed: [...new Set(wishes.flatMap((wish) => wish.exemption?.id ?? []))],
    notes: [...followed.notes, ...claims.notes, ...carried.written.map(decisionNote)],
  };
}

function markExempt(wishes: readonly Wish[], input: DecideInput): void {
  const exemptions = new Exemptions(input.standing.exemptions ?? [], input.nowMs);
  if (exemptions.isEmpty) return;
  const owners = input.exemptOwners ?? new Map();
  for (const wish of wishes)
    wish.exemption = exemptions.protecting(partiesOfCard(wish.card, wish.target, input.fleet, owners));
}

function draftsToAct(
  wishes: readonly Wish[],
  idOf: (wish: Wish) => string,
  isCarried: (wish: Wish) => boolean,
): DraftToAct[] {
  const acting = wishes.filter((wish) => wish.answer?.decision === 'act');
  // A rule in dry-run never shares an intent with one that enforces: it would gain a claim on what the other did. Told by
  // the rules' own modes, so that a dry run has the intents of a live one.
  return MODES.flatMap((ownMode) =>
    merged(acting.filter((wish) => wish.ownMode === ownMode)).map((group) => ({
      draft: draftOf(group, idOf),
      mode: (group[0] as Wish).mode,
      // Only a live act continues a failed intent: a dry one says what would be done, and has an intent of its own.
      retryOf: group.find((wish) => isAtLeast(wish.mode, 'approve') && wish.intent !== undefined)?.intent?.id,
      carried: group.every(isCarried),
    })),
  );
}

/** In a dry run all that a person or a live run would do, by rules of mode `approve` and `enforce`; else what waits. */
function plannedIntents(wishes: readonly Wish[], idOf: (wish: Wish) => string, input: DecideInput): PlannedIntent[] {
  const live = isAtLeast(leastMode(input.runMode, input.daemonMode), 'approve');
  const sealed = wishes.filter(({ answer, ownMode }) => {
    if (!answer || !isAtLeast(ownMode, 'approve')) return false;
    return isPlannable(answer) && (answer.decision === 'hold' || !live);
  });
  // What one rule would do by itself does not wait because another rule's equal wish does: a live run has two intents too.
  const [held, acting] = [sealed.filter(isHeld), sealed.filter((wish) => !isHeld(wish))];
  return [...merged(held), ...merged(acting)].map((group) => {
    const draft = draftOf(group, idOf);
    const first = group[0] as Wish;
    const { answer } = first;
    return {
      ...draft,
      key: intentKey(draft),
      held: isHeld(first),
      reason: answer?.reason ?? '',
      reasonText: answer?.text ?? '',
    };
  });
}

function isHeld({ answer }: Wish): boolean {
  return answer?.decision === 'hold';
}

/**
 * Equal wishes (one action, one target) of several rules or subjects are one intent.
 * INVARIANT: undoings are never among others: they rest on a trouble that is gone.
 */
function merged(wishes: readonly Wish[]): Wish[][] {
  const groups = new Map<string, Wish[]>();
  for (const wish of wishes) {
    if (wish.episode === undefined) continue;
    const key = `${wish.undo}\u0000${wishKey(wish)}`;
    const group = groups.get(key);
    if (group) group.push(wish);
    else groups.set(key, [wish]);
  }
  return [...groups.values()];
}

function draftOf(group: readonly Wish[], idOf: (wish: Wish) => string): IntentDraft {
  const first = group[0] as Wish;
  return {
    action: first.traits.name,
    target: first.target,
    settings: first.settings,
    undo: first.undo,
    basis: group.map((wish) => ({
      rule: wish.rule.id,
      ruleHash: wish.rule.hash,
      subjectId: wish.card.id,
      episodeId: wish.episode?.id ?? '',
      decisionId: idOf(wish),
      facts: wish.facts,
    })),
    effect: effectOf(first),
  };
}

function decisionNote(decision: Decision): AuditNote {
  const {
    id,
    rule,
    ruleHash,
    subject,
    decision: name,
    reason,
    reasonText,
    action,
    target,
    mode,
    facts,
    episodeId,
  } = decision;
  return {
    kind: 'decision.made',
    body: {
      decision: id,
      rule,
      ruleHash,
      subject: { kind: subject.kind, id: subject.id },
      answer: name,
      reason,
      reasonText,
      action,
      target,
      mode,
      facts: isFacts(facts) ? facts : {},
      episode: episodeId,
    },
  };
}
