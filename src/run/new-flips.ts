// run: for which verdicts of a run a flip is looked for: those of decisions that will be new. In: the open state before the pull, the rules.
// Out: what the judge asks. A verdict that a decision in force is about is not asked about again.
import type { Episode } from '../domain/episode.ts';
import type { DecidedVerdicts } from '../domain/new-verdicts.ts';
import type { Rule } from '../domain/rule.ts';
import type { OpenState } from '../domain/store.ts';

export function decidedVerdicts(openState: OpenState, rules: readonly Rule[], nowMs: number): DecidedVerdicts {
  const hashes = new Map(rules.map(({ id, hash }) => [id, hash]));
  const decided = { match: new SubjectsByRule(), no_match: new SubjectsByRule() };
  for (const { rule, ruleHash, subject, verdict } of openState.decisions) {
    // An edited rule has other flips.
    if (hashes.get(rule) !== ruleHash || (verdict !== 'match' && verdict !== 'no_match')) continue;
    decided[verdict].add(rule, subject.id);
  }
  const due = undosDue(openState, rules, nowMs);
  return { match: decided.match.byRule, no_match: decided.no_match.byRule, due: due.byRule };
}

/** Where `no_match` leads to a decision: an open claim may be undone. */
function undosDue({ claims, episodes }: OpenState, rules: readonly Rule[], nowMs: number): SubjectsByRule {
  const due = new SubjectsByRule();
  const byId = new Map(rules.map((rule) => [rule.id, rule]));
  const episodeOf = new Map(episodes.map((episode) => [episode.id, episode]));
  for (const { rule: id, subjectId, episodeId } of claims) {
    const rule = byId.get(id);
    if (rule?.revert && isOverIfClear(episodeOf.get(episodeId), rule, nowMs)) due.add(id, subjectId);
  }
  return due;
}

function isOverIfClear(episode: Episode | undefined, { clearForMs }: Rule, nowMs: number): boolean {
  if (!episode || episode.state === 'closed' || clearForMs === 0) return true;
  return episode.state === 'clearing' && nowMs - episode.stateSince >= clearForMs;
}

class SubjectsByRule {
  readonly byRule = new Map<string, Set<string>>();

  add(rule: string, subjectId: string): void {
    const subjects = this.byRule.get(rule);
    if (subjects) subjects.add(subjectId);
    else this.byRule.set(rule, new Set([subjectId]));
  }
}
