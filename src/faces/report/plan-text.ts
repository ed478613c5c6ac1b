// report: plans for a terminal: a list of them, and one with its actions, what its approval does, and the commands. In: plans, the time.
// Out: text of visible characters. Names from devices are clipped and escaped.

import { isoTime, timeText } from '../../base/time.ts';
import type { ReportPlan } from '../../contract/report.ts';
import { deletionTexts } from '../../domain/action.ts';
import { actorText } from '../../domain/actor.ts';
import type { EvidenceReader } from '../../domain/evidence.ts';
import {
  answerCommand,
  carriedTimes,
  changeSince,
  changeText,
  type LeftIntent,
  type Plan,
  type PlanDifference,
  type PlannedIntent,
  type PlanRevision,
  plannedCounts,
  releasedRule,
  sizeOf,
  successorText,
} from '../../domain/plan.ts';
import { timeCell } from './decision-words.ts';
import { evidenceOfPlan } from './evidence-words.ts';
import { type Cell, changeTexts, factTexts, plural, showHidden, whoLines, whole } from './fact-text.ts';
import { planTitle } from './inbox.ts';
import { agreedWords, appliedWords, breakGlassWords, countLines, reportPlan } from './plan-view.ts';
import { paragraph, type TerminalOptions, terminalList, terminalTable } from './terminal-table.ts';
import { progressWords } from './words.ts';

const PLANS = ['Plan', 'Status', 'Made', 'What', 'Until', 'Rules', 'Kind'];

export function plansText(plans: readonly Plan[], nowMs: number, options: TerminalOptions = {}): string {
  const rows = plans.map((plan): Cell[] => {
    const counts = plannedCounts(plan);
    return [
      whole(plan.id),
      plan.status,
      whole(timeCell(isoTime(plan.createdAt))),
      planTitle(counts),
      endWords(plan, nowMs),
      [...new Set(counts.flatMap(({ rules }) => rules))],
      kindWords(plan),
    ];
  });
  return plans.length === 0 ? 'no plans' : terminalList(PLANS, rows, options, ['Kind', 'Rules', 'Until']);
}

export interface PlanContext {
  nowMs: number;
  /** The number of its run. */
  run: number | undefined;
  live: Parameters<typeof reportPlan>[1];
  difference: PlanDifference | null;
  revisions: readonly PlanRevision[];
  evidence?: EvidenceReader | undefined;
  /** Whose yes is asked for before anybody has said it. */
  needed?: string | undefined;
}

