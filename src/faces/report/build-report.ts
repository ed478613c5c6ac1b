// report: a run in the store → its report. It only reads the store: a report shows what was recorded, whenever it is
// requested.

import { giveWay } from '../../base/turns.ts';
import type {
  Report,
  ReportDecision,
  ReportEffect,
  ReportRun,
  ReportSnapshot,
  RunDecision,
} from '../../contract/report.ts';
import { LIFTED_BY_APPROVAL, type ReasonCode } from '../../domain/decision.ts';
import type { EvidenceReader } from '../../domain/evidence.ts';
import type { Intent } from '../../domain/intent.ts';
import { differenceFrom, hasProgress, liveIntentsOf, type PlannedIntent, type PlanOutline } from '../../domain/plan.ts';
import { isLive, leastMode, waitsForPerson } from '../../domain/rule.ts';
import { isOfLook, type RunCounts } from '../../domain/run.ts';
import type { RunRecord } from '../../domain/store.ts';
import type { DecisionOutline, PageReader, RecordReader, ReportReader, WorkReader } from '../../domain/store-ports.ts';
import type { SubjectKind, SubjectRef } from '../../domain/subjects.ts';
import { type Changes, changesOf } from './changes.ts';
import {
  outlineViews,
  ruleViews,
  runDecisionViews,
  runView,
  snapshotView,
  summaryOf,
  wholeDecision,
} from './decision-view.ts';
import { actKindOf } from './decision-words.ts';
import { evidenceView } from './evidence-words.ts';
import { actWords, asSentence, countText, listed, plural } from './fact-text.ts';
import { actOf, ceilingsOf, countActs, grouped, limitsOf, trendOf } from './grouped.ts';
import { type Due, laterOf, whenDue } from './later.ts';
import { operatorView, plannedIn, reportPlan, reportPlanHead } from './plan-view.ts';
import { stateAfterRun } from './state-now.ts';

// What a group of decisions affects, in devices and people.

type EffectCounts = Omit<ReportEffect, 'rule' | 'action' | 'decision'>;

export function countEffect(
  decisions: readonly { subject: SubjectRef; effect: ReportDecision['effect'] }[],
): EffectCounts {
  const [devices, people, ownersUnknown] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const { subject, effect } of decisions) {
    if (subject.kind === 'user') people.add(subject.id.toLowerCase());
    for (const { id, owners } of effect.devices) {
      devices.add(id);
      if (owners === undefined) ownersUnknown.add(id);
      for (const owner of owners ?? []) people.add(owner.toLowerCase());
    }
  }
  return {
    decisions: decisions.length,
    devices: devices.size,
    people: people.size,
    ownersUnknown: ownersUnknown.size,
  };
}

/** In the order of the decisions. */
function effectsOf(decisions: readonly RunDecision[]): ReportEffect[] {
  return grouped(decisions, ({ rule, action, decision }) => `${rule} ${action} ${decision}`).map((group) => {
    const { rule, action, decision } = group[0] as RunDecision;
    return { rule, action, decision, ...countEffect(group) };
  });
}

/** `3 devices of 2 people`, `1 device (owners not known)`; undefined: neither devices nor people. */
export function effectWords({ devices, people, ownersUnknown }: EffectCounts): string | undefined {
  const persons = plural(people, 'person', 'people');
  if (devices === 0) return people === 0 ? undefined : persons;
  const unknown =
    ownersUnknown === 0
      ? ''
      : ownersUnknown === devices
        ? ' (owners not known)'
        : ` (owners of ${plural(ownersUnknown, 'device')} not known)`;
  return `${plural(devices, 'device')}${people === 0 ? '' : ` of ${persons}`}${unknown}`;
}

// What happened or would happen, in one sentence.

const ACTIONS_MAX = 3;

