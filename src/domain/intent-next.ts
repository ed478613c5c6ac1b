// domain: what becomes of an unfinished intent by itself. In: an intent. Out: words that follow what it is. Pure.
import { type Intent, isInDoubt } from './intent.ts';

export const NEXT_OF_DOUBT = 'the next run reads it back';
export const NEXT_OF_FAILURE = 'a later run tries again while its rule matches';

/** Undefined: nothing is to come. */
export function nextText(intent: Pick<Intent, 'status' | 'outcome'>): string | undefined {
  if (isInDoubt(intent)) return NEXT_OF_DOUBT;
  if (intent.outcome === 'parked') return 'it waits for a person: nothing happens by itself';
  if (intent.outcome === 'failed') return NEXT_OF_FAILURE;
  return intent.status === 'planned' ? 'it is under way' : undefined;
}
