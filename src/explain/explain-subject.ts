// explain: why a rule gives its verdict on one subject, and what would be done. In: a rule and any name of a subject.
// Out: the verdict as read now, what would be decided for this one subject now, and what the last run decided.
// Checks that weigh a subject among others are named, and taken from the recorded decision. Changes nothing.
import type { Decision } from '../domain/decision.ts';
import { AppError } from '../domain/errors.ts';
import type { ExplainedSubject, Explanation, Recorded } from '../domain/explanation.ts';
import { decideNow, type ExplainDeps, judgeSubject } from './judge-subject.ts';
import { readLastRuns } from './last-runs.ts';

/** Errors: AppError `not_found` for an unknown rule or subject, and those of reading the API. */
export async function explainSubject(deps: ExplainDeps, ruleId: string, id: string): Promise<ExplainedSubject> {
  const { reader, isWhatIf } = deps;
  const rule = deps.rules.find((loaded) => loaded.id === ruleId);
  if (!rule) {
    const known = deps.rules.map((loaded) => loaded.id).join(', ');
    throw new AppError('not_found', `there is no rule \`${ruleId}\`: loaded are ${known}`);
  }
  const judged = await judgeSubject(deps, [rule], rule.subject, id);
  const { events, nowMs } = judged;
  const last = await readLastRuns(reader, { rule, subjectId: judged.id, events, nowMs, isWhatIf });
  const now = await decideNow(deps, [rule], judged, last.sources);
  const recorded = { ...last.recorded, differs: last.basis.run !== undefined && isOther(now, last.recorded) };
  const [explanation] = judged.explanations as [Explanation];
  return { explanation, mode: rule.mode, ...now, recorded, basis: last.basis };
}

function isOther(now: Pick<ExplainedSubject, 'decisions'>, recorded: Recorded): boolean {
  const answers = (decisions: readonly Pick<Decision, 'action' | 'target' | 'decision' | 'reason'>[]) =>
    decisions.map(({ action, target, decision, reason }) => [action, target, decision, reason].join('\u0000')).sort();
  return answers(now.decisions).join('\n') !== answers(recorded.decisions).join('\n');
}
