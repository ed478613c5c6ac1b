// history: which lists of recorded runs a what-if trusts: the gate of production, asked again over the facts that the replayed rules read. In: each
// run, as the world of the replay shows it. Out: its readings as a life by these rules would have had them. What a reading shows by itself, and what
// a person accepted, stays as recorded. INVARIANT: what is compared was counted in the same way; what cannot be compared is as recorded.

import type { ActionName, ActionTraits } from '../../domain/action.ts';
import type { Lists } from '../../domain/lists.ts';
import { formOf, type RecordedRuleSet, type RecordForm, type RunFrame } from '../../domain/recorded-history.ts';
import type { Baseline, KeptReading, SourceReading, TrustReason } from '../../domain/snapshot.ts';
import { SOURCE_OF, SUBJECT_KINDS, type SubjectKind } from '../../domain/subjects.ts';
import type { Evaluator } from '../../domain/verdict.ts';
import { earlierReadings } from '../../engine/pull/stand-still.ts';
import { distrust, TRUST_DEFAULT } from '../../engine/pull/trust-gate.ts';
import { type ValueTally, valueTallies } from '../../rules/facts/fact-reader.ts';
import { compileRules } from '../../rules/judge/evaluator.ts';
import type { LoadedRule } from '../../rules/language/loaded-rule.ts';
import { problemLine } from '../../rules/language/problem.ts';
import { parseRuleSet } from '../../rules/load/read-rule.ts';
import type { RecordedWorld } from './recorded-world.ts';
import { valueAt, type WorldKind, type WorldSubject } from './world-kind.ts';

// How often each value stands in the records of one kind, kept from run to run, for the trust gate of a what-if.

interface CountedValues {
  path: string;
  counts: Record<string, number>;
}

class KeptValues {
  private readonly touched: Set<WorldSubject>;
  private readonly names: readonly string[];
  /** By fact, then by the index of a subject: its value's code, plus one; 0: it is not counted. */
  private readonly codes: Uint32Array[];

  constructor(
    private readonly world: WorldKind,
    private readonly tallies: readonly ValueTally[],
  ) {
    this.names = tallies.map(({ path }) => path.join('.'));
    this.codes = tallies.map(() => new Uint32Array(64));
    const names = new Set(this.names);
    this.touched = world.touched((_, path) => names.has(path));
  }

  /** Of the records as they are now. */
  values(): CountedValues[] {
    for (const subject of this.touched) for (let at = 0; at < this.tallies.length; at += 1) this.count(subject, at);
    this.touched.clear();
    return this.tallies.map((tally, at) => ({ path: this.names[at] as string, counts: tally.result() }));
  }

  get size(): number {
    return this.world.size;
  }

  private count({ index, record }: WorldSubject, at: number): void {
    const tally = this.tallies[at] as ValueTally;
    let codes = this.codes[at] as Uint32Array;
    if (index >= codes.length) {
      const more = new Uint32Array(2 * Math.max(codes.length, this.world.all.length));
      more.set(codes);
      codes = this.codes[at] = more;
    }
    const before = codes[index] as number;
    if (before > 0) tally.remove(before - 1);
    codes[index] = record ? tally.add(valueAt(record, tally.path)) + 1 : 0;
  }
}

// Rule sets of the past, compiled as the daemon that ran them did.

/** A rule set as a replay judges by it. */
export interface RulesAgain {
  hash: string;
  /** In the order of their ids, without those of mode `off`. */
  rules: readonly LoadedRule[];
  lists: Lists;
  /** What all of them read; it judges nothing. */
  evaluator: Evaluator;
}

export function rulesAgain(loaded: readonly LoadedRule[], hash: string, lists: Lists): RulesAgain {
  const rules = loaded.filter(({ mode }) => mode !== 'off').toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return { hash, rules, lists, evaluator: compileRules(rules, lists) };
}

/** `problems`: one line for each rule that this version refuses. */
export function recordedRules(
  { hash, files }: RecordedRuleSet,
  traits: ReadonlyMap<ActionName, ActionTraits>,
  lists: Lists,
): { rules: RulesAgain; problems: string[] } {
  const read = parseRuleSet(files, { traits });
  return { rules: rulesAgain(read.rules, hash, lists), problems: read.problems.map(problemLine) };
}

type Sources = RunFrame['sources'];

/** Each compares a list with earlier ones: other rules read other facts, and trusted other lists before. */
const ASKED_AGAIN: ReadonlySet<TrustReason['code']> = new Set([
  'empty',
  'shrunk',
  'count_drifted',
  'fact_moved',
  'fact_drifted',
]);

/** How a fact was counted: where a form of records never shows it, nothing is known of it. */
interface CountedAs {
  form: RecordForm | undefined;
  isShown: boolean;
}

