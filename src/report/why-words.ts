// report: what is known of one subject, in words: whether it is banned or disabled now, who made it so and why, and what each rule says of it.
// In: the answer of `why`. Out: plain text that may hold hostile names: each writer escapes it for its own medium.
import { timeText } from '../domain/time-text.ts';
import type { AsOf, TargetState, Why, WhyRule } from '../domain/why.ts';
import { breakGlassWords } from './change-window-view.ts';
import { factTexts } from './fact-text.ts';

/** The states, the first sentence of each in capitals where access is taken away; never empty. */
export function stateWords({
  states,
  unread,
  subject,
  asOf,
}: Pick<Why, 'states' | 'unread' | 'subject' | 'asOf'>): string[] {
  const lines = states.flatMap((state) => stateOf(state, asOf));
  if (unread !== undefined) lines.push(`it could not be read now: ${unread}`);
  if (lines.length === 0) lines.push(`a ${subject.kind} has no state of its own that Trustward changes`);
  return lines;
}

/** `BANNED`, or that it is not known: for a device beside others. */
export function shortStateWords({ text, isSo }: TargetState): string {
  return isSo === undefined ? 'state unknown' : isSo ? text.toUpperCase() : `not ${text}`;
}

function stateOf(state: TargetState, asOf: AsOf | undefined): string[] {
  const { text, target, isSo, last, isOwn } = state;
  if (isSo === undefined && asOf) return [`whether it was ${text} is not recorded`, ...lastWords(state)];
  if (isSo === undefined) return [`whether it is ${text} could not be read now`, ...lastWords(state)];
  const now = isSo ? text.toUpperCase() : `not ${text}`;
  if (!isOwn && !last) return [isSo ? `${now}, but not by Trustward: somebody else did it` : now];
  if (!isOwn)
    return [`${now}: somebody else changed it after Trustward's last action on ${target}`, ...lastWords(state)];
  return [now, ...lastWords(state)];
}

/** Who did it, when, and on which facts. */
function lastWords({ last }: TargetState): string[] {
  if (!last) return [];
  const { intent, runSeq, isOfLook, approvedBy, breakGlass } = last;
  const rules = [...new Set(intent.basis.map(({ rule }) => rule))].join(', ');
  const run = runSeq === undefined ? '' : ` in run ${runSeq}${isOfLook ? ' (watch, after new events)' : ''}`;
  const who = intent.released
    ? 'at an operator’s request'
    : `by rule ${rules}${run}${approvedBy === undefined ? '' : `, approved by ${approvedBy}`}`;
  const at = intent.settledAt === undefined ? '' : `, ${timeText(intent.settledAt)}`;
  const facts = [
    ...new Set(intent.basis.flatMap((basis) => factTexts(basis.facts, intent.settledAt ?? intent.createdAt))),
  ];
  const because = facts.length === 0 || intent.undo ? [] : [`because ${facts.join(' and ')}`];
  const glass = breakGlassWords({ breakGlass });
  return [
    `${intent.action} ${intent.target}: ${intent.outcome}${at}, ${who}`,
    ...because,
    ...(glass === undefined ? [] : [glass]),
  ];
}

/** Those that say something first. */
const ORDER = { match: 0, unknown: 1, error: 1, no_match: 2 } as const;

export function rulesInOrder(rules: readonly WhyRule[]): WhyRule[] {
  return [...rules].sort((a, b) => ORDER[a.verdict ?? 'unknown'] - ORDER[b.verdict ?? 'unknown']);
}

const VERDICTS = { match: 'MATCHES', no_match: 'does not match', unknown: 'is unknown', error: 'failed' } as const;

export function verdictWords({ verdict }: Pick<WhyRule, 'verdict'>): string {
  return verdict === undefined ? 'not judged' : VERDICTS[verdict];
}

/** What led to its match, each fact once. */
export function matchingFacts({ verdict, decisions }: WhyRule, atMs: number): string[] {
  return verdict === 'match' ? [...new Set(decisions.flatMap((one) => factTexts(one.facts, atMs)))] : [];
}

/** What an answer about an earlier time rests on; empty for the present. */
export function asOfWords(asOf: AsOf | undefined): string[] {
  if (asOf === undefined) return [];
  const { askedAt: askedMs, run, runAt: runAtMs, seenAt: seenAtMs, notes } = asOf;
  const seen = seenAtMs < runAtMs ? [`it was last read by a run at ${timeText(seenAtMs)}`] : [];
  return [
    `${timeText(askedMs)}, as recorded by run ${run} at ${timeText(runAtMs)}; the platform was not asked, and the present may differ`,
    ...seen,
    ...notes,
  ];
}
