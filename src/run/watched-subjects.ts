// run: subjects that something is open on. In: the open state. Out: by subject id, the rules whose verdict is needed.
import type { OpenState } from '../domain/store.ts';

/**
 * By subject id, the rules whose verdict is needed even when it is no match: they have an open episode or claim there.
 */
export function watchedSubjects(openState: OpenState): ReadonlyMap<string, ReadonlySet<string>> {
  const watched = new Map<string, Set<string>>();
  const watch = (subjectId: string, rule: string) => {
    const rules = watched.get(subjectId);
    if (rules) rules.add(rule);
    else watched.set(subjectId, new Set([rule]));
  };
  for (const episode of openState.episodes) watch(episode.subject.id, episode.rule);
  for (const claim of openState.claims) watch(claim.subjectId, claim.rule);
  return watched;
}
