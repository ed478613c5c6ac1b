// report: a report in plain words, for Markdown and terminal alike: headline, summary, and the meaning of each reason.
// In: a report. Out: plain text that may hold hostile names: each writer escapes it for its own medium.

import { clip, NAME_MAX, shownName } from '../../base/text.ts';
import { formatDuration } from '../../base/time.ts';
import type {
  Report,
  ReportCeiling,
  ReportGone,
  ReportLimit,
  ReportPlan,
  ReportSource,
  ReportTrend,
  RunDecision,
} from '../../contract/report.ts';
import type { ActionName } from '../../domain/action.ts';
import { approversText } from '../../domain/approvals.ts';
import { LIFTED_BY_APPROVAL, LIFTED_BY_TIME, type ReasonCode } from '../../domain/decision.ts';
import type { ClaimStatus } from '../../domain/episode.ts';
import { changeText, successorText } from '../../domain/plan.ts';
import { almostValueText, isLive, leastMode } from '../../domain/rule.ts';
import { isOfLook } from '../../domain/run.ts';
import { SOURCES } from '../../domain/subjects.ts';
import { countEffect, effectWords } from './build-report.ts';
import { summaryOf } from './decision-view.ts';
import { type ActKind, actKindOf, capWordsOf, outcomeName, timeWords } from './decision-words.ts';
import {
  andMore,
  type CellLine,
  countText,
  listed,
  marked,
  plainText,
  plural,
  shownAs,
  type Who,
} from './fact-text.ts';
import { actOf, countActs, grouped } from './grouped.ts';
import { appliedWords, operatorWords } from './plan-view.ts';

const REASON_WORDS: Record<ReasonCode, string> = {
  untrusted_source: 'its data is not trusted',
  older_report: 'the report that clears it is not newer than the one it was done for',
  exempt: 'an exemption is in force',
  already_so: 'the target is already in the intended state',
  in_doubt: 'an earlier action on it is not settled yet, or needs a person',
  already_acted: 'it was already acted on while this match lasts',
  rejected: 'a person rejected it for as long as this match lasts',
  overridden: 'a person reversed or released it: left alone until the rule no longer matches',
  for_not_reached: 'it has not matched for long enough yet',
  cooldown: 'the last attempt was too recent',
  outside_window: 'its rule may act at other times',
  rollout: 'its rule begins with a share of its subjects, and it is not among them',
  rollout_braked: 'what people reversed or exempted stopped its rule',
  refused: 'the server refused it before doing anything (401, 403)',
  impossible_target: 'the target cannot be acted on',
  serial_shared: 'several different devices share the serial number',
  guarded: '`guards.yaml` asks a person about it',
  last_device: "it is a person's last device, which waits for a person",
  devices_of_a_day: 'more devices of one person within 24 hours than `guards.yaml` allows',
  joined_later: 'it joined an exemption later, which waits for a person',
  conflict: 'another rule proposes the opposite',
  other_first: 'another action on the same target comes first',
  limits: "more targets at once than the rule's limit allows",
  owners: 'several devices of one owner would be affected at once',
  approval_needed: 'only with the yes of a person',
  notice: 'people are warned first, and the deadline has not passed',
  notice_undelivered: 'somebody could not be warned first',
  rule_matches: 'the rule matches',
  matches_again: 'the rule matches again, less than a day after Trustward undid it',
  cleared: 'what was done is undone: the rule that led to it no longer matches',
  ceiling: 'the ceiling of the action is reached',
  drifted: 'the target or its rule changed before the call',
  stopped: 'nothing could be called: stopped, or not readable',
  frozen: 'a change window is in force',
};

/** Reasons of what is done. */
const ACTING: ReadonlySet<ReasonCode> = new Set(['rule_matches', 'matches_again', 'cleared']);

export function reasonWords(reason: ReasonCode): string {
  return REASON_WORDS[reason];
}

const CLAIM_WORDS: Record<ClaimStatus, string> = {
  standing: 'in force',
  orphaned: 'without a rule',
  ended: 'over',
  overridden: 'reversed by a person',
  released: 'released',
};

/** Of what Trustward did and holds; `without a rule`: the rule is missing or off, so nothing undoes it by itself. */
export function claimWords(status: ClaimStatus): string {
  return CLAIM_WORDS[status];
}

