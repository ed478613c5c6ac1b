// act: the one dry-run gate. Drafts come in; intents go out: dry ones already settled as `dry_run`, live ones planned.
// INVARIANT: only a `planned` intent is called, and only this file makes one. What else depends on the mode is on no way to a call.

import type { AuditNote } from '../../domain/audit-entry.ts';
import type { Intent, IntentDraft } from '../../domain/intent.ts';
import { isLive, type Mode } from '../../domain/rule.ts';
import type { ReopenedIntents } from '../../domain/store-ports.ts';

export interface Opening {
  id: string;
  runId: string;
  planId?: string;
  approved?: boolean;
  nowMs: number;
}

/** For intents of earlier runs and releases: whether this mode lets a retry of a doubt, or a person's request, through. */
export function isOpen(mode: Mode): boolean {
  return isLive(mode);
}

export function openIntent(draft: IntentDraft, mode: Mode, opening: Opening): Intent {
  const live = isOpen(mode);
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

/** A live intent that failed definitely, to be tried once more; in a dry run it is unchanged. */
export function openAgain(failed: Intent, mode: Mode): Intent {
  return isOpen(mode) ? { ...failed, status: 'planned', outcome: undefined } : failed;
}

/** The transition of those that are tried once more, with its record. */
export function reopened(runId: string, intents: readonly Intent[]): ReopenedIntents {
  const note = ({ id, action, target }: Intent): AuditNote => ({
    kind: 'intent.reopened',
    body: { intent: id, run: runId, action, target },
  });
  return { intents, notes: intents.map(note) };
}

export function isToBeCarriedOut(intent: Intent): boolean {
  return intent.status === 'planned';
}
