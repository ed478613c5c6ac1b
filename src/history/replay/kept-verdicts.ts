// history: verdicts of a rule set over a replayed time. In: the world, events, one run after the other. Out: the judgements of each run, as a
// pull would have made them. Only subjects that changed, or whose verdict may have changed with time, are judged again.
// INVARIANT: the result is that of judging everything (test/history/replay/kept-verdicts.test.ts).
import { fieldsWritten, type KnownTraits } from '../../domain/action.ts';
import type { TrustEvent } from '../../domain/event.ts';
import type { LookBack } from '../../domain/look-back.ts';
import type { RunFrame } from '../../domain/recorded-history.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import { SOURCE_OF, SUBJECT_KINDS } from '../../domain/subjects.ts';
import type { Evaluator, Judgement, Match, OpenVerdict } from '../../domain/verdict.ts';
import {
  changesWithoutEffect,
  compileRules,
  logKnownSince,
  mergedTimes,
  nextChangeMs,
  type TimeTerm,
  type WhenAgain,
  whenAgain,
} from '../../evaluate/index.ts';
import { DueTimes } from './due-times.ts';
import { EventTurns } from './event-turns.ts';
import { KeptJoins } from './kept-joins.ts';
import { KeptPass, type PassContext } from './kept-pass.ts';
import type { RecordedWorld, Views } from './recorded-world.ts';
import type { RulesAgain } from './rules-again.ts';
import { RuleCounts } from './verdict-counts.ts';
import type { MayMatter, WorldSubject } from './world-kind.ts';

/** By subject id, the rules whose verdict is needed whatever it is. */
export type Watched = ReadonlyMap<string, ReadonlySet<string>>;

/** What judging reads of a run's frame. */
export type JudgedFrame = Pick<RunFrame, 'run' | 'sources' | 'coverage' | 'unavailable' | 'part'>;

interface Found {
  matches: readonly Match[];
  open: readonly OpenVerdict[];
}

interface OfKind {
  steady: KeptPass;
  restless: KeptPass;
  touched: Set<WorldSubject>;
  times: readonly TimeTerm[];
  due: DueTimes<WorldSubject>;
  /** By index: when it is in `due`. */
  scheduledMs: Map<number, number>;
  windowsMs: readonly number[];
  /** What else the kept verdicts were found under. */
  under: string;
  /** The time of the run in which they were last found. */
  asOfMs: number;
}

export class KeptVerdicts {
  /** By rule. */
  readonly counts: ReadonlyMap<string, RuleCounts>;
  private readonly steady: Evaluator;
  private readonly restless: Evaluator;
  private readonly joins: KeptJoins;
  private readonly events: EventTurns;
  private readonly kinds: Record<SubjectKind, OfKind>;
  private readonly order: ReadonlyMap<string, number>;
  private watched: Watched = new Map();
  private lastMs = Number.NEGATIVE_INFINITY;
  private latestMs = Number.NEGATIVE_INFINITY;