const MODE_WORDS = {
  off: 'run of mode off',
  'dry-run': 'dry run',
  approve: 'run of mode approve',
  enforce: 'enforcing run',
};

export function headline(report: Report): string {
  return `Trustward: ${kindAndTime(report)}`;
}

/** `dry run, 2026-11-21 09:37:02 UTC`. */
export function kindAndTime({ run }: Report): string {
  const kind = run.whatIf ? 'WHAT-IF' : MODE_WORDS[leastMode(run.mode, run.daemonMode)];
  const over = run.trigger === 'check' ? ' over one subject' : ' after new events';
  return `${kind}${isOfLook(run) ? over : ''}, ${timeWords(run.startedAt)}${run.demo ? ' (DEMO)' : ''}`;
}

/** Sentences of one paragraph: what was judged, what was done or would be, what waits, and whether to trust it. */
export function summaryWords(report: Report): string[] {
  return [
    ...whatIfWords(report),
    ...(report.snapshot.id === null ? [] : [...lookedAtWords(report), ...doneWords(report), ...waitingWords(report)]),
    ...capWords(report),
    ...operatorWords(report.operator),
    ...trustWords(report),
    ...report.rules.flatMap(({ id, almostValues = [] }) => almostValues.map((one) => almostValueText(id, one))),
  ];
}

function whatIfWords({ run }: Report): string[] {
  if (!run.whatIf) return [];
  const rules = `These are the rules in \`${run.rulesDir}\`, not the active ones.`;
  return [`${rules} It sent nothing, and only this report is kept: no run, no plan, no observation.`];
}

function lookedAtWords({ run, snapshot, rules }: Report): string[] {
  const nouns = { devices: 'device', users: 'user', services: 'service', events: 'event' } as const;
  const read = SOURCES.filter((source) => snapshot.sources[source]?.state === 'read');
  const judging = plural(rules.length, 'rule');
  if (read.length === 0) return [`${judging}, and no source was read.`];
  const counted = read.map((source) => plural(snapshot[source], nouns[source])).join(', ');
  if (!isOfLook(run)) return [`${judging} judged ${counted}.`];
  if (run.trigger === 'check')
    return [
      `It judged only the subject that somebody asked about: ${judging}; it read ${counted}.`,
      'It began nothing. The report of the last whole run shows all others.',
    ];
  return [
    `It judged only subjects that new events name: ${judging}; it read ${counted}.`,
    'It left everything else unchanged: no match ended, and nothing was undone. The report of the last whole run shows the rest.',
  ];
}

function doneWords(report: Report): string[] {
  const ofKind = (kind: ActKind) => report.decisions.filter((decision) => actKindOf(decision) === kind);
  const would = ofKind('would').length;
  return [...liveWords(ofKind('done')), ...wouldWords(report, would), ...reportingWords(ofKind('reported'))];
}

function liveWords(acts: readonly RunDecision[]): string[] {
  if (acts.length === 0) return []; // the sentence of the report says so
  const done = summaryOf(acts);
  const outcomes = (['succeeded', 'failed', 'unknown', 'parked', 'pending'] as const)
    .filter((name) => done[name] > 0)
    .map((name) => `${countText(done[name])} ${outcomeName(name)}`);
  return [`Acted on ${plural(acts.length, 'match', 'matches')}: ${outcomes.join(', ')}.`];
}

/** INVARIANT: a dry run is accurate: a rule whose own mode is `dry-run` acts in no run, and is not counted here. */
function wouldWords({ run, rules, decisions }: Report, count: number): string[] {
  const live = new Set(rules.filter(({ mode }) => isLive(mode)).map(({ id }) => id));
  const later = decisions.filter((one) => waitsForTime(one) && live.has(one.rule)).length;
  const now = plural(count, 'match', 'matches');
  const inTime = `when ${later === 1 ? 'its time has' : 'their time has'} come`;
  const matches =
    later === 0
      ? now
      : count === 0
        ? `no match yet, and on ${plural(later, 'match', 'matches')} ${inTime}`
        : `${now} now, and on ${countText(later)} more ${inTime}`;
  if (run.whatIf) return [`If they were active, a live run would act on ${matches}.`];
  if (run.mode === 'dry-run') return [`A live run would act on ${matches}.`];
  return count === 0 ? [] : [`${plural(count, 'match', 'matches')} would be acted on if the mode allowed it.`];
}

