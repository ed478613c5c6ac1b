// act: open intents of earlier runs: planned but never sent, sent without an outcome, and doubts.
// A doubt is resolved by reading back after the quiet period; at most one retry, and only after two agreeing reads.
import type { Action, ReadBack } from '../domain/action.ts';
import type { CheckName } from '../domain/check.ts';
import { lineOf } from '../domain/errors.ts';
import type { Intent, SettledAs } from '../domain/intent.ts';
import { elapsedMs } from '../domain/steady-time.ts';
import { attempt } from './attempt.ts';
import { type ActContext, noSuchAction } from './context.ts';
import { isOpen } from './gate.ts';
import { record, withdraw } from './settle.ts';
import { sideBySide } from './side-by-side.ts';
import { targetFacts } from './target-facts.ts';

/**
 * Called first in a run: afterwards no intent is `planned` or `sent`, and doubts that read back as done are confirmed. Any further
 * step of a doubt waits until the run has read the fleet (`resolveDoubts`).
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
  await sideBySide(context, await quietDoubts(context), (intent) => confirmIfDone(context, intent));
}

/** INVARIANT: a `sent` intent found here was under way when its process ended or its disk failed: it may have had its effect. */
function doubtSent(context: ActContext, intent: Intent): Promise<void> {
  const note = 'its run broke off between the call and the record of its outcome';
  return settleUnread(context, intent, 'unknown', note);
}

async function settleUnread(context: ActContext, intent: Intent, outcome: SettledAs, note: string): Promise<void> {
  const { id, action, target } = intent;
  await context.store.settle({
    intentId: id,
    outcome,
    note,
    notes: [{ kind: 'intent.settled', body: { intent: id, run: context.runId, action, target, outcome, note } }],
  });
}

/**
 * Resolves the doubts whose quiet period is over, with rules, windows and joined records as this run knows them.
 * INVARIANT: called after the run has read the fleet; before that, windows are empty and would give a false verdict.
 */
export async function resolveDoubts(context: ActContext): Promise<void> {
  await sideBySide(context, await quietDoubts(context), (intent) => resolveOne(context, intent));
}

async function quietDoubts(context: ActContext): Promise<Intent[]> {
  if (context.signal.aborted) return [];
  const doubts = await context.store.intentsIn('unknown');
  const { ms: quietMs } = context.quiet.read();
  return doubts.filter((intent) => waitedMs(context, intent) >= quietMs);
}

/** A lower bound: after a jump of the wall clock the quiet period starts again. */
function waitedMs({ steady }: ActContext, { sentAt, createdAt }: Intent): number {
  return elapsedMs(steady.read(), sentAt ?? createdAt);
}

async function confirmIfDone(context: ActContext, intent: Intent): Promise<void> {
  const action = context.actions.get(intent.action);
  if (!action) return;
  const back = await readOrWarn(context, action, intent);
  if (back?.state === 'as_intended') await confirm(context, action, intent, back);
}

async function confirm(context: ActContext, action: Action, intent: Intent, back: ReadBack): Promise<void> {
  await record(context, action, intent, 'confirmed', 'found done by reading back', { evidence: back.evidence });
}

/** If one of these answers, the doubt is left to a later run. Any other refusal needs a person. */
const LEFT_ALONE: ReadonlySet<CheckName> = new Set([
  'stopping',
  'not-judged',
  'exemption-unread',
  'breaker',
  'stopped',
  'frozen',
  'ceiling',
]);

/** A target that cannot be read now stays in doubt, and the next run tries again. */
async function resolveOne(context: ActContext, intent: Intent): Promise<void> {
  const action = context.actions.get(intent.action);
  if (!action) return parkUnknownAction(context, intent);
  let back = await readOrWarn(context, action, intent);
  // An action that calls nobody is done with the commit of its outcome: there is nothing to wait for.
  if (action.changesFleet && back?.state === 'otherwise' && (await isWaitedOut(context)))
    back = await readOrWarn(context, action, intent);
  if (back === undefined) return;
  const isTried = isOpen(context.mode);
  const refused = isTried
    ? await attempt(context, 'retrying', action, intent, back)
    : context.ask('retrying', await targetFacts(context, intent, back));
  // It had to wait for other calls: it is read again, both times.
  if (refused === 'read_again') return resolveOne(context, intent);
  if (refused?.check === 'already-so') return confirm(context, action, intent, back);
  if (!isTried || !refused || LEFT_ALONE.has(refused.check)) return;
  await record(context, action, intent, 'parked', refused.reasonText, { evidence: back.evidence });
}

/** Its target cannot be read and it cannot be sent: it needs a person, if the run judges its rules. */
async function parkUnknownAction(context: ActContext, intent: Intent): Promise<void> {
  const isJudged = intent.basis.every(({ rule }) => context.canJudge(rule));
  if (isOpen(context.mode) && isJudged) await settleUnread(context, intent, 'parked', noSuchAction(intent));
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

const WAITS_MAX = 4;

/** A one-shot run has no next run to leave a doubt to: it waits for the quiet period once. */
export async function settleDoubtsOnce(context: ActContext): Promise<void> {
  const doubts = await context.store.intentsIn('unknown');
  if (doubts.length === 0) return;
  const { clock, log, signal } = context;
  const { ms: quietMs } = context.quiet.read();
  const leftMs = () => quietMs - Math.min(...doubts.map((intent) => waitedMs(context, intent)));
  let waitMs = leftMs();
  log.info({ doubts: doubts.length, waitMs }, 'waiting for the quiet period, to read back what is in doubt');
  // A timer may fire early, and a jump starts the period again. A clock that keeps jumping is not waited for.
  for (let waits = 0; waitMs > 0 && waits < WAITS_MAX; waits += 1) {
    await clock.sleep(Math.min(Math.ceil(waitMs), quietMs), signal);
    waitMs = leftMs();
  }
  await resolveDoubts(context);
}
