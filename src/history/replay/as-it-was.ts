// history: recorded time as it was: each run is decided again, by the rules that it had, over what it saw and the open state that it found, through
// the production evaluating and deciding. In: the history. Out: what was done, and each decision that the replay makes otherwise, with the reason
// that the record shows. The open state is the recorded one, so that a difference never leads to others. Nothing is sent or kept.
import { canonicalJson } from '../../base/json.ts';
import { shownName } from '../../base/text.ts';
import { formatDuration, timeText } from '../../base/time.ts';
import { drainedInTurns } from '../../base/turns.ts';
import {
  type ActionName,
  type ActionTraits,
  fieldsWritten,
  type KnownTraits,
  MEMBERSHIP,
} from '../../domain/action.ts';
import type { Decision, Outcome, StoredDecision } from '../../domain/decision.ts';
import { AppError } from '../../domain/errors.ts';
import type { TrustEvent } from '../../domain/event.ts';
import { ownText } from '../../domain/facts.ts';
import { type Guards, guardsOf } from '../../domain/guards.ts';
import type { Intent } from '../../domain/intent.ts';
import { LOOK_BACK_GAP_MS } from '../../domain/look-back.ts';
import {
  type HistoryGap,
  type HistoryReader,
  isMomentary,
  type RecordedRun,
  type RunFrame,
} from '../../domain/recorded-history.ts';
import type { Replay, ReplayDifference } from '../../domain/replay.ts';
import { isLive } from '../../domain/rule.ts';
import type { Run } from '../../domain/run.ts';
import { type Coverage, coverageOf } from '../../domain/snapshot.ts';
import type { OpenState } from '../../domain/store.ts';
import {
  flagText,
  SOURCE_OF,
  type Source,
  SUBJECT_KINDS,
  type SubjectKind,
  type SubjectRef,
} from '../../domain/subjects.ts';
import { countedMs } from '../../domain/verdict.ts';
import { deciding } from '../../engine/decide/decide.ts';
import { Exemptions } from '../../engine/decide/exemptions.ts';
import type { Decided } from '../../engine/decide/input.ts';
import type { LoadedRule } from '../../rules/language/loaded-rule.ts';
import { KeptVerdicts } from './kept-verdicts.ts';
import type { DoneIntent, PersonsChange } from './platform-model.ts';
import { RecordedEffects } from './platform-model.ts';
import {
  countingIds,
  DueRuns,
  KeptPast,
  type ReadItem,
  type RecordedRules,
  RecordedSets,
  type ReplayOptions,
  readOn,
  seenAgain,
} from './recorded-sets.ts';
import { NeverRecorded, RecordedWorld } from './recorded-world.ts';
import { Tally } from './tally.ts';

// The decisions of a run, as it made them and as the replay made them again.

export interface DecisionDiffers {
  rule: string;
  subject: SubjectRef;
  target: string;
  was: string | undefined;
  is: string | undefined;
}

type Made = Pick<
  Decision,
  'rule' | 'subject' | 'action' | 'target' | 'decision' | 'reason' | 'mode' | 'verdict' | 'facts' | 'ruleHash'
>;

interface MadeDecisions {
  written: readonly Made[];
  /** Ids of decisions that were in force. */
  ended: readonly string[];
}

function comparedDecisions(
  was: MadeDecisions,
  is: MadeDecisions,
  inForce: readonly StoredDecision[],
): DecisionDiffers[] {
  return [...comparedWritten(was.written, is.written), ...comparedEnded(was.ended, is.ended, inForce)];
}

function comparedWritten(was: readonly Made[], is: readonly Made[]): DecisionDiffers[] {
  const made = byKey(is);
  const found: DecisionDiffers[] = [];
  for (const [key, before] of byKey(was)) {
    const after = made.get(key) ?? [];
    made.delete(key);
    for (let at = 0; at < Math.max(before.length, after.length); at += 1)
      found.push(...differing(before[at], after[at]));
  }
  for (const after of [...made.values()].flat()) found.push(...differing(undefined, after));
  return found;
}

