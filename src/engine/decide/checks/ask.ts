// decide: asks the checks of a stage in their order. In: the facts about one target. Out: the first refusal, with the check that
// gave it. Act and the operator's commands get it as a parameter, since no stage imports another. Pure.
import type { Ask, Check, CheckName } from '../../../domain/check.ts';
import { breaker, ceiling, limits, newcomers } from './bounds.ts';
import { approvalNeeded, frozen, stopped, stopping } from './holds.ts';
import { exempt, exemptionUnread, joinedLater, overridden, owners, rejected } from './people.ts';
import {
  alreadyActed,
  alreadySo,
  cooldown,
  forNotReached,
  inDoubt,
  justDone,
  oneRetry,
  over,
  refusedLately,
} from './progress.ts';
import { changedSince, notJudged, notProposed, ruleChanged, ruleOff, untrustedSource } from './rules.ts';
import { LISTS } from './stages.ts';
import { conflict, impossibleTarget, serialShared, targetGone, unreadable } from './targets.ts';
import { nothingToUndo, olderReport, otherFirst, undoneAnyway, wholeUndo } from './undos.ts';

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