function waitsForTime({ decision, reason }: Pick<RunDecision, 'decision' | 'reason'>): boolean {
  return decision === 'skip' && LIFTED_BY_TIME.has(reason);
}

function reportingWords(reported: readonly RunDecision[]): string[] {
  const count = reported.length;
  if (count === 0) return [];
  const held = reported.filter(({ reason }) => !ACTING.has(reason)).length;
  const all = `${plural(count, 'match', 'matches')} of rules in mode dry-run ${count === 1 ? 'is' : 'are'} only reported`;
  return [held === 0 ? `${all}.` : `${all}; ${countText(held)} would wait if the rule were live.`];
}

function waitingWords({ summary, rules, decisions }: Report): string[] {
  const unknown = rules.reduce((sum, rule) => sum + rule.unknown + rule.error, 0);
  const held = decisions.filter(({ decision }) => decision === 'hold');
  const heldWords = HELD_TITLES.map((title) => ({
    title,
    count: countActs(held.filter((one) => heldTitle(one) === title)),
  }))
    .filter(({ count }) => count > 0)
    .map(({ title, count }) => `${countText(count)} ${title.replace('Waits', count === 1 ? 'waits' : 'wait')}`);
  const inDoubt = decisions.filter(({ reason }) => reason === 'in_doubt').length;
  const waiting = decisions.filter(waitsForTime).length;
  const skipped = [
    ...(waiting === 0 ? [] : [`${countText(waiting)} ${waiting === 1 ? 'waits for its' : 'wait for their'} time`]),
    `${countText(summary.skip - waiting)} skipped`,
  ].join(', ');
  return [
    ...(inDoubt === 0 ? [] : [`${countText(inDoubt)} from earlier runs not resolved: see those skipped as in doubt.`]),
    `${[...heldWords, skipped].join(', ')}, ${plural(unknown, 'verdict')} unknown.`,
  ];
}

function capWords({ run }: Report): string[] {
  if (leastMode(run.mode, run.daemonMode) === run.mode) return [];
  return [`It was asked for in mode ${run.mode}, but only mode ${run.daemonMode} was allowed.`];
}

/** The mode in force: the least of what was asked for and of what TRUSTWARD_MODE, or the daemon, allowed. */
export function modeLine({ mode, daemonMode }: Report['run']): CellLine {
  const [inForce, asked] = [shownAs('state', leastMode(mode, daemonMode)), shownAs('state', mode)];
  return plainText(inForce) === mode ? inForce : marked(inForce, ' (asked for ', asked, ')');
}

function trustWords({ snapshot }: Report): string[] {
  if (snapshot.trusted || snapshot.id === null) return [];
  return [
    `NOT TRUSTED, so nothing is done with that data: ${snapshot.reasons.map((reason) => reason.text).join('; ')}.`,
  ];
}

/** How a source was read, and what is wrong with it, each as one text. */
export function sourceWords({ state, form, lists, count, unreadable, trusted, reasons, dropped }: ReportSource): {
  read: string;
  trust: string;
  notes: string[];
} {
  const read =
    state === 'read'
      ? `${countText(count)}, ${FORM_WORDS[form]}${lists === undefined ? '' : ` (${lists} list)`}`
      : STATE_WORDS[state];
  const notes = reasons.map((reason) => reason.text);
  if (unreadable.count > 0) {
    const named = unreadable.examples.slice(0, 5).join('; ');
    notes.push(`${plural(unreadable.count, 'unreadable record')} (${named}${unreadable.count > 5 ? '; …' : ''})`);
  }
  if (dropped.length > 0) notes.push(`secrets dropped: ${dropped.join(', ')}`);
  return { read, trust: state === 'read' ? (trusted ? 'trusted' : 'NOT TRUSTED') : '—', notes };
}

const FORM_WORDS: Record<ReportSource['form'], string> = {
  paged: 'paged',
  unpaged: 'in one piece',
  single: 'each by itself',
  none: 'none',
};