function comparedEnded(
  was: readonly string[],
  is: readonly string[],
  inForce: readonly StoredDecision[],
): DecisionDiffers[] {
  const [before, after] = [new Set(was), new Set(is)];
  const known = new Map(inForce.map((decision) => [decision.id, decision]));
  return [...new Set([...was, ...is])].flatMap((id) => {
    if (before.has(id) === after.has(id)) return [];
    const decision = known.get(id);
    const { rule = '', subject = { kind: 'device', id: '' } as const, target = '' } = decision ?? {};
    const what = decision
      ? `ended: ${decision.decision} ${decision.reason}`
      : 'ended: a decision that was not in force';
    return [{ rule, subject, target, was: before.has(id) ? what : undefined, is: after.has(id) ? what : undefined }];
  });
}

function byKey(all: readonly Made[]): Map<string, Made[]> {
  const found = new Map<string, Made[]>();
  for (const one of all) {
    const { rule, subject, action, target } = one;
    const key = JSON.stringify([rule, subject.kind, subject.id, action, target]);
    found.set(key, [...(found.get(key) ?? []), one]);
  }
  return found;
}

function differing(was: Made | undefined, is: Made | undefined): DecisionDiffers[] {
  const one = (was ?? is) as Made;
  const head = { rule: one.rule, subject: one.subject, target: one.target };
  if (!was || !is) return [{ ...head, was: was && textOf(was), is: is && textOf(is) }];
  const fields = (['mode', 'verdict', 'ruleHash'] as const).filter((field) => was[field] !== is[field]);
  const facts = [...new Set([...Object.keys(was.facts), ...Object.keys(is.facts)])].filter(
    (path) => factText(was, path) !== factText(is, path),
  );
  const isSame = was.decision === is.decision && was.reason === is.reason;
  if (isSame && fields.length === 0 && facts.length === 0) return [];
  const more = (made: Made) => [
    textOf(made),
    ...fields.map((field) => `${field} ${made[field]}`),
    ...facts.map((path) => `${shownName(path)} ${shownName(factText(made, path))}`),
  ];
  return [{ ...head, was: more(was).join(', '), is: more(is).join(', ') }];
}

function textOf({ decision, reason }: Made): string {
  return `${decision} ${reason}`;
}

function factText({ facts }: Made, path: string): string {
  return Object.hasOwn(facts, path) ? canonicalJson(facts[path]) : 'absent';
}

/** INVARIANT: the world has not seen the run yet. A subject that is new has been changed by nobody. */
function peopleRecorded(
  { frame, changes }: RecordedRun,
  world: RecordedWorld,
  effects: RecordedEffects,
  traits: KnownTraits,
): PersonsChange[] {
  const found = new Map<string, PersonsChange>();
  const written = new Map(SUBJECT_KINDS.map((kind) => [kind, new Set(fieldsWritten(traits, kind))]));
  for (const { kind, subject, path: field, value } of changes) {
    if (!written.get(kind)?.has(field) || field === MEMBERSHIP || isMomentary(frame, kind)) continue;
    const record = world.record(kind, subject);
    const now = value === undefined ? undefined : flagText({ [field]: value }, field);
    if (!record || now === undefined || flagText(record, field) === now) continue;
    const target = kind === 'device' ? (ownText(record, 'SerialNumber') ?? '') : subject;
    if (effects.explains({ field, target }, now) === undefined)
      found.set(JSON.stringify([field, target]), { field, target, value: now });
  }
  return [...found.values()];
}

// The events that some window may still count, for a rule set that comes into force later.

/** Events that are a little older than what the log was read for belong to the first moments of a window. */
const BEFORE_MS = 3_600_000;
/** What came of a transmitter before a gap counts, however short the log of the platform is known. */
const SIGNALS_BEFORE_MS = 90 * 86_400_000;

