// history: the rule sets of the replayed time, each compiled when a run first has it. In: recorded runs. Out: their rules, or why there are none.
// Two sets that take turns are compiled once.

import { type ActionName, type ActionTraits, fieldsWritten } from '../../domain/action.ts';
import { tablesFor } from '../../domain/given-table.ts';
import { guardsOf } from '../../domain/guards.ts';
import type { FactChange, LookBack } from '../../domain/look-back.ts';
import type { Ids } from '../../domain/ports.ts';
import type {
  HistoryGap,
  HistoryItem,
  HistoryReader,
  RecordedPart,
  RecordedRuleSet,
  RecordedRun,
  RunFrame,
} from '../../domain/recorded-history.ts';
import type { MendModel, Progress } from '../../domain/replay.ts';
import { rulesById } from '../../domain/rule.ts';
import type { OpenState } from '../../domain/store.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import type { DecideInput, Part } from '../../engine/decide/input.ts';
import { inputOf, judgementOf, watchedSubjects } from '../../engine/run/pulled-snapshot.ts';
import { fillBefore, type SeenByRuns } from '../../engine/run/reading-needs.ts';
import { whenAgain } from '../../rules/judge/no-effect.ts';
import type { LoadedRule } from '../../rules/language/loaded-rule.ts';
import { type RulesAgain, recordedRules, rulesAgain } from './gated-again.ts';
import type { KeptVerdicts } from './kept-verdicts.ts';
import type { RecordedWorld } from './recorded-world.ts';

// The items of a stretch with the facts that its rule sets read, and no others: most of what changes no rule reads.

type WantedFacts = ReadonlyMap<SubjectKind, ReadonlySet<string>>;

/** `isAgain`: a run that was given before and began at the same moment as one that is still to come: its facts hold, and no more. */
export type ReadItem = Exclude<HistoryItem, { kind: 'run' }> | { kind: 'run'; run: RecordedRun; isAgain: boolean };

/** `needs`: what the rules of a run read. */
export async function* readOn(
  reader: HistoryReader,
  { fromMs, toMs }: { fromMs: number; toMs: number },
  needs: (run: RecordedRun) => Promise<WantedFacts>,
): AsyncIterable<ReadItem> {
  let facts: WantedFacts = new Map();
  let beginMs = fromMs;
  /** The run at which reading begins again. */
  let next: string | undefined;
  for (let isOver = false; !isOver; ) {
    isOver = true;
    let isAgain = next !== undefined;
    for await (const item of reader.items({ fromMs: beginMs, toMs, facts })) {
      if (item.kind !== 'run') {
        if (item.kind === 'state' || !isAgain || isAhead(item.gap, beginMs)) yield item;
        continue;
      }
      const { id, startedAt } = item.run.frame.run;
      isAgain = isAgain && id !== next;
      const more = isAgain ? facts : await needs(item.run);
      if (isWithin(more, facts)) {
        yield { ...item, isAgain };
        continue;
      }
      facts = both(facts, more);
      [beginMs, next, isOver] = [startedAt, id, false];
      break;
    }
  }
}

/** Whether it was not given by an earlier reading. All that was removed on people's behalf is named by the first one. */
function isAhead({ cause, fromMs }: HistoryGap, beginMs: number): boolean {
  return cause !== 'forgotten' && fromMs >= beginMs;
}

/** The paths that these rules and their actions read; the fields that identify subjects always come. */
export function factsOf(
  rules: readonly LoadedRule[],
  fieldsWritten: (kind: SubjectKind) => readonly string[],
): WantedFacts {
  const wanted = new Map<SubjectKind, Set<string>>();
  const add = (kind: SubjectKind, paths: Iterable<string>) => {
    const own = wanted.get(kind) ?? new Set();
    wanted.set(kind, own);
    for (const path of paths) own.add(path);
  };
  add('device', fieldsWritten('device'));
  add('user', [...fieldsWritten('user'), 'Groups']);
  for (const rule of rules) {
    const { subject, reads } = rule;
    add(subject, reads.record);
    add(
      subject,
      whenAgain(rule, 'v1').times.map(({ path }) => path.join('.')),
    );
    add('user', reads.users);
    add('device', reads.devices);
    // There are few services, and what is done to them shows their documents.
    if (subject === 'service') add('service', [...fieldsWritten('service'), 'ServiceSpec']);
  }
  return wanted;
}

