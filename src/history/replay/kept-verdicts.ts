// history: verdicts of a rule set over a replayed time. In: the world, events, one run after the other. Out: the judgements of each run, as a
// pull would have made them. Only subjects that changed, or whose verdict may have changed with time, are judged again.
// INVARIANT: the result is that of judging everything (test/history/replay/kept-verdicts.test.ts).

import { fieldsWritten, type KnownTraits } from '../../domain/action.ts';
import type { TrustEvent } from '../../domain/event.ts';
import { type Facts, own, ownText } from '../../domain/facts.ts';
import type { LookBack } from '../../domain/look-back.ts';
import type { RunFrame } from '../../domain/recorded-history.ts';
import { coverageOf } from '../../domain/snapshot.ts';
import { SOURCE_OF, SUBJECT_KINDS, type SubjectKind } from '../../domain/subjects.ts';
import type { Evaluator, Joins, JudgeContext, Judgement, Match, OpenVerdict } from '../../domain/verdict.ts';
import { project } from '../../engine/run/reading-needs.ts';
import { compileRules } from '../../rules/judge/evaluator.ts';
import {
  changesWithoutEffect,
  mergedTimes,
  nextChangeMs,
  type TimeTerm,
  type WhenAgain,
  whenAgain,
} from '../../rules/judge/no-effect.ts';
import type { LoadedRule } from '../../rules/language/loaded-rule.ts';
import { logKnownSince, SKEW_MAX_MS } from '../../rules/windows.ts';
import type { RulesAgain } from './gated-again.ts';
import type { RecordedWorld, Views } from './recorded-world.ts';
import type { MayMatter, View, WorldKind, WorldSubject } from './world-kind.ts';

// What is due at a time of the recorded past.

const BUCKET_MS = 60_000;

class DueTimes<T> {
  private buckets = new Map<number, { atMs: number; one: T }[]>();
  private nextBucket = Number.POSITIVE_INFINITY;

  add(atMs: number, one: T): void {
    if (!Number.isFinite(atMs)) return;
    const bucket = Math.floor(atMs / BUCKET_MS);
    const known = this.buckets.get(bucket);
    if (known) known.push({ atMs, one });
    else this.buckets.set(bucket, [{ atMs, one }]);
    this.nextBucket = Math.min(this.nextBucket, bucket);
  }

  /** Takes those of this time or earlier. */
  take(nowMs: number): T[] {
    const last = Math.floor(nowMs / BUCKET_MS);
    if (this.nextBucket > last) return [];
    const due: T[] = [];
    const isOld = last - this.nextBucket > this.buckets.size;
    const keys = isOld ? [...this.buckets.keys()].filter((key) => key <= last) : range(this.nextBucket, last);
    for (const key of keys) {
      const bucket = this.buckets.get(key);
      if (!bucket) continue;
      const left = key === last ? bucket.filter(({ atMs }) => atMs > nowMs) : [];
      for (const { atMs, one } of bucket) if (atMs <= nowMs) due.push(one);
      if (left.length > 0) this.buckets.set(key, left);
      else this.buckets.delete(key);
    }
    this.nextBucket = this.buckets.has(last) ? last : this.buckets.size === 0 ? Number.POSITIVE_INFINITY : last + 1;
    return due;
  }

  clear(): void {
    this.buckets = new Map();
    this.nextBucket = Number.POSITIVE_INFINITY;
  }
}

function* range(from: number, to: number): Iterable<number> {
  for (let key = from; key <= to; key += 1) yield key;
}

// When an event changes what a window counts: when it comes, when it is no longer ahead of the clock, when it leaves a
// window.

type Keys = Pick<TrustEvent, 'deviceId' | 'serialNumber' | 'email' | 'serviceId' | 'serviceName'>;

export class EventTurns {
  private readonly due = new DueTimes<Keys>();
  private fresh: Keys[] = [];

  /** `windowsMs`: the lengths of all windows of the rules. `countsJoined`: some count the events of owners, or of a user's devices. */
  constructor(
    private readonly windowsMs: readonly number[],
    private readonly countsJoined: boolean,
  ) {}