export class RecentEvents {
  private events: TrustEvent[] = [];
  private sweptFromMs = Number.NEGATIVE_INFINITY;

  get all(): readonly TrustEvent[] {
    return this.events;
  }

  add(events: readonly TrustEvent[]): void {
    for (const event of events) this.events.push(event);
  }

  /** Without any window nothing is covered, and nothing is kept. */
  forget(coverage: readonly Coverage[]): void {
    const ofLog = coverageOf(coverage);
    if (ofLog.length === 0) return;
    const fromMs = Math.min(...ofLog.map((one) => one.fromMs)) - BEFORE_MS;
    if (fromMs - this.sweptFromMs < BEFORE_MS) return;
    this.sweptFromMs = fromMs;
    // The store never removes its newest row, so that it is not recorded again when a longer window has the log read once more.
    const newest = this.events.at(-1);
    this.events = this.events.filter(
      (event) =>
        event === newest ||
        event.createdAtMs >= (event.transmitter === undefined ? fromMs : fromMs - SIGNALS_BEFORE_MS),
    );
  }
}

// What Trustward did in the recorded past.

const HAD_EFFECT: ReadonlySet<Outcome | undefined> = new Set(['succeeded', 'confirmed', 'unknown']);

class RecordedDone {
  private known = new Set<string>();
  private hasBegun = false;
  /** What was done before the first run of the replay is not of its time. */
  private fromMs = Number.POSITIVE_INFINITY;
  private readonly seqOf = new Map<string, number>();

  constructor(private readonly traits: KnownTraits) {}

  /** The open state that a run found. `rules`: of the run before it. */
  take(openState: OpenState, rules: readonly LoadedRule[], isWhole: boolean): DoneIntent[] {
    const decisions = new Map(openState.decisions.map((decision) => [decision.id, decision]));
    const done = [...this.byIntents(openState), ...this.byDecisions(openState, rules)];
    if (isWhole) this.forgetOthers(openState);
    const isFirst = !this.hasBegun;
    this.hasBegun = true;
    if (isFirst) return [];
    const episodes = new Map(openState.episodes.map((episode) => [episode.id, episode]));
    const found = done.map((one): DoneIntent => {
      const bases = new Map(one.intent.basis.map(({ decisionId, episodeId }) => [decisionId, episodeId]));
      const subjectOf = (id: string) => episodes.get(bases.get(id) ?? '')?.subject;
      const decisionOf: DoneIntent['decisionOf'] = (id) => {
        const subject = subjectOf(id);
        return decisions.get(id) ?? (subject && { subject, subjectName: '' });
      };
      const runSeq =
        one.runSeq || (one.intent.basis.map(({ decisionId }) => decisions.get(decisionId)?.runSeq)[0] ?? 0);
      return { ...one, runSeq, decisionOf };
    });
    return found.filter(({ atMs }) => atMs >= this.fromMs).sort((a, b) => a.atMs - b.atMs);
  }

  begins({ id, seq, startedAt }: Pick<Run, 'id' | 'seq' | 'startedAt'>): void {
    this.fromMs = Math.min(this.fromMs, startedAt);
    this.seqOf.set(id, seq);
  }

  private byIntents({ intents }: OpenState): Omit<DoneIntent, 'decisionOf'>[] {
    return intents.flatMap((intent) => {
      if (!isLive(intent.mode) || !hadEffect(intent) || this.known.has(intent.id)) return [];
      this.known.add(intent.id);
      const atMs = intent.sentAt ?? intent.createdAt;
      return [{ intent, atMs, runSeq: this.seqOf.get(intent.runId) ?? 0 }];
    });
  }