/** `Would ban 3 devices of 3 people and leave 12 more waiting for a yes; nothing was changed.` */
function sentenceOf(
  run: ReportRun,
  { trusted }: Pick<ReportSnapshot, 'trusted'>,
  decisions: readonly RunDecision[],
  dues: ReadonlyMap<string, Due>,
  since: RunCounts | undefined,
): string {
  if (run.status === 'running') return 'This run is still under way.';
  if (run.status === 'aborted') return `This run was aborted: ${run.error ?? 'no reason was recorded'}.`;
  const done = decisions.filter((one) => actKindOf(one) === 'done');
  const would = decisions.filter((one) => actKindOf(one) === 'would');
  const held = heldWords(decisions, [...done, ...would]);
  const later = laterWords(run, decisions, dues);
  if (done.length === 0)
    return `${undoneWords(run, trusted, { decisions, dues, would, held, later })}; ${unchangedWords(since)}.`;
  const also = would.length === 0 ? [] : [`would ${actsWords(would)} if the mode allowed it`];
  const acted = `Acted to ${actsWords(done)} (${outcomeWords(done)})`;
  return `${listed([acted, ...also, ...prefixed('left', held), ...prefixed('will', later)])}.`;
}

/** Of a run that did nothing itself. What was approved of its plan is done for it later. */
function unchangedWords(since: RunCounts | undefined): string {
  const { done = 0, failed = 0, open = 0 } = since ?? {};
  const begun = done + failed + open;
  if (begun === 0) return 'nothing was changed';
  const outcomes = Object.entries({ done, failed, 'without a result yet': open }).filter(([, count]) => count > 0);
  const counted = outcomes.map(([word, count]) => `${countText(count)} ${word}`).join(', ');
  return `nothing was changed then, and ${plural(begun, 'action')} of its plan ${begun === 1 ? 'was' : 'were'} begun since: ${counted}`;
}

interface Undone {
  decisions: readonly RunDecision[];
  dues: ReadonlyMap<string, Due>;
  would: readonly RunDecision[];
  held: readonly string[];
  later: readonly string[];
}

/** What a run that did nothing found: what it would do, what it will do in time, and what is only reported. */
function undoneWords(run: ReportRun, isTrusted: boolean, { decisions, dues, would, held, later }: Undone): string {
  if (would.length + held.length > 0) return wouldWords(run, would, held, later);
  const reported = reportedWords(decisions, dues);
  const found = [...(later.length > 0 ? [wouldWords(run, would, held, later)] : []), ...reported];
  const words =
    found.length > 0 ? asSentence(found.join('; ')) : run.whatIf ? `${IF_ACTIVE} do nothing` : 'Nothing to do';
  return `${words}${butWords(isTrusted, decisions)}`;
}

function wouldWords(
  run: ReportRun,
  would: readonly RunDecision[],
  held: readonly string[],
  later: readonly string[],
): string {
  const isDry = run.whatIf || !isLive(leastMode(run.mode, run.daemonMode));
  const begin = run.whatIf ? IF_ACTIVE : 'Would';
  if (isDry || would.length > 0)
    return `${begin} ${listed([...(would.length > 0 ? [actsWords(would)] : []), ...prefixed('leave', held), ...later])}`;
  return [...prefixed('Left', held), ...prefixed(held.length > 0 ? 'will' : 'Will', later)].join('; ');
}

const FAR_MS = Number.MAX_SAFE_INTEGER;

/** `ban 10 devices of 8 people in 3 days if they still match`: what waits for its time alone. */
function laterWords(run: ReportRun, decisions: readonly RunDecision[], dues: ReadonlyMap<string, Due>): string[] {
  const waiting = decisions.flatMap((decision) => {
    const due = dues.get(decision.id);
    return due !== undefined && isLive(due.mode) ? [{ decision, due }] : [];
  });
  const soonest = waiting.toSorted((one, other) => (one.due.atMs ?? FAR_MS) - (other.due.atMs ?? FAR_MS));
  const keyOf = ({ due: { atMs, mode, isOutsideShare } }: (typeof soonest)[number]) =>
    `${waitsForPerson(mode)} ${atMs === undefined} ${isOutsideShare}`;
  const groups = grouped(soonest, keyOf);
  return groups.map((group, at) => {
    const asks = waitsForPerson(group[0]?.due.mode ?? 'enforce') ? 'ask to ' : '';
    const acts = actsWords(group.map(({ decision }) => decision));
    const when = whenDue(
      group.map(({ due }) => due),
      Date.parse(run.startedAt),
    );
    const last = waiting.length === 1 ? ' if it still matches' : ' if they still match';
    return `${asks}${acts} ${when}${at === groups.length - 1 ? last : ''}`;
  });
}

