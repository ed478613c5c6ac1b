// rules: a rule set → an Evaluator. In: loaded rules. Out: programs by subject kind, event windows, and what must be pulled.
// Compiled once for a rule set; nothing here reads files, time or network, and no code is generated.
import { canonicalJson } from '../../base/json.ts';
import type { TrustEvent } from '../../domain/event.ts';
import { type Fact, type Facts, isFacts, ownText } from '../../domain/facts.ts';
import type { Lists } from '../../domain/lists.ts';
import type { LookBack } from '../../domain/look-back.ts';
import { redacted, textWithoutSecrets } from '../../domain/secrets.ts';
import { ID_FIELD, SUBJECT_KINDS, type SubjectKind, type SubjectSummary, summaryOf } from '../../domain/subjects.ts';
import type {
  DoubtWhy,
  Evaluator,
  Flip,
  Judge,
  JudgeContext,
  Judgement,
  JudgementMerge,
  JudgementPart,
  Match,
  Needs,
  OpenVerdict,
  PartJudge,
  RuleTally,
  WantedFlips,
} from '../../domain/verdict.ts';
import { underLists } from '../compile/expressions.ts';
import { compileProgram, type Program, type ProgramRule } from '../compile/program.ts';
import { FactReader, ValueMerge, ValueTally } from '../facts/fact-reader.ts';
import { FALSE, GIVEN, joinedCountsIn, ownPart, TRUE, type Truth } from '../language/expression.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import { portableRules } from '../load/read-rule.ts';
import { LookBackTracks } from '../look-back.ts';
import { type Field, fieldAt, givenType } from '../record-types/field-types.ts';
import { compileFilter, Windows } from '../windows.ts';
import { findFlips } from './flips.ts';
import {
  factsShown,
  frameFor,
  type Judged,
  judgeWith,
  missingOf,
  registerTracks,
  registerWindows,
  reportedOf,
  shown,
  verdictOf,
  type WithPast,
} from './judge-once.ts';

// The flips of the verdicts that lead to new decisions, found while their record is there: it is dropped after judging.

/** Rules compare with few values: a flip that is not found by then has seldom been found later. */
const TRIES_MAX = 1_000;
/** Characters of a flip as JSON: a hostile record makes no row longer. */
const LENGTH_MAX = 10_000;

type FlipOf = (rule: LoadedRule, subjectId: string, verdict: 'match' | 'no_match', record: Facts) => Flip | undefined;

/** Each rule is compiled alone when its first flip is wanted: a changed record must not reach the values that a pass counts. */
function flipFinder(windows: Windows, context: JudgeContext & WithPast, wanted: WantedFlips): FlipOf {
  const prepared = new Map<string, (record: Facts) => Judged>();
  const judgeBy = (rule: LoadedRule): ((record: Facts) => Judged) => {
    const known = prepared.get(rule.id) ?? judgeWith(rule, compileProgram([rule]), windows, context);
    prepared.set(rule.id, known);
    return known;
  };
  return (rule, subjectId, verdict, record) => {
    const { budget } = wanted;
    if (budget.flips <= 0 || budget.tries <= 0 || !wanted.isNew(rule.id, subjectId, verdict)) return undefined;
    budget.flips--;
    try {
      return found(rule, record, judgeBy(rule)(record), budget);
    } catch {
      return undefined;
    }
  };
}

function found(rule: LoadedRule, record: Facts, judged: Judged, budget: WantedFlips['budget']): Flip | undefined {
  const own = { tries: Math.min(TRIES_MAX, budget.tries) };
  const before = own.tries;
  const [flip] = findFlips(rule, record, judged, own);
  budget.tries -= before - own.tries;
  if (!flip) return undefined;
  const changes = flip.changes.map((change) => {
    const { fact, from, to } = change;
    return { ...change, from: kept(from, fact), to: kept(to, fact) };
  });
  // What cannot be written is no flip: a run does not fail for it.
  return canonicalJson(changes).length <= LENGTH_MAX ? { verdict: flip.verdict, changes } : undefined;
}

function kept(value: Fact | undefined, fact: string): Fact | undefined {
  return value === undefined ? undefined : redacted(shown(value), fact);
}

// One pass over one source's records: every rule of the kind judges every record.

const EXAMPLES_MAX = 100;

interface RecordJudge extends Judge {
  finishPart(): JudgementPart;
}

