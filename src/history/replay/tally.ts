// history: what a replay found, counted while it goes: the same for both ways. In: each run with what was judged and decided in it, acts as they
// are done, what people did, gaps. Out: a `Replay`. It keeps acts and numbers, and nothing of the fleet.

import { DAY_MS, formatDuration, MINUTE_MS } from '../../base/time.ts';
import { ceilingOf, type KnownTraits, kindOfTarget } from '../../domain/action.ts';
import type { Decision } from '../../domain/decision.ts';
import { placeAmong } from '../../domain/digest.ts';
import type { Notice } from '../../domain/notice.ts';
import { type HistoryGap, isMomentary, type RunFrame } from '../../domain/recorded-history.ts';
import {
  HELD_EXAMPLES_MAX,
  type MendModel,
  type Replay,
  type ReplayBucket,
  type ReplayedAct,
  type ReplayedDistrust,
  type ReplayedExample,
  type ReplayedHeld,
  type ReplayedNotice,
  type ReplayedRule,
} from '../../domain/replay.ts';
import { ALL, shareText } from '../../domain/rollout.ts';
import type { Rule } from '../../domain/rule.ts';
import type { RuleLimits } from '../../domain/run.ts';
import { isUsable } from '../../domain/snapshot.ts';
import type { OpenState } from '../../domain/store.ts';
import { SOURCE_OF, SOURCES, type Source, SUBJECT_KINDS, type SubjectKind } from '../../domain/subjects.ts';
import type { Decided } from '../../engine/decide/input.ts';
import { type DoneIntent, type PersonsChange, TallyActs } from './platform-model.ts';
import type { ReplayOptions } from './recorded-sets.ts';

// What rules matched and did, by stretches of the replayed time.

type Counts = ReplayBucket['rules'][string];

/** INVARIANT: each is a multiple of the one before, so that stretches can be joined. */
const LENGTHS_MS = [1, 5, 15, 60, 360].map((minutes) => minutes * MINUTE_MS).concat(DAY_MS);
const BUCKETS_MAX = 180;

export class TallyBuckets {
  private readonly buckets = new Map<number, ReplayBucket>();
  private lengthMs = MINUTE_MS;
  private firstMs = Number.POSITIVE_INFINITY;
  private lastMs = Number.NEGATIVE_INFINITY;

  run(atMs: number): void {
    this.at(atMs).runs += 1;
  }

  /** To add to. */
  countsAt(atMs: number, rule: string): Counts {
    return countsOf(this.at(atMs), rule);
  }

  finish(): ReplayBucket[] {
    return [...this.buckets.values()].sort((a, b) => a.fromMs - b.fromMs);
  }

  private at(atMs: number): ReplayBucket {
    this.firstMs = Math.min(this.firstMs, atMs);
    this.lastMs = Math.max(this.lastMs, atMs);
    while (this.lastMs - this.firstMs > BUCKETS_MAX * this.lengthMs) this.join();
    return this.bucket(atMs);
  }

  private join(): void {
    const before = this.finish();
    this.buckets.clear();
    this.lengthMs = LENGTHS_MS.find((ms) => ms > this.lengthMs) ?? 2 * this.lengthMs;
    for (const { fromMs, runs, rules } of before) {
      const bucket = this.bucket(fromMs);
      bucket.runs += runs;
      for (const [rule, one] of Object.entries(rules)) {
        const counts = countsOf(bucket, rule);
        counts.matches = Math.max(counts.matches, one.matches);
        counts.unknown = Math.max(counts.unknown, one.unknown);
        counts.acts += one.acts;
        counts.undos += one.undos;
      }
    }
  }

  private bucket(atMs: number): ReplayBucket {
    const { lengthMs } = this;
    const fromMs = Math.floor(atMs / lengthMs) * lengthMs;
    const bucket = this.buckets.get(fromMs) ?? { fromMs, toMs: fromMs + lengthMs, runs: 0, rules: {} };
    this.buckets.set(fromMs, bucket);
    return bucket;
  }
}

function countsOf({ rules }: ReplayBucket, rule: string): Counts {
  const counts = rules[rule] ?? { matches: 0, acts: 0, undos: 0, unknown: 0 };
  rules[rule] = counts;
  return counts;
}

// What a replay counts of one rule.

/** By different subjects, at any time. */
type EverJudged = Pick<ReplayedRule, 'matches' | 'unknown' | 'missing'>;

