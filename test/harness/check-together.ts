// harness: judges what goes at the same time: never two calls about one target, serial number, owner, service or bundle; and never more
// calls without a success than a run may make. In: a writing request at the moment when it reaches the platform. Out: violations.
import type { Intent } from '../../src/domain/intent.ts';
import { partiesOf } from './check-operator.ts';
import type { Checker } from './checker.ts';
import type { IntentLife } from './ledger.ts';
import type { PlatformRequest } from './platform.ts';
import { LOOK_MS } from './profile.ts';

/** As in the settings of every process here. */
export const RUN_FAILURES_MAX = 5;

export function checkTogether(checker: Checker, request: PlatformRequest, intent: Intent): void {
  for (const other of checker.ledger.sent()) {
    // What a dead process left as sent is in doubt, and not under way.
    const sentMs = checker.ledger.intents.get(other.id)?.sent.at(-1) ?? 0;
    if (other.id === intent.id || sentMs < (checker.operation?.startMs ?? 0)) continue;
    const shared = sharedBy(checker, request, intent.target, other.target);
    if (shared.length > 0)
      checker.report(
        'at_once',
        `${intent.action} ${intent.target} while ${other.action} ${other.target} is under way: both are about ${shared.join(', ')}`,
      );
  }
}

/** What both were about in every version that the engine could have read: an owner may have changed since. */
function sharedBy({ world }: Checker, { atMs }: PlatformRequest, target: string, other: string): string[] {
  const words = new Set(other.split(' '));
  const inTexts = target.split(' ').filter((word) => words.has(word));
  const byVersion = world.during(atMs - LOOK_MS, atMs).map((version) => {
    const parties = new Set(partiesOf(version, other));
    return partiesOf(version, target).filter((party) => parties.has(party));
  });
  const [first = [], ...rest] = byVersion;
  return [...new Set([...inTexts, ...first.filter((party) => rest.every((shared) => shared.includes(party)))])];
}

export function checkBreaker(checker: Checker, { answer }: PlatformRequest): void {
  const { operation } = checker;
  if (!operation || answer === 'done') return;
  operation.failures += 1;
  if (operation.failures > RUN_FAILURES_MAX)
    checker.report('beyond_breaker', `${operation.failures} requests of one operation failed or are in doubt`);
}

const DONE: ReadonlySet<unknown> = new Set(['succeeded', 'confirmed']);

/** Requests in the count of the last whole run that failed or are in doubt: a look continues them. */
export function failuresSinceWhole({ ledger }: Checker): number {
  const whole = ledger.lastWholeRun();
  const isFailed = ({ settled }: IntentLife) => !DONE.has(settled.at(-1)?.outcome);
  const failed = [...ledger.intents.values()].filter(
    (life) => isFailed(life) && ledger.countedRun(life.run) === whole?.id,
  );
  // An intent that was opened again has requests of earlier runs, too.
  const isSince = ({ answer, wallMs }: PlatformRequest) => answer !== 'done' && wallMs >= (whole?.startedAt ?? 0);
  return failed.flatMap(({ requests }) => requests).filter(isSince).length;
}