const STATE_WORDS = {
  skipped: 'not read: no rule needs it',
  unavailable: 'not available (403)',
  failed: 'could not be read',
};

/** Whether approving the run's plan lets a held decision continue. A ceiling may then hold what a dry run's plan has. */
function waitsInPlan({ decision, reason, inPlan }: RunDecision): boolean {
  return decision === 'hold' && inPlan && LIFTED_BY_APPROVAL.has(reason);
}

/** Whether the commands that answer the run's plan are to be shown beside it. */
export function canBeApproved(decision: RunDecision, { plan }: Pick<Report, 'plan'>): boolean {
  return waitsInPlan(decision) && plan.id !== null && plan.status === 'pending';
}

/** The headings of what is held, in their order. Time lifts a ceiling and a change window, a person the rest. */
const HELD_TITLES = [
  'Waits for a yes',
  'Waits until a ceiling allows it',
  'Waits until the change window ends',
  'Waits for something else',
] as const;

function heldTitle({ reason }: Pick<RunDecision, 'reason'>): (typeof HELD_TITLES)[number] {
  return HELD_TITLES[reason === 'ceiling' ? 1 : reason === 'frozen' ? 2 : LIFTED_BY_APPROVAL.has(reason) ? 0 : 3];
}

/** What an operator can do about a held decision. */
export function wayOutWords(decision: RunDecision, { run, plan }: Pick<Report, 'run' | 'plan'>): string {
  if (run.whatIf) return 'If these rules were active, it would wait.';
  if (waitsInPlan(decision) && plan.id !== null) return planWords(plan);
  const notLifted = notLiftedWords(decision.reason);
  if (notLifted !== undefined) return `${notLifted}${breakGlassHint(decision, plan)}`;
  if (LIFTED_BY_APPROVAL.has(decision.reason) && isLive(decision.mode))
    return 'It is in a plan that is already approved, and waits for `trustward apply PLAN`.';
  return 'The next run tries it again.';
}

/** What ends a hold that no approval lifts; undefined for any other reason. */
export function notLiftedWords(reason: string): string | undefined {
  if (reason === 'conflict')
    return 'Approving does not help here: change one of the rules, or release what the other one did.';
  if (reason === 'other_first') return 'It continues when that is done, rejected, or no longer proposed.';
  if (reason === 'stopped') return 'It continues with the first run after `trustward resume`.';
  if (reason === 'frozen') return 'It continues with the first run after the change window.';
  if (reason === 'rollout_braked')
    return 'It continues after `trustward rollout resume RULE` or `trustward rollout restart RULE`.';
  if (reason === 'ceiling')
    return 'Approving does not lift a ceiling: a later run tries again, or raise the ceiling in the settings.';
  return undefined;
}

/** The command that does not wait for a change window to end, where a plan can still be let through it. */
function breakGlassHint({ reason, inPlan }: RunDecision, { id, status }: ReportPlan): string {
  const isOpen = status === 'approved' || status === 'interrupted';
  const command = status === 'pending' ? 'approve' : isOpen ? 'apply' : undefined;
  if (reason !== 'frozen' || !inPlan || id === null || command === undefined) return '';
  return ` \`trustward ${command} ${id} --break-glass --reason TEXT\` lets all of that plan be applied before the window ends.`;
}

function planWords(plan: ReportPlan): string {
  return [planStateWords(plan), carriedWords(plan)].filter((one) => one !== '').join(' ');
}

function carriedWords({ carriedOn }: ReportPlan): string {
  if (carriedOn === null) return '';
  const { intents, change } = carriedOn;
  const how = change === null ? 'what it had in this run is no longer kept' : changeText(change);
  return `It has changed since this run (${how}): it has ${plural(intents, 'action')} as this is written.`;
}

