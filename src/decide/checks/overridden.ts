// check: a person's reversal is left alone. In: the reversal that a run recorded; or, before a call, what the episodes have seen and
// what is read now. For an undo, the checks on claims are asked instead.
import { type BasisFacts, type Check, skip, type TargetFacts } from '../../domain/check.ts';
import { flagText } from '../../domain/target.ts';
import { timeText } from '../../domain/time-text.ts';

export const overridden: Check = {
  when: 'a person reversed it since the rule began to match',
  ask(facts) {
    const { undo, basis, approved, isDoubt, claims = [], traits } = facts;
    if (undo) return undefined;
    const one = basis.find(({ overriddenAt }) => overriddenAt !== undefined);
    const at = one?.overriddenAt;
    const seen = at === undefined ? '' : ` (seen ${timeText(at)})`;
    const what = one?.isReleased && at ? `an operator released it (${timeText(at)})` : `a person reversed it${seen}`;
    const isReversed =
      at !== undefined ||
      // No run has recorded it yet, and what is read now shows it.
      claims.some(({ action, isOver, isLost }) => isLost && !isOver && action === traits.name) ||
      // An intent that was sent and is not done may have been done and reversed: one episode that saw it done is enough.
      (isDoubt && basis.some(({ wasSeenDone }) => wasSeenDone)) ||
      (approved && !isDoubt && basis.every((one) => one.wasSeenDone && !isStillSo(facts, one)));
    return isReversed ? skip('overridden', `${what}: left alone until the rule has ceased to match`) : undefined;
  },
};

/** Another device may have joined a shared serial number: the subject's own state counts. */
function isStillSo({ traits: { fieldWritten, valueWritten } }: TargetFacts, { record }: BasisFacts): boolean {
  return (record && fieldWritten && flagText(record, fieldWritten)) === valueWritten;
}
