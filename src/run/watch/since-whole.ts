// run: what counts together with a look: the last whole run and everything since. In: the store, the look's matches. Out: what deciding counts
// with; whether one fact has moved in so many subjects that the whole list has to be read. It changes nothing.
import { COUNTED_REASONS, type Part } from '../../decide/part.ts';
import type { Facts } from '../../domain/facts.ts';
import type { OpenState } from '../../domain/store.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import { summaryOf } from '../../domain/target.ts';
import type { NewMatch } from '../../domain/watch-store.ts';
import type { Engine } from '../engine.ts';
import type { PulledSnapshot } from '../pulled-snapshot.ts';
import { type MovedFact, movedAllowed, movedFacts } from './moved-facts.ts';
import type { Standing } from './standing.ts';

/** One fact moves the same way in more subjects than these: the trust gate is asked about the whole list. */
const MOVED_MAX = 10;

export async function countedWith(
  { store }: Pick<Engine, 'store'>,
  { whole }: Standing,
  records: Readonly<Record<SubjectKind, readonly Facts[]>>,
  pulled: PulledSnapshot,
): Promise<Part> {
  const read = new Set(
    Object.entries(records).flatMap(([kind, all]) =>
      all.map((record) => `${kind} ${summaryOf(kind as SubjectKind, record).id}`),
    ),
  );
  // Without a match nothing is weighed.
  const hasMatch = pulled.judgements.some(({ matches }) => matches.length > 0);
  return {
    sinceSeq: whole.seq,
    counted: hasMatch ? await store.countedSince(whole.seq, COUNTED_REASONS) : [],
    attempts: await store.attemptsOfRun(whole.id),
    hasRead: ({ kind, id }) => read.has(`${kind} ${id}`),
  };
}

/**
 * Why the whole list has to be read first; undefined: it does not. After the extra whole run of a period the trust gate has seen the list: then
 * as many subjects may still move as it would let pass.
 */
export async function movedTooFar(
  { store, settings }: Pick<Engine, 'store' | 'settings'>,
  { whole }: Standing,
  { judgements }: PulledSnapshot,
  { episodes }: OpenState,
  mayStartWhole: boolean,
): Promise<string | undefined> {
  const open = new Set(episodes.flatMap((one) => (one.state === 'closed' ? [] : [`${one.rule} ${one.subject.id}`])));
  const fresh = judgements.flatMap(({ matches }) =>
    matches.flatMap(({ rule, summary, facts }): NewMatch[] =>
      open.has(`${rule} ${summary.id}`) ? [] : [{ subject: summary, facts }],
    ),
  );
  if (fresh.length === 0) return undefined;
  const moved = movedFacts([...fresh, ...(await store.newMatchesSince(whole.seq, whole.startedAt))]);
  const { sources } = whole.findings.snapshot;
  const allowed = (one: MovedFact) => (mayStartWhole ? MOVED_MAX : movedAllowed(one, sources, settings.trust));
  const tooFar = moved.find((one) => one.subjects > allowed(one));
  return tooFar && `${tooFar.path} has moved the same way in ${tooFar.subjects} subjects since run ${whole.seq}`;
}
