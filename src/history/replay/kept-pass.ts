// history: the verdicts of some rules on all subjects of a kind, kept from run to run. In: subjects to judge again. Out: matches and open
// verdicts, as one pass over the whole list would have found them.
import type { SubjectKind } from '../../domain/subjects.ts';
import type { Evaluator, JudgeContext, Match, OpenVerdict } from '../../domain/verdict.ts';
import type { LoadedRule } from '../../evaluate/index.ts';
import type { RuleCounts } from './verdict-counts.ts';
import type { View, WorldKind, WorldSubject } from './world-kind.ts';

interface Kept {
  matches: Match[];
  open: OpenVerdict[];
}

export type PassContext = Omit<JudgeContext, 'onDoubt' | 'isExampleWanted'>;

export class KeptPass {
  private readonly kept = new Map<WorldSubject, Kept>();
  /** Rules that are in doubt. */
  private readonly doubts = new Map<WorldSubject, RuleCounts[]>();
  private readonly rules: readonly LoadedRule[];
  private found: { matches: Match[]; open: OpenVerdict[] } | undefined;

  constructor(
    private readonly kind: SubjectKind,
    private readonly evaluator: Evaluator,
    rules: readonly LoadedRule[],
    private readonly counts: ReadonlyMap<string, RuleCounts>,
  ) {
    this.rules = rules.filter(({ subject }) => subject === kind);
  }

  get isEmpty(): boolean {
    return this.rules.length === 0;
  }

  /** Whether something is shown of its record: a match, or a verdict that was asked for. */
  shows(subject: WorldSubject): boolean {
    return this.kept.has(subject);
  }

  judge(subjects: Iterable<WorldSubject>, world: WorldKind, view: View, context: PassContext): void {
    let present: WorldSubject | undefined;
    const judge = this.evaluator.judge(this.kind, {
      ...context,
      isExampleWanted: NEVER,
      onDoubt: (rule, _record, fact) => this.doubt(present as WorldSubject, rule, fact),
    });
    for (const subject of subjects) {
      this.forget(subject);
      const record = view.of(subject);
      if (!record) continue;
      present = subject;
      judge.accept(record);
    }
    const { matches, open } = judge.finish();
    for (const match of matches) {
      const subject = world.get(match.summary.id);
      if (!subject) continue; // its record names another id: it is nobody
      this.of(subject).matches.push(match);
      this.counts.get(match.rule)?.match(subject);
    }
    for (const verdict of open) {
      const subject = world.get(verdict.summary.id);
      if (subject) this.of(subject).open.push(verdict);
    }
  }

  /** Of all subjects. */
  all(): { matches: readonly Match[]; open: readonly OpenVerdict[] } {
    this.found ??= this.gathered();
    return this.found;
  }

  private gathered(): { matches: Match[]; open: OpenVerdict[] } {
    const found: { matches: Match[]; open: OpenVerdict[] } = { matches: [], open: [] };
    for (const { matches, open } of this.kept.values()) {
      for (const match of matches) found.matches.push(match);
      for (const verdict of open) found.open.push(verdict);
    }
    return found;
  }

  private forget(subject: WorldSubject): void {
    for (const counts of this.doubts.get(subject) ?? []) counts.unknown -= 1;
    this.doubts.delete(subject);
    const kept = this.kept.get(subject);
    if (!kept) return;
    this.kept.delete(subject);
    this.found = undefined;
    for (const { rule } of kept.matches) (this.counts.get(rule) as RuleCounts).matches -= 1;
  }

  private doubt(subject: WorldSubject, index: number, fact: string): void {
    const counts = this.counts.get((this.rules[index] as LoadedRule).id) as RuleCounts;
    counts.doubt(subject, fact);
    const known = this.doubts.get(subject);
    if (known) known.push(counts);
    else this.doubts.set(subject, [counts]);
  }

  private of(subject: WorldSubject): Kept {
    let kept = this.kept.get(subject);
    if (!kept) {
      kept = { matches: [], open: [] };
      this.kept.set(subject, kept);
    }
    this.found = undefined;
    return kept;
  }
}

const NEVER = (): boolean => false;
