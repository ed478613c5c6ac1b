// act: the one dry-run gate. Drafts come in; intents go out: dry ones already settled as `dry_run`, live ones planned.
// INVARIANT: nothing else in the product asks whether a run is dry. Only an intent that leaves here as `planned` is called.
import type { Intent, IntentDraft } from '../domain/intent.ts';
import { allowsCall, isLive, leastMode, type Mode } from '../domain/mode.ts';
import type { ActContext } from './context.ts';

export interface Opening {
  id: string;
  runId: string;
  planId?: string;
  approved?: boolean;
  nowMs: number;
}

export function openIntent(draft: IntentDraft, mode: Mode, opening: Opening): Intent {
  const live = isLive(mode);
  return {
    ...draft,
    id: opening.id,
    runId: opening.runId,
    planId: opening.planId,
    approved: opening.approved ?? false,
    mode: live ? mode : 'dry-run',
    status: live ? 'planned' : 'settled',
    outcome: live ? undefined : 'dry_run',
    attempts: 0,
    doubtRetries: 0,
    createdAt: opening.nowMs,
    sentAt: undefined,
    settledAt: live ? undefined : opening.nowMs,
    note: undefined,
  };
}

/** A live intent that failed definitely, to be tried once more; in a dry run it stays what it is. */
export function openAgain(failed: Intent, mode: Mode): Intent {
  return isLive(mode) ? { ...failed, status: 'planned', outcome: undefined } : failed;
}

/** Whether an intent of an earlier run may be sent again now: its rules, the run or the daemon may have become dry since. */
export function mayStillAct(context: Pick<ActContext, 'mode' | 'ruleMode'>, intent: Intent): boolean {
  if (intent.released) return isLive(context.mode);
  const rules = intent.basis.map((basis) => context.ruleMode(basis.rule) ?? 'off');
  return allowsCall(leastMode(context.mode, ...rules), intent.approved);
}

export function isToBeCarriedOut(intent: Intent): boolean {
  return intent.status === 'planned';
}
