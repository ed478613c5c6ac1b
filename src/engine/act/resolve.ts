// act: open intents of earlier runs: planned but never sent, sent without an outcome, and doubts.
// A doubt is resolved by reading back after the quiet period; at most one retry, and only after two agreeing reads.

import { elapsedMs } from '../../base/time.ts';
import type { Action, KnownTraits, ReadBack } from '../../domain/action.ts';
import type { CheckName, Refused } from '../../domain/check.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import { ownText, ownTexts } from '../../domain/facts.ts';
import type { Intent, IntentDraft, SettledAs } from '../../domain/intent.ts';
import type { WriteAnswer } from '../../domain/ports.ts';
import { textWithoutSecrets } from '../../domain/secrets.ts';
import { type ActContext, exemptionFacts, noSuchAction, readTarget, targetFacts } from './context.ts';
import type { Place, Visitor } from './door.ts';
import { isOpen, isToBeCarriedOut } from './gate.ts';
import { isRefusedUndone, record, recordFound, settle, withdraw } from './settle.ts';

// Whom an intent touches: its target, the serial number, the service and the bundle that the target names, its subjects
// and the owners. In: an intent, or what was just read of its target. Out: names, of which two intents under way never
// share one. It reads nothing. INVARIANT: one name has one spelling here, whatever its case and its kind: sharing too
// much only makes an intent wait.

export type Touching = Pick<IntentDraft, 'action' | 'target' | 'settings' | 'basis' | 'effect'>;

export function touchedBy({ action, target, settings, basis, effect }: Touching, known: KnownTraits): Set<string> {
  const traits = known.get(action)?.target;
  const { devices, deletion } = effect;
  return namesOf([
    target,
    ...(traits?.parts?.(target) ?? []),
    ...(traits?.serialOf ? [traits.serialOf(target, settings)] : []),
    ...basis.map(({ subjectId }) => subjectId),
    ...devices.flatMap(({ owners }) => owners ?? []),
    ...(deletion?.owners ?? []),
    ...(deletion?.users ?? []),
  ]);
}

/** Owners by the records just read: a list of devices need not show them. */
export function ownersJustRead({ records, deletion, owners = [] }: ReadBack): Set<string> {
  const read = records.flatMap((record) => [...(ownTexts(record, 'Emails') ?? []), ownText(record, 'Email') ?? '']);
  return namesOf([...read, ...(deletion?.owners ?? []), ...owners]);
}

function namesOf(names: readonly string[]): Set<string> {
  return new Set(names.filter((name) => name !== '').map((name) => name.toLowerCase()));
}

// One attempt: through the door, the call, the outcome.

/** A read is acted on within this time; after that the target is read again. */
const READ_MS_MAX = 500;

/** Why no attempt was made. `read_again`: it had to wait for so long that the read is old. */
type NotMade = Refused | 'read_again';

/**
 * Undefined: it is settled, or the run has ended and the intent is left as it is. Errors: AppError `api_refused` after a 401, which ends
 * the run; the outcome is committed before.
 */
async function attempt(
  context: ActContext,
  stage: 'preflight' | 'retrying',
  action: Action,
  intent: Intent,
  fresh: ReadBack,
): Promise<NotMade | undefined> {
  const readMs = context.clock.monotonicMs();
  const exempt = await exemptionFacts(context, intent, fresh);
  const { counts, settings } = context;
  const visitor: Visitor = {
    touches: new Set([...touchedBy(intent, context.actions), ...ownersJustRead(fresh)]),
    isOld: () => context.clock.monotonicMs() - readMs > READ_MS_MAX,
    ask: async () => context.ask(stage, await targetFacts(context, intent, fresh, exempt)),
    mayChange: ({ check }) =>
      (check === 'ceiling' && counts.mayGiveBack(action.name)) ||
      (check === 'breaker' && counts.failures < settings.runFailuresMax),
    take: () => counts.take(action.name),
    send: () => markSent(context, action, intent, fresh, stage === 'retrying'),
  };
  const entry = await context.door.enter(visitor);
  if (entry.kind === 'refused') return entry.refused;
  if (entry.kind === 'read_again') return entry.kind;
  if (entry.kind === 'sent') await callAndSettle(context, action, intent, fresh, entry.place, visitor);
  return undefined;
}

/** INVARIANT: the commit comes first, and when it fails nothing is called. */
async function markSent(
  context: ActContext,
  action: Action,
  { id, target, basis }: Intent,
  fresh: ReadBack,
  retry: boolean,
): Promise<void> {
  // Records earlier clock jumps now, including one that is reversed before anybody waits for this attempt or while no process runs.
  context.steady.read();
  const rules = basis.map((item) => item.rule);
  const body = { intent: id, run: context.runId, action: action.name, target, rules, read: fresh.evidence, retry };
  await context.store.markSent({
    intentId: id,
    run: context.counts.run,
    clocks: context.steady.agreement(),
    latency: context.quiet.unanswered(),
    notes: [{ kind: 'intent.sent', body }],
  });
}

async function callAndSettle(
  context: ActContext,
  action: Action,
  intent: Intent,
  fresh: ReadBack,
  place: Place,
  visitor: Visitor,
): Promise<void> {
  let isGivenBack = false;
  try {
    const answer = await answerOf(context, action, intent, fresh);
    place.answered(answer.kind === 'done');
    if (isUnauthorized(answer)) context.door.close();
    context.door.changed();
    await settle(context, action, intent, answer, fresh);
    isGivenBack = isRefusedUndone(answer);
    if (isUnauthorized(answer)) throw new AppError('api_refused', answer.text);
  } finally {
    place.end(isGivenBack);
    context.door.leave(visitor);
  }
}

