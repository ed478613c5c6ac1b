// history: a what-if: other rules over recorded time, each as if its mode were `enforce`, through the production evaluating and deciding. In: the
// history, rules. Out: what they would have done. Its acts take effect in a model of the platform, its open state goes on in memory; what people
// did stays. Nothing is sent or kept.
import { canonicalJson } from '../../base/json.ts';
import { shownName } from '../../base/text.ts';
import { drainedInTurns } from '../../base/turns.ts';
import {
  type Action,
  type ActionName,
  type ActionTraits,
  type Bundles,
  bundleParts,
  fieldsWritten,
  type KnownTraits,
  MEMBERSHIP,
  membershipOf,
} from '../../domain/action.ts';
import { AppError } from '../../domain/errors.ts';
import type { TrustEvent } from '../../domain/event.ts';
import type { Intent } from '../../domain/intent.ts';
import type { FactChange } from '../../domain/look-back.ts';
import type { Ids } from '../../domain/ports.ts';
import {
  type HistoryGap,
  type HistoryItem,
  type HistoryReader,
  isMomentary,
  type RecordedPart,
  type RecordedRun,
  type RunFrame,
} from '../../domain/recorded-history.ts';
import {
  DIFFERING_MAX,
  type DifferingSubject,
  type DifferingSubjects,
  type Replay,
  type ReplayedRule,
  type ReplayedUnread,
  type RuleDifference,
  type RuleSetDifference,
} from '../../domain/replay.ts';
import type { Mode, Rule } from '../../domain/rule.ts';
import { type Coverage, isUsable } from '../../domain/snapshot.ts';
import type { OpenState } from '../../domain/store.ts';
import { SOURCES, type Source, type SubjectSummary } from '../../domain/subjects.ts';
import { countedMs, type Judgement } from '../../domain/verdict.ts';
import { deciding } from '../../engine/decide/decide.ts';
import type { Decided } from '../../engine/decide/input.ts';
import { modeAfter, type Silence, silenceBefore } from '../../engine/run/pulled-snapshot.ts';
import { asksForWholeLists, readsBundles } from '../../engine/run/reading-needs.ts';
import type { LoadedRule } from '../../rules/language/loaded-rule.ts';
import { GatedAgain, rulesAgain } from './gated-again.ts';
import { KeptVerdicts } from './kept-verdicts.ts';
import { OwnState } from './own-state.ts';
import { type PersonsChange, PlatformModel, RecordedEffects } from './platform-model.ts';
import {
  countingIds,
  DueRuns,
  factsOf,
  KeptPast,
  RecordedSets,
  type ReplayOptions,
  type SeeingAgain,
  seenAgain,
} from './recorded-sets.ts';
import { NeverRecorded, RecordedWorld } from './recorded-world.ts';
import { Tally } from './tally.ts';

// What a recorded run shows to other rules than those that it judged. In: its frame, the rules of a what-if, the gaps of the record. Out:
// which rules can be judged on it, what they cannot be told. INVARIANT: what a run did not read is unknown there, and never a silent "no match".

interface RulesOfRun<R extends Rule = Rule> {
  judged: R[];
  /** A source that they need was not read: their episodes are frozen. */
  unjudged: R[];
}

/**
 * `lastWhole`: of the last run over whole lists. A run over rules that somebody chose read what these need: it shows nothing of the others, and
 * freezes nothing. A look judges what the last whole run judged. `areBundlesTold`: false: nothing asked for them.
 */