  /** An undo that succeeded is no open intent any more; its decisions are in force until the next run. */
  private byDecisions({ decisions }: OpenState, rules: readonly LoadedRule[]): Omit<DoneIntent, 'decisionOf'>[] {
    const byIntent = new Map<string, StoredDecision[]>();
    for (const decision of decisions) {
      const { intentId, outcome, mode, decision: name } = decision;
      if (intentId === undefined || name !== 'act' || !isLive(mode)) continue;
      if (!HAD_EFFECT.has(outcome) || outcome === undefined || this.known.has(intentId)) continue;
      byIntent.set(intentId, [...(byIntent.get(intentId) ?? []), decision]);
    }
    return [...byIntent].map(([id, those]) => {
      this.known.add(id);
      const { action, target, verdict, effect, writtenAt, runSeq, rule } = those[0] as StoredDecision;
      const undo = verdict === 'no_match';
      const proposed = undo ? this.traits.get(action)?.inverse : action;
      const settings = rules.find((one) => one.id === rule)?.then.find((one) => one.action === proposed)?.with ?? {};
      const basis = those.map((one) => ({
        rule: one.rule,
        ruleHash: one.ruleHash,
        subjectId: one.subject.id,
        episodeId: one.episodeId ?? '',
        decisionId: one.id,
        facts: one.facts,
      }));
      return { intent: { action, target, settings, undo, basis, effect }, atMs: writtenAt, runSeq };
    });
  }

  private forgetOthers({ intents, decisions }: OpenState): void {
    const there = new Set([...intents.map(({ id }) => id), ...decisions.flatMap(({ intentId }) => intentId ?? [])]);
    this.known = new Set([...this.known].filter((id) => there.has(id)));
  }
}

function hadEffect({ outcome, attempts }: Intent): boolean {
  return outcome !== undefined && HAD_EFFECT.has(outcome) && (attempts > 0 || outcome !== 'unknown');
}

// Why a replay cannot give a decision that was made: what the record lacks. In: a run, what is known of the record at
// its time. Out: a reason for a difference, or undefined: then it is a fault of Trustward. INVARIANT: each reason is
// something that the record itself shows.

/** Windows keep events for so long after they have left (rules/windows.ts). */
const SET_BACK_MAX_MS = 3_600_000;

export interface KnownOfRun {
  run: RecordedRun;
  world: RecordedWorld;
  rules: readonly LoadedRule[];
  /** What this version cannot read of the recorded rules, one line each. */
  problems: readonly string[];
  /** All gaps until then. */
  gaps: readonly HistoryGap[];
  /** A gap whose changes are lost, and after which nobody knows the whole state. */
  lost: HistoryGap | undefined;
  /** The latest time of an earlier run. */
  latestMs: number;
  /** Earlier runs, which rules look back on, are not in the record. */
  beginsMs: number | undefined;
  /** How long a window was at most by earlier rules, and until when these were in force. */
  windowsBefore: readonly { untilMs: number; windowMs: number }[];
}

interface ExplainedDifference {
  differs: DecisionDiffers;
  /** Undefined: nothing in the record explains it. */
  why: string | undefined;
}

/** Rules that are about one target decide it together: what explains one of them explains the others. */
export function explainedDifferences(all: readonly DecisionDiffers[], known: KnownOfRun): ExplainedDifference[] {
  const found = all.map((differs) => ({ differs, why: whyDifferent(differs, known) }));
  return found.map(({ differs, why }) => ({
    differs,
    why: why ?? found.find((other) => other.why !== undefined && other.differs.target === differs.target)?.why,
  }));
}

function whyDifferent(differs: DecisionDiffers, known: KnownOfRun): string | undefined {
  const { run, rules, problems, lost } = known;
  if (lost) return lost.text;
  if (problems.length > 0) return `this version cannot read the rules of that time: ${problems[0]}`;
  const rule = rules.find(({ id }) => id === differs.rule);
  return (
    ofLists(rule, run.frame) ??
    ofSecrets(rule, known) ??
    ofForgotten(differs, rule, known) ??
    ofWindows(rule, known) ??
    ofLookBack(rule, known) ??
    ofExemptions(run, guardsOf(rules))
  );
}

