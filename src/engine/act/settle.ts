// act: from an answer to an outcome, with the claims that follow it, in one commit.
// A ban is done when it reads back as wanted. If the answer reports success and the target does not show it, it is a doubt.

import { type Action, isSameTarget, type ReadBack } from '../../domain/action.ts';
import type { AuditKind } from '../../domain/audit-entry.ts';
import type { Refusal } from '../../domain/check.ts';
import { type Claim, closeEpisode, type Episode, seenKey, seenOfKey } from '../../domain/episode.ts';
import { lineOf } from '../../domain/errors.ts';
import type { Facts } from '../../domain/facts.ts';
import { type Intent, isDone, type SettledAs } from '../../domain/intent.ts';
import type { Clock, WriteAnswer } from '../../domain/ports.ts';
import type { ActStore } from '../../domain/store-ports.ts';
import type { ActContext } from './context.ts';
import { notificationsOf } from './notifications.ts';

// How Trustward's own change affects the episodes that go on: it is no person's reversal.

type Asking = Pick<ActContext, 'actions'> & {
  clock: Pick<Clock, 'nowMs'>;
  store: Pick<ActStore, 'openClaimsOn' | 'episodesInForce' | 'episodesThatSaw' | 'intentsOn'>;
};

/**
 * An episode that has seen the target in the opposite state forgets that. With an undo, an open episode that acted on the target and
 * lost its claim to another rule (its own was missing, off or dry for a while) ends as `adopted`, so that a rule that proposes it
 * again acts again. This does not apply to an undo that a person asked for. If the target was deleted, the episodes that claimed it,
 * acted on it or saw it in their state are over: a target that comes back is new, and nobody reversed anything.
 */
export async function episodesAfter(asking: Asking, action: Action, intent: Intent): Promise<Episode[]> {
  const { store } = asking;
  if (action.removesTarget) return goneWith(asking, intent);
  if (action.inverse === undefined || intent.released) return [];
  const ended = intent.undo ? await endedByUndo(asking, action, intent) : [];
  const key = seenKey(action.inverse, intent.target);
  const unseen = (await store.episodesThatSaw(intent.target)).filter(
    ({ id, seenSo, overriddenAt }) =>
      seenSo.includes(key) && overriddenAt === undefined && !ended.some((episode) => episode.id === id),
  );
  return [
    ...ended,
    ...unseen.map((episode) => ({ ...episode, seenSo: episode.seenSo.filter((seen) => seen !== key) })),
  ];
}

async function goneWith({ store, clock, actions }: Asking, intent: Intent): Promise<Episode[]> {
  const nowMs = clock.nowMs();
  const claims = (await store.openClaimsOn(intent.target)).filter((claim) => isSameTarget(claim, intent, actions));
  const acted = (await store.intentsOn(intent.target)).filter(
    (other) => isDone(other) && isSameTarget(other, intent, actions),
  );
  const saw = (await store.episodesThatSaw(intent.target)).filter(({ seenSo }) =>
    seenSo.some((key) => isSameTarget(seenOfKey(key), intent, actions)),
  );
  const basis = acted.flatMap((other) => other.basis);
  const concerned = await store.episodesInForce([
    ...[...claims, ...basis].map(({ episodeId }) => episodeId),
    ...saw.map(({ id }) => id),
  ]);
  return concerned.filter(({ state }) => state !== 'closed').map((episode) => closeEpisode(episode, 'gone', nowMs));
}

async function endedByUndo({ store, clock }: Asking, action: Action, intent: Intent): Promise<Episode[]> {
  const nowMs = clock.nowMs();
  const intents = await store.intentsOn(intent.target);
  const acted = intents.filter((other) => other.action === action.inverse && isDone(other));
  const ids = acted.flatMap(({ basis }) => basis.map(({ episodeId }) => episodeId));
  return (await store.episodesInForce(ids))
    .filter(({ state, overriddenAt }) => state !== 'closed' && overriddenAt === undefined)
    .map((episode) => closeEpisode(episode, 'adopted', nowMs));
}

export function closedNotes(episodes: readonly Episode[]) {
  return episodes
    .filter(({ state }) => state === 'closed')
    .map(({ id, rule, subject, since, closeReason }) => ({
      kind: 'episode.closed' as const,
      body: { episode: id, rule, subject: { kind: subject.kind, id: subject.id }, since, reason: closeReason ?? '' },
    }));
}

export async function settle(
  context: ActContext,
  action: Action,
  intent: Intent,
  answer: WriteAnswer,
  fresh: ReadBack,
): Promise<SettledAs> {
  switch (answer.kind) {
    case 'doubtful':
      if (fresh.state === 'unreadable')
        return record(
          context,
          action,
          intent,
          'parked',
          `${answer.text}; the server does not report whether it was done`,
        );
      return record(context, action, intent, 'unknown', answer.text);
    case 'failed': {
      if (isRefusedUndone(answer)) {
        const note = `${answer.text} (refused before anything was done: no attempt)`;
        return record(context, action, intent, 'failed', note, { isRefused: true });
      }
      const attempts = intent.attempts + 1;
      const spent = attempts >= context.settings.attemptsMax;
      const note = spent
        ? `${answer.text} (attempt ${attempts} of ${context.settings.attemptsMax}: needs a person)`
        : answer.text;
      return record(context, action, intent, spent ? 'parked' : 'failed', note);
    }
    case 'done': {
      const doubt = await doubtAfter(context, action, intent);
      if (doubt !== undefined)
        return record(context, action, intent, 'unknown', `answered "${answer.text}", but ${doubt}`);
      return record(context, action, intent, 'succeeded', answer.text);
    }
  }
}