function planStateWords(plan: ReportPlan): string {
  if (plan.status === 'expired')
    return `Plan ${plan.id} expired at ${timeWords(plan.expiresAt ?? '')}: the next run makes a new one.`;
  if (plan.status !== 'pending') {
    const by = plan.decidedBy === null ? '' : ` by ${approversText(plan)}`;
    const at = plan.decidedAt === null ? '' : ` at ${timeWords(plan.decidedAt)}`;
    if (plan.status === 'interrupted')
      return `Plan ${plan.id} was approved${by}${at}, and applying it was interrupted.`;
    if (plan.status === 'applied' && plan.progress) {
      const { outcomes, notBegun } = plan.progress;
      return `Plan ${plan.id} was approved${by}${at} and applied: ${appliedWords(outcomes, notBegun.length)}.`;
    }
    if (plan.status === 'superseded' && plan.supersededBy !== null)
      return `Plan ${plan.id} is superseded by ${successorText(plan.supersededBy, plan.difference)}.`;
    return `Plan ${plan.id} is ${plan.status}${by}${at}.`;
  }
  return `It waits in plan ${plan.id}, until ${timeWords(plan.expiresAt ?? '')}.`;
}

/** What an interrupted plan has done; undefined for any other plan. */
export function progressWords({ id, status, progress, expiresAt }: ReportPlan): string | undefined {
  if (status !== 'interrupted' || !progress) return undefined;
  const { outcomes, notBegun } = progress;
  const counts = Object.entries(outcomes).map(([one, count]) => `${count} ${outcomeName(one)}`);
  const named = notBegun.slice(0, NOT_BEGUN_MAX).map(({ action, target }) => `${action} ${target}`);
  const rest = notBegun.length === 0 ? '' : ` (${named.join(', ')}${andMore(notBegun.length - named.length)})`;
  const done = `Plan ${id} was interrupted while it was applied: ${[...counts, `${notBegun.length} not begun`].join(', ')}${rest}.`;
  return `${done} Applying it again continues it, until ${timeWords(expiresAt ?? '')}, and repeats nothing that was begun.`;
}

const NOT_BEGUN_MAX = 20;

/** A what-if has no number among the runs of a database. */
export function placeWords({ seq, whatIf }: Report['run']): string {
  return whatIf ? 'a what-if, not stored' : `number ${seq}`;
}

/** What made a run begin. */
export function startedByWords({ trigger, scoped }: Pick<Report['run'], 'trigger' | 'scoped'>): string {
  if (trigger === 'check') return 'check, of one subject that somebody asked about';
  if (trigger !== 'watch') return trigger;
  return scoped ? 'watch, after new events' : 'watch, which asked for a whole run';
}

/** How long a run took; undefined while it has no end. */
export function durationWords({ startedAt, finishedAt }: Report['run']): string | undefined {
  return finishedAt === null ? undefined : formatDuration(Date.parse(finishedAt) - Date.parse(startedAt));
}

// The figures of a report in words, bars and small charts, for Markdown and terminal alike.

const GONE_MAX = 5;

/** The figures in one sentence, then one line for each of some that are gone. Undefined: nothing could be compared. */
export function changeWords({ run, snapshot, changes }: Report): { sentence: string; gone: string[] } | undefined {
  if (run.whatIf || isOfLook(run) || snapshot.id === null) return undefined;
  const { since, gone, goneExamples } = changes;
  if (since === null) {
    const kind = isLive(leastMode(run.mode, run.daemonMode)) ? 'live' : 'dry';
    return { sentence: `There is no earlier completed ${kind} run over all rules to compare with.`, gone: [] };
  }
  const { byNewRules = 0 } = changes;
  const all = byNewRules === changes.new ? '' : `${countText(byNewRules)} `;
  const byNew = byNewRules === 0 ? '' : ` (${all}by a rule that is new)`;
  const isSame = changes.new + changes.changed + gone === 0;
  const figures = [
    ...(isSame
      ? ['nothing changed']
      : [`${countText(changes.new)} new${byNew}`, `${countText(changes.changed)} changed`, `${countText(gone)} gone`]),
    `${countText(changes.still)} as before`,
  ];
  const shown = goneExamples.slice(0, GONE_MAX).map(goneLine);
  const more = gone - shown.length;
  return {
    sentence: `Since run ${since.seq} (${timeWords(since.at)}): ${figures.join(', ')}.`,
    gone: [...shown, ...(more > 0 ? [`and ${countText(more)} more: the JSON report has up to 100`] : [])],
  };
}

function goneLine({ rule, subject, action, target, why }: ReportGone): string {
  const name = subject.name === '' || subject.name === subject.id ? '' : `${shownName(subject.name)}, `;
  return `gone: ${action} of ${name}${clip(target, NAME_MAX)} by rule ${rule}${why === null ? '' : `: ${why}`}`;
}