  constructor(
    { rules, lists, evaluator }: RulesAgain,
    private readonly world: RecordedWorld,
    private readonly traits: KnownTraits,
    before: ReadonlyMap<string, RuleCounts> = new Map(),
  ) {
    this.order = new Map(rules.map(({ id }, index) => [id, index]));
    for (const counts of before.values()) counts.beginAgain();
    this.counts = new Map([...before, ...rules.map(({ id }) => [id, before.get(id) ?? new RuleCounts()] as const)]);
    const again = new Map(rules.map((rule) => [rule, whenAgain(rule, lists)]));
    const isRestless = (rule: (typeof rules)[number]) => (again.get(rule) as WhenAgain).isRestless;
    const [restless, steady] = [rules.filter(isRestless), rules.filter((rule) => !isRestless(rule))];
    this.steady = compileRules(steady, lists);
    this.restless = compileRules(restless, lists);
    this.joins = new KeptJoins(world, evaluator);
    this.events = new EventTurns([...new Set([...again.values()].flatMap(({ windowsMs }) => windowsMs))]);
    const ofKind = (kind: SubjectKind): OfKind => {
      const ofKind = steady.filter(({ subject }) => subject === kind);
      const own = ofKind.map((rule) => again.get(rule) as WhenAgain);
      const hasNoEffect = changesWithoutEffect(ofKind, lists);
      const mayMatter: MayMatter = (subject, path, before, now) =>
        this.kinds[kind].steady.shows(subject) || !hasNoEffect(path, before, now, this.kinds[kind].asOfMs);
      return {
        steady: new KeptPass(kind, this.steady, steady, this.counts),
        restless: new KeptPass(kind, this.restless, restless, this.counts),
        // There are few services, and rules read their documents in parts.
        touched: world.kinds[kind].touched(kind === 'service' ? undefined : mayMatter),
        times: mergedTimes(own.flatMap(({ times }) => times)),
        due: new DueTimes(),
        scheduledMs: new Map(),
        windowsMs: [...new Set(own.flatMap(({ windowsMs }) => windowsMs))],
        under: '',
        asOfMs: Number.NEGATIVE_INFINITY,
      };
    };
    this.kinds = { device: ofKind('device'), user: ofKind('user'), service: ofKind('service') };
  }

  /** All that look back are restless. */
  get lookBack(): LookBack | undefined {
    return this.restless.lookBack;
  }

  /** Another rule set takes its place. */
  close(): void {
    this.joins.close();
    for (const kind of SUBJECT_KINDS) this.world.kinds[kind].leave(this.kinds[kind].touched);
  }

  /** Each event once, before the run that read it is judged. */
  observe(events: readonly TrustEvent[]): void {
    this.steady.observe(events);
    this.restless.observe(events);
    this.events.observe(events);
  }

  /** Of the kinds that the run read. `watched`: as the run's open state has it. */
  judge(frame: JudgedFrame, views: Views, watched: Watched): Judgement[] {
    const { run, sources, part } = frame;
    const nowMs = run.startedAt;
    this.steady.advance(nowMs);
    this.restless.advance(nowMs);
    const joined = this.joins.renew(views);
    for (const kind of ['device', 'user'] as const) for (const one of joined[kind]) this.kinds[kind].touched.add(one);
    const turned = this.events.take(nowMs, this.world);
    for (const kind of SUBJECT_KINDS) for (const one of turned[kind]) this.kinds[kind].touched.add(one);
    const read = SUBJECT_KINDS.filter((kind) => sources[SOURCE_OF[kind]].state === 'read');
    this.latestMs = Math.max(this.latestMs, nowMs);
    if (part) return read.map((kind) => this.judgeOnly(kind, frame, views, watched));
    this.touchWatched(watched);
    if (nowMs < this.lastMs) this.beginAnew();
    this.lastMs = nowMs;
    return read.map((kind) => this.judgeKind(kind, frame, views));
  }

  private judgeKind(kind: SubjectKind, frame: JudgedFrame, views: Views): Judgement {
    const own = this.kinds[kind];
    const world = this.world.kinds[kind];
    const nowMs = frame.run.startedAt;
    const under = this.under(own, frame, views, views[kind].key);
    if (under !== own.under) for (const one of world.all) own.touched.add(one);
    own.under = under;
    for (const one of own.due.take(nowMs)) {
      own.scheduledMs.delete(one.index);
      own.touched.add(one);
    }
    const context = this.context(kind, frame);
    if (!own.steady.isEmpty) {
      own.steady.judge(own.touched, world, views[kind], context);
      if (own.times.length > 0) this.schedule(own, nowMs);
    }
    own.touched.clear();
    own.asOfMs = nowMs;
    if (!own.restless.isEmpty) own.restless.judge(world.all, world, views[kind], context);
    return this.judgement(kind, world.size, [own.steady.all(), own.restless.all()]);
  }