interface Held extends Pick<ReplayedHeld, 'decision' | 'reason'> {
  targets: Set<string>;
  examples: ReplayedExample[];
}

/** One run's numbers stay together: of those that crossed the limits, if any did, the one with the most targets. */
function isMore(one: RuleLimits, other: RuleLimits): boolean {
  const [over, otherOver] = [one.targets > one.allowed, other.targets > other.allowed];
  if (over !== otherOver) return over;
  return one.targets === other.targets ? one.allowed < other.allowed : one.targets > other.targets;
}

/** By the model, and before the deadline. */
function wouldMend({ share, afterMs }: MendModel, { address, deliveredAt, dueAt }: Notice): boolean {
  if (deliveredAt === undefined || dueAt === undefined || deliveredAt + afterMs > dueAt) return false;
  return placeAmong(ALL, 'mend', address) < share;
}

class TallyRule {
  private readonly held = new Map<string, Held>();
  private readonly inRun = new Map<number, { acts: number; atMs: number }>();
  private readonly actTimes: number[] = [];
  private readonly acted = new Set<string>();
  private most: RuleLimits | undefined;
  private ceilings: { run: number; day: number } | undefined;
  /** By episode of which somebody was warned: whether one of them mends it in time, by the model. */
  private readonly warned = new Map<string, boolean>();
  private readonly ended = { mended: new Set<string>(), acted: new Set<string>() };
  /** Ids of subjects whose owners the recorded rule of this id warned, too. */
  private readonly told = new Set<string>();

  constructor(
    public rule: Rule,
    private readonly mend: MendModel | undefined,
  ) {}

  warns(notice: Notice): void {
    if (notice.aheadMs !== 0 || notice.deliveredAt === undefined || notice.print !== this.rule.notice?.print) return;
    const isMended = this.mend !== undefined && wouldMend(this.mend, notice);
    this.warned.set(notice.episodeId, isMended || (this.warned.get(notice.episodeId) ?? false));
  }

  /** Of them the record shows what they did. */
  warnedThen({ subject, deliveredAt }: Notice): void {
    if (deliveredAt !== undefined) this.told.add(subject.id);
  }

  mended(episode: string): void {
    if (this.warned.has(episode)) this.ended.mended.add(episode);
  }

