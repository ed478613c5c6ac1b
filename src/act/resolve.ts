// act: what earlier runs left: intents planned but never sent, sent without an outcome, and doubts.
// A doubt is resolved by reading back after the quiet period; at most one retry, and only after two agreeing reads.
import type { Action, ReadBack } from '../domain/action.ts';
import { lineOf } from '../domain/errors.ts';
import type { Intent } from '../domain/intent.ts';
import { isAtLeast } from '../domain/mode.ts';
import { elapsedMs } from '../domain/steady-time.ts';
import { sendAndSettle } from './carry-out.ts';
import { type ActContext, asRulesSee, recordOf } from './context.ts';
import { mayStillAct } from './gate.ts';
import { refusedByExemption, refusedByStop } from './operator.ts';
import { beyondCeiling, isBroken, newcomers, refusedByClaims, refusedByDoubt } from './preflight.ts';
import { episodesSeenDone } from './reversals.ts';
import { record, withdraw } from './settle.ts';

/**
 * To be called before anything else of a run: nothing stays `planned` or `sent`, and doubts that read back as done are
 * confirmed. What a doubt needs beyond that waits for the run's own look (`resolveDoubts`).
 */
export async function resolveLeftovers(context: ActContext): Promise<void> {
  for (const intent of await context.store.intentsIn('planned')) {
    await withdraw(context, intent, {
      decision: 'skip',
      reason: 'stopped',
      reasonText: 'its run broke off before it was sent; nothing was called',
    });
  }
  for (const intent of await context.store.intentsIn('sent')) await doubtSent(context, intent);
  for (const intent of await quietDoubts(context)) await confirmIfDone(context, intent);
}

/** INVARIANT: a `sent` intent found here was under way when its process ended or its disk failed: it may have had its effect. */
async function doubtSent(context: ActContext, intent: Intent): Promise<void> {
  const note = 'its run broke off between the call and the record of its outcome';
  const { id, action, target } = intent;
  await context.store.settle({
    intentId: id,
    outcome: 'unknown',
    note,
    notes: [
      { kind: 'intent.settled', body: { intent: id, run: context.runId, action, target, outcome: 'unknown', note } },
    ],
  });
}

/**
 * Resolves the doubts whose quiet period is over, with rules, windows and joined records as this run knows them.
 * INVARIANT: called after the run's own look at the fleet; before it, a window is empty and would tell a false verdict.
 */
export async function resolveDoubts(context: ActContext): Promise<void> {
  for (const intent of await quietDoubts(context)) await resolveOne(context, intent);
}

async function quietDoubts(context: ActContext): Promise<Intent[]> {
  if (context.signal.aborted) return [];
  const doubts = await context.store.intentsIn('unknown');
  return doubts.filter((intent) => isQuietOver(context, intent));
}

function isQuietOver(context: ActContext, intent: Intent): boolean {
  return waitedMs(context, intent) >= context.settings.quietMs;
}

/** At the least: after a jump of the wall clock the quiet period is waited for anew. */
function waitedMs({ steady }: ActContext, { sentAt, createdAt }: Intent): number {
  return elapsedMs(steady.read(), sentAt ?? createdAt);
}

async function confirmIfDone(context: ActContext, intent: Intent): Promise<void> {
  const action = context.actions.get(intent.action) as Action;
  const back = await readOrWarn(context, action, intent);
  if (back?.state === 'as_intended') await confirm(context, action, intent, back);
}

async function confirm(context: ActContext, action: Action, intent: Intent, back: ReadBack): Promise<void> {
  await record(context, action, intent, 'confirmed', 'found done by reading back', back.evidence);
}

/** A target that cannot be read now stays in doubt, and the next run tries again. */
async function resolveOne(context: ActContext, intent: Intent): Promise<void> {
  const action = context.actions.get(intent.action) as Action;
  let back = await readOrWarn(context, action, intent);
  // It calls nobody, and is done with the commit of its outcome: one without an outcome was not done.
  if (back && !action.changesFleet && !isLeftAlone(context, intent) && mayStillAct(context, intent))
    return sendAndSettle(context, action, intent, back, true);
  if (back?.state === 'otherwise' && (await isWaitedOut(context))) back = await readOrWarn(context, action, intent);
  if (back === undefined || context.signal.aborted) return;
  if (back.state === 'as_intended') return confirm(context, action, intent, back);
  if (isLeftAlone(context, intent)) return;
  const why = await whyNoRetry(context, action, intent, asRulesSee(context, back));
  if (why !== undefined) {
    await record(context, action, intent, 'parked', why, back.evidence);
    return;
  }
  if (isBroken(context) || (await refusedByStop(context)) || (await beyondCeiling(context, intent))) return;
  await sendAndSettle(context, action, intent, back, true);
}