/** `3 devices of 2 people; 1 new, 2 as before.` Empty: nothing to add to their number. */
export function groupWords(decisions: readonly RunDecision[], { changes }: Pick<Report, 'changes'>): string {
  const effect = effectWords(countEffect(decisions));
  const count = (change: RunDecision['change']) => decisions.filter((one) => one.change === change).length;
  const figures = [
    [count('new'), 'new'],
    [count('changed'), 'changed'],
    [count('still'), 'as before'],
  ] as const;
  const changed = figures.filter(([number]) => number > 0).map(([number, word]) => `${countText(number)} ${word}`);
  const parts = [...(effect === undefined ? [] : [effect]), ...(changes.since === null ? [] : [changed.join(', ')])];
  return parts.length === 0 ? '' : `${parts.join('; ')}.`;
}

/** What an approval leads to, and what still stands in its way. */
export function approvalWords(decisions: readonly RunDecision[]): string {
  const effect = effectWords(countEffect(decisions)) ?? plural(decisions.length, 'match', 'matches');
  return `Approving and applying it would affect ${effect}; ceilings, exemptions and a stop still hold it back.`;
}

interface BoundRow {
  name: string;
  bound: string;
  used: string;
  bar: string;
  count: number;
  allowed: number;
  /** What stands after the numbers. */
  note: string;
}

const BAR_WIDTH = 20;
const BOUNDS_FEW = 6;
const NOTABLE = 0.5;

/** All limits and ceilings while there are few, otherwise those of which half or more is used; and how many are left out. */
export function boundRows({
  run,
  limits,
  ceilings,
}: Pick<Report, 'limits' | 'ceilings'> & { run: Pick<Report['run'], 'trigger' | 'scoped'> }): {
  rows: BoundRow[];
  left: number;
} {
  const all = [
    ...limits.flatMap((limit) => [
      { row: limitRow(limit, isOfLook(run)), share: shareOf(limit.targets, limit.allowed) },
      ...dayRows(limit),
    ]),
    ...ceilings.map((ceiling) => ({
      row: ceilingRow(ceiling, isOfLook(run)),
      share: shareOf(ceiling.used, ceiling.allowed),
    })),
  ].filter(({ share }) => share > 0);
  const shown = all.length <= BOUNDS_FEW ? all : all.filter(({ share }) => share >= NOTABLE);
  return { rows: shown.map(({ row }) => row), left: all.length - shown.length };
}

/** A run after events counts with what is decided since the last whole run. */
function limitRow({ rule, matches, targets, max, percent, allowed, crossed }: ReportLimit, isPart: boolean): BoundRow {
  const found = plural(matches, 'match', 'matches');
  const of = isPart ? ` (with the last whole run; ${found} in this one)` : matches === targets ? '' : ` (${found})`;
  const note = `${of}${crossed ? ', crossed' : ''}`;
  return { name: rule, bound: `max ${countText(max)}, ${percent} %`, ...useOf(targets, allowed, note) };
}

/** Only one of which half or more is used. */
function dayRows({ rule, inDay }: ReportLimit): { row: BoundRow; share: number }[] {
  const share = inDay ? shareOf(inDay.subjects, inDay.allowed) : 0;
  if (!inDay || share < NOTABLE) return [];
  const use = useOf(inDay.subjects, inDay.allowed, inDay.crossed ? ', crossed' : '');
  return [{ row: { name: rule, bound: `per_day ${countText(inDay.allowed)}`, ...use }, share }];
}

function ceilingRow({ action, window, used, allowed }: ReportCeiling, isPart: boolean): BoundRow {
  const inRun = isPart ? 'since the last whole run, with it' : 'in a run';
  return {
    name: action,
    bound: window === 'run' ? inRun : 'in 24 hours',
    ...useOf(used, allowed, ''),
  };
}

function useOf(count: number, allowed: number, note: string): Omit<BoundRow, 'name' | 'bound'> {
  const used = `${countText(count)} of ${countText(allowed)}${note}`;
  return { used, bar: bar(count, allowed), count, allowed, note };
}

