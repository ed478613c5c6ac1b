// rules: why a rule has its verdict on one record: the tree with operand values, the facts read with their age and
// source, and the smallest change of at most two facts that would flip it. In: a rule, a record, a context. Out: data.

import { epochMsOf } from '../base/time.ts';
import type { TrustEvent } from '../domain/event.ts';
import { type Fact, type Facts, isFacts, showLiteral } from '../domain/facts.ts';
import type { Lists } from '../domain/lists.ts';
import { redacted } from '../domain/secrets.ts';
import { SOURCE_OF, type Source, type SubjectKind, summaryOf } from '../domain/subjects.ts';
import type {
  ExplainedFact,
  ExplainedIdentity,
  ExplainedPart,
  ExplainedPast,
  Explanation,
  ShownUnit,
} from '../domain/why.ts';
import { type Slot, underLists } from './compile/expressions.ts';
import { findFlips } from './judge/flips.ts';
import { type FactsContext, type Judged, prepareRule, shown, slotValue } from './judge/judge-once.ts';
import {
  type Expression,
  FALSE,
  GIVEN,
  outerPartsOf,
  partsOf,
  STEPS_MAX,
  TRUE,
  textOf,
  Unknown,
  valueAt,
} from './language/expression.ts';
import type { LoadedRule } from './language/loaded-rule.ts';
import type { ValueType } from './record-types/field-types.ts';

// A rule's condition as a tree in which every part has its value for one record.

const ELEMENTS_MAX = 10;

function explainPart(expression: Expression, judged: Judged): ExplainedPart {
  const own = isCondition(expression) ? answerOf(expression, judged) : valueOfPart(expression, judged);
  const unit = unitOf(expression.type);
  return { text: textOf(expression), ...own, ...(unit && { unit }), parts: innerParts(expression, judged) };
}

const isCondition = ({ type }: Expression): boolean => type.kind === 'boolean' || type.kind === 'condition';

/** How a value of this type is shown to people: an age or a span, not digits. */
function unitOf({ kind }: ValueType): ShownUnit | undefined {
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
    return { ...part, text: `element ${index + 1}${whoseName(element)}: ${part.text}` };
  });
  frame.item = outer;
  return parts;
}

/** Of a whole record: which owner or device it is. */
function whoseName(element: Fact): string {
  const [name] = isFacts(element) ? (shown([element]) as Fact[]) : [];
  return typeof name === 'string' ? ` (${showLiteral(name)})` : '';
}

export interface ExplainContext extends FactsContext {
  /** The subject's events within the longest window of the rule, or more. */
  events: readonly TrustEvent[];
  /** When each source was read, epoch ms; for the facts' age. */
  readAtMs?: Partial<Record<Source, number>>;
  /** Where runs read devices and users: version 1 by default. */
  lists?: Lists | undefined;
}

export function explain(loaded: LoadedRule, record: Facts, context: ExplainContext): Explanation {
  const rule = underLists(loaded, context.lists ?? 'v1');
  const judged = prepareRule(rule)(record, context.events, context);
  const { truth, verdict, missing, program } = judged;
  const isDoubt = verdict === 'unknown' || verdict === 'error';
  const result: Explanation = {
    rule: rule.id,
    title: rule.title,
    hash: rule.hash,
    subject: identityOf(rule.subject, record),
    at: context.nowMs,
    verdict,
    reason: isDoubt ? program.reasons.of(truth).text : undefined,
    missing,
    tree: explainPart(rule.condition, judged),
    facts: judged.rule.slots.map((slot) => explainFact(slot, judged, context)),
    flips: [],
  };
  result.flips = findFlips(rule, record, judged);
  return result;
}

function identityOf(kind: SubjectKind, record: Facts): ExplainedIdentity {
  const { id, name, serial, owners } = summaryOf(kind, record);
  return { kind, id, name, ...(serial !== '' && { serial }), ...(owners && { owners }) };
}

function explainFact(slot: Slot, { frame, rule }: Judged, context: ExplainContext): ExplainedFact {
  const found = slotValue(slot, frame);
  const isUnknown = found === undefined || found instanceof Unknown;
  const { fact } = slot;
  const given = fact.kind === 'path' && fact.path[0] === GIVEN ? context.given?.get(fact.path[1] as string) : undefined;
  const source = given ? (`${GIVEN}.${given.source}` as const) : sourceOf(slot, rule.rule);
  const readAt = given ? given.atMs : context.readAtMs?.[source as Source];
  const fresh = fact.kind === 'path' ? fact.fresh : fact.kind === 'look_back' ? fact.past.present.fresh : [];
  const past = frame.showPast(slot.index, frame);
  const unit = unitOf(slot.fact.type);
  return {
    fact: slot.fact.label,
    value: isUnknown ? undefined : shown(found),
    ...(unit && { unit }),
    reason: found instanceof Unknown ? found.text : undefined,
    source,
    ageMs: readAt === undefined ? undefined : Math.round(context.nowMs - readAt),
    vouchedBy: fresh.map(({ path, label, ms }) => {
      const found = valueAt(path, frame);
      const value = found instanceof Unknown ? undefined : found;
      const timeMs = typeof value === 'number' || typeof value === 'bigint' ? epochMsOf(value) : undefined;
      return {
        fact: label,
        value,
        ageMs: timeMs === undefined ? undefined : Math.round(context.nowMs - timeMs),
        ageMaxMs: ms,
      };
    }),
    ...(past && fact.kind === 'look_back' && { past: shownPast(past, fact.past.present.label) }),
  };
}

function shownPast(past: ExplainedPast, path: string): ExplainedPast {
  return { ...past, was: past.was === undefined ? undefined : redacted(shown(past.was), path) };
}

function sourceOf({ fact }: Slot, rule: LoadedRule): Source {
  if (fact.kind === 'events') return 'events';
  if (fact.kind === 'look_back') return SOURCE_OF[rule.subject];
  if (fact.path[0] === '$owners') return 'users';
  if (fact.path[0] === '$devices') return 'devices';
  return SOURCE_OF[rule.subject];
}