/** `3 devices match a rule that only reports`: others may match other rules. */
function reportedWords(decisions: readonly RunDecision[], dues: ReadonlyMap<string, Due>): string[] {
  const reported = decisions.filter((one) => {
    const due = dues.get(one.id);
    return actKindOf(one) === 'reported' || (due !== undefined && !isLive(due.mode));
  });
  if (reported.length === 0) return [];
  const kinds = new Set(reported.map(({ subject }) => subject.kind));
  const count = new Set(reported.map(({ subject: { kind, id } }) => `${kind} ${id}`)).size;
  const isOneRule = new Set(reported.map(({ rule }) => rule)).size === 1;
  const [kind = 'subject'] = kinds.size === 1 ? [...kinds] : [];
  const rules = isOneRule ? 'a rule that only reports' : 'rules that only report';
  return [`${plural(count, kind)} ${count === 1 ? 'matches' : 'match'} ${rules}`];
}

const IF_ACTIVE = 'If these rules were active, a run would';

/** What keeps nothing to do from meaning that all is well. */
function butWords(isTrusted: boolean, decisions: readonly RunDecision[]): string {
  const inDoubt = decisions.filter(({ reason }) => reason === 'in_doubt').length;
  const but = [
    ...(isTrusted ? [] : ['not all data is trusted']),
    ...(inDoubt === 0 ? [] : [`${countText(inDoubt)} from earlier runs ${inDoubt === 1 ? 'is' : 'are'} not resolved`]),
  ];
  return but.length === 0 ? '' : `, but ${listed(but)}`;
}

function prefixed(verb: string, words: readonly string[]): string[] {
  return words.length === 0 ? [] : [`${verb} ${words.join(', ')}`];
}

const HELD_FOR = {
  approval: 'waiting for a yes',
  ceiling: 'waiting until a ceiling allows it',
  frozen: 'waiting until the change window ends',
  stopped: 'waiting until the stop is lifted',
  other: 'waiting because of another rule',
} as const;

function heldFor(reason: ReasonCode): keyof typeof HELD_FOR {
  if (LIFTED_BY_APPROVAL.has(reason)) return 'approval';
  return reason === 'ceiling' || reason === 'frozen' || reason === 'stopped' ? reason : 'other';
}

/** `12 more waiting for a yes`: what several rules ask for is one, and what is done anyway does not wait. */
function heldWords(decisions: readonly RunDecision[], acts: readonly RunDecision[]): string[] {
  const counted = new Set(acts.map(actOf));
  const held = decisions.filter(({ decision }) => decision === 'hold');
  const more = acts.length > 0 ? ' more' : '';
  return Object.entries(HELD_FOR).flatMap(([why, words]) => {
    const those = held.filter((one) => heldFor(one.reason) === why && !counted.has(actOf(one)));
    for (const one of those) counted.add(actOf(one));
    const count = countActs(those);
    return count === 0 ? [] : [`${countText(count)}${more} ${words}`];
  });
}

/** `ban 3 devices of 3 people, disable 1 service and do 2 other actions`. */
function actsWords(decisions: readonly RunDecision[]): string {
  const all = grouped(decisions, ({ action }) => action).map(actionWords);
  const more = all.length - ACTIONS_MAX;
  return listed(more > 0 ? [...all.slice(0, ACTIONS_MAX), `do ${plural(more, 'other action')}`] : all);
}

interface Proposed extends Pick<RunDecision, 'action' | 'effect'> {
  subject: SubjectRef;
}