  /** The few subjects of a look. What is kept stays as whole runs found it. */
  private judgeOnly(kind: SubjectKind, frame: JudgedFrame, views: Views, watched: Watched): Judgement {
    const world = this.world.kinds[kind];
    const read = frame.part?.read.flatMap((one) => (one.kind === kind ? (world.get(one.id) ?? []) : [])) ?? [];
    const context = { ...this.context(kind, frame), ...opennessOf(watched) };
    const found = [this.steady, this.restless].map((evaluator) => {
      const judge = evaluator.judge(kind, context);
      for (const subject of read) judge.accept(views[kind].of(subject) ?? {});
      return judge.finish();
    });
    for (const { rule, summary } of found.flatMap(({ matches }) => matches)) {
      const subject = world.get(summary.id);
      if (subject) this.counts.get(rule)?.matchOfLook(subject);
    }
    return this.judgement(kind, read.length, found);
  }

  private judgement(kind: SubjectKind, judged: number, found: readonly Found[]): Judgement {
    const byRule = (a: { rule: string }, b: { rule: string }) =>
      (this.order.get(a.rule) as number) - (this.order.get(b.rule) as number);
    const isMixed = found.filter(({ matches, open }) => matches.length + open.length > 0).length > 1;
    const [matches, open] = [found.flatMap((one) => one.matches), found.flatMap((one) => one.open)];
    if (isMixed) {
      matches.sort(byRule);
      open.sort(byRule);
    }
    return { kind, judged, tallies: [], values: {}, matches, open };
  }

  private context(kind: SubjectKind, { run, coverage, unavailable }: JudgedFrame): PassContext {
    return {
      nowMs: run.startedAt,
      fieldsWritten: fieldsWritten(this.traits, kind),
      joins: this.joins,
      coverage,
      unavailable: new Set(unavailable),
      ...opennessOf(this.watched),
    };
  }

  /** A subject that something was opened or closed on. */
  private touchWatched(watched: Watched): void {
    const changed = (one: Watched, other: Watched) => {
      for (const [id, rules] of one) {
        const before = other.get(id);
        if (before && before.size === rules.size && [...rules].every((rule) => before.has(rule))) continue;
        for (const kind of SUBJECT_KINDS) {
          const subject = this.world.kinds[kind].get(id);
          if (subject) this.kinds[kind].touched.add(subject);
        }
      }
    };
    changed(watched, this.watched);
    changed(this.watched, watched);
    this.watched = watched;
  }

  private under({ windowsMs }: OfKind, frame: JudgedFrame, views: Views, viewKey: string): string {
    const nowMs = frame.run.startedAt;
    const whole = windowsMs.map((ms) => logKnownSince(frame.coverage, ms, nowMs) <= nowMs - ms);
    // Windows have forgotten what a clock that was set back asks for.
    const isBack = windowsMs.length > 0 && nowMs < this.latestMs ? nowMs : 0;
    return JSON.stringify([viewKey, views.user.key, views.device.key, [...frame.unavailable].sort(), whole, isBack]);
  }

  private schedule({ touched, times, due, scheduledMs }: OfKind, nowMs: number): void {
    for (const subject of touched) {
      const nextMs = subject.record ? nextChangeMs(times, subject.record, nowMs) : Number.POSITIVE_INFINITY;
      // One that is due earlier is judged then, and scheduled again.
      if (!Number.isFinite(nextMs) || (scheduledMs.get(subject.index) ?? Number.POSITIVE_INFINITY) <= nextMs) continue;
      scheduledMs.set(subject.index, nextMs);
      due.add(nextMs, subject);
    }
  }

  /** The clock was set back. */
  private beginAnew(): void {
    for (const kind of SUBJECT_KINDS) {
      const own = this.kinds[kind];
      own.due.clear();
      own.scheduledMs.clear();
      for (const one of this.world.kinds[kind].all) own.touched.add(one);
    }
  }
}

function opennessOf(watched: Watched): Pick<PassContext, 'isOpen' | 'hasOpen'> {
  return {
    isOpen: (rule, subjectId) => watched.get(subjectId)?.has(rule) ?? false,
    hasOpen: (subjectId) => watched.has(subjectId),
  };
}
