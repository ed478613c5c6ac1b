// harness: judges an outcome at its commit: done must have been seen done; succeeded must have been answered so.
import type { Checker } from './checker.ts';
import type { IntentLife } from './ledger.ts';
import { LOOK_MS } from './profile.ts';
import { verbOf } from './truth.ts';

export function checkOutcome(checker: Checker, { id, action, target, requests, settled }: IntentLife): void {
  const last = settled.at(-1);
  if (last?.outcome !== 'succeeded' && last?.outcome !== 'confirmed') return;
  if (last.outcome === 'succeeded' && requests.at(-1)?.answer !== 'done')
    checker.report('false_outcome', `intent ${id} (${action} ${target}) succeeded, but was not answered so`);
  // An effect that cannot be read back is accepted when the answer reports it, and never confirmed.
  const isBlind = !checker.canBeReadBack(action) && last.outcome === 'succeeded';
  if (!isBlind && !checker.truth.wasSoAtTimes(verbOf(action, target), target, last.atMs - LOOK_MS, last.atMs))
    checker.report('false_outcome', `intent ${id} (${action} ${target}) is ${last.outcome}, but it was not so`);
}