function actionWords(decisions: readonly Proposed[]): string {
  const { action, subject } = decisions[0] as Proposed;
  const subjects = new Set(decisions.map(({ subject }) => subject.id)).size;
  const counted = effectWords(countEffect(decisions)) ?? plural(subjects, subject.kind);
  return actWords(action, counted).toDo;
}

function outcomeWords(done: readonly RunDecision[]): string {
  const counts = new Map<string, number>();
  for (const { outcome } of done) {
    const name = outcome === 'confirmed' ? 'succeeded' : outcome === 'unknown' ? 'in doubt' : (outcome ?? 'pending');
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([name, count]) => `${countText(count)} ${name}`).join(', ');
}

/** A what-if has no work: nothing of it waits, and it did nothing. */
type RunReader = ReportReader & Partial<WorkReader & Pick<RecordReader, 'countsOfRun'>>;

/** The whole report of one run. `evidence`: kept evidence of its rules. Errors: AppError `store_failed`. */
export async function buildReport(reader: RunReader, run: RunRecord, evidence?: EvidenceReader): Promise<Report> {
  const stored = await reader.decisionsOfRun(run);
  const intents = await intentsOf(reader, stored);
  const plan = run.planId === undefined ? undefined : await reader.plan(run.planId);
  const live = plan ? await liveIntentsOf(reader, plan) : [];
  const { changes, changeOf } = await readChanges(reader, run, stored);
  const digest = run.findings?.planDigest ?? '';
  const planned = await plannedIn(reader, plan, digest);
  return reportOf(reader, run, {
    changes,
    plan: reportPlan(plan, live, digest, plan && (await differenceFrom(reader, plan)), planned),
    decisions: runDecisionViews(stored, { run, intents, plan, changeOf }),
    dues: laterOf(run, stored),
    evidence,
  });
}

/**
 * The same figures, of which few decisions will be shown: they have no facts, flips and times, and intents only where figures need them;
 * the plan does not name what it holds. `wholeDecisions` completes the decisions that are shown.
 */
export async function buildOutline(
  reader: RunReader & PageReader,
  run: RunRecord,
  evidence?: EvidenceReader,
): Promise<Report> {
  const outlines = await reader.outlinesOfRun(run);
  const intents = await intentsOf(
    reader,
    outlines.filter(({ reason }) => reason === 'in_doubt'),
  );
  const plan = run.planId === undefined ? undefined : await reader.planOutline(run.planId);
  const { changes, changeOf } = await readChanges(reader, run, outlines);
  return reportOf(reader, run, {
    changes,
    plan: { ...(await outlinedPlan(reader, run, plan)), held: [] },
    decisions: outlineViews(outlines, { run, intents, plan, changeOf }),
    dues: laterOf(run, outlines),
    evidence,
  });
}

async function outlinedPlan(reader: ReportReader & PageReader, run: RunRecord, plan: PlanOutline | undefined) {
  const progress = plan && hasProgress(plan) ? await reader.planProgress(plan) : null;
  const digest = run.findings?.planDigest ?? '';
  const isOther = plan !== undefined && (plan.supersededBy !== undefined || plan.digest !== digest);
  const whole = isOther ? await reader.plan(plan.id) : undefined;
  const difference = whole ? await differenceFrom(reader, whole) : null;
  return reportPlanHead(plan, progress, digest, difference, await plannedIn(reader, whole, digest));
}

/** Decisions of an outline as the whole report has them. */
export async function wholeDecisions(
  reader: ReportReader & PageReader,
  outlines: readonly RunDecision[],
): Promise<RunDecision[]> {
  const stored = await reader.decisionsById(outlines.map(({ id }) => id));
  const intents = new Map((await intentsOf(reader, stored)).map((intent) => [intent.id, intent]));
  const byId = new Map(outlines.map((outline) => [outline.id, outline]));
  return stored.flatMap((decision) => {
    const outline = byId.get(decision.id);
    return outline ? [wholeDecision(outline, decision, intents.get(decision.intentId ?? ''))] : [];
  });
}

