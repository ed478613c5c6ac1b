// harness: judges the use of lists: nothing new begins on a false one, unless an operator accepted it. In: a writing
// request, and how the lists of its run were read. Out: violations.
import type { Intent } from '../../src/domain/intent.ts';
import type { Source } from '../../src/domain/subjects.ts';
import type { Checker } from './checker.ts';
import type { IntentLife } from './ledger.ts';
import type { PlatformRequest } from './platform.ts';
import type { ListFate } from './profile.ts';

/** How a list was read; `isAccepted`: an operator had confirmed that the missing records are really gone. */
export interface ListSeen {
  fate: ListFate;
  isShort: boolean;
  isAccepted: boolean;
}

/** Nothing new begins on an untrusted reading; doubts of earlier runs are older than it. */
export function checkTrust(checker: Checker, request: PlatformRequest, intent: Intent, life: IntentLife): void {
  const { operation } = checker;
  if (operation?.name !== 'run' || intent.approved || life.sent.length > 1) return;
  const source = SOURCE_OF[request.verb] ?? 'services';
  const reading = operation.lists.get(source);
  if (!reading || isBelieved(reading)) return;
  checker.report('on_untrusted', `${intent.action} ${intent.target} on a list that came ${reading.fate}`);
}

export const SOURCE_OF: { readonly [verb: string]: Source } = {
  ban: 'devices',
  unban: 'devices',
  delete: 'devices',
  unmap: 'users',
};

const UNTRUSTED: ReadonlySet<ListFate> = new Set(['shifted', 'truncated', 'repeated', 'emptied', 'broken']);

export function isBelieved({ fate, isShort, isAccepted }: ListSeen): boolean {
  return (isAccepted && fate === 'emptied') || (!UNTRUSTED.has(fate) && (isAccepted || !isShort));
}