function isWithin(some: WantedFacts, all: WantedFacts): boolean {
  return [...some].every(([kind, paths]) => {
    const known = all.get(kind);
    return known !== undefined && [...paths].every((path) => known.has(path));
  });
}

function both(one: WantedFacts, other: WantedFacts): WantedFacts {
  const kinds = new Set([...one.keys(), ...other.keys()]);
  return new Map([...kinds].map((kind) => [kind, new Set([...(one.get(kind) ?? []), ...(other.get(kind) ?? [])])]));
}

export interface RecordedRules {
  rules: RulesAgain;
  /** What this version cannot read of them. */
  problems: readonly string[];
  wanted: WantedFacts;
}

export class RecordedSets {
  private readonly files = new Map<string, RecordedRuleSet>();
  private readonly compiled = new Map<string, RecordedRules>();

  constructor(
    private readonly reader: Pick<HistoryReader, 'ruleSet'>,
    private readonly traits: ReadonlyMap<ActionName, ActionTraits>,
  ) {}

  async of({ frame, ruleSet }: RecordedRun): Promise<RecordedRules> {
    const { ruleSetHash: hash } = frame.run;
    const { lists } = frame.settings;
    if (ruleSet) this.files.set(ruleSet.hash, ruleSet);
    const key = `${lists} ${hash}`;
    const known = this.compiled.get(key);
    if (known) return known;
    const files = this.files.get(hash) ?? (await this.reader.ruleSet(hash));
    const made = files
      ? recordedRules(files, this.traits, lists)
      : { rules: rulesAgain([], hash, lists), problems: [`the rule set ${hash.slice(0, 12)} is not in the record`] };
    const wanted = factsOf(made.rules.rules, (kind) => fieldsWritten(this.traits, kind));
    this.compiled.set(key, { ...made, wanted });
    return { ...made, wanted };
  }

  /** The tables of a run, as the sources of other rules would have them. */
  async givenFor(rules: readonly LoadedRule[], run: RecordedRun): Promise<RunFrame['given']> {
    const { given } = run.frame;
    const sources = guardsOf(rules)?.sources ?? [];
    if (!given || sources.length === 0) return given;
    return tablesFor(sources, given, guardsOf((await this.of(run)).rules.rules)?.sources ?? []);
  }
}

// One run seen again: what its pull handed to deciding, from the world of the replay.

export interface SeeingAgain {
  world: RecordedWorld;
  verdicts: KeptVerdicts;
  rules: RulesAgain;
  traits: ReadonlyMap<ActionName, ActionTraits>;
  ids: Ids;
}

/** `of`: which rules the run was about, which of them it could not judge, and which are active. INVARIANT: the world has seen the run. */
export function seenAgain(
  { world, verdicts, rules, traits, ids }: SeeingAgain,
  frame: RunFrame,
  of: Pick<RunFrame, 'judged' | 'unjudged' | 'activeRules'>,
  openState: OpenState,
): DecideInput {
  const views = world.views(frame);
  const judged = new Set(of.judged);
  const isOfRun = new Set([...of.judged, ...of.unjudged]);
  const judgements = verdicts.judge(frame, views, watchedSubjects(openState));
  const seen = {
    unjudged: [...of.unjudged],
    steady: frame.steady,
    judgements: judgements.map((one) => judgementOf(one, (rule) => judged.has(rule))),
    snapshot: { sources: frame.decidedOn ?? frame.sources },
    fleet: world.fleet(frame, views.device, fieldsWritten(traits, 'device')),
    bundles: frame.bundles,
    ownReads: frame.ownReads,
    namedActs: frame.namedActs,
    exemptOwners: world.ownersExempt(frame, openState, guardsOf(rules.rules)),
  };
  const { freeze, quietMs, settings } = frame;
  const known = rulesById(rules.rules);
  const own = {
    rules: rules.rules.filter(({ id }) => isOfRun.has(id)),
    active: new Map(of.activeRules.map((id) => [id, known.get(id)])),
  };
  const input = inputOf({ traits, ids, freeze, quietMs, settings }, frame.run, own, seen, openState);
  return frame.part ? { ...input, part: partOf(frame.part) } : input;
}

