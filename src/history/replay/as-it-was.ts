// history: recorded time as it was: each run is decided again, by the rules that it had, over what it saw and the open state that it found, through
// the production evaluating and deciding. In: the history. Out: what was done, and each decision that the replay makes otherwise, with the reason
// that the record shows. The open state is the recorded one, so that a difference never leads to others. Nothing is sent or kept.
import { deciding } from '../../decide/decide.ts';
import type { Decided } from '../../decide/input.ts';
import type { ActionName, ActionTraits } from '../../domain/action.ts';
import { AppError } from '../../domain/errors.ts';
import { drainedInTurns } from '../../domain/give-way.ts';
import { isLive } from '../../domain/mode.ts';
import type { HistoryGap, HistoryReader, RecordedRun } from '../../domain/recorded-history.ts';
import type { Replay, ReplayDifference } from '../../domain/replay.ts';
import { countingIds } from './counting-ids.ts';
import { comparedDecisions } from './decisions-compared.ts';
import { DueRuns } from './due-runs.ts';
import { KeptPast } from './kept-past.ts';
import { KeptVerdicts } from './kept-verdicts.ts';
import { NeverRecorded } from './never-recorded.ts';
import { peopleRecorded } from './people-recorded.ts';
import { type ReadItem, readOn } from './read-on.ts';
import { RecentEvents } from './recent-events.ts';
import { RecordedDone } from './recorded-done.ts';
import { RecordedEffects } from './recorded-effects.ts';
import { type RecordedRules, RecordedSets } from './recorded-sets.ts';
import { RecordedWorld } from './recorded-world.ts';
import type { ReplayOptions } from './replay-options.ts';
import { seenAgain } from './seen-again.ts';
import { Tally } from './tally.ts';
import { explainedDifferences } from './why-different.ts';

export interface AsItWasOptions extends ReplayOptions {
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
    tally.run(frame);
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
    tally.decided(frame, decided.decisions, decided.limits);
    if (frame.part === undefined) tally.judged(frame.run.startedAt, verdicts.counts);
    this.last = { run, decided };
    const was = { written, ended };
    const is = { written: decided.decisions, ended: decided.ended };
    const { gaps, lost, latestMs } = this;
    const known = { run, world, rules: rules.rules, problems, gaps, lost, latestMs, beginsMs: this.past?.beginsMs };
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
