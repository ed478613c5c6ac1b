// evaluate: a rule's condition as a tree in which every part has its value for one record. In: a judged rule. Out: data.
// It evaluates the same closures as judging does, so an explanation cannot contradict the verdict.
import type { ExplainedPart, ShownUnit } from '../../domain/explanation.ts';
import { shown } from '../judge/evidence.ts';
import type { Judged } from '../judge/judge-once.ts';
import type { Expression } from '../language/expression.ts';
import { textOf } from '../language/expression-text.ts';
import { STEPS_MAX } from '../language/frame.ts';
import { FALSE, TRUE, Unknown } from '../language/three-valued.ts';
import { outerPartsOf, partsOf } from '../language/walk.ts';
import type { ValueType } from '../record-types/field-types.ts';

const ELEMENTS_MAX = 10;

export function explainPart(expression: Expression, judged: Judged): ExplainedPart {
  const own = isCondition(expression) ? answerOf(expression, judged) : valueOfPart(expression, judged);
  const unit = unitOf(expression.type);
  return { text: textOf(expression), ...own, ...(unit && { unit }), parts: innerParts(expression, judged) };
}

const isCondition = ({ type }: Expression): boolean => type.kind === 'boolean' || type.kind === 'condition';

/** How a value of this type is shown to people: an age or a span, not digits. */
export function unitOf({ kind }: ValueType): ShownUnit | undefined {
  return kind === 'time' || kind === 'seconds' ? kind : undefined;
}

type Own = Pick<ExplainedPart, 'answer' | 'value' | 'reason'>;

function answerOf(expression: Expression, { program, frame }: Judged): Own {
  frame.steps = STEPS_MAX;
  const truth = program.compiler.condition(expression)(frame);
  if (truth === TRUE || truth === FALSE)
    return { answer: truth === TRUE ? 'true' : 'false', value: undefined, reason: undefined };
  const reason = program.reasons.of(truth);
  return { answer: reason.isError ? 'error' : 'unknown', value: undefined, reason: reason.text };
}

function valueOfPart(expression: Expression, { program, frame }: Judged): Own {
  frame.steps = STEPS_MAX;
  const value = program.compiler.value(expression)(frame);
  if (value instanceof Unknown) return { answer: undefined, value: undefined, reason: value.text };
  return { answer: undefined, value: shown(value), reason: undefined };
}

function innerParts(expression: Expression, judged: Judged): ExplainedPart[] {
  const { body, looksIn } = expression.op === 'call' ? expression.operator : {};
  // The paths that it looks for stand in its text.
  if (looksIn) return [];
  const outer = outerPartsOf(expression)
    .filter((part) => body || !isLiteral(part))
    .map((part) => explainPart(part, judged));
  const [list] = partsOf(expression);
  const each = body?.isElement ? partsOf(expression)[body.arg] : undefined;
  return list && each ? [...outer, ...elementParts(list, each, judged)] : outer;
}

/** Written in the rule: its text is its value. */
function isLiteral(part: Expression): boolean {
  return part.op === 'literal' || (part.op === 'list' && part.items.every(isLiteral));
}

/** The body's value for each of the first few elements. */
function elementParts(list: Expression, body: Expression, judged: Judged): ExplainedPart[] {
  const { frame, program } = judged;
  const elements = program.compiler.value(list)(frame);
  if (!Array.isArray(elements)) return [];
  const outer = frame.item;
  const parts = elements.slice(0, ELEMENTS_MAX).map((element, index) => {
    frame.item = element;
    const part = explainPart(body, judged);
    return { ...part, text: `element ${index + 1}: ${part.text}` };
  });
  frame.item = outer;
  return parts;
}
