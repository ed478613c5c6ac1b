// report: times of a document as text for people. In: ISO 8601 in UTC. Out: the same without what nobody reads.

import type { ReportDecision, RunDecision } from '../../contract/report.ts';
import { deletionTexts, type EffectDevice, type KnownTraits } from '../../domain/action.ts';
import { LIFTED_BY_TIME } from '../../domain/decision.ts';
import { isDone } from '../../domain/intent.ts';
import {
  andMore,
  type CellLine,
  changeTexts,
  factTexts,
  flipWords,
  joinedLine,
  marked,
  whoLine,
  whoLines,
  whole,
} from './fact-text.ts';

/** `2026-11-21T09:37:02.123Z` → `2026-11-21 09:37:02 UTC`. */
export function timeWords(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
}

/** The same for a column, where it may wrap between date and time: `2026-11-21 09:37:02Z`. */
export function timeCell(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}Z`;
}

/**
 * `done`: this run did it or was to do it. `would`: a live run would do it if the mode were not lowered. `reported`:
 * its rule's own mode is `dry-run`, so no run does it.
 */
export type ActKind = 'done' | 'would' | 'reported';

/** The kind of a decision to act; undefined for one that holds or skips. */
export function actKindOf({ decision, mode, cappedBy, outcome }: ReportDecision): ActKind | undefined {
  if (decision !== 'act') return undefined;
  const dry = outcome === 'dry_run' || (outcome === null && mode === 'dry-run');
  if (!dry) return 'done';
  // What lowered the mode is named; a mode that nothing lowered is the rule's own, even of a rule that is no longer
  // loaded.
  return mode === 'dry-run' && cappedBy === null ? 'reported' : 'would';
}

// One decision in plain words, for Markdown and terminal alike: who, why, since when, and the outcome.

/** Devices that the action affects beside its subject: several may share its serial number. */
export function alsoTouched({ effect, subject }: ReportDecision): EffectDevice[] {
  return effect.devices.filter((device) => subject.kind !== 'device' || device.id !== subject.id);
}

type OnTarget = Pick<ReportDecision, 'subject' | 'target' | 'action' | 'effect'>;

/** What the targets of one rule and action are: a ban hits a serial number, not a device. An earlier version's action is not known. */
export function targetNoun(decisions: readonly OnTarget[], actions?: KnownTraits): string {
  for (const decision of decisions) {
    const shown = nounShown(decision);
    if (shown !== undefined) return shown;
  }
  return actions?.get(decisions[0]?.action ?? '')?.target.noun ?? 'Target';
}

/** Whether `targetNoun` needs the actions: the record does not show what a target is. */
export function namesOwnTarget(decision: OnTarget): boolean {
  return decision.target !== decision.subject.id && nounShown(decision) === undefined;
}

function nounShown({ subject, target, effect }: OnTarget): string | undefined {
  const serials = [subject.serial, ...effect.devices.map(({ serial }) => serial)];
  if (serials.includes(target)) return 'Serial number';
  return subject.kind === 'user' && target.endsWith(` ${subject.id}`) ? 'Serial number and user' : undefined;
}

/** `unknown` is a verdict alone. */
export function outcomeName(outcome: string): string {
  return outcome === 'unknown' ? 'in doubt' : outcome;
}

/** `succeeded 2026-11-21 09:37:02Z: Success`; an act without an outcome shows how far it got. */
export function outcomeWords(decision: RunDecision): string {
  const { outcome, outcomeText, intent } = decision;
  const at = intent?.settledAt ?? intent?.sentAt ?? null;
  const name =
    outcome === null ? (intent?.status === 'sent' ? 'sent, not answered yet' : 'not done yet') : outcomeName(outcome);
  if (outcome === 'dry_run') return 'dry run';
  return [name, ...(at === null ? [] : [` ${timeCell(at)}`]), ...(outcomeText ? [`: ${outcomeText}`] : [])].join('');
}

type Held = Pick<ReportDecision, 'decision' | 'intentId' | 'isRejected'>;

/** A person said yes to what was held, and it has an intent; or no. */
export function wasAnswered({ decision, intentId, isRejected }: Held): boolean {
  return isRejected === true || (decision === 'hold' && intentId !== null);
}

function answeredWords({ outcome }: ReportDecision): string {
  return outcome === null ? 'not done yet' : isDone({ outcome }) ? 'done' : outcomeName(outcome);
}

/** A dry run does not act, and what waits for its time is not skipped. */
export function decisionWords(decision: ReportDecision): string {
  if (LIFTED_BY_TIME.has(decision.reason)) return 'waits';
  const kind = actKindOf(decision);
  if (decision.isRejected) return 'waited until a person said no';
  if (wasAnswered(decision)) return `waited until a person said yes (${answeredWords(decision)})`;
  if (decision.decision === 'hold') return 'waits';
  return kind === 'would' ? 'would act' : kind === 'reported' ? 'only reported' : decision.decision;
}

/** `rule mode enforce, lowered to dry-run by the run`. */
export function capWordsOf({ mode, cappedBy }: ReportDecision): string | undefined {
  if (cappedBy === null) return undefined;
  // `daemon` is TRUSTWARD_MODE, also of a run without a daemon.
  return `lowered to mode ${mode}${cappedBy === 'run' ? ' by the run' : ': no more was allowed'}`;
}

/** The run that wrote a decision that is still in force. */
export function unchangedWords({ unchanged, runSeq, writtenAt }: RunDecision): string | undefined {
  return unchanged ? `decided in run ${runSeq}, ${timeCell(writtenAt)}` : undefined;
}

// The columns of a table of decisions, for Markdown and terminal alike.

export interface DecisionColumn {
  head: string;
  /** What an HTML report shows in its own way. */
  kind?: 'who' | 'since' | 'facts';
  lines(decision: RunDecision): CellLine[];
}

const ALSO_MAX = 5;

const WHO: DecisionColumn = {
  head: 'Who',
  kind: 'who',
  lines: (decision) => [...whoLines(decision.subject, decision.target), ...alsoHit(decision)],
};
/** The changed values, before and after: this is what an operator approves. */
const CHANGE: DecisionColumn = {
  head: 'Change',
  lines: ({ effect }) =>
    effect.changes?.length === 0 ? ['nothing: already in this state'] : changeTexts(effect.changes ?? []),
};
/** What a deletion takes from whom: the devices, their owners' certificates, the users who have no other device. */
const TAKES: DecisionColumn = {
  head: 'Takes',
  lines: ({ effect }) => (effect.deletion ? deletionTexts(effect.deletion) : []),
};
export const OUTCOME: DecisionColumn = { head: 'Outcome', lines: (decision) => [outcomeWords(decision)] };
export const SKIPPED_BECAUSE: DecisionColumn = { head: 'Skipped because', lines: ({ reasonText }) => [reasonText] };
export const WAITS_BECAUSE: DecisionColumn = { head: 'Waits because', lines: ({ reasonText }) => [reasonText] };

/**
 * Who, the target if it is not the subject itself, what is changed or taken, why, since when; then `more`. Ages are those at the
 * time of the decision, when the facts were read.
 */
export function decisionColumns(
  decisions: readonly RunDecision[],
  more: readonly DecisionColumn[],
  actions?: KnownTraits,
): DecisionColumn[] {
  const why: DecisionColumn = {
    head: 'Why',
    kind: 'facts',
    lines: whyLines,
  };
  const target: DecisionColumn = {
    head: targetNoun(decisions, actions),
    lines: (decision) => [whole(decision.target), ...devicesHit(decision)],
  };
  // Where all are new, or none is, the line above the table says so.
  const isMixed = new Set(decisions.map(({ change }) => change)).size > 1;
  const since: DecisionColumn = {
    head: 'Seen since',
    kind: 'since',
    lines: ({ since: at, change }) => [timeCell(at), ...(isMixed && change !== 'still' ? [change] : [])],
  };
  const isSubject = decisions.every(({ subject, target: own }) => subject.id === own);
  const change = decisions.some(({ effect }) => effect.changes !== undefined) ? [CHANGE] : [];
  const takes = decisions.some(({ effect }) => effect.deletion !== undefined) ? [TAKES] : [];
  return [WHO, ...(isSubject ? [] : [target]), ...change, ...takes, why, since, ...more];
}

/** Several devices may share a serial number: all are affected. */
export function alsoHit(decision: RunDecision): CellLine[] {
  if (decision.subject.kind !== 'device') return [];
  const also = alsoTouched(decision);
  if (also.length === 0) return [];
  const named = also.slice(0, ALSO_MAX).map(({ id, name, owners }) => whoLine({ id, name, owners }));
  return [marked('also affects ', joinedLine(named, '; '), andMore(also.length - ALSO_MAX))];
}

/** The devices of the target, where its subject is their owner: with the other owners. */
function devicesHit({ subject, effect }: RunDecision): CellLine[] {
  if (subject.kind !== 'user' || effect.deletion !== undefined) return [];
  const isOther = (owner: string) => owner.toLowerCase() !== subject.id.toLowerCase();
  const more = effect.devices.length - ALSO_MAX;
  return [
    ...effect.devices
      .slice(0, ALSO_MAX)
      .flatMap(({ id, name, owners = [] }) => whoLines({ id, name, owners: owners.filter(isOther) })),
    ...(more > 0 ? [`and ${more} more`] : []),
  ];
}

function whyLines(decision: RunDecision): string[] {
  const atMs = Date.parse(decision.writtenAt);
  const unchanged = unchangedWords(decision);
  return [
    ...factTexts(decision.facts, atMs),
    ...(decision.flip ? [flipWords(decision.flip, atMs)] : []),
    ...(decision.decision === 'act' && decision.reason !== 'rule_matches' ? [decision.reasonText] : []),
    ...(unchanged ? [`(${unchanged})`] : []),
  ];
}