/**
 * A pass's reader stays until the next pass. V8 throws compiled code away when no object is left of the shapes that it was made for,
 * and the first pass after a full collection of garbage then took twice as long.
 */
const lastReaders = new WeakMap<Program, FactReader>();

/** `codesMax`: how many values of a fact are counted one by one; by default enough for a baseline. */
function judgeRecords(
  kind: SubjectKind,
  program: Program,
  windows: Windows,
  context: JudgeContext & WithPast,
  codesMax?: number,
): RecordJudge {
  const reader = new FactReader(program.slots, program.verdicts, program.rules.length, codesMax);
  const frame = frameFor(kind, program, windows, context);
  lastReaders.set(program, reader);
  const factsOf = factsShown();
  const flipOf = context.flips && flipFinder(windows, context, context.flips);
  const tallies = program.rules.map(({ rule }) => newTally(rule.id));
  const matches: Match[] = [];
  const open: OpenVerdict[] = [];
  /** By rule, of the present record; and the rules of those that are not false. */
  const truths = new Array<Truth>(program.rules.length).fill(FALSE);
  const reported: number[] = [];
  let judged = 0;
  /** Of the present record; made when first needed. */
  let summary: SubjectSummary | undefined;

  const report = (index: number, truth: Truth): void => {
    truths[index] = truth;
    reported.push(index);
    const tally = tallies[index] as RuleTally;
    if (truth === TRUE) {
      tally.match++;
      const rule = program.rules[index] as ProgramRule;
      summary ??= summaryOf(kind, frame.record, context.fieldsWritten);
      const flip = flipOf?.(rule.rule, summary.id, 'match', frame.record);
      const match: Match = { rule: rule.rule.id, summary, facts: factsOf(rule, frame), ...reportedOf(rule, frame) };
      if (flip) match.flip = flip;
      if (rule.rule.notice) match.advice = adviceOf(frame.record);
      matches.push(match);
    } else {
      context.onDoubt?.(index, frame.record, program.reasons.of(truth).fact);
      if (countDoubt(tally, truth, program) && context.isExampleWanted?.(index) !== false)
        addExample(tally, truth, program, kind, frame.record);
    }
  };

  /** No condition throws. If one ever does, its rule ends as an error, and the others go on. */
  const evaluateSingly = (): void => {
    program.rules.forEach(({ condition }, index) => {
      if (truths[index] !== FALSE) return;
      let truth = program.reasons.error('the condition could not be evaluated').truth;
      try {
        truth = condition(frame);
      } catch {}
      if (truth !== FALSE) report(index, truth);
    });
  };

  const keyField = ID_FIELD[kind];
  const keyOf = (record: Facts): string => {
    const key = frame.isPlain ? record[keyField] : ownText(record, keyField);
    return typeof key === 'string' ? key : '';
  };

  const keepOpen = (record: Facts): void => {
    if (context.hasOpen && !context.hasOpen(keyOf(record))) return;
    const known = summary ?? summaryOf(kind, record, context.fieldsWritten);
    program.rules.forEach((rule, index) => {
      const truth = truths[index] as Truth;
      if (truth === TRUE || !context.isOpen(rule.rule.id, known.id)) return;
      const verdict = verdictOf(truth);
      const flip = verdict === 'no_match' ? flipOf?.(rule.rule, known.id, verdict, record) : undefined;
      open.push({
        rule: rule.rule.id,
        summary: known,
        verdict,
        facts: factsOf(rule, frame),
        missing: missingOf(rule, frame, truth, program.reasons),
        ...(flip && { flip }),
        ...reportedOf(rule, frame),
      });
    });
  };

  const found = () => {
    for (const tally of tallies) tally.no_match = judged - tally.match - tally.unknown - tally.error;
    return { kind, judged, tallies, matches, open };
  };

  return {
    accept(record) {
      judged++;
      while (reported.length > 0) truths[reported.pop() as number] = FALSE;
      summary = undefined;
      frame.record = record;
      frame.turn++;
      reader.read(record, frame);
      try {
        program.evaluate(frame, report);
      } catch {
        evaluateSingly();
      }
      keepOpen(record);
    },
    finish(): Judgement {
      return { ...found(), values: reader.counted() };
    },
    finishPart(): JudgementPart {
      return { ...found(), values: reader.countedParts() };
    },
  };
}

