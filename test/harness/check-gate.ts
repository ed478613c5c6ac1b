// harness: judges the gate at each commit, before any call: a dry intent never becomes one that is carried out, even if a later check
// would refuse it. In: the committed intents. Out: violations.
import type { Checker } from './checker.ts';

export function checkGate(checker: Checker): void {
  for (const { id, action, target, status } of checker.ledger.openedInDryRuns())
    checker.report('beyond_mode', `intent ${id} (${action} ${target}) of a dry run is ${status}`);
}