function rulesOn<R extends Rule>(
  frame: RunFrame,
  rules: readonly R[],
  lastWhole: RulesOfRun<R> | undefined,
  actions: ReadonlyMap<ActionName, ActionTraits>,
  areBundlesTold: boolean,
): RulesOfRun<R> {
  if (frame.part) {
    const sources = frame.decidedOn ?? frame.sources;
    const isWatched = (rule: R) =>
      rule.watch && !asksForWholeLists(rule, actions) && rule.sources.every((source) => isUsable(sources[source]));
    return { judged: (lastWhole?.judged ?? []).filter(isWatched), unjudged: [] };
  }
  const judged = rules.filter(
    ({ sources, then }) =>
      sources.every((source) => wasAsked(frame, source)) && (areBundlesTold || !readsBundles(then, actions)),
  );
  const unjudged = frame.run.scoped ? [] : rules.filter((rule) => !judged.includes(rule));
  return { judged, unjudged };
}

/** A source that the server does not offer was asked for: its facts are unknown, and the rest goes on. */
function wasAsked({ sources }: RunFrame, source: Source): boolean {
  return sources[source].state === 'read' || sources[source].state === 'unavailable';
}

/**
 * The run as it would have been: in `enforce` unless `mode` is lower, with the platform and the counts of the replay; what is not in the record is
 * unknown.
 */
function asIf(
  frame: RunFrame,
  {
    bundles,
    coverage,
    sinceWhole,
    mode,
  }: Pick<RunFrame, 'bundles' | 'coverage'> & {
    mode: Mode;
    sinceWhole: Pick<RecordedPart, 'counted' | 'attempts'> & { sinceSeq: number | undefined };
  },
): RunFrame {
  const { run, part } = frame;
  return {
    ...frame,
    run: { ...run, mode, daemonMode: 'enforce' },
    coverage,
    unavailable: unreadBy(frame),
    bundles,
    part: part && { ...part, ...sinceWhole, sinceSeq: sinceWhole.sinceSeq ?? part.sinceSeq },
  };
}

/** The modes of a what-if's runs: the first one after a day without any is dry. */
class ModesAgain {
  dryRuns = 0;
  /** When the last run was completed, as far as the record shows. */
  private completedMs: number | undefined;

  /** Runs are missing: nobody knows when the last one was completed. */
  gap(): void {
    this.completedMs = undefined;
  }

  /** Each run once, in their order. */
  of(frame: RunFrame): Mode {
    const { run, part, judged, unjudged } = frame;
    const { mode } = modeAfter(this.silenceBefore(frame), 'enforce');
    if (mode !== 'enforce') this.dryRuns += 1;
    // One that could judge nothing is aborted.
    if (part === undefined && (judged.length > 0 || unjudged.length === 0)) this.completedMs = run.startedAt;
    return mode;
  }

  /** Earlier versions told it only where it made a difference. */
  private silenceBefore({ run, silentSince = run.silentSince }: RunFrame): Silence {
    if (silentSince !== undefined) return { since: silentSince ?? undefined };
    return run.mode === 'dry-run' ? silenceBefore(this.completedMs, run.startedAt) : { since: undefined };
  }
}

/** What a what-if took for true where the record does not show it. `kept`: ids of subjects that came back into the lists. */
function notesOf(kept: ReadonlySet<string>, { dryRuns }: ModesAgain): string[] {
  const [first] = kept;
  const others = kept.size > 1 ? ` and ${kept.size - 1} more` : '';
  const runs = dryRuns === 1 ? '1 run was dry' : `${dryRuns} runs were dry`;
  return [
    ...(first === undefined
      ? []
      : [
          `${shownName(first)}${others} came back after lists lacked it, and count as not registered anew meanwhile: what the replay had done to them stayed.`,
        ]),
    ...(dryRuns === 0 ? [] : [`${runs}: none had been completed in the 24 hours before.`]),
  ];
}

/** Sources without an answer: facts from them are unknown. */
function unreadBy({ sources, unavailable }: RunFrame): Source[] {
  return [...new Set([...unavailable, ...SOURCES.filter((source) => sources[source].state !== 'read')])];
}