function shareOf(used: number, allowed: number): number {
  return used === 0 ? 0 : allowed === 0 ? 1 : Math.min(1, used / allowed);
}

/** Anything used shows: at least one block is full, and only a whole bar means that all is used. */
function bar(used: number, allowed: number): string {
  const share = shareOf(used, allowed);
  const full = share === 1 ? BAR_WIDTH : Math.min(BAR_WIDTH - 1, Math.max(1, Math.round(share * BAR_WIDTH)));
  return '█'.repeat(full) + '░'.repeat(BAR_WIDTH - full);
}

const LEVELS = '▁▂▃▄▅▆▇█';

/** Of rules that matched in some of the runs; one run alone is no chart. */
export function trendRows({
  trend,
}: Pick<Report, 'trend'>): { rule: string; matches: number[]; chart: string; words: string }[] {
  return trend
    .filter(({ counts }) => counts.length > 1 && counts.some(({ match }) => match > 0))
    .map(({ rule, counts }) => {
      const matches = counts.map(({ match }) => match);
      return { rule, matches, chart: chart(matches), words: trendWords(matches) };
    });
}

export function trendHeading({ trend }: Pick<Report, 'trend'>): string {
  const runs = Math.max(0, ...trend.map(({ counts }) => counts.length));
  return `Matches over the last ${plural(runs, 'run')}`;
}

/** From nothing to the most; what is not nothing is never drawn as nothing. */
export function chart(matches: ReportTrend['counts'][number]['match'][]): string {
  const most = Math.max(...matches);
  const level = (match: number) => (match === 0 ? 0 : Math.max(1, Math.round((match / most) * (LEVELS.length - 1))));
  return matches.map((match) => LEVELS[level(match)]).join('');
}

function trendWords(matches: number[]): string {
  const [least, most] = [Math.min(...matches), Math.max(...matches)];
  if (least === most) return `always ${countText(most)}`;
  return `${countText(least)} to ${countText(most)}, last ${countText(matches.at(-1) as number)}`;
}

/** What a person can do about missing facts: facts with the same way are named together. */
export function howToLines({ rules }: Pick<Report, 'rules'>): { facts: string[]; text: string }[] {
  const byText = new Map<string, Set<string>>();
  for (const { howTo } of rules)
    for (const [fact, text] of Object.entries(howTo)) byText.set(text, (byText.get(text) ?? new Set()).add(fact));
  return [...byText].map(([text, facts]) => ({ facts: [...facts], text }));
}

// Decisions and unknowns grouped for people: by rule and action, by rule and reason, by rule and missing fact.

export interface ActGroup {
  kind: ActKind;
  rule: string;
  title: string;
  /** Why it is not done: `lowered to mode dry-run by the run`. Empty when nothing lowered the mode. */
  limits: string[];
  action: ActionName;
  /** It undoes what the rule did, because the rule no longer matches. */
  undo: boolean;
  decisions: RunDecision[];
}

export interface ReasonGroup {
  kind: 'hold' | 'skip';
  rule: string;
  title: string;
  action: ActionName;
  reason: ReasonCode;
  decisions: RunDecision[];
}

interface UnknownGroup {
  rule: string;
  title: string;
  /** Subjects whose verdict was unknown or an error. */
  count: number;
  /** The facts that were missing, the most frequent first. */
  missing: { fact: string; count: number }[];
  examples: { who: Who; reason: string }[];
}

function actGroups(report: Report, kind: ActKind): ActGroup[] {
  const acts = report.decisions.filter((decision) => actKindOf(decision) === kind);
  return grouped(acts, ({ rule, action }) => `${rule} ${action}`).map((decisions) => ({
    kind,
    ...headOf(report, decisions),
    limits: [...new Set(decisions.flatMap((decision) => capWordsOf(decision) ?? []))],
    undo: decisions.every(({ verdict }) => verdict === 'no_match'),
    decisions,
  }));
}

function reasonGroups(report: Report, kind: ReasonGroup['kind']): ReasonGroup[] {
  const those = report.decisions.filter(({ decision }) => decision === kind);
  return grouped(those, ({ rule, action, reason, inPlan }) => `${rule} ${action} ${reason} ${inPlan}`).map(
    (decisions) => ({ kind, ...headOf(report, decisions), reason: (decisions[0] as RunDecision).reason, decisions }),
  );
}