function isUnauthorized(answer: WriteAnswer): boolean {
  return answer.kind === 'failed' && answer.status === 401;
}

async function answerOf({ api }: ActContext, action: Action, intent: Intent, fresh: ReadBack): Promise<WriteAnswer> {
  const answer = await answerOrFault(() => action.perform(api, intent.target, fresh, intent.settings));
  // A server may echo the request: a whole spec, with its secrets.
  return { ...answer, text: textWithoutSecrets(answer.text) };
}

async function answerOrFault(perform: () => Promise<WriteAnswer>): Promise<WriteAnswer> {
  try {
    return await perform();
  } catch (error) {
    return hadNoEffect(error)
      ? { kind: 'failed', status: (error as AppError).code === 'api_refused' ? 401 : undefined, text: lineOf(error) }
      : { kind: 'doubtful', status: undefined, text: lineOf(error) };
  }
}

/** Errors of the client after which nothing was done: the call was refused, or never sent. Any other error is a doubt. */
function hadNoEffect(error: unknown): boolean {
  return error instanceof AppError && ['api_refused', 'usage', 'config', 'stopped'].includes(error.code);
}

// Several intents at once, in the order of their list.

interface Waiting<Item> {
  item: Item;
  touches: ReadonlySet<string>;
}

/**
 * `done`: how many are over by then. Errors: the first error of the work. After it nothing new begins: what has not been sent is left as it is, and what is under way is
 * settled before this throws.
 */
export async function sideBySide<Item extends Touching>(
  context: Pick<ActContext, 'actions' | 'door' | 'settings'>,
  items: readonly Item[],
  work: (item: Item, done: number) => Promise<void>,
): Promise<void> {
  const waiting = items.map((item) => ({ item, touches: touchedBy(item, context.actions) }));
  const underWay = new Set<Promise<void>>();
  const touched = new Set<string>();
  const faults: unknown[] = [];
  let done = 0;

  const begin = ({ item, touches }: Waiting<Item>): void => {
    for (const name of touches) touched.add(name);
    const one = work(item, done)
      .catch((error) => {
        faults.push(error);
        context.door.close();
      })
      .finally(() => {
        done += 1;
        underWay.delete(one);
        for (const name of touches) touched.delete(name);
      });
    underWay.add(one);
  };

  while (waiting.length > 0 && faults.length === 0) {
    const next = underWay.size < context.settings.concurrency ? takeFirstFree(waiting, touched) : undefined;
    if (next) begin(next);
    else await Promise.race(underWay);
  }
  await Promise.all(underWay);
  if (faults.length > 0) throw faults[0];
}

/** INVARIANT: of two that touch the same, the earlier one goes first. */
function takeFirstFree<Item>(waiting: Waiting<Item>[], touched: ReadonlySet<string>): Waiting<Item> | undefined {
  const taken = new Set(touched);
  const free = waiting.findIndex(({ touches }) => {
    const isFree = [...touches].every((name) => !taken.has(name));
    if (!isFree) for (const name of touches) taken.add(name);
    return isFree;
  });
  return free < 0 ? undefined : waiting.splice(free, 1)[0];
}

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
  'outside-window',
  'outside-rollout',
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
    return await readTarget(context, action, intent);
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

// Carries out planned intents, several at once.

/** Errors: AppError `api_refused`, which ends the run; those of the store. */
export async function carryOut(context: ActContext, intents: readonly Intent[]): Promise<void> {
  const due = intents.filter(isToBeCarriedOut);
  await sideBySide(context, due, async (intent, done) => {
    const { action, target } = intent;
    context.progress?.({ phase: 'acting', what: `${action} ${target}`, done, total: due.length });
    await carryOutOne(context, intent);
  });
}

/** For one of several that its caller runs side by side. Errors: those of `carryOut`. */
export async function carryOutOne(context: ActContext, intent: Intent): Promise<void> {
  const action = context.actions.get(intent.action);
  if (!action)
    return withdraw(context, intent, {
      decision: 'skip',
      reason: 'impossible_target',
      reasonText: noSuchAction(intent),
    });
  for (;;) {
    const fresh = await readOrWithdraw(context, action, intent);
    if (!fresh) return;
    const refused = await attempt(context, 'preflight', action, intent, fresh);
    if (refused === 'read_again') continue;
    if (refused?.check === 'already-so' && isSeenByReadingAlone(action, fresh))
      return recordFound(context, action, intent, fresh);
    if (refused) await withdraw(context, intent, refused);
    return;
  }
}

async function readOrWithdraw(context: ActContext, action: Action, intent: Intent): Promise<ReadBack | undefined> {
  try {
    return await readTarget(context, action, intent);
  } catch (error) {
    await withdraw(context, intent, {
      decision: 'skip',
      reason: 'stopped',
      reasonText: `the target could not be read: ${lineOf(error)}`,
    });
    if (endsTheRun(error)) throw error;
    return undefined;
  }
}

/** No snapshot shows whether the target is in that state: if the intent were withdrawn, every run would create it again. */
function isSeenByReadingAlone(action: Action, fresh: ReadBack): boolean {
  return action.changesFleet && action.fieldWritten === undefined && fresh.records.length > 0;
}

function endsTheRun(error: unknown): boolean {
  return error instanceof AppError && (error.code === 'api_refused' || error.code === 'stopped');
}