/** Bounds of what a hostile record may say. */
const ADVICES_MAX = 10;
const ADVICE_LENGTH_MAX = 1_000;

function adviceOf(record: Facts): NonNullable<Match['advice']> {
  const trust = Object.hasOwn(record, 'TrustData') ? record.TrustData : undefined;
  const factors = isFacts(trust) && Object.hasOwn(trust, 'Factors') ? trust.Factors : undefined;
  const given = Array.isArray(factors) ? factors.filter(isFacts) : [];
  const advice = given.flatMap((factor) => {
    const text = textWithoutSecrets(ownText(factor, 'RemediationDescription') ?? '').slice(0, ADVICE_LENGTH_MAX);
    const url = ownText(factor, 'RemediationURL') ?? '';
    const isLink = url.length <= ADVICE_LENGTH_MAX && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
    return text === '' ? [] : [{ text, url: isLink ? url : undefined }];
  });
  return advice.slice(0, ADVICES_MAX);
}

function newTally(rule: string): RuleTally {
  return {
    rule,
    match: 0,
    no_match: 0,
    unknown: 0,
    error: 0,
    missing: Object.create(null) as { [fact: string]: Fact & number },
    examples: [],
  };
}

/** Returns whether the tally lists more subjects in doubt. */
function countDoubt(tally: RuleTally, truth: Truth, { reasons }: Program): boolean {
  const { isError, fact, why } = reasons.of(truth);
  tally[isError ? 'error' : 'unknown']++;
  tally.missing[fact] = (tally.missing[fact] ?? 0) + 1;
  if (why) addWhy(tally, fact, why);
  return tally.examples.length < EXAMPLES_MAX;
}

function addWhy(tally: RuleTally, fact: string, why: DoubtWhy): void {
  tally.whys ??= Object.create(null) as { [fact: string]: DoubtWhy[] };
  tally.whys[fact] ??= [];
  const known = tally.whys[fact];
  if (!known.includes(why)) known.push(why);
}

function addExample(tally: RuleTally, truth: Truth, program: Program, kind: SubjectKind, record: Facts): void {
  const reason = program.reasons.of(truth);
  const verdict = reason.isError ? 'error' : 'unknown';
  const { id, name, serial, owners } = summaryOf(kind, record);
  const known = { ...(name !== '' && { name }), ...(serial !== '' && { serial }), ...(owners && { owners }) };
  tally.examples.push({ subject: id, ...known, verdict, reason: reason.text });
}

// The judgements of the parts of one pass → the judgement of the pass.

function mergeJudgements(kind: SubjectKind, program: Program): JudgementMerge {
  const tallies = program.rules.map(({ rule }) => newTally(rule.id));
  const matches: Match[] = [];
  const open: OpenVerdict[] = [];
  const values = new Map<string, ValueMerge>();
  const isExampleWanted = new Uint8Array(new SharedArrayBuffer(tallies.length)).fill(1);
  let judged = 0;
  return {
    isExampleWanted,
    add(part) {
      judged += part.judged;
      part.tallies.forEach((tally, index) => {
        const sum = tallies[index] as RuleTally;
        addTally(sum, tally);
        if (sum.examples.length >= EXAMPLES_MAX) isExampleWanted[index] = 0;
      });
      for (const match of part.matches) matches.push(match);
      for (const verdict of part.open) open.push(verdict);
      for (const [path, counted] of Object.entries(part.values)) {
        const counts = values.get(path) ?? new ValueMerge();
        values.set(path, counts);
        counts.add(counted);
      }
    },
    finish() {
      const counted = [...values].map(([path, counts]) => [path, counts.result(path)] as const);
      return { kind, judged, tallies, matches, open, values: Object.fromEntries(counted) };
    },
  };
}

function addTally(sum: RuleTally, part: RuleTally): void {
  sum.match += part.match;
  sum.no_match += part.no_match;
  sum.unknown += part.unknown;
  sum.error += part.error;
  for (const [fact, count] of Object.entries(part.missing)) sum.missing[fact] = (sum.missing[fact] ?? 0) + count;
  for (const [fact, whys] of Object.entries(part.whys ?? {})) for (const why of whys) addWhy(sum, fact, why);
  sum.examples.push(...part.examples.slice(0, EXAMPLES_MAX - sum.examples.length));
}

