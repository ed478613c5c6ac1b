// decide: asks the checks of a stage in their order. In: the facts about one target. Out: the first refusal, with the check that
// gave it. Act and the operator's commands get it as a parameter, since no stage imports another. Pure.
import type { Ask, Check, CheckName } from '../../domain/check.ts';
import { alreadyActed } from './already-acted.ts';
import { alreadySo } from './already-so.ts';
import { approvalNeeded } from './approval-needed.ts';
import { breaker } from './breaker.ts';
import { ceiling } from './ceiling.ts';
import { changedSince } from './changed-since.ts';
import { conflict } from './conflict.ts';
import { cooldown } from './cooldown.ts';
import { exempt } from './exempt.ts';
import { exemptionUnread } from './exemption-unread.ts';
import { forNotReached } from './for-not-reached.ts';
import { frozen } from './frozen.ts';
import { impossibleTarget } from './impossible-target.ts';
import { inDoubt } from './in-doubt.ts';
import { joinedLater } from './joined-later.ts';
import { justDone } from './just-done.ts';
import { limits } from './limits.ts';
import { newcomers } from './newcomers.ts';
import { notJudged } from './not-judged.ts';
import { notProposed } from './not-proposed.ts';
import { nothingToUndo } from './nothing-to-undo.ts';
import { olderReport } from './older-report.ts';
import { oneRetry } from './one-retry.ts';
import { otherFirst } from './other-first.ts';
import { over } from './over.ts';
import { overridden } from './overridden.ts';
import { owners } from './owners.ts';
import { refusedLately } from './refused-lately.ts';
import { rejected } from './rejected.ts';
import { ruleChanged } from './rule-changed.ts';
import { ruleOff } from './rule-off.ts';
import { serialShared } from './serial-shared.ts';
import { LISTS } from './stages.ts';
import { stopped } from './stopped.ts';
import { stopping } from './stopping.ts';
import { targetGone } from './target-gone.ts';
import { undoneAnyway } from './undone-anyway.ts';
import { unreadable } from './unreadable.ts';
import { untrustedSource } from './untrusted-source.ts';
import { wholeUndo } from './whole-undo.ts';

export const CHECKS: { readonly [name in CheckName]: Check } = {
  stopping,
  breaker,
  stopped,
  frozen,
  'rule-off': ruleOff,
  'rule-changed': ruleChanged,
  'not-judged': notJudged,
  'untrusted-source': untrustedSource,
  'older-report': olderReport,
  exempt,
  'exemption-unread': exemptionUnread,
  'already-so': alreadySo,
  unreadable,
  'target-gone': targetGone,
  'one-retry': oneRetry,
  'in-doubt': inDoubt,
  'just-done': justDone,
  rejected,
  overridden,
  'already-acted': alreadyActed,
  over,
  'for-not-reached': forNotReached,
  cooldown,
  'refused-lately': refusedLately,
  'impossible-target': impossibleTarget,
  'serial-shared': serialShared,
  'joined-later': joinedLater,
  conflict,
  'nothing-to-undo': nothingToUndo,
  'whole-undo': wholeUndo,
  'other-first': otherFirst,
  newcomers,
  'changed-since': changedSince,
  'not-proposed': notProposed,
  limits,
  owners,
  'approval-needed': approvalNeeded,
  ceiling,
  'undone-anyway': undoneAnyway,
};

export const ask: Ask = (stage, facts) => {
  for (const { check, of } of LISTS[stage]) {
    if (of === 'fleet' && !facts.traits.changesFleet) continue;
    const refusal = CHECKS[check].ask(facts);
    if (refusal) return { ...refusal, check };
  }
  return undefined;
};
