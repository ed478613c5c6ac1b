// evaluate: one pass over one source's records: every rule of the kind judges every record.
// In: records, one at a time. Out: matches with their facts, open verdicts, tallies, and value counts. Keeps no record.
import { type Fact, type Facts, ownText } from '../../domain/facts.ts';
import { ID_FIELD, type SubjectKind } from '../../domain/subjects.ts';
import { type SubjectSummary, summaryOf } from '../../domain/target.ts';
import type {
  DoubtWhy,
  Judge,
  JudgeContext,
  Judgement,
  JudgementPart,
  Match,
  OpenVerdict,
  RuleTally,
} from '../../domain/verdict.ts';
import type { Program, ProgramRule } from '../compile/program.ts';
import type { Windows } from '../events/windows.ts';
import { FactReader } from '../facts/fact-reader.ts';
import { FALSE, TRUE, type Truth } from '../language/three-valued.ts';
import { factsShown, missingOf, reportedOf, verdictOf } from './evidence.ts';
import { flipFinder } from './flip-finder.ts';
import { frameFor, type WithPast } from './judging-frame.ts';

export const EXAMPLES_MAX = 100;

interface RecordJudge extends Judge {
  finishPart(): JudgementPart;
}

/**
 * A pass's reader stays until the next pass. V8 throws compiled code away when no object is left of the shapes that it was made for,
 * and the first pass after a full collection of garbage then took twice as long.
 */
const lastReaders = new WeakMap<Program, FactReader>();

/** `codesMax`: how many values of a fact are counted one by one; by default enough for a baseline. */
export function judgeRecords(
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

export function newTally(rule: string): RuleTally {
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

export function addWhy(tally: RuleTally, fact: string, why: DoubtWhy): void {
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