  observe(events: readonly TrustEvent[]): void {
    if (this.windowsMs.length === 0) return;
    for (const { createdAtMs, deviceId, serialNumber, email, serviceId, serviceName } of events) {
      const keys = { deviceId, serialNumber, email, serviceId, serviceName };
      this.fresh.push(keys);
      this.due.add(createdAtMs - SKEW_MAX_MS, keys);
      for (const withinMs of this.windowsMs) this.due.add(createdAtMs + withinMs + 1, keys);
    }
  }

  /** By kind, the subjects whose counts may have changed until now. */
  take(nowMs: number, world: RecordedWorld): Record<WorldSubject['kind'], Set<WorldSubject>> {
    const found = { device: new Set<WorldSubject>(), user: new Set<WorldSubject>(), service: new Set<WorldSubject>() };
    const { device, user, service } = world.kinds;
    const turned = [...this.fresh, ...this.due.take(nowMs)];
    this.fresh = [];
    for (const { deviceId, serialNumber, email, serviceId, serviceName } of turned) {
      const named = deviceId === undefined ? undefined : device.get(deviceId);
      if (named) found.device.add(named);
      if (serialNumber !== undefined) for (const one of device.bySerial.of(serialNumber)) found.device.add(one);
      if (email !== undefined) for (const one of user.byEmail.of(email.toLowerCase())) found.user.add(one);
      if (this.countsJoined) this.addJoined(found, { named, serialNumber, email }, world);
      // There are few services, and an event may name one by its name alone.
      if (serviceId !== undefined || serviceName !== undefined) for (const one of service.all) found.service.add(one);
    }
    return found;
  }

  /** The devices of the event's user, and the users of its device. */
  private addJoined(
    found: Record<'device' | 'user', Set<WorldSubject>>,
    { named, serialNumber, email }: Pick<Keys, 'serialNumber' | 'email'> & { named: WorldSubject | undefined },
    { kinds: { device, user } }: RecordedWorld,
  ): void {
    if (email !== undefined) for (const one of device.byEmail.of(email.toLowerCase())) found.device.add(one);
    const serials = [serialNumber, named?.record && ownText(named.record, 'SerialNumber')];
    for (const serial of serials)
      if (serial !== undefined) for (const one of user.bySerial.of(serial)) found.user.add(one);
  }
}

// Joined records of `$owners` and `$devices`, kept from run to run.

export class KeptJoins implements Joins {
  readonly users = new Map<string, Facts>();
  readonly devices = new Map<string, Facts[]>();
  private readonly touchedUsers: Set<WorldSubject> | undefined;
  private readonly touchedDevices: Set<WorldSubject> | undefined;
  private readonly serials = new Map<WorldSubject, string>();
  private viewKeys = '';

  constructor(
    private readonly world: RecordedWorld,
    private readonly evaluator: Evaluator,
  ) {
    if (evaluator.needs.owners) this.touchedUsers = world.kinds.user.touched();
    if (evaluator.needs.devices) this.touchedDevices = world.kinds.device.touched();
  }

  close(): void {
    this.world.kinds.user.leave(this.touchedUsers);
    this.world.kinds.device.leave(this.touchedDevices);
  }

  /** Returns the devices and users whose owners or devices have changed. */
  renew(views: Views): { device: Set<WorldSubject>; user: Set<WorldSubject> } {
    const { user, device } = this.world.kinds;
    const keys = JSON.stringify([views.user.key, views.device.key]);
    if (keys !== this.viewKeys) {
      for (const one of user.all) this.touchedUsers?.add(one);
      for (const one of device.all) this.touchedDevices?.add(one);
    }
    this.viewKeys = keys;
    return { device: this.renewUsers(views), user: this.renewDevices(views) };
  }

  private renewUsers({ user: view }: Views): Set<WorldSubject> {
    const found = new Set<WorldSubject>();
    if (!this.touchedUsers || this.touchedUsers.size === 0) return found;
    const { user, device } = this.world.kinds;
    const paths = this.evaluator.joinedPaths('users');
    for (const { id } of this.touchedUsers) {
      const email = id.toLowerCase();
      const [one] = [...user.byEmail.of(email)].sort((a, b) => (a.id < b.id ? 1 : -1));
      const record = one && view.of(one);
      if (record) this.users.set(email, project(record, paths));
      else this.users.delete(email);
      for (const owned of device.byEmail.of(email)) found.add(owned);
    }
    this.touchedUsers.clear();
    return found;
  }