/** What the log was read for, less what is not in the record: events may be missing there. `fromMs`: see `eventsKnownFrom`. */
function coverageWithout(
  coverage: readonly Coverage[],
  gaps: readonly HistoryGap[],
  fromMs: number,
): readonly Coverage[] {
  const known = coverage.flatMap((one) =>
    one.toMs < fromMs ? [] : [{ ...one, fromMs: Math.max(one.fromMs, fromMs) }],
  );
  return gaps.reduce<Coverage[]>((left, gap) => left.flatMap((stretch) => [...around(stretch, gap)]), known);
}

/** The history carries events on for as long (history/files), for the windows of rules. */
const CARRIED_MS = 31 * 86_400_000;

/**
 * Since when the record has all events, for a stretch that begins with this run: as long as the windows of its own rules reach back, or since the
 * first recorded run. Coverage may say more: the store forgets events that no window of its rules counts.
 */
function eventsKnownFrom({ run, sources }: RunFrame, windowMs: number, firstMs: number): number {
  const ownMs = sources.events.state === 'read' ? windowMs : 0;
  return Math.min(run.startedAt - ownMs, Math.max(firstMs, run.startedAt - CARRIED_MS));
}

function* around(stretch: Coverage, gap: HistoryGap): Iterable<Coverage> {
  const { fromMs, toMs } = stretch;
  if (gap.toMs < fromMs || gap.fromMs > toMs) yield stretch;
  else {
    if (fromMs < gap.fromMs) yield { ...stretch, toMs: gap.fromMs - 1 };
    if (toMs > gap.toMs) yield { ...stretch, fromMs: gap.toMs };
  }
}

// Whom the rules of a what-if concern, to compare two of them.

/** By subject, of one rule. */
type Concerned = ReadonlyMap<string, DifferingSubject>;

interface MatchesNow {
  atMs: number;
  /** By rule. */
  matches: ReadonlyMap<string, Concerned>;
  unknown: ReadonlyMap<string, number>;
}

class WhatIfFound {
  /** By rule: acted on, or held. */
  readonly concerned = new Map<string, Map<string, DifferingSubject>>();
  private last: { atMs: number; judgements: readonly Judgement[]; unknown: ReadonlyMap<string, number> } | undefined;

  decided({ decisions }: Pick<Decided, 'decisions'>, judgements: readonly Judgement[], atMs: number): void {
    const acting = decisions.filter(({ decision, verdict }) => decision !== 'skip' && verdict === 'match');
    if (acting.length === 0) return;
    const summaries = new Map<string, SubjectSummary>();
    for (const { matches } of judgements) for (const { summary } of matches) summaries.set(keyOf(summary), summary);
    for (const { rule, subject, subjectName } of acting) {
      const owners = ownersOf(summaries.get(keyOf(subject)));
      add(this.concerned, { rule, subject, subjectName, atMs, ...owners });
    }
  }

  /** A whole run: the next one takes its place. */
  judged(atMs: number, judgements: readonly Judgement[], unknown: ReadonlyMap<string, number>): void {
    this.last = { atMs, judgements, unknown };
  }

  /** Undefined: no run was judged. */
  now(): MatchesNow | undefined {
    if (!this.last) return undefined;
    const { atMs, judgements, unknown } = this.last;
    const matches = new Map<string, Map<string, DifferingSubject>>();
    for (const { rule, summary } of judgements.flatMap((judgement) => judgement.matches)) {
      const { kind, id, name } = summary;
      add(matches, { rule, subject: { kind, id }, subjectName: name, atMs, ...ownersOf(summary) });
    }
    return { atMs, matches, unknown };
  }
}

function add(byRule: Map<string, Map<string, DifferingSubject>>, one: DifferingSubject): void {
  const own = byRule.get(one.rule) ?? new Map<string, DifferingSubject>();
  byRule.set(one.rule, own);
  const key = keyOf(one.subject);
  if (!own.has(key)) own.set(key, one);
}

function keyOf({ kind, id }: Pick<SubjectSummary, 'kind' | 'id'>): string {
  return `${kind} ${id}`;
}