function partOf({ sinceSeq, counted, attempts, read, isCheck }: RecordedPart): Part {
  const keys = new Set(read.map(({ kind, id }) => `${kind} ${id}`));
  return { sinceSeq, counted, attempts, hasRead: ({ kind, id }) => keys.has(`${kind} ${id}`), isCheck };
}

// What the rules of a replay know of the past, as their process knew it. In: the reader, then each run of the replay.
// Out: nothing but what an evaluator knows. INVARIANT: a run is taken over after it was judged, as a live one.

export class KeptPast {
  /** `beginsMs`: runs before it, as far as rules look back, are not in the record; undefined: there is nothing else. */
  private constructor(
    private readonly lookBack: LookBack,
    private readonly seen: SeenByRuns,
    readonly beginsMs: number | undefined,
  ) {}

  /** `first`: the run before which the rules came into force. Undefined: no rule looks back. */
  static async before(
    reader: HistoryReader,
    lookBack: LookBack | undefined,
    first: RunFrame['run'],
  ): Promise<KeptPast | undefined> {
    if (!lookBack) return undefined;
    const { seen, beginsMs } = await fillBefore(reader, lookBack, first);
    return new KeptPast(lookBack, seen, beginsMs);
  }

  /** After a gap in which changes were lost: these facts hold, and nothing of before. */
  async *begin(facts: AsyncIterable<readonly FactChange[]>): AsyncIterable<readonly FactChange[]> {
    this.seen.begin();
    this.lookBack.observe({ kind: 'anew' });
    for await (const batch of facts) {
      this.lookBack.observe({ kind: 'state', facts: this.seen.wanted(batch) });
      yield batch;
    }
  }

  /** What a replay changed itself: the next run that reads these subjects sees it. */
  willSee(changes: Iterable<FactChange>): void {
    this.seen.willSee(changes);
  }

  /** `sources`: as these rules trust them. */
  take(run: Pick<RecordedRun, 'frame' | 'changes'>, sources = run.frame.sources): void {
    this.lookBack.observe({ kind: 'run', run: this.seen.take(run, sources) });
  }
}

export class DueRuns {
  private nextMs = Number.NEGATIVE_INFINITY;

  /** `everyMs`: the length of a stretch; undefined: every run is due. */
  constructor(
    private readonly everyMs: number | undefined,
    private readonly fromMs: number,
  ) {}

  /** A look counts as one run with the last whole one: of stretches, whole runs alone are decided. */
  isDue({ run: { startedAt }, part }: Pick<RunFrame, 'run' | 'part'>): boolean {
    const { everyMs, fromMs } = this;
    if (everyMs === undefined) return true;
    if (part !== undefined || startedAt < this.nextMs) return false;
    this.nextMs = fromMs + (Math.floor((startedAt - fromMs) / everyMs) + 1) * everyMs;
    return true;
  }
}

export interface ReplayOptions {
  /** Epoch ms, inclusive: runs that began from then on. */
  fromMs: number;
  toMs: number;
  /** Only the first whole run of each stretch of this length is decided; undefined: every run. */
  everyMs?: number | undefined;
  /** Ids of the rules that are reported; all are decided together. */
  only?: readonly string[] | undefined;
  mend?: MendModel | undefined;
  signal?: AbortSignal | undefined;
  progress?: Progress | undefined;
}

export function countingIds(prefix: string): Ids {
  let count = 0;
  return {
    next: () => {
      count += 1;
      return `${prefix}-${String(count).padStart(9, '0')}`;
    },
  };
}
