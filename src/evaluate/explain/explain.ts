// evaluate: why a rule has its verdict on one record: the tree with operand values, the facts read with their age and
// source, and the smallest change of at most two facts that would flip it. In: a rule, a record, a context. Out: data.
import type { TrustEvent } from '../../domain/event.ts';
import type { ExplainedFact, ExplainedIdentity, ExplainedPast, Explanation } from '../../domain/explanation.ts';
import type { Facts } from '../../domain/facts.ts';
import type { Lists } from '../../domain/lists.ts';
import { redacted } from '../../domain/secrets.ts';
import { SOURCE_OF, type Source, type SubjectKind } from '../../domain/subjects.ts';
import { summaryOf } from '../../domain/target.ts';
import { epochMsOf } from '../../domain/timestamp.ts';
import type { Slot } from '../compile/compiler.ts';
import { underLists } from '../compile/lost-facts.ts';
import { shown, slotValue } from '../judge/evidence.ts';
import { findFlips } from '../judge/flips.ts';
import { type Judged, prepareRule } from '../judge/judge-once.ts';
import type { FactsContext } from '../judge/judging-frame.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import { Unknown } from '../language/three-valued.ts';
import { ownAt } from '../language/typed-value.ts';
import { explainPart, unitOf } from './parts.ts';

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
  const source = sourceOf(slot, rule.rule);
  const readAt = context.readAtMs?.[source];
  const { fact } = slot;
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
      const value = ownAt(frame.record, path);
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