function ownersOf(summary: SubjectSummary | undefined): Pick<DifferingSubject, 'owners'> {
  return summary?.owners && summary.owners.length > 0 ? { owners: summary.owners } : {};
}

// The bundles of a what-if: the lists that runs saw, with the last of what a person set and what the replay did.

type Flag = 'TRUE' | 'FALSE';

class ModelledBundles {
  private last: Bundles | undefined;
  /** By target, where the model differs from the record. */
  private readonly apart = new Map<string, Flag>();

  constructor(
    private readonly traits: KnownTraits,
    private readonly effects: RecordedEffects,
  ) {}

  seen(recorded: Bundles | undefined): { bundles: Bundles | undefined; people: PersonsChange[] } {
    if (!recorded) return { bundles: undefined, people: [] };
    const people: PersonsChange[] = [];
    for (const [target, value] of changed(this.last, recorded)) {
      const why = this.effects.explains({ field: MEMBERSHIP, target }, value);
      if (why === 'ours')
        this.keepApart(target, value, this.apart.get(target) ?? (value === 'TRUE' ? 'FALSE' : 'TRUE'));
      else this.apart.delete(target);
      if (why === undefined) people.push({ field: MEMBERSHIP, target, value });
    }
    this.last = recorded;
    return { bundles: this.modelled(recorded), people };
  }

  did({ action, target }: Pick<Intent, 'action' | 'target'>): void {
    const traits = this.traits.get(action);
    if (traits?.fieldWritten !== MEMBERSHIP) return;
    this.keepApart(target, membershipOf(this.last, target), traits.valueWritten as Flag);
  }

  private keepApart(target: string, recorded: Flag | undefined, model: Flag): void {
    if (recorded === model) this.apart.delete(target);
    else this.apart.set(target, model);
  }

  private modelled(recorded: Bundles): Bundles {
    if (this.apart.size === 0) return recorded;
    const bundles = new Map<string, Set<string>>([...recorded].map(([id, members]) => [id, new Set(members)]));
    for (const [target, value] of this.apart) {
      const { serviceId, bundleId } = bundleParts(target);
      if (value === 'TRUE') bundles.get(bundleId)?.add(serviceId);
      else bundles.get(bundleId)?.delete(serviceId);
    }
    return bundles;
  }
}

/** A bundle that was not listed before shows nothing of what anybody did. */
function* changed(before: Bundles | undefined, now: Bundles): Generator<[target: string, Flag]> {
  for (const [bundle, members] of now) {
    const was = before?.get(bundle);
    if (!was || was === members) continue;
    for (const service of members) if (!was.has(service)) yield [`${service} ${bundle}`, 'TRUE'];
    for (const service of was) if (!members.has(service)) yield [`${service} ${bundle}`, 'FALSE'];
  }
}

export interface WhatIfOptions extends ReplayOptions {
  actions: ReadonlyMap<ActionName, Action>;
}

interface FoundWhatIf {
  replay: Replay;
  /** The last recorded state; undefined without any whole run. */
  now: MatchesNow | undefined;
  concerned: WhatIfFound['concerned'];
}

/** Errors: AppError `stopped` when the signal aborts; `io` as of the reader. */
export async function whatIf(
  reader: HistoryReader,
  rules: readonly LoadedRule[],
  options: WhatIfOptions,
): Promise<Replay> {
  return (await findWhatIf(reader, rules, options)).replay;
}

/** The same, with whom each rule concerns. */
async function findWhatIf(
  reader: HistoryReader,
  rules: readonly LoadedRule[],
  options: WhatIfOptions,
): Promise<FoundWhatIf> {
  const whatIf = new WhatIf(rules, reader, options);
  const { fromMs, toMs } = options;
  const facts = factsOf(whatIf.rules, (kind) => fieldsWritten(options.actions, kind));
  for await (const item of reader.items({ fromMs, toMs, facts })) {
    if (options.signal?.aborted) throw new AppError('stopped', 'the replay was stopped');
    await whatIf.take(item);
  }
  return whatIf.finish();
}