/** Limits, joins and the decisions of others counted it, until it was removed; so do windows that reach back to then. */
function ofForgotten(
  { was, rule: id }: DecisionDiffers,
  rule: LoadedRule | undefined,
  { gaps, run }: KnownOfRun,
): string | undefined {
  const { startedAt } = run.frame.run;
  // A removed decision may have been in force in later runs, and what ended it names no rule.
  if (was === undefined || id === '') {
    const before = gaps.find(({ cause, fromMs }) => cause === 'forgotten' && fromMs <= startedAt);
    if (before) return before.text;
  }
  const windowMs = rule ? windowOf(rule) : 0;
  return gaps.find(
    ({ cause, fromMs, toMs }) => cause === 'forgotten' && fromMs <= startedAt && startedAt <= toMs + windowMs,
  )?.text;
}

function ofLists(rule: LoadedRule | undefined, { sources }: RunFrame): string | undefined {
  for (const source of rule?.sources ?? []) {
    const twice = sources[source].reasons.find(({ code }) => code === 'repeated_key');
    if (twice) return `a record of facts has each subject once: ${twice.text}`;
  }
  return undefined;
}

function ofSecrets(rule: LoadedRule | undefined, { world }: KnownOfRun): string | undefined {
  if (!rule) return undefined;
  const read: [SubjectKind, Iterable<string>][] = [
    [rule.subject, rule.reads.record],
    ['user', rule.reads.users],
    ['device', rule.reads.devices],
  ];
  for (const [kind, paths] of read) {
    for (const path of paths)
      if (world.kinds[kind].isSecret(path)) return `${path} had a secret, which is not recorded`;
  }
  return undefined;
}

/** The longest of its windows over events and signals. */
function windowOf({ reads }: LoadedRule): number {
  return Math.max(reads.events ? reads.windowMs : 0, reads.signalWindowMs);
}

function ofWindows(
  rule: LoadedRule | undefined,
  { run, gaps, latestMs, windowsBefore }: KnownOfRun,
): string | undefined {
  if (!rule || windowOf(rule) === 0) return undefined;
  const { startedAt } = run.frame.run;
  if (latestMs - startedAt > SET_BACK_MAX_MS) return 'the clock had been set back by more than windows keep events for';
  const fromMs = startedAt - windowOf(rule);
  const gap = gaps.find(
    ({ cause, toMs, fromMs: from }) => cause !== 'forgotten' && toMs >= fromMs && from <= startedAt,
  );
  // The log of the platform is read again for a longer window. Nobody sends signals again.
  const shorter = windowsBefore.findLast(
    ({ untilMs, windowMs }) => untilMs >= fromMs && windowMs < rule.reads.signalWindowMs,
  );
  return (
    gap?.text ??
    (shorter &&
      `no rule counted signals of more than ${formatDuration(shorter.windowMs)} before ${timeText(shorter.untilMs)}: older ones were not kept`)
  );
}

/** A process that went on without a break knows what it saw meanwhile. */
function ofLookBack(rule: LoadedRule | undefined, { run, gaps, beginsMs }: KnownOfRun): string | undefined {
  if (!rule || rule.reads.lookBack.size === 0) return undefined;
  const fromMs = run.frame.run.startedAt - rule.reads.lookBackMs - LOOK_BACK_GAP_MS;
  const gap = gaps.find(({ cause, toMs }) => cause !== 'forgotten' && toMs >= fromMs);
  if (gap) return gap.text;
  return beginsMs !== undefined && beginsMs > fromMs
    ? `the record begins at ${timeText(beginsMs)}, and the rule looks back further`
    : undefined;
}

function ofExemptions({ frame, openState }: RecordedRun, guards: Guards | undefined): string | undefined {
  const { sources, settings, run } = frame;
  const exemptions = new Exemptions(openState.exemptions ?? [], run.startedAt, guards);
  if (settings.lists === 'v2' && exemptions.asksForGroups)
    return 'groups of users were read one by one for exemptions, and are not recorded';
  const users: Source = SOURCE_OF.user;
  if (exemptions.asksForOwnerRecords && sources[users].state === 'failed')
    return 'users could not be read to their end: what came before is not recorded';
  return undefined;
}