/** What the server refuses with these has not begun. */
export function isRefusedUndone(answer: WriteAnswer): boolean {
  return answer.kind === 'failed' && (answer.status === 401 || answer.status === 403);
}

async function doubtAfter(context: ActContext, action: Action, intent: Intent): Promise<string | undefined> {
  if (!action.changesFleet) return undefined;
  try {
    const back = await action.readBack(context.api, intent.target, intent.settings);
    return back.state === 'as_intended' || back.state === 'unreadable'
      ? undefined
      : 'it does not read back as wanted yet';
  } catch (error) {
    return `it could not be read back: ${lineOf(error)}`;
  }
}

/** The target was in that state before any call: somebody else did it, so it is not claimed. If they undid it, no claim is left. */
export async function recordFound(context: ActContext, action: Action, intent: Intent, fresh: ReadBack): Promise<void> {
  const note = 'the target was already in the wanted state when it was read again: nothing was called';
  await record(context, action, intent, 'confirmed', note, { evidence: fresh.evidence, isOurs: intent.undo });
}

interface Recorded {
  evidence?: Facts;
  /** Trustward did it. */
  isOurs?: boolean;
  isRefused?: boolean;
}

/** Commits an outcome with its audit entry and, if Trustward did it, its claims. */
export async function record(
  context: ActContext,
  action: Action,
  intent: Intent,
  outcome: SettledAs,
  note: string,
  { evidence = {}, isOurs = true, isRefused = false }: Recorded = {},
): Promise<SettledAs> {
  const done = isDone({ outcome });
  const claims = done && isOurs ? await claimsAfter(context, action, intent) : [];
  const episodes = done && isOurs ? await episodesAfter(context, action, intent) : [];
  const { id, target } = intent;
  context.steady.read();
  await context.store.settle({
    intentId: id,
    outcome,
    note,
    ...(isRefused && { refused: { credential: context.settings.credential } }),
    clocks: context.steady.agreement(),
    // A call of another target that is under way counts as one that is never answered, until it is.
    latency: context.counts.unanswered > 0 ? context.quiet.unanswered() : context.quiet.latency(),
    claims,
    episodes,
    notifications: done ? notificationsOf(context, action, intent) : [],
    notes: [
      {
        kind: 'intent.settled',
        body: { intent: id, run: context.runId, action: action.name, target, outcome, note, evidence },
      },
      ...claims.map((claim) => claimNote(claim)),
      ...closedNotes(episodes),
    ],
  });
  const fields = { intent: id, action: action.name, target, outcome };
  // An action that changes nothing is only shown: here, in the report and in the audit.
  if (!action.changesFleet && done)
    context.log.warn(
      { ...fields, rules: intent.basis.map((basis) => basis.rule) },
      `${action.name}: ${intent.effect.text}`,
    );
  else context.log.info(fields, `${action.name} ${target}: ${outcome}`);
  return outcome;
}

/**
 * A done action ends all claims that the opposite action has on the target: nobody else ended them. If there was none, it opens a
 * claim for every episode. If the target is gone, every claim on it ends.
 */
export async function claimsAfter(
  context: Pick<ActContext, 'ids' | 'actions'> & {
    clock: Pick<Clock, 'nowMs'>;
    store: Pick<ActStore, 'openClaimsOn'>;
  },
  action: Action,
  intent: Intent,
): Promise<Claim[]> {
  if (action.inverse === undefined && !action.removesTarget) return [];
  const nowMs = context.clock.nowMs();
  const open = await context.store.openClaimsOn(intent.target);
  const opposite = open
    .filter(
      (claim) =>
        isSameTarget(claim, intent, context.actions) && (action.removesTarget || claim.action === action.inverse),
    )
    .map((claim): Claim => ({ ...claim, status: intent.released ? 'released' : 'ended', endedAt: nowMs }));
  // If it ended claims, it took back what Trustward did: undoing it would do that again, although its match is over.
  if (intent.undo || action.removesTarget || opposite.length > 0) return opposite;
  const claimed = new Set(open.filter(({ action }) => action === intent.action).map((claim) => claim.episodeId));
  // An episode may have adopted a claim while its own intent was in doubt: one is enough.
  const episodes = new Map(intent.basis.map((basis) => [basis.episodeId, basis]));
  const unclaimed = [...episodes.values()].filter((basis) => !claimed.has(basis.episodeId));
  const opened = unclaimed.map(
    (basis): Claim => ({
      id: context.ids.next(),
      episodeId: basis.episodeId,
      rule: basis.rule,
      subjectId: basis.subjectId,
      action: intent.action,
      target: intent.target,
      intentId: intent.id,
      status: 'standing',
      openedAt: nowMs,
      endedAt: undefined,
    }),
  );
  return [...opposite, ...opened];
}

const CLAIM_KINDS = {
  standing: 'claim.opened',
  orphaned: 'claim.orphaned',
  ended: 'claim.ended',
  overridden: 'claim.ended',
  released: 'claim.released',
} as const satisfies Record<Claim['status'], AuditKind>;

export function claimNote(claim: Claim) {
  const { id, rule, subjectId, action, target, intentId, status } = claim;
  const kind = CLAIM_KINDS[status];
  return { kind, body: { claim: id, rule, subject: subjectId, action, target, intent: intentId } };
}

/** Withdraws an intent before any call; its decisions get the reason as their new answer. */
export async function withdraw(context: ActContext, intent: Intent, refusal: Refusal): Promise<void> {
  const { id, action, target } = intent;
  await context.store.withdraw({
    intentId: id,
    why: refusal,
    notes: [
      {
        kind: 'intent.withdrawn',
        body: { intent: id, run: context.runId, action, target, reason: refusal.reason, text: refusal.reasonText },
      },
    ],
  });
}