class WhatIf {
  readonly rules: readonly LoadedRule[];
  private readonly world = new RecordedWorld();
  private readonly effects: RecordedEffects;
  private readonly model: PlatformModel;
  private readonly bundles: ModelledBundles;
  private readonly tally: Tally;
  private readonly found = new WhatIfFound();
  private readonly ids: Ids = countingIds('what-if');
  private readonly gaps: HistoryGap[] = [];
  private readonly never: NeverRecorded;
  private readonly due: DueRuns;
  /** Of the recorded rules. */
  private readonly sets: RecordedSets;
  private seeing: SeeingAgain | undefined;
  private own: OwnState | undefined;
  private past: KeptPast | undefined;
  private gated: GatedAgain | undefined;
  private begunMs = 0;
  private readonly modes = new ModesAgain();
  private lastWhole: (RulesOfRun<LoadedRule> & { seq: number }) | undefined;
  /** Events of a beginning, until the first run shows for which lists the rules are compiled. */
  private events: TrustEvent[] = [];
  /** Until the next run, after a gap. */
  private gapFromMs: number | undefined;
  private eventsFromMs = Number.POSITIVE_INFINITY;
  private runsSeen = 0;

  constructor(
    rules: readonly LoadedRule[],
    private readonly reader: HistoryReader,
    private readonly options: WhatIfOptions,
  ) {
    const { actions, only, fromMs, toMs, everyMs } = options;
    this.rules = rules.filter(({ mode }) => mode !== 'off').toSorted((a, b) => (a.id < b.id ? -1 : 1));
    this.never = new NeverRecorded(only ? this.rules.filter(({ id }) => only.includes(id)) : this.rules, actions);
    this.sets = new RecordedSets(reader, actions);
    this.due = new DueRuns(everyMs, fromMs);
    this.effects = new RecordedEffects(actions);
    this.bundles = new ModelledBundles(actions, this.effects);
    const { device } = this.world.kinds;
    this.model = new PlatformModel(actions, this.effects, {
      factOf: (kind, id, path) => this.world.record(kind, id)?.[path],
      isThere: (kind, id) => this.world.record(kind, id) !== undefined,
      idsOfSerial: (serial) => [...device.bySerial.of(serial)].map(({ id }) => id),
    });
    this.tally = new Tally({
      ...options,
      way: 'what_if',
      askedFromMs: fromMs,
      askedToMs: toMs,
      traits: actions,
      ...(only && { isReported: (rule: string) => only.includes(rule) }),
    });
    this.tally.rulesAre(this.rules);
  }

  async take(item: HistoryItem): Promise<void> {
    if (item.kind === 'gap') this.passOver(item.gap);
    else if (item.kind === 'state') await this.begin(item);
    else await this.run(item.run);
  }

  finish(): FoundWhatIf {
    const counts = this.seeing?.verdicts.counts;
    for (const gap of this.never.finishGaps()) this.tally.gap(gap);
    const { never } = this;
    const replay = this.tally.finish(
      {
        differences: [],
        unread: never.unreadLists(),
        neverRecorded: never.paths(this.world),
        notes: notesOf(this.model.kept, this.modes),
      },
      (rule) => counts?.get(rule)?.ever,
    );
    return { replay, now: this.found.now(), concerned: this.found.concerned };
  }

  /** Nobody saw what was there meanwhile. Records of one person that were removed hide nothing of the others. */
  private passOver(gap: HistoryGap): void {
    this.tally.gap(gap);
    if (gap.cause === 'forgotten') return;
    this.gaps.push(gap);
    this.modes.gap();
    this.own?.freeze(gap.toMs);
    if (this.own) this.gapFromMs ??= gap.fromMs;
  }

