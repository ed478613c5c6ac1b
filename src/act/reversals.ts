// act: whether a person reversed what an intent wishes, since nobody looks at the fleet between a plan and its applying.
// In: an intent and its target as just read. Out: why not to call, or nothing. It changes nothing.
import type { Action, ReadBack } from '../domain/action.ts';
import { seenKey } from '../domain/episode.ts';
import type { Intent } from '../domain/intent.ts';
import { flagText } from '../domain/target.ts';
import { type ActContext, type Refusal, recordOf } from './context.ts';

/** Episodes of an intent that have seen its target so, by whoever's doing, or whose reversal was seen. */
export async function episodesSeenDone(context: ActContext, intent: Intent): Promise<ReadonlySet<string>> {
  const key = seenKey(intent.action, intent.target);
  const own = [...new Set(intent.basis.map(({ episodeId }) => episodeId))];
  const claims = (await context.store.openClaimsOn(intent.target)).filter(({ action }) => action === intent.action);
  const claiming = new Set(claims.map(({ episodeId }) => episodeId));
  const episodes = await context.store.episodesInForce(own);
  const seen = episodes.filter(
    ({ id, seenSo, overriddenAt }) => claiming.has(id) || seenSo.includes(key) || overriddenAt !== undefined,
  );
  return new Set(seen.map(({ id }) => id));
}

/** An approved intent whose every episode has seen its target so, when it is not so any more: a person changed it back. */
export async function refusedReversal(
  context: ActContext,
  action: Action,
  intent: Intent,
  fresh: ReadBack,
): Promise<Refusal | undefined> {
  if (!intent.approved || intent.undo) return undefined;
  const seen = await episodesSeenDone(context, intent);
  const isReversed = intent.basis.every((basis) => {
    const record = recordOf(fresh.records, basis);
    const state = record && action.fieldWritten && flagText(record, action.fieldWritten);
    // Of a shared serial number, another device may have joined: the subject's own is still so.
    return seen.has(basis.episodeId) && state !== action.valueWritten;
  });
  if (!isReversed) return undefined;
  return { decision: 'skip', reason: 'overridden', reasonText: 'a person reversed it since the plan was made' };
}
