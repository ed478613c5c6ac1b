// history: what a replay found, counted while it goes: the same for both ways. In: each run with what was judged and decided in it, acts as they
// are done, what people did, gaps. Out: a `Replay`. It keeps acts and numbers, and nothing of the fleet.
import type { KnownTraits } from '../../domain/action.ts';
import type { Decision } from '../../domain/decision.ts';
import { type HistoryGap, isMomentary, type RunFrame } from '../../domain/recorded-history.ts';
import type { Replay, ReplayedAct, ReplayedRule } from '../../domain/replay.ts';
import type { Rule } from '../../domain/rule.ts';
import type { RuleLimits } from '../../domain/run.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/subjects.ts';
import type { PersonsChange } from './platform-model.ts';
import { type DoneIntent, TallyActs } from './tally-acts.ts';
import { TallyBuckets } from './tally-buckets.ts';
import { type EverJudged, TallyRule } from './tally-rule.ts';
import { TallyTrust } from './tally-trust.ts';

export interface TallyAsked extends Pick<Replay, 'way' | 'askedFromMs' | 'everyMs'> {
  /** The end of what was asked for. */
  askedToMs: number;
  traits: KnownTraits;
  /** Whose decisions are reported; all by default. */
  isReported?(rule: string): boolean;
}

const NEVER: EverJudged = { matches: 0, unknown: 0, missing: {} };

export class Tally {
  private readonly rules = new Map<string, TallyRule>();
  private readonly acts: TallyActs;
  private readonly gaps: HistoryGap[] = [];
  private readonly buckets = new TallyBuckets();
  /** Kinds that no trusted list was read of since the last gap. */
  private readonly sinceGap = new Set<SubjectKind>();
  private fromMs: number | undefined;
  private toMs: number | undefined;
  private runs = 0;
  private wholeRuns = 0;
  private readonly trust = new TallyTrust();
  private decidedRuns = 0;

  constructor(private readonly asked: TallyAsked) {
    this.acts = new TallyActs(asked.traits);
  }

  /** Rules that are replayed from now on; a changed one goes on with its numbers. */
  rulesAre(rules: readonly Rule[]): void {
    for (const rule of rules) {
      if (this.asked.isReported?.(rule.id) === false) continue;
      const known = this.rules.get(rule.id);
      if (known) known.rule = rule;
      else this.rules.set(rule.id, new TallyRule(rule));
    }
  }

  /** As much of it as was asked for. */
  gap(gap: HistoryGap): void {
    if (gap.cause !== 'forgotten') for (const kind of SUBJECT_KINDS) this.sinceGap.add(kind);
    const { askedFromMs, askedToMs } = this.asked;
    this.gaps.push({
      ...gap,
      fromMs: Math.max(gap.fromMs, askedFromMs),
      toMs: Math.max(Math.min(gap.toMs, askedToMs), askedFromMs),
    });
  }

  /** First of each run, also of one that is not decided again. */
  run({ run, part, sources }: RunFrame): void {
    this.fromMs ??= run.startedAt;
    this.toMs = run.startedAt;
    this.runs += 1;
    if (part === undefined) {
      this.wholeRuns += 1;
      this.trust.run(run.startedAt, sources);
    }
    this.buckets.run(run.startedAt);
  }

  /** What the rules match and cannot judge in a run over whole lists. */
  judged(atMs: number, counts: Iterable<readonly [rule: string, { matches: number; unknown: number }]>): void {
    for (const [rule, { matches, unknown }] of counts) {
      if (!this.rules.has(rule)) continue;
      const most = this.buckets.countsAt(atMs, rule);
      most.matches = Math.max(most.matches, matches);
      most.unknown = Math.max(most.unknown, unknown);
    }
  }

  /** New and changed decisions; at the beginning also those that are in force. */
  decided(frame: RunFrame, decisions: readonly Decision[], limits: ReadonlyMap<string, RuleLimits>): void {
    this.decidedRuns += 1;
    for (const [rule, compared] of limits) this.rules.get(rule)?.compared(compared, frame, this.asked.traits);
    for (const decision of decisions) this.rules.get(decision.rule)?.decided(decision, frame.run.startedAt);
  }

  /** In the order in which they were done. */
  did(done: DoneIntent): void {
    for (const act of this.acts.did(done)) {
      const rule = this.rules.get(act.rule);
      if (!rule) continue;
      rule.did(act);
      const counts = this.buckets.countsAt(act.atMs, act.rule);
      if (act.undo) counts.undos += 1;
      else counts.acts += 1;
    }
  }

  /** What no intent of Trustward explains. In a gap it may have been Trustward all the same. */
  people(changes: readonly PersonsChange[], frame: RunFrame): void {
    const { startedAt } = frame.run;
    this.acts.people(
      changes.filter((change) => !this.sinceGap.has(this.kindOf(change))),
      startedAt,
    );
    this.acts.somebody(
      changes.filter((change) => this.sinceGap.has(this.kindOf(change))),
      startedAt,
    );
    if (frame.part !== undefined) return;
    for (const kind of SUBJECT_KINDS) if (!isMomentary(frame, kind)) this.sinceGap.delete(kind);
  }

  finish(
    rest: Pick<Replay, 'differences' | 'unread' | 'neverRecorded' | 'notes'>,
    ever: (rule: string) => EverJudged | undefined,
  ): Replay {
    const { way, askedFromMs, askedToMs, everyMs } = this.asked;
    const [fromMs, toMs] = [this.fromMs ?? askedFromMs, this.toMs ?? askedToMs];
    this.acts.finish(toMs);
    const acts = this.acts.acts.filter(({ rule }) => this.rules.has(rule));
    return {
      way,
      fromMs,
      toMs,
      askedFromMs,
      everyMs,
      runs: this.runs,
      wholeRuns: this.wholeRuns,
      decidedRuns: this.decidedRuns,
      gaps: this.gaps.toSorted((a, b) => a.fromMs - b.fromMs),
      rules: [...this.rules.values()]
        .map((tally) => this.finishRule(tally, acts, ever(tally.rule.id) ?? NEVER))
        .sort((a, b) => (a.id < b.id ? -1 : 1)),
      acts,
      untrusted: this.trust.finish([...this.rules.values()].map(({ rule }) => rule)),
      ...rest,
      buckets: this.buckets.finish(),
    };
  }

  private kindOf({ field }: PersonsChange): SubjectKind {
    const writing = [...this.asked.traits.values()].find(({ fieldWritten }) => fieldWritten === field);
    return writing?.subjects[0] ?? 'device';
  }

  private finishRule(tally: TallyRule, acts: readonly ReplayedAct[], ever: EverJudged): ReplayedRule {
    const own = acts.filter(({ rule }) => rule === tally.rule.id);
    return tally.finish(own, (act) => this.acts.isFlap(act), ever);
  }
}