  private renewDevices({ device: view }: Views): Set<WorldSubject> {
    const found = new Set<WorldSubject>();
    if (!this.touchedDevices || this.touchedDevices.size === 0) return found;
    const { user, device } = this.world.kinds;
    const paths = this.evaluator.joinedPaths('devices');
    const changed = new Set<string>();
    for (const one of this.touchedDevices) {
      const before = this.serials.get(one);
      if (before !== undefined) changed.add(before);
      if (!one.record) this.serials.delete(one);
      else {
        const serial = String(own(one.record, 'SerialNumber'));
        this.serials.set(one, serial);
        changed.add(serial);
      }
    }
    this.touchedDevices.clear();
    for (const serial of changed) {
      const those = [...device.bySerial.of(serial)].sort((a, b) => (a.id < b.id ? -1 : 1));
      if (those.length === 0) this.devices.delete(serial);
      else
        this.devices.set(
          serial,
          those.map((one) => project(view.of(one) as Facts, paths)),
        );
      for (const owner of user.bySerial.of(serial)) found.add(owner);
    }
    return found;
  }
}

// How many subjects each rule matches and could not judge, now and at any time of a replay.

class Bits {
  private words = new Uint32Array(64);
  count = 0;

  add(index: number): void {
    const word = index >>> 5;
    if (word >= this.words.length) {
      const more = new Uint32Array(2 ** Math.ceil(Math.log2(word + 1)));
      more.set(this.words);
      this.words = more;
    }
    const bit = 1 << (index & 31);
    if (((this.words[word] as number) & bit) !== 0) return;
    this.words[word] = (this.words[word] as number) | bit;
    this.count += 1;
  }
}

class RuleCounts {
  /** Of the present run. */
  matches = 0;
  unknown = 0;
  private readonly everMatched = new Bits();
  private readonly everUnknown = new Bits();
  private readonly missingFacts = new Map<string, Bits>();

  /** By different subjects, at any time. */
  get ever(): { matches: number; unknown: number; missing: { [fact: string]: number } } {
    const missing = Object.fromEntries([...this.missingFacts].map(([fact, bits]) => [fact, bits.count]));
    return { matches: this.everMatched.count, unknown: this.everUnknown.count, missing };
  }

  /** All verdicts are found anew. */
  beginAgain(): void {
    this.matches = 0;
    this.unknown = 0;
  }

  match({ index }: WorldSubject): void {
    this.matches += 1;
    this.everMatched.add(index);
  }

  /** Whole runs alone say how many match at a time. */
  matchOfLook({ index }: WorldSubject): void {
    this.everMatched.add(index);
  }

  doubt({ index }: WorldSubject, fact: string): void {
    this.unknown += 1;
    this.everUnknown.add(index);
    const bits = this.missingFacts.get(fact) ?? new Bits();
    this.missingFacts.set(fact, bits);
    bits.add(index);
  }
}

// The verdicts of some rules on all subjects of a kind, kept from run to run.

interface Kept {
  matches: Match[];
  open: OpenVerdict[];
}

type PassContext = Omit<JudgeContext, 'onDoubt' | 'isExampleWanted'>;

class KeptPass {
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

/** By subject id, the rules whose verdict is needed whatever it is. */
export type Watched = ReadonlyMap<string, ReadonlySet<string>>;

/** What judging reads of a run's frame. */
type JudgedFrame = Pick<RunFrame, 'run' | 'sources' | 'coverage' | 'unavailable' | 'given' | 'part'>;

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
    const all = [...again.values()];
    this.events = new EventTurns(
      [...new Set(all.flatMap(({ windowsMs }) => windowsMs))],
      all.some(({ countsJoined }) => countsJoined),
    );
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

  private context(kind: SubjectKind, { run, coverage, unavailable, given }: JudgedFrame): PassContext {
    return {
      nowMs: run.startedAt,
      fieldsWritten: fieldsWritten(this.traits, kind),
      joins: this.joins,
      given,
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
    const whole = windowsMs.map((ms) => logKnownSince(coverageOf(frame.coverage), ms, nowMs) <= nowMs - ms);
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
