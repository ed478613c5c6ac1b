// history: what a replay counts of one rule. In: its decisions, its acts, how many subjects it was about. Out: its line of the report.
import type { KnownTraits } from '../../domain/action.ts';
import { ceilingOf, ceilingSubject } from '../../domain/ceiling.ts';
import type { Decision } from '../../domain/decision.ts';
import type { RunFrame } from '../../domain/recorded-history.ts';
import {
  HELD_EXAMPLES_MAX,
  type ReplayedAct,
  type ReplayedExample,
  type ReplayedHeld,
  type ReplayedRule,
} from '../../domain/replay.ts';
import type { Rule } from '../../domain/rule.ts';
import type { RuleLimits } from '../../domain/run.ts';
import { SOURCE_OF } from '../../domain/subjects.ts';

const DAY_MS = 86_400_000;

/** By different subjects, at any time. */
export type EverJudged = Pick<ReplayedRule, 'matches' | 'unknown' | 'missing'>;

interface Held extends Pick<ReplayedHeld, 'decision' | 'reason'> {
  targets: Set<string>;
  examples: ReplayedExample[];
}

export class TallyRule {
  private readonly held = new Map<string, Held>();
  private readonly inRun = new Map<number, { acts: number; atMs: number }>();
  private readonly actTimes: number[] = [];
  private readonly acted = new Set<string>();
  private allowed: ReplayedRule['allowed'];
  private mostTargets = 0;

  constructor(public rule: Rule) {}

  compared({ allowed, targets }: RuleLimits, { settings, sources }: RunFrame, known: KnownTraits): void {
    this.mostTargets = Math.max(this.mostTargets, targets);
    const { run, day } = settings.ceilings;
    for (const { action } of this.rule.then) {
      const traits = known.get(action);
      if (!traits?.changesFleet) continue;
      const subjects = sources[SOURCE_OF[ceilingSubject(traits)]].count;
      const least = this.allowed ?? { limits: allowed, run: Number.POSITIVE_INFINITY, day: Number.POSITIVE_INFINITY };
      this.allowed = {
        limits: Math.min(least.limits, allowed),
        run: Math.min(least.run, ceilingOf(run, subjects)),
        day: Math.min(least.day, ceilingOf(day, subjects)),
      };
    }
  }

  /** A decision that is new, or in force at the beginning. What was done already, or by this rule itself, is not held. */
  decided(decision: Decision, atMs: number): void {
    const { decision: name, reason, action, target, verdict } = decision;
    if (name === 'act' || verdict !== 'match' || reason === 'already_acted') return;
    if (reason === 'already_so' && this.acted.has(`${action} ${target}`)) return;
    const key = `${name} ${reason}`;
    const held = this.held.get(key) ?? { decision: name, reason, targets: new Set(), examples: [] };
    this.held.set(key, held);
    if (held.targets.has(target)) return;
    held.targets.add(target);
    if (held.examples.length >= HELD_EXAMPLES_MAX) return;
    const { subject, subjectName, reasonText, effect } = decision;
    const owners = [...new Set(effect.devices.flatMap((device) => device.owners ?? []))];
    const named = owners.length > 0 ? { owners } : {};
    held.examples.push({ atMs, subject, subjectName, action, target, reasonText, ...named });
  }

  did({ undo, runSeq, atMs, action, target }: ReplayedAct): void {
    if (undo) return;
    this.acted.add(`${action} ${target}`);
    this.actTimes.push(atMs);
    this.inRun.set(runSeq, { acts: (this.inRun.get(runSeq)?.acts ?? 0) + 1, atMs });
  }

  finish(own: readonly ReplayedAct[], isFlap: (act: ReplayedAct) => boolean, ever: EverJudged): ReplayedRule {
    const acts = own.filter(({ undo }) => !undo);
    const lasted = acts.flatMap(({ lastedMs }) => lastedMs ?? []).sort((a, b) => a - b);
    const most = [...this.inRun.values()].reduce((a, b) => (b.acts > a.acts ? b : a), { acts: 0, atMs: 0 });
    const day = mostInDay(this.actTimes);
    return {
      id: this.rule.id,
      title: this.rule.title,
      hash: this.rule.hash,
      mode: this.rule.mode,
      ...ever,
      acts: acts.length,
      undos: own.length - acts.length,
      mostInRun: most.acts,
      mostInRunAtMs: most.acts > 0 ? most.atMs : undefined,
      mostInDay: day.acts,
      mostInDayAtMs: day.atMs,
      allowed: this.allowed,
      mostTargets: this.mostTargets,
      flaps: acts.filter(isFlap).length,
      lasted:
        lasted.length > 0
          ? { medianMs: lasted[lasted.length >> 1] as number, longestMs: lasted.at(-1) as number }
          : undefined,
      personDid: acts.filter(({ personDidAtMs }) => personDidAtMs !== undefined).length,
      personUndid: acts.filter(({ personUndidAtMs }) => personUndidAtMs !== undefined).length,
      held: [...this.held.values()].map(({ targets, ...held }) => ({ ...held, targets: targets.size })),
    };
  }
}

/** The most of these times within 24 hours, and the first of them. */
function mostInDay(times: readonly number[]): { acts: number; atMs: number | undefined } {
  let most = { acts: 0, atMs: undefined as number | undefined };
  let first = 0;
  times.forEach((atMs, index) => {
    while ((times[first] as number) <= atMs - DAY_MS) first += 1;
    if (index - first + 1 > most.acts) most = { acts: index - first + 1, atMs: times[first] };
  });
  return most;
}