/** Only of the newest run: what an earlier one left open may be done by now. */
async function leftOpen(reader: RunReader, run: RunRecord): Promise<string | undefined> {
  if (reader.workNow === undefined || run.finishedAt === undefined || isOfLook(run)) return undefined;
  const work = await reader.workNow(run.finishedAt);
  return work.ended?.seq === run.seq ? stateAfterRun(work, run.finishedAt) : undefined;
}

async function reportOf(
  reader: RunReader,
  run: RunRecord,
  {
    changes,
    plan,
    decisions,
    dues,
    evidence,
  }: Pick<Report, 'changes' | 'plan' | 'decisions'> & {
    dues: ReadonlyMap<string, Due>;
    evidence: EvidenceReader | undefined;
  },
): Promise<Report> {
  const rules = ruleViews(run).map((rule) => ({ ...rule, evidence: evidenceView(rule, evidence) }));
  const judged = rules.filter(({ judged }) => judged).map(({ id }) => id);
  const [shownRun, snapshot] = [runView(run), snapshotView(run)];
  const since = run.planId === undefined ? undefined : await reader.countsOfRun?.(run);
  return {
    sentence: [sentenceOf(shownRun, snapshot, decisions, dues, since), (await leftOpen(reader, run)) ?? []]
      .flat()
      .join(' '),
    run: shownRun,
    changes,
    effects: effectsOf(decisions),
    snapshot,
    plan,
    rules,
    limits: limitsOf(run),
    ceilings: ceilingsOf(run),
    trend: isOfLook(run) ? [] : trendOf(judged, await reader.matchesOfRuns(run.seq, TREND_RUNS_MAX)),
    decisions,
    summary: summaryOf(decisions),
    operator: operatorView(run, await reader.stop(), decisions.filter(isFrozen).length),
  };
}

function isFrozen({ decision, reason }: RunDecision): boolean {
  return decision === 'hold' && reason === 'frozen';
}

const TREND_RUNS_MAX = 30;

async function readChanges(
  reader: ReportReader,
  run: RunRecord,
  decisions: readonly DecisionOutline[],
): Promise<Changes> {
  const since = run.findings && !isOfLook(run) ? await reader.comparedRun(run) : undefined;
  const between = since && { fromSeq: since.seq, toSeq: run.seq, ...(run.scoped && { rules: run.rules }) };
  const ended = between ? await reader.decisionsEnded(between) : [];
  return changesOf(run, decisions, since, ended, (ids) => reader.endedDecisions(ids));
}

const INTENTS_AT_ONCE = 200;

async function intentsOf(reader: ReportReader, decisions: readonly DecisionOutline[]): Promise<Intent[]> {
  const ids = [...new Set(decisions.flatMap(({ intentId }) => intentId ?? []))];
  const intents: Intent[] = [];
  for (let at = 0; at < ids.length; at += INTENTS_AT_ONCE) {
    intents.push(...(await reader.intents({ ids: ids.slice(at, at + INTENTS_AT_ONCE) })));
    await giveWay();
  }
  return intents;
}

export type KindOf = (rule: string) => SubjectKind | undefined;

/** `ban 12 devices of 9 people and disable 1 service. It deletes 2 users left without a device.` */
export function allowedWords(intents: readonly PlannedIntent[], kindOf: KindOf): string {
  const proposed = intents.flatMap(({ action, basis, effect }) =>
    basis.map(({ rule, subjectId }) => {
      const kind = kindOf(rule) ?? kindLike(subjectId, effect);
      return { action, effect, subject: { kind, id: subjectId } };
    }),
  );
  const deleted = new Set(intents.flatMap(({ effect }) => effect.deletion?.users ?? []));
  const also = deleted.size === 0 ? '' : ` It deletes ${plural(deleted.size, 'user')} left without a device.`;
  return `${listed(grouped(proposed, ({ action }) => action).map(actionWords))}.${also}`;
}

/** Of a rule that is not loaded any more. */
export function kindLike(id: string, { devices }: Pick<PlannedIntent['effect'], 'devices'>): SubjectKind {
  if (devices.some((device) => device.id === id)) return 'device';
  return id.includes('@') ? 'user' : 'service';
}