export function unknownGroups({ rules }: Report): UnknownGroup[] {
  return rules
    .filter((rule) => rule.unknown + rule.error > 0)
    .map(({ id, title, unknown, error, missing, examples }) => ({
      rule: id,
      title,
      count: unknown + error,
      missing: Object.entries(missing)
        .map(([fact, count]) => ({ fact, count }))
        .sort((a, b) => b.count - a.count),
      examples: examples.map(({ subject, name, serial, owners, reason }) => ({
        who: { id: subject, name, serial, owners },
        reason,
      })),
    }));
}

function headOf(report: Report, decisions: RunDecision[]): Pick<ActGroup, 'rule' | 'title' | 'action'> {
  const { rule, action } = decisions[0] as RunDecision;
  return { rule, action, title: report.rules.find(({ id }) => id === rule)?.title ?? '' };
}

// All decisions of a run in groups, in the order in which a report shows them.

export type RowGroup = ActGroup | ReasonGroup;

export function rowGroups(report: Report): RowGroup[] {
  return [
    ...actGroups(report, 'done'),
    ...actGroups(report, 'would'),
    ...reasonGroups(report, 'hold'),
    ...actGroups(report, 'reported'),
    ...reasonGroups(report, 'skip'),
  ];
}

export interface GroupSection {
  title: string;
  /** Of acts in what is done, would be or is held; otherwise of decisions. */
  count: number;
  groups: RowGroup[];
}

const WAITS = 'Waits for its time';
const REPORTED = 'Only reported (rules of mode dry-run)';
/** Each title once, in this order. What waits for a person stands before what waits for a time. */
const SECTIONS = ['Acted on', 'Would act', ...HELD_TITLES, WAITS, REPORTED, 'Skipped'] as const;

export function sectionOf(group: RowGroup): (typeof SECTIONS)[number] {
  if (group.kind === 'hold') return heldTitle(group);
  if (waitsInTime(group)) return WAITS;
  return ({ done: 'Acted on', would: 'Would act', reported: REPORTED, skip: 'Skipped' } as const)[group.kind];
}

/** It is skipped in this run, and a later one does it if its rule still matches. */
export function waitsInTime(group: RowGroup): boolean {
  return group.kind === 'skip' && LIFTED_BY_TIME.has(group.reason);
}

export function groupSections(groups: readonly RowGroup[]): GroupSection[] {
  return SECTIONS.flatMap((title) => {
    const those = groups.filter((group) => sectionOf(group) === title);
    const decisions = those.flatMap((group) => group.decisions);
    const count = those.some(({ kind }) => kind === 'skip' || kind === 'reported')
      ? decisions.length
      : countActs(decisions);
    return those.length === 0 ? [] : [{ title, count, groups: those }];
  });
}

/** `9 of them also by rule other.` Empty: no other rule holds what this group does. */
export function sharedWords(group: ReasonGroup, report: Pick<Report, 'decisions'>): string {
  const own = new Set(group.decisions.map(actOf));
  const others = report.decisions.filter(
    (one) => one.decision === 'hold' && one.rule !== group.rule && own.has(actOf(one)),
  );
  const count = countActs(others);
  if (count === 0) return '';
  const rules = [...new Set(others.map(({ rule }) => rule))].sort();
  const which = count < own.size ? `${countText(count)} of them` : own.size === 1 ? 'It waits' : 'All of them';
  return `${which} also by ${rules.length === 1 ? 'rule' : 'rules'} ${listed(rules)}.`;
}

/** Why all of them are held or skipped; `isSame`: each has this very reason. */
export function reasonOf({ reason, decisions }: ReasonGroup): { because: string; isSame: boolean } {
  const [only = '', ...others] = new Set(decisions.map(({ reasonText }) => reasonText));
  return others.length === 0 ? { because: only, isSame: true } : { because: reasonWords(reason), isSame: false };
}

export function keyOfGroup(group: RowGroup): string {
  const reason =
    'reason' in group ? [group.reason, ...((group.decisions[0] as RunDecision).inPlan ? ['plan'] : [])] : [];
  return [group.kind, group.rule, group.action, ...reason].join(' ');
}