interface AsItWasOptions extends ReplayOptions {
  traits: ReadonlyMap<ActionName, ActionTraits>;
}

/** Errors: AppError `stopped` when the signal aborts; those of the reader. */
export async function asItWas(reader: HistoryReader, options: AsItWasOptions): Promise<Replay> {
  const sets = new RecordedSets(reader, options.traits);
  const replay = new AsItWas(reader, sets, options);
  const items = readOn(reader, options, async (run) => (await sets.of(run)).wanted);
  for await (const item of items) {
    if (options.signal?.aborted) throw new AppError('stopped', 'the replay was stopped');
    await replay.take(item);
  }
  return replay.finish();
}

class AsItWas {
  private readonly world = new RecordedWorld();
  private readonly events = new RecentEvents();
  private readonly tally: Tally;
  private readonly done: RecordedDone;
  private readonly effects: RecordedEffects;
  private readonly due: DueRuns;
  private readonly ids = countingIds('as-it-was');
  private readonly gaps: HistoryGap[] = [];
  private readonly differences: ReplayDifference[] = [];
  private readonly windowsBefore: { untilMs: number; windowMs: number }[] = [];
  private verdicts: KeptVerdicts | undefined;
  private past: KeptPast | undefined;
  private inForce: RecordedRules | undefined;
  private never: NeverRecorded | undefined;
  /** Until the next state. */
  private lost: HistoryGap | undefined;
  private gapFromMs: number | undefined;
  private latestMs = Number.NEGATIVE_INFINITY;
  private runsSeen = 0;
  private last: { run: RecordedRun; decided: Decided } | undefined;

  constructor(
    private readonly reader: HistoryReader,
    private readonly sets: RecordedSets,
    private readonly options: AsItWasOptions,
  ) {
    const { traits, fromMs, toMs, everyMs, only } = options;
    const isReported = only && ((rule: string) => only.includes(rule));
    const asked = { way: 'as_was', askedFromMs: fromMs, askedToMs: toMs, everyMs, traits } as const;
    this.tally = new Tally({ ...asked, ...(isReported && { isReported }) });
    this.done = new RecordedDone(traits);
    this.effects = new RecordedEffects(traits);
    this.due = new DueRuns(everyMs, fromMs);
  }

  async take(item: ReadItem): Promise<void> {
    if (item.kind === 'gap') {
      const { gap } = item;
      this.gaps.push(gap);
      this.tally.gap(gap);
      if (gap.cause === 'forgotten') return;
      this.gapFromMs ??= gap.fromMs;
      // Runs that are only missing leave what is known: the next one was compared with what was recorded last.
      if (gap.cause !== 'not_recorded') this.lost = gap;
    } else if (item.kind === 'state') {
      this.lost = undefined;
      await this.world.begin(this.past?.begin(item.facts) ?? item.facts);
      for await (const batch of item.events) this.observe(batch);
    } else if (item.isAgain) this.world.seeAgain(item.run);
    else await this.run(item.run);
  }

  finish(): Replay {
    if (this.last) this.didLast(this.last);
    const counts = this.verdicts?.counts;
    return this.tally.finish(
      { differences: this.differences, unread: [], neverRecorded: this.never?.paths(this.world) ?? [], notes: [] },
      (rule) => counts?.get(rule)?.ever,
    );
  }