  private async begin({ atMs, facts, events }: Extract<HistoryItem, { kind: 'state' }>): Promise<void> {
    const { model } = this;
    const restated = async function* () {
      for await (const batch of facts) yield model.restated(batch);
    };
    await this.world.begin(this.past?.begin(restated()) ?? restated());
    this.begunMs = atMs;
    this.gated?.begin(atMs);
    for await (const batch of events) this.observe(batch);
  }

  private async run(recorded: RecordedRun): Promise<void> {
    const { frame, openState } = recorded;
    const { world, effects, model } = this;
    const isWhole = frame.part === undefined;
    if (!this.seeing) {
      this.seeing = this.compiled(frame);
      this.gated = new GatedAgain(this.seeing.rules, world);
      this.gated.begin(this.begunMs);
      this.past = await KeptPast.before(this.reader, this.seeing.verdicts.lookBack, frame.run);
      this.eventsFromMs = await this.eventsFrom(recorded);
    }
    effects.learn(openState, isWhole, this.gapFromMs);
    if (this.gapFromMs !== undefined) this.change(model.afterGap(openState.claims, this.gapFromMs));
    this.gapFromMs = undefined;
    const seen = model.seen(recorded.changes, ({ kind }) => !isMomentary(frame, kind));
    world.see({ frame, changes: seen.changes });
    const isTrusted = isWhole && SOURCES.every((source) => isUsable(frame.sources[source]));
    const unseen = isTrusted ? effects.reversedUnseen(frame.steady.nowMs, frame.quietMs) : [];
    const reversed = model.reversed(unseen);
    this.change(reversed.changes);
    const { bundles, people } = this.bundles.seen(frame.bundles);
    const lived = { ...(this.gated as GatedAgain).frame(frame), given: await this.sets.givenFor(this.rules, recorded) };
    const mode = this.modes.of(frame);
    const areBundlesTold = frame.bundles !== undefined || (await this.asksForBundles(recorded));
    this.observe(recorded.events);
    // The open state of a look, and of a run over chosen rules, is not the whole one.
    if (isWhole)
      this.own ??= new OwnState(openState, frame.run.startedAt, { actions: this.options.actions, ids: this.ids });
    if (this.own) {
      this.never.run(frame, areBundlesTold);
      this.tally.people([...seen.people, ...reversed.people, ...people], frame);
      if (isWhole) this.own.resolveAsRecorded(openState);
      const open = this.own.at(frame.run.startedAt, openState);
      this.tally.run(lived, open.notices, openState.notices);
      if (this.due.isDue(frame))
        await this.decide(lived, this.own, open, this.seeing, { bundles, mode, areBundlesTold });
    }
    world.restore();
    this.past?.take({ frame, changes: seen.changes }, lived.sources);
    if (isTrusted) effects.wereRead(frame.steady.nowMs, frame.quietMs);
    this.runsSeen += 1;
    this.options.progress?.({ phase: 'deciding', what: 'runs', done: this.runsSeen });
  }

  /** What the model adds to the record. */
  private change(changes: readonly FactChange[]): void {
    this.world.change(changes);
    this.past?.willSee(changes);
  }

  private async eventsFrom(first: RecordedRun): Promise<number> {
    const { needs } = (await this.sets.of(first)).rules.evaluator;
    const firstMs = (await this.reader.span())?.fromMs ?? first.frame.run.startedAt;
    return eventsKnownFrom(first.frame, countedMs(needs), firstMs);
  }

  /** Otherwise nothing shows whether the server lists them. */
  private async asksForBundles(run: RecordedRun): Promise<boolean> {
    const { actions } = this.options;
    if (!this.rules.some(({ then }) => readsBundles(then, actions))) return false;
    const { rules } = (await this.sets.of(run)).rules;
    return readsBundles([...rules.flatMap(({ then }) => then), ...run.openState.claims], actions);
  }

