// run: reads singly what a list shows changed by a person, before that is believed. In: what a list shows otherwise than what was done last, the
// API. Out: for each target whether its own record agrees with the list. A list that its own record contradicts is not trusted.
import { type ListReads, type Suspect, suspects } from '../decide/own-reads.ts';
import type { Action } from '../domain/action.ts';
import { seenKey } from '../domain/episode.ts';
import { AppError, lineOf } from '../domain/errors.ts';
import type { Facts } from '../domain/facts.ts';
import type { TargetReads } from '../domain/ports.ts';
import type { OwnRead, TrustReason } from '../domain/snapshot.ts';
import { SOURCE_OF, SOURCES } from '../domain/subjects.ts';
import { flagText } from '../domain/target.ts';
import type { PullEngine } from './engine.ts';
import { boundedLookups, readEach } from './single-reads.ts';

/** Targets that one run reads; what a person did to the others stays in doubt until a later one. */
const TARGETS_MAX = 50;

export interface OwnReads {
  /** By `seenKey`. */
  reads: ReadonlyMap<string, OwnRead>;
  contradicted: TrustReason[];
}

/** Errors: AppError `api_refused` and `stopped`. A target that cannot be read otherwise stays in doubt. */
export async function readOwnDoings(
  { api, actions, log }: Pick<PullEngine, 'api' | 'actions' | 'log'>,
  seen: ListReads,
): Promise<OwnReads> {
  const found = suspects(seen);
  const lookups: TargetReads = { ...boundedLookups(api), listBundles: () => api.listBundles() };
  const read = async (suspect: Suspect) => {
    try {
      return await compared(lookups, actions.get(suspect.traits.name) as Action, suspect);
    } catch (error) {
      if (!(error instanceof AppError) || error.code === 'api_refused' || error.code === 'stopped') throw error;
      log.warn({ target: suspect.target }, `whether a person reversed it is not known: ${lineOf(error)}`);
      return 'unread';
    }
  };
  const chosen = found.slice(0, TARGETS_MAX);
  const answers = await readEach(chosen, read);
  const reads = new Map(found.map((suspect) => [seenKey(suspect.traits.name, suspect.target), 'unread' as OwnRead]));
  for (const [at, { traits, target }] of chosen.entries())
    reads.set(seenKey(traits.name, target), answers[at] as OwnRead);
  return { reads, contradicted: contradictions(chosen, answers) };
}

async function compared(api: TargetReads, action: Action, { target, subject, found }: Suspect): Promise<OwnRead> {
  const { records } = await action.readBack(api, target, {});
  const isOwn = (record: Facts) => record.DeviceID === subject.id || record.ServiceID === subject.id;
  const record = records.find(isOwn);
  const state = record && flagText(record, action.fieldWritten as string);
  if (state === undefined) return 'unread';
  return state === found ? 'as_listed' : 'as_done';
}

/** One reason for each source, with an example. */
function contradictions(read: readonly Suspect[], answers: readonly OwnRead[]): TrustReason[] {
  const against = read.filter((_, at) => answers[at] === 'as_done');
  return SOURCES.flatMap((source): TrustReason[] => {
    const all = against.filter(({ subject }) => SOURCE_OF[subject.kind] === source);
    const first = all[0];
    if (!first) return [];
    const { target, traits, found } = first;
    const listed = `the list shows \`${target}\` with ${traits.fieldWritten} ${found}`;
    const own = `its own record, read just now, has ${traits.valueWritten}`;
    const more = all.length > 1 ? ` (and ${all.length - 1} more differ like this)` : '';
    return [{ source, code: 'contradicted', text: `${source}: ${listed}, and ${own}${more}` }];
  });
}