class GatedKind {
  private baseline: Baseline | undefined;
  private readonly as = new Map<string, CountedAs>();

  constructor(
    private readonly kind: SubjectKind,
    private readonly world: RecordedWorld,
    private readonly values: KeptValues,
  ) {}

  /** What is known of before the next run is what its list is compared with. */
  begin(atMs: number): void {
    const { size } = this.values;
    if (size > 0) this.trusted({ finishedAt: atMs, count: size }, this.counted(undefined, undefined), undefined);
  }

  reading(frame: RunFrame): SourceReading {
    const { kind } = this;
    const recorded = frame.sources[SOURCE_OF[kind]];
    if (recorded.state !== 'read') return recorded;
    const form = formOf(recorded);
    const counted = this.counted(form, frame.shows.get(kind));
    const values = Object.fromEntries([...counted].map(([path, { counts }]) => [path, counts]));
    const asked = distrust({
      reading: recorded,
      repeatedKeys: [],
      values,
      baseline: this.comparable(counted, form),
      skewMs: undefined,
      settings: { ...TRUST_DEFAULT, ...frame.settings.trust },
    });
    const accepted = new Set((recorded.accepted?.overrode ?? []).map(({ code }) => code));
    const reasons = [
      ...recorded.reasons.filter(({ code }) => !ASKED_AGAIN.has(code)),
      ...asked.filter(({ code }) => ASKED_AGAIN.has(code) && !accepted.has(code)),
    ];
    if (reasons.length === 0) this.trusted(recorded, counted, form);
    return { ...recorded, reasons, trusted: reasons.length === 0 };
  }

  private counted(form: RecordForm | undefined, shows: ReadonlySet<string> | undefined) {
    const found = new Map<string, CountedAs & { counts: Record<string, number> }>();
    for (const { path, counts } of this.values.values()) {
      const isRecorded = this.world.isRecorded(this.kind, path);
      const isShown = shows?.has(path) ?? isRecorded;
      // Only records of other forms have it.
      if (isShown || !isRecorded) found.set(path, { form, isShown, counts });
    }
    return found;
  }

  /** Without facts that were counted in records of another form, which may never show them. */
  private comparable(counted: ReadonlyMap<string, CountedAs>, form: RecordForm | undefined): Baseline | undefined {
    const { baseline } = this;
    if (!baseline) return undefined;
    const isOther = (path: string) => {
      const [before, now] = [this.as.get(path), counted.get(path)];
      return before && now && before.form !== form && before.isShown !== now.isShown;
    };
    const others = new Set(Object.keys(baseline.values).filter(isOther));
    if (others.size === 0) return baseline;
    const without = <T extends KeptReading>(one: T): T => ({
      ...one,
      values: Object.fromEntries(Object.entries(one.values).filter(([path]) => !others.has(path))),
    });
    return { ...without(baseline), earlier: (baseline.earlier ?? []).map(without) };
  }

  private trusted(
    { finishedAt: takenAt, count, accepted }: Pick<SourceReading, 'finishedAt' | 'count' | 'accepted'>,
    counted: ReturnType<GatedKind['counted']>,
    form: RecordForm | undefined,
  ): void {
    const before = this.comparable(counted, form);
    const values = { ...before?.values };
    for (const [path, { counts, isShown }] of counted) {
      values[path] = counts;
      this.as.set(path, { form, isShown });
    }
    const earlier = accepted ? [] : earlierReadings(before, takenAt);
    this.baseline = { source: SOURCE_OF[this.kind], takenAt, count, values, earlier };
  }
}

export class GatedAgain {
  private readonly kinds: readonly (readonly [SubjectKind, GatedKind])[];
  /** Of the last run over all lists: what a look between two of them rests on. */
  private last: Sources | undefined;

  constructor({ rules, lists }: Pick<RulesAgain, 'rules' | 'lists'>, world: RecordedWorld) {
    this.kinds = SUBJECT_KINDS.map((kind) => {
      const own = rules.filter(({ subject }) => subject === kind);
      return [kind, new GatedKind(kind, world, new KeptValues(world.kinds[kind], valueTallies(own, lists)))];
    });
  }

  /** All that is known was told anew. */
  begin(atMs: number): void {
    for (const [, gated] of this.kinds) gated.begin(atMs);
  }

  /** INVARIANT: the world has seen the run. */
  frame(recorded: RunFrame): RunFrame {
    if (recorded.part) return { ...recorded, decidedOn: this.last ?? recorded.decidedOn };
    const sources = { ...recorded.sources };
    for (const [kind, gated] of this.kinds) sources[SOURCE_OF[kind]] = gated.reading(recorded);
    if (!recorded.run.scoped) this.last = sources;
    return { ...recorded, sources };
  }
}