  private async decide(
    recorded: RunFrame,
    own: OwnState,
    openState: OpenState,
    seeing: SeeingAgain,
    { bundles, mode, areBundlesTold }: { bundles: RunFrame['bundles']; mode: Mode; areBundlesTold: boolean },
  ): Promise<void> {
    const { world, tally, model, options } = this;
    const { judged, unjudged } = rulesOn(recorded, this.rules, this.lastWhole, options.actions, areBundlesTold);
    const sinceWhole = { sinceSeq: this.lastWhole?.seq, ...own.sinceWhole() };
    const coverage = coverageWithout(recorded.coverage, this.gaps, this.eventsFromMs);
    const frame = asIf(recorded, { bundles, coverage, sinceWhole, mode });
    const of = { judged: judged.map(idOf), unjudged: unjudged.map(idOf), activeRules: this.rules.map(idOf) };
    const input = seenAgain(seeing, frame, of, openState);
    const decided = await drainedInTurns(deciding(input));
    const { run, part } = frame;
    this.found.decided(decided, input.judgements, run.startedAt);
    if (part === undefined) this.noteWhole(frame, { judged, unjudged }, input.judgements, seeing.verdicts);
    tally.decided(frame, decided);
    // A list that the recorded run did not trust showed some of them for this run alone.
    const reached = new Map(decided.acts.map(({ draft }) => [actOf(draft), model.reached(draft)]));
    world.restore();
    const done = await own.commit(run, part !== undefined, decided, (act) => reached.get(actOf(act))?.length === 0);
    const decisions = new Map([...openState.decisions, ...decided.decisions].map((each) => [each.id, each]));
    for (const intent of done) {
      this.change(model.did(intent, reached.get(actOf(intent))));
      this.bundles.did(intent);
      tally.did({ intent, atMs: run.startedAt, runSeq: run.seq, decisionOf: (id) => decisions.get(id) });
    }
  }

  private noteWhole(
    { run: { startedAt, seq, scoped } }: RunFrame,
    ofRun: RulesOfRun<LoadedRule>,
    judgements: readonly Judgement[],
    { counts }: KeptVerdicts,
  ): void {
    this.tally.judged(startedAt, counts);
    if (scoped) return;
    this.lastWhole = { ...ofRun, seq };
    const unknown = new Map([...counts].map(([rule, { unknown }]) => [rule, unknown]));
    this.found.judged(startedAt, judgements, unknown);
  }

  private compiled({ settings }: RunFrame): SeeingAgain {
    const { world, ids, events } = this;
    const traits = this.options.actions;
    const rules = rulesAgain(
      this.rules.map((rule) => ({ ...rule, mode: 'enforce' as const })),
      '',
      settings.lists,
    );
    const verdicts = new KeptVerdicts(rules, world, traits);
    verdicts.observe(events);
    this.events = [];
    return { world, verdicts, rules, traits, ids };
  }

  private observe(events: readonly TrustEvent[]): void {
    if (this.seeing) this.seeing.verdicts.observe(events);
    else for (const event of events) this.events.push(event);
  }
}

function actOf({ action, target }: Pick<Intent, 'action' | 'target'>): string {
  return `${action} ${target}`;
}

function idOf({ id }: LoadedRule): string {
  return id;
}

// Two rule sets over the same recorded time, each as a what-if. In: the history, the rules of both. Out: who is added and who goes, now
// and over that time, by rule and in all. Equal sets give no difference.