async function readOrWarn(context: ActContext, action: Action, intent: Intent): Promise<ReadBack | undefined> {
  const { id, target } = intent;
  try {
    return await action.readBack(context.api, target, intent.settings);
  } catch (error) {
    context.log.warn({ intent: id, target }, `a doubt stays: the target could not be read back: ${lineOf(error)}`);
    return undefined;
  }
}

async function isWaitedOut(context: ActContext): Promise<boolean> {
  try {
    await context.clock.sleep(context.settings.rereadMs, context.signal);
    return true;
  } catch {
    return false; // the process is being stopped
  }
}

/** A dry run sends nothing, and a run touches nothing of rules that it does not judge: both leave the doubt to the next one. */
function isLeftAlone(context: ActContext, intent: Intent): boolean {
  return !isAtLeast(context.mode, 'approve') || intent.basis.some((basis) => !context.canJudge(basis.rule));
}

/** Why a doubt that read back as not done needs a person; undefined: it may be tried once more. */
async function whyNoRetry(
  context: ActContext,
  action: Action,
  intent: Intent,
  back: ReadBack,
): Promise<string | undefined> {
  if (back.state === 'unreadable') return 'the server does not say whether it was done';
  if (back.state === 'absent') return 'not found when reading back: whether it was done cannot be told';
  if (intent.doubtRetries > 0) return 'not done after one retry';
  if (!mayStillAct(context, intent)) return 'not done, and the mode of its rules does not allow it any more';
  const changed = await changedSince(context, intent);
  if (changed !== undefined) return changed;
  const refusal =
    (await refusedByDoubt(context, intent)) ??
    (await refusedByClaims(context, intent)) ??
    (await refusedByExemption(context, intent, back.records)) ??
    newcomers(intent, back);
  if (refusal) return refusal.reasonText;
  const impossible = action.refuse?.(back);
  if (impossible !== undefined) return impossible;
  if (intent.released) return undefined;
  const wanted = intent.undo ? 'no_match' : 'match';
  const stillProposed = intent.basis.every((basis) => {
    const fresh = recordOf(back.records, basis);
    return fresh !== undefined && context.recheck(basis.rule, fresh) === wanted;
  });
  return stillProposed ? undefined : 'not done, and the rule does not wish it any more as it did';
}

/** What became of its trouble since it was sent. One that came back is another episode's, which acts by itself. */
async function changedSince(context: ActContext, intent: Intent): Promise<string | undefined> {
  if (intent.undo) return undefined;
  if ((await episodesSeenDone(context, intent)).size > 0) return 'it was seen done in between: somebody reversed it';
  const episodes = await context.store.episodesInForce(intent.basis.map(({ episodeId }) => episodeId));
  const open = new Set(episodes.filter(({ state }) => state !== 'closed').map(({ id }) => id));
  const isOver = intent.basis.some(({ episodeId }) => !open.has(episodeId));
  return isOver ? 'not done, and its trouble was over since' : undefined;
}

const WAITS_MAX = 4;

/** A one-shot run has no next run to leave a doubt to: it waits for the quiet period once. */
export async function settleDoubtsOnce(context: ActContext): Promise<void> {
  const doubts = await context.store.intentsIn('unknown');
  if (doubts.length === 0) return;
  const { clock, log, signal, settings } = context;
  const leftMs = () => settings.quietMs - Math.min(...doubts.map((intent) => waitedMs(context, intent)));
  let waitMs = leftMs();
  log.info({ doubts: doubts.length, waitMs }, 'waiting for the quiet period, to read back what is in doubt');
  // A timer may fire early, and a jump begins the period anew; a clock that keeps jumping is not waited for.
  for (let waits = 0; waitMs > 0 && waits < WAITS_MAX; waits += 1) {
    await clock.sleep(Math.min(Math.ceil(waitMs), settings.quietMs), signal);
    waitMs = leftMs();
  }
  await resolveDoubts(context);
}