  compared(limits: RuleLimits, { settings, sources }: RunFrame, known: KnownTraits): void {
    if (this.most === undefined || isMore(limits, this.most)) this.most = limits;
    const { run, day } = settings.ceilings;
    for (const { action } of this.rule.then) {
      const traits = known.get(action);
      if (!traits?.changesFleet) continue;
      const subjects = sources[SOURCE_OF[kindOfTarget(traits)]].count;
      const of = { run: ceilingOf(run, subjects), day: ceilingOf(day, subjects) };
      const least = this.ceilings ?? of;
      this.ceilings = { run: Math.min(least.run, of.run), day: Math.min(least.day, of.day) };
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

  /** `episodes`: of this rule. */
  did(act: ReplayedAct, episodes: readonly string[]): void {
    const { undo, runSeq, atMs, action, target } = act;
    if (undo) return;
    for (const id of episodes) if (this.warned.has(id)) this.ended.acted.add(id);
    act.isAvoided = !this.told.has(act.subject.id) && episodes.some((id) => this.warned.get(id));
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
      allowed: this.most && this.ceilings && { limits: this.most.allowed, ...this.ceilings },
      mostTargets: this.most?.targets ?? 0,
      flaps: acts.filter(isFlap).length,
      lasted:
        lasted.length > 0
          ? { medianMs: lasted[lasted.length >> 1] as number, longestMs: lasted.at(-1) as number }
          : undefined,
      personDid: acts.filter(({ personDidAtMs }) => personDidAtMs !== undefined).length,
      personUndid: acts.filter(({ personUndidAtMs }) => personUndidAtMs !== undefined).length,
      held: [...this.held.values()].map(({ targets, ...held }) => ({ ...held, targets: targets.size })),
      notice: this.rule.notice && this.notice(acts),
    };
  }

  private notice(acts: readonly ReplayedAct[]): ReplayedNotice {
    const { mended, acted } = this.ended;
    return {
      warned: this.warned.size,
      mended: mended.size,
      acted: acted.size,
      avoided: this.mend && acts.filter(({ isAvoided }) => isAvoided).length,
      undelivered: this.held.get('hold notice_undelivered')?.targets.size ?? 0,
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

// In which stretches of a replay a list was not trusted.

class TallyTrust {
  private readonly found: Omit<ReplayedDistrust, 'rules'>[] = [];
  /** Those that the last run is in. */
  private readonly open = new Map<Source, Omit<ReplayedDistrust, 'rules'>>();

  run(atMs: number, sources: RunFrame['sources']): void {
    for (const source of SOURCES) {
      const reading = sources[source];
      // A run over chosen rules may have read other lists.
      if (reading.state === 'skipped') continue;
      const [reason] = reading.reasons;
      const open = this.open.get(source);
      if (isUsable(reading) || !reason) this.open.delete(source);
      else if (open?.code === reason.code) {
        open.toMs = atMs;
        open.runs += 1;
      } else {
        const { code, text } = reason;
        const stretch = { source, code, text, fromMs: atMs, toMs: atMs, runs: 1 };
        this.open.set(source, stretch);
        this.found.push(stretch);
      }
    }
  }

  /** Lists that none of the rules reads are left out. */
  finish(rules: readonly Rule[]): ReplayedDistrust[] {
    return this.found.flatMap((stretch) => {
      const reading = rules.filter(({ sources }) => sources.includes(stretch.source)).map(({ id }) => id);
      return reading.length === 0 ? [] : [{ ...stretch, rules: reading.sort() }];
    });
  }
}

interface TallyAsked extends Pick<Replay, 'way' | 'askedFromMs'>, Pick<ReplayOptions, 'everyMs' | 'mend'> {
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
      else this.rules.set(rule.id, new TallyRule(rule, this.asked.mend));
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

  /**
   * First of each run, also of one that is not decided again. `notices`: whom the rules have warned by then. `told`: of a what-if, whom the
   * recorded rules had.
   */
  run({ run, part, sources }: RunFrame, notices: OpenState['notices'], told?: OpenState['notices']): void {
    for (const notice of [...(notices?.values() ?? [])].flat()) this.rules.get(notice.rule)?.warns(notice);
    for (const notice of [...(told?.values() ?? [])].flat()) this.rules.get(notice.rule)?.warnedThen(notice);
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
  decided(frame: RunFrame, { decisions, limits, notes }: Pick<Decided, 'decisions' | 'limits' | 'notes'>): void {
    this.decidedRuns += 1;
    for (const [rule, compared] of limits) this.rules.get(rule)?.compared(compared, frame, this.asked.traits);
    for (const decision of decisions) this.rules.get(decision.rule)?.decided(decision, frame.run.startedAt);
    for (const { kind, body } of notes)
      if (kind === 'notice.mended') this.rules.get(String(body.rule))?.mended(String(body.episode));
  }

  /** In the order in which they were done. */
  did(done: DoneIntent): void {
    for (const act of this.acts.did(done)) {
      const rule = this.rules.get(act.rule);
      if (!rule) continue;
      rule.did(
        act,
        done.intent.basis.flatMap((one) => (one.rule === act.rule ? [one.episodeId] : [])),
      );
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
    { notes, ...rest }: Pick<Replay, 'differences' | 'unread' | 'neverRecorded' | 'notes'>,
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
      notes: [...notes, ...this.mendNotes()],
      buckets: this.buckets.finish(),
    };
  }

  private kindOf({ field }: PersonsChange): SubjectKind {
    const writing = [...this.asked.traits.values()].find(({ fieldWritten }) => fieldWritten === field);
    return writing ? kindOfTarget(writing) : 'device';
  }

  /** The model of people in words, where it counts anything. */
  private mendNotes(): string[] {
    const { mend } = this.asked;
    if (!mend || ![...this.rules.values()].some(({ rule }) => rule.notice)) return [];
    const mends = `mend what is wrong ${mend.afterMs === 0 ? 'at once' : `after ${formatDuration(mend.afterMs)}`}`;
    return [
      `Assumed of people: ${shareText(mend.share)} of those who are warned, always the same ones, ${mends}. This is an assumption and no forecast; it only counts which actions warnings would have avoided.`,
    ];
  }

  private finishRule(tally: TallyRule, acts: readonly ReplayedAct[], ever: EverJudged): ReplayedRule {
    const own = acts.filter(({ rule }) => rule === tally.rule.id);
    return tally.finish(own, (act) => this.acts.isFlap(act), ever);
  }
}
