// domain: for which verdicts of a run a flip is looked for: those of decisions that will be new. In: what is decided, as plain data that
// another thread can have. Out: whether a verdict is new.

type SubjectsByRule = ReadonlyMap<string, ReadonlySet<string>>;

export interface DecidedVerdicts {
  /** Decisions in force, by verdict. */
  match: SubjectsByRule;
  no_match: SubjectsByRule;
  /** Where `no_match` leads to a decision: an open claim may be undone. */
  due: SubjectsByRule;
}

export function isNewVerdict(
  decided: DecidedVerdicts,
  rule: string,
  subjectId: string,
  verdict: 'match' | 'no_match',
): boolean {
  if (decided[verdict].get(rule)?.has(subjectId)) return false;
  return verdict === 'match' || (decided.due.get(rule)?.has(subjectId) ?? false);
}