/** Errors: as `whatIf`. */
export async function compareRuleSets(
  reader: HistoryReader,
  sets: { old: readonly LoadedRule[]; new: readonly LoadedRule[] },
  options: Omit<WhatIfOptions, 'only'>,
): Promise<RuleSetDifference> {
  const old = await findWhatIf(reader, sets.old, options);
  const fresh = await findWhatIf(reader, sets.new, options);
  const ids = [...new Set([...old.replay.rules, ...fresh.replay.rules].map(({ id }) => id))].sort();
  const { fromMs, toMs, askedFromMs, runs, gaps, untrusted, notes, neverRecorded } = fresh.replay;
  return {
    nowAtMs: fresh.now?.atMs,
    fromMs,
    toMs,
    askedFromMs,
    runs,
    gaps,
    untrusted,
    notes,
    rules: ids.map((id) => differenceOf(id, old, fresh)).filter(isAny),
    all: {
      now: moved(anyRule(matchedNow(old)), anyRule(matchedNow(fresh))),
      overTime: moved(anyRule(old.concerned), anyRule(fresh.concerned)),
    },
    unread: unreadByAny(old.replay.unread, fresh.replay.unread),
    neverRecorded,
  };
}

/** A list that only the old rules need hides what would go. */
function unreadByAny(old: readonly ReplayedUnread[], fresh: readonly ReplayedUnread[]): ReplayedUnread[] {
  return [...fresh, ...old.filter(({ list }) => !fresh.some((one) => one.list === list))];
}

function differenceOf(id: string, old: FoundWhatIf, fresh: FoundWhatIf): RuleDifference {
  const [was, is] = [old, fresh].map(({ replay }) => replay.rules.find((rule) => rule.id === id));
  const [matched, matches] = [matchedNow(old).get(id), matchedNow(fresh).get(id)];
  const [before, after] = [old.concerned.get(id), fresh.concerned.get(id)];
  return {
    id,
    title: (is ?? was)?.title ?? '',
    change: changeOf(was, is),
    now: {
      old: was && { matches: matched?.size ?? 0, unknown: old.now?.unknown.get(id) ?? 0 },
      new: is && { matches: matches?.size ?? 0, unknown: fresh.now?.unknown.get(id) ?? 0 },
      added: without(matches, matched),
      gone: without(matched, matches),
    },
    overTime: { old: was, new: is, added: without(after, before), gone: without(before, after) },
  };
}

function changeOf(was: ReplayedRule | undefined, is: ReplayedRule | undefined): RuleDifference['change'] {
  if (!was) return 'added';
  if (!is) return 'removed';
  return was.hash === is.hash ? 'same' : 'changed';
}

/** A rule whose text is the same may act otherwise because of another one. */
function isAny({ change, now, overTime }: RuleDifference): boolean {
  const [was, is] = [overTime.old, overTime.new].map((rule) => JSON.stringify({ ...rule, title: '' }));
  const others = [now.added, now.gone, overTime.added, overTime.gone];
  const isUnknownElsewhere = canonicalJson(now.old ?? null) !== canonicalJson(now.new ?? null);
  return change !== 'same' || was !== is || isUnknownElsewhere || others.some(({ total }) => total > 0);
}

function matchedNow({ now }: FoundWhatIf): ReadonlyMap<string, Concerned> {
  return now?.matches ?? new Map();
}

function anyRule(byRule: ReadonlyMap<string, Concerned>): ReadonlySet<string> {
  return new Set([...byRule.values()].flatMap((subjects) => [...subjects.keys()]));
}

function moved(before: ReadonlySet<string>, after: ReadonlySet<string>): { added: number; gone: number } {
  const beside = (one: ReadonlySet<string>, other: ReadonlySet<string>) =>
    [...one].filter((key) => !other.has(key)).length;
  return { added: beside(after, before), gone: beside(before, after) };
}

function without(all: Concerned = new Map(), others: Concerned = new Map()): DifferingSubjects {
  const left = [...all].flatMap(([key, one]): DifferingSubject[] => (others.has(key) ? [] : [one]));
  left.sort((a, b) => a.atMs - b.atMs || (a.subject.id < b.subject.id ? -1 : 1));
  return { total: left.length, first: left.slice(0, DIFFERING_MAX) };
}