  private async run(run: RecordedRun): Promise<void> {
    const { frame, openState } = run;
    const { world, tally, effects, options } = this;
    const isWhole = frame.part === undefined;
    const before = this.inForce?.rules.rules ?? [];
    const verdicts = await this.rulesOf(run);
    tally.run(frame, openState.notices);
    for (const done of this.done.take(openState, before, isWhole)) tally.did(done);
    this.done.begins(frame.run);
    effects.learn(openState, isWhole, this.gapFromMs);
    this.gapFromMs = undefined;
    tally.people(peopleRecorded(run, world, effects, options.traits), frame);
    world.see(run);
    this.observe(run.events);
    this.never?.run(frame);
    if (this.due.isDue(frame)) await this.decide(run, verdicts);
    else this.last = undefined;
    world.restore();
    this.past?.take(run);
    if (isWhole) effects.wereRead(frame.steady.nowMs, frame.quietMs);
    this.events.forget(frame.coverage);
    this.latestMs = Math.max(this.latestMs, frame.run.startedAt);
    this.runsSeen += 1;
    options.progress?.({ phase: 'deciding', what: 'runs', done: this.runsSeen });
  }

  private async decide(run: RecordedRun, verdicts: KeptVerdicts): Promise<void> {
    const { frame, openState, written, ended } = run;
    const { world, tally, ids, options, inForce } = this;
    const { rules, problems } = inForce as RecordedRules;
    const seeing = { world, verdicts, rules, traits: options.traits, ids };
    const decided = await drainedInTurns(deciding(seenAgain(seeing, frame, frame, openState)));
    tally.decided(frame, decided);
    if (frame.part === undefined) tally.judged(frame.run.startedAt, verdicts.counts);
    this.last = { run, decided };
    const was = { written, ended };
    const is = { written: decided.decisions, ended: decided.ended };
    const { gaps, lost, latestMs, windowsBefore } = this;
    const ofRules = { rules: rules.rules, problems, windowsBefore };
    const known = { run, world, ...ofRules, gaps, lost, latestMs, beginsMs: this.past?.beginsMs };
    for (const { differs, why } of explainedDifferences(comparedDecisions(was, is, openState.decisions), known)) {
      const { rule, target } = differs;
      if (options.only && !options.only.includes(rule)) continue;
      this.differences.push({
        atMs: frame.run.startedAt,
        runSeq: frame.run.seq,
        rule,
        target,
        was: differs.was,
        is: differs.is,
        reason: why ?? 'nothing in the record explains it: please report it as a fault of Trustward',
        isExplained: why !== undefined,
      });
    }
  }

  /** What came of the acts of the last run is not recorded: they count as done. */
  private didLast({ run, decided }: { run: RecordedRun; decided: Decided }): void {
    const { startedAt: atMs, seq: runSeq } = run.frame.run;
    const decisions = new Map(
      [...run.openState.decisions, ...decided.decisions].map((decision) => [decision.id, decision]),
    );
    for (const { draft, mode, isUnchanged } of decided.acts)
      if (isLive(mode) && !isUnchanged)
        this.tally.did({ intent: draft, atMs, runSeq, decisionOf: (id) => decisions.get(id) });
  }

  private async rulesOf(run: RecordedRun): Promise<KeptVerdicts> {
    const recorded = await this.sets.of(run);
    if (this.verdicts && this.inForce?.rules === recorded.rules) return this.verdicts;
    if (this.inForce) {
      const windowMs = countedMs(this.inForce.rules.evaluator.needs);
      this.windowsBefore.push({ untilMs: run.frame.run.startedAt, windowMs });
    }
    this.inForce = recorded;
    const { rules } = recorded.rules;
    this.tally.rulesAre(rules);
    const { only } = this.options;
    this.never = new NeverRecorded(only ? rules.filter(({ id }) => only.includes(id)) : rules, this.options.traits);
    const counts = this.verdicts?.counts;
    this.verdicts?.close();
    this.verdicts = new KeptVerdicts(recorded.rules, this.world, this.options.traits, counts);
    this.verdicts.observe(this.events.all);
    this.past = await KeptPast.before(this.reader, this.verdicts.lookBack, run.frame.run);
    return this.verdicts;
  }

  private observe(events: Parameters<RecentEvents['add']>[0]): void {
    this.events.add(events);
    this.verdicts?.observe(events);
  }
}