export function planText(plan: Plan, context: PlanContext, options: TerminalOptions = {}): string {
  const { nowMs, run } = context;
  const ofRun = run === undefined ? '' : `, of run ${run}`;
  const times = [`made ${timeText(plan.createdAt)}`, ...endWords(plan, nowMs)].join(', ');
  const head = `Plan ${plan.id} is ${plan.status}: ${plural(sizeOf(plan), 'action')}, ${kindWords(plan)}${ofRun}, ${times}.`;
  const decided =
    plan.decidedBy === undefined || plan.agreed
      ? ''
      : `Answered by ${actorText(plan.decidedBy)}${plan.decidedReason === undefined ? '' : `: ${plan.decidedReason}`}.`;
  const view = reportPlan(plan, context.live, plan.digest);
  const progress = progressWords(view) ?? doneWords(view);
  const replaced = plan.supersededBy && `It is superseded by ${successorText(plan.supersededBy, context.difference)}.`;
  const sentences = [
    head,
    decided,
    ...carriedTexts(plan, context),
    agreedWords(plan) ?? (context.needed && `It needs ${context.needed}; nobody has said yes.`),
    breakGlassWords(plan),
    replaced,
    droppedWords(plan),
    progress,
    ...approvalWords(plan, plan.agreed === undefined && context.needed === undefined),
  ].filter((one) => one !== undefined);
  return [
    ...sentences.filter((one) => one !== '').map((one) => paragraph(one, options)),
    countLines(plan.intents).map(showHidden).join('\n'),
    plan.dropped
      ? ''
      : terminalTable(
          HEAD,
          plan.intents.map((intent) => cellsOf(intent, plan.createdAt)),
          options,
        ),
    evidenceOfPlan(plan, context.evidence)
      .map(({ rule, text }) => paragraph(`${rule}: ${text}`, options))
      .join('\n'),
    commandsOf(plan).map(showHidden).join('\n'),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

const LEFT_MAX = 5;

/** When it was made and how it has changed since; none for a plan that nothing changed. */
function carriedTexts(plan: Plan, { run, revisions }: Pick<PlanContext, 'run' | 'revisions'>): string[] {
  const [first] = revisions;
  if (!first) return [];
  const times = carriedTimes(plan, revisions);
  const often = times === 1 ? 'once' : `${times} times`;
  const by = `by ${run === undefined ? 'a run' : `run ${run}`} at ${timeText(plan.createdAt)}`;
  const carried = times === 0 ? '' : ` and carried on ${often}, last ${by}`;
  const left = revisions.flatMap(({ change }) => change.left).reverse();
  return [
    `It was made ${timeText(first.createdAt)}${carried}; since it was made, ${changeText(changeSince(revisions))}.`,
    ...left.slice(0, LEFT_MAX).map(leftText),
    ...(left.length > LEFT_MAX ? [`${left.length - LEFT_MAX} more left earlier.`] : []),
  ];
}

/** `Left: ban_device S-1: exempt until ….` */
function leftText({ action, target, reason }: LeftIntent): string {
  return `Left: ${action} ${target}: ${reason}.`;
}

/** Undefined while its intents are kept. */
export function droppedWords({ dropped }: Plan): string | undefined {
  return (
    dropped &&
    `It was superseded: its ${plural(dropped.intents, 'action')} ${dropped.intents === 1 ? 'is' : 'are'} no longer kept.`
  );
}

/** What was done of an applied plan: nothing of it may have been. */
export function doneWords({ status, progress }: ReportPlan): string | undefined {
  if (status !== 'applied' || !progress) return undefined;
  return `It was applied: ${appliedWords(progress.outcomes, progress.notBegun.length)}.`;
}

const HEAD = ['Action', 'Target and devices', 'Rule', 'Why', 'Effect'];

function cellsOf({ action, target, basis, effect, reason, reasonText }: PlannedIntent, atMs: number): Cell[] {
  const shown = effect.devices.slice(0, NAMES_MAX);
  const more = effect.devices.length > shown.length ? [`and ${effect.devices.length - shown.length} more`] : [];
  const known = new Set(shown.map(({ id }) => id));
  return [
    action,
    [whole(target), ...shown.flatMap((device) => whoLines(device, target)), ...more],
    basis.slice(0, NAMES_MAX).flatMap(({ rule, subjectId }) => [rule, ...(known.has(subjectId) ? [] : [subjectId])]),
    [...new Set(basis.slice(0, NAMES_MAX).flatMap(({ facts }) => factTexts(facts, atMs))), reasonText || reason],
    [effect.text, ...changeTexts(effect.changes ?? []), ...(effect.deletion ? deletionTexts(effect.deletion) : [])],
  ];
}

const NAMES_MAX = 5;

function kindWords(plan: Plan): string {
  return kindWordsOf(plan.mode, releasedRule(plan));
}

/** `released`: the rule whose claims it undoes. */
export function kindWordsOf(mode: Plan['mode'], released: string | undefined): string {
  if (released !== undefined) return `undoes what rule ${released} did`;
  return mode === 'dry-run' ? 'of a dry run' : 'of a live run';
}

/** What a person's yes does, and does not do; nothing of a plan that does not wait. `isOne`: one person's is enough, as far as is known here. */
export function approvalWords(plan: Plan, isOne = plan.agreed === undefined): string[] {
  if (plan.status !== 'pending') return [];
  const rule = releasedRule(plan);
  const matching = plan.intents.filter(({ reason }) => reason === 'rule_matches').length;
  const released =
    rule === undefined
      ? []
      : [
          `${matching} of ${plural(plan.intents.length, 'target')} still match rule ${rule}: they are not acted on again while the match lasts.`,
        ];
  const approved = `${isOne ? 'Approving it' : 'With the yes that it needs, it'} allows exactly these actions. A daemon, or with PostgreSQL a worker, in mode \`approve\` or \`enforce\` applies them; otherwise \`apply\` does. Each target is read again before its call, and one that differs is left out.`;
  return [...released, approved];
}

/** None for a plan that was answered for good. */
function endWords({ status, expiresAt }: Plan, nowMs: number): string[] {
  const isOpen = status === 'pending' || status === 'approved' || status === 'interrupted';
  if (!isOpen && status !== 'expired') return [];
  if (!isOpen || expiresAt <= nowMs) return [`expired ${timeText(expiresAt)}`];
  return [`expires in ${durationLeft(expiresAt - nowMs)}`];
}

/** Whole minutes: `23h 10m`. */
function durationLeft(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  const [days, hours, rest] = [Math.floor(minutes / 1_440), Math.floor((minutes % 1_440) / 60), minutes % 60];
  if (days > 0) return `${days}d ${hours}h`;
  if (hours > 0) return `${hours}h ${rest}m`;
  return minutes > 0 ? `${minutes}m` : 'less than a minute';
}

/** Not wrapped, so that each can be copied whole. */
function commandsOf(plan: Plan): string[] {
  const { id, status, intents } = plan;
  if (status === 'approved' || status === 'interrupted') return [`  trustward apply ${id}`];
  if (status !== 'pending') return [];
  const approve = `  ${answerCommand('approve', plan)}`;
  const part = intents.length > 1 ? [`${approve} --only TARGET   (or --rule ID, --except TARGET)`] : [];
  return [approve, ...part, `  ${answerCommand('reject', plan)}`];
}
