// report: what differs from the run before.

import { isoTime } from '../../base/time.ts';
import type { ReportChange, ReportChanges, ReportGone } from '../../contract/report.ts';
import { keyOfDecision } from '../../domain/decision.ts';
import type { ComparedRun, Run } from '../../domain/run.ts';
import type { DecisionOutline, EndedDecision, EndedKey } from '../../domain/store-ports.ts';

const EXAMPLES_MAX = 100;

export interface Changes {
  changes: ReportChanges;
  /** By the id of a decision of this run. */
  changeOf(id: string): ReportChange;
}

/**
 * `ended`: in force in the run before, and no longer in this one. `wholeOf`: those of some ids, with their content: it is asked only for
 * what is compared or shown.
 */
export async function changesOf(
  run: Pick<Run, 'seq' | 'rules' | 'scoped'>,
  decisions: readonly DecisionOutline[],
  since: ComparedRun | undefined,
  ended: readonly EndedKey[],
  wholeOf: (ids: readonly string[]) => Promise<EndedDecision[]>,
): Promise<Changes> {
  const targets = new Set(ended.map(({ target }) => target));
  /** By what it is about: the newest run that decided it. */
  const now = new Map<string, number>();
  for (const one of decisions) {
    if (targets.has(one.target)) now.set(keyOfDecision(one), Math.max(one.runSeq, now.get(keyOfDecision(one)) ?? 0));
  }
  const gone = ended.filter((one) => !now.has(keyOfDecision(one)));
  const again = ended.filter((one) => (now.get(keyOfDecision(one)) ?? 0) > (since?.seq ?? 0));
  const whole = await wholeOf([...again, ...gone.slice(0, EXAMPLES_MAX)].map(({ id }) => id));
  const before = new Map(whole.map((decision) => [keyOfDecision(decision), decision]));
  const counts: Record<ReportChange, number> = { new: 0, changed: 0, still: 0 };
  const byId = new Map<string, ReportChange>();
  const earlierRules = new Set(since?.rules);
  let byNewRules = 0;
  for (const decision of decisions) {
    const change = changeOf(decision, run, since, before);
    byId.set(decision.id, change);
    counts[change] += 1;
    if (since && change === 'new' && !earlierRules.has(decision.rule)) byNewRules += 1;
  }
  return {
    changes: {
      since: since ? { run: since.id, seq: since.seq, at: isoTime(since.startedAt) } : null,
      new: counts.new,
      ...(byNewRules > 0 && { byNewRules }),
      gone: gone.length,
      changed: counts.changed,
      still: counts.still,
      goneExamples: whole.filter((one) => !now.has(keyOfDecision(one))).map((decision) => goneView(decision, run)),
    },
    changeOf: (id) => byId.get(id) ?? 'new',
  };
}

function changeOf(
  decision: DecisionOutline,
  run: Pick<Run, 'seq'>,
  since: ComparedRun | undefined,
  before: ReadonlyMap<string, EndedDecision>,
): ReportChange {
  if (since === undefined) return decision.runSeq === run.seq ? 'new' : 'still';
  if (decision.runSeq <= since.seq) return 'still';
  const earlier = before.get(keyOfDecision(decision));
  if (earlier === undefined) return 'new';
  return contentOf(earlier) === contentOf(decision) ? 'still' : 'changed';
}

/** What a person reads of it: between the two runs, a run of another kind may have written it twice. */
function contentOf(
  of: Pick<
    DecisionOutline,
    'ruleHash' | 'since' | 'decision' | 'reason' | 'reasonText' | 'mode' | 'cappedBy' | 'effect'
  >,
): string {
  const { ruleHash, since, decision, reason, reasonText, mode, cappedBy, effect } = of;
  return JSON.stringify([ruleHash, since, decision, reason, reasonText, mode, cappedBy ?? null, effect]);
}

const CLOSED_WORDS = {
  cleared: 'the rule no longer matches',
  gone: 'it is no longer in the list',
  adopted: 'another rule took over what was done',
};

function goneView(gone: EndedDecision, run: Pick<Run, 'rules' | 'scoped'>): ReportGone {
  const { rule, subject, subjectName, action, target, decision, episodeClosed } = gone;
  const isRuleGone = !run.scoped && !run.rules.includes(rule);
  const closed = episodeClosed === undefined ? null : CLOSED_WORDS[episodeClosed];
  return {
    rule,
    subject: { kind: subject.kind, id: subject.id, name: subjectName },
    action,
    target,
    decision,
    why: isRuleGone ? 'the rule is no longer active' : closed,
  };
}