/**
 * Compiles a rule set. All of them are judged, also those of mode `off`: leave out what must not be.
 * The evaluator is pure, except for its event windows and what it knows of the past. `shared`: that of another evaluator of the same rules, or of
 * more. `lists`: where devices and users are read: facts that these lack are unknown.
 */
export function compileRules(rules: readonly LoadedRule[], lists: Lists = 'v1', shared?: LookBack): Evaluator {
  const windows = new Windows();
  const tracks = shared instanceof LookBackTracks ? shared : new LookBackTracks();
  const judged = rules.map((rule) => underLists(rule, lists));
  const programs = Object.fromEntries(
    SUBJECT_KINDS.map((kind) => [kind, compileProgram(judged.filter((rule) => rule.subject === kind))]),
  ) as Record<SubjectKind, Program>;
  const joinedCounts = judged.flatMap(({ id, condition }) =>
    joinedCountsIn(condition).map((count) => ({ rule: id, kind: count.subject, passes: compileFilter(count) })),
  );
  const listeners: ((events: readonly TrustEvent[]) => void)[] = [];
  for (const kind of SUBJECT_KINDS) {
    registerWindows(programs[kind], windows);
    registerTracks(kind, programs[kind], tracks);
  }
  return {
    rules,
    lookBack: tracks.paths.size > 0 ? tracks : undefined,
    needs: needsOf(rules),
    observe: (events: readonly TrustEvent[]) => {
      windows.observe(events);
      for (const listener of listeners) listener(events);
    },
    advance: (nowMs: number) => windows.advance(nowMs),
    countsFor: (joined, event, those) =>
      joinedCounts.some(({ rule, kind, passes }) => kind === joined && those.has(rule) && passes(event) !== 'no'),
    judge: (kind: SubjectKind, context: JudgeContext): Judge =>
      judgeRecords(kind, programs[kind], windows, { ...context, lookBack: tracks }),
    judgePart: (kind: SubjectKind, context: JudgeContext): PartJudge => {
      const { accept, finishPart } = judgeRecords(
        kind,
        programs[kind],
        windows,
        { ...context, lookBack: tracks },
        Number.POSITIVE_INFINITY,
      );
      return { accept, finish: finishPart };
    },
    merge: (kind: SubjectKind) => mergeJudgements(kind, programs[kind]),
    portable: () => portableRules(rules, lists),
    onObserved: (listener) => {
      listeners.push(listener);
    },
    joinedPaths: (source) => joinedPaths(rules, source),
    givenValues: (source, rows) => givenValues(rules, source, rows),
  };
}

function needsOf(rules: readonly LoadedRule[]): Needs {
  return {
    sources: new Set(rules.flatMap((rule) => rule.sources)),
    unpaged: new Set(rules.flatMap((rule) => [...rule.reads.unpaged])),
    owners: rules.some((rule) => rule.reads.owners),
    devices: rules.some((rule) => rule.reads.joinedDevices),
    windowMs: Math.max(0, ...rules.map((rule) => rule.reads.windowMs)),
    signalWindowMs: Math.max(0, ...rules.map((rule) => rule.reads.signalWindowMs)),
  };
}

function givenValues(rules: readonly LoadedRule[], name: string, rows: Iterable<Facts>) {
  const source = rules.flatMap(({ given }) => given).find((one) => one.name === name);
  const read = new Set(rules.flatMap(({ reads }) => [...reads.given]));
  const fields = source?.fields.filter((one) => read.has(`${name}.${one.name}`)) ?? [];
  const tallies = fields.map(
    (one) => new ValueTally([GIVEN, name, one.name], (fieldAt(givenType({ fields }), [one.name]) as Field).type),
  );
  for (const row of rows) for (const tally of tallies) tally.add(ownPart(row, tally.path.at(-1) as string));
  return Object.fromEntries(tallies.map((tally) => [tally.path.join('.'), tally.result()]));
}

/** Paths of a joined record that some rule reads, and the key that identifies it. */
function joinedPaths(rules: readonly LoadedRule[], source: 'devices' | 'users'): string[] {
  const paths = new Set(rules.flatMap((rule) => [...rule.reads[source]]));
  const joined = rules.some((rule) => (source === 'users' ? rule.reads.owners : rule.reads.joinedDevices));
  if (joined) paths.add(source === 'users' ? 'Email' : 'SerialNumber');
  return [...paths].sort();
}
