// evaluate: one rule judges one record, and everything stays available: for rule tests, mutants and explanations.
// In: a rule, a record, its events and context. Out: the truth, and the frame it was found in.
import type { TrustEvent } from '../../domain/event.ts';
import type { Facts } from '../../domain/facts.ts';
import type { LookBackItem } from '../../domain/look-back.ts';
import type { VerdictName } from '../../domain/verdict.ts';
import type { Probe } from '../compile/compiler.ts';
import { compileProgram, type Program, type ProgramRule } from '../compile/program.ts';
import { Windows } from '../events/windows.ts';
import { FactReader } from '../facts/fact-reader.ts';
import type { Frame } from '../language/frame.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import { FALSE, TRUE, type Truth } from '../language/three-valued.ts';
import { LookBackTracks } from '../look-back/tracks.ts';
import { missingOf, verdictOf } from './evidence.ts';
import { type FactsContext, frameFor, registerTracks, registerWindows } from './judging-frame.ts';

export interface Judged {
  truth: Truth;
  verdict: VerdictName;
  /** The facts that were missing, stale or of the wrong type. */
  missing: string[];
  program: Program;
  rule: ProgramRule;
  frame: Frame;
  reader: FactReader;
}

/** Compiles a rule once, to judge several records. `past`: what runs saw before, in place of what the context knows of it. */
export function prepareRule(
  rule: LoadedRule,
  probe?: Probe,
): (record: Facts, events: readonly TrustEvent[], context: FactsContext, past?: readonly LookBackItem[]) => Judged {
  const program = compileProgram([rule], probe);
  return (record, events, context, past) => {
    const windows = new Windows();
    registerWindows(program, windows);
    windows.observe(events);
    const lookBack = past ? tracksOf(rule, program, past) : context.lookBack;
    return judgeWith(rule, program, windows, { ...context, lookBack })(record);
  };
}

function tracksOf(rule: LoadedRule, program: Program, past: readonly LookBackItem[]): LookBackTracks {
  const tracks = new LookBackTracks();
  registerTracks(rule.subject, program, tracks);
  for (const item of past) tracks.observe(item);
  tracks.filled();
  return tracks;
}

/** Judges records by one rule, one after another. `windows` already has those of the rule. A result holds until the next record. */
export function judgeWith(
  rule: LoadedRule,
  program: Program,
  windows: Windows,
  context: FactsContext,
): (record: Facts) => Judged {
  const frame = frameFor(rule.subject, program, windows, context);
  const reader = new FactReader(program.slots, program.verdicts, program.rules.length);
  const compiled = program.rules[0] as ProgramRule;
  return (record) => {
    frame.record = record;
    frame.turn++;
    reader.read(record, frame);
    let truth: Truth = FALSE;
    program.evaluate(frame, (_, found) => {
      truth = found;
    });
    const verdict = truth === TRUE ? 'match' : verdictOf(truth);
    const missing =
      verdict === 'unknown' || verdict === 'error' ? missingOf(compiled, frame, truth, program.reasons) : [];
    return { truth, verdict, missing, program, rule: compiled, frame, reader };
  };
}
