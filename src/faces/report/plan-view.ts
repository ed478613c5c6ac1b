// report: plans, intents and claims as readers see them: times as text, nothing left out.

import { shellWord } from '../../base/text.ts';
import { isoTime, timeText, wallText } from '../../base/time.ts';
import type {
  AcceptanceShown,
  ClaimShown,
  ExemptionRequestShown,
  ExemptionShown,
  IntentShown,
  PlanShown,
  ReleasedShown,
  StopShown,
} from '../../contract/nouns.ts';
import type { ReportHeldIntent, ReportOperatorState, ReportPlan } from '../../contract/report.ts';
import { actorText, personOf } from '../../domain/actor.ts';
import type { PlanYes } from '../../domain/approvals.ts';
import {
  type ChangeWindow,
  freezeText,
  nextWindow,
  untilText,
  type WindowNow,
  windowAt,
} from '../../domain/change-window.ts';
import type { Claim } from '../../domain/episode.ts';
import type { EvidenceReader } from '../../domain/evidence.ts';
import {
  aboutText,
  type Covered,
  coveredBy,
  type Exemption,
  isInForce,
  type MemberReader,
} from '../../domain/exemption.ts';
import { type ExemptionRequest, expiresAtOf, requestStatusAt } from '../../domain/exemption-request.ts';
import { type IdentityReader, identityText } from '../../domain/identity.ts';
import { type Intent, timesRefused } from '../../domain/intent.ts';
import { type Acceptance, type Released, type Stop, silenceText } from '../../domain/operator.ts';
import { withPasskey } from '../../domain/passkey.ts';
import {
  type BreakGlass,
  type CountedChange,
  compareIntents,
  hasProgress,
  type Plan,
  type PlanDifference,
  type PlannedIntent,
  type PlanOutline,
  type PlanProgress,
  type PlanRevision,
  plannedCounts,
  progressOf,
  releasedRule,
  sizeOf,
} from '../../domain/plan.ts';
import { openClaims, type RunRecord } from '../../domain/store.ts';
import {
  nextOf,
  type PagedClaims,
  type PageReader,
  type RecordReader,
  type ReportReader,
} from '../../domain/store-ports.ts';
import { isoOrNull } from './decision-view.ts';
import { timeWords } from './decision-words.ts';
import { evidenceOfPlan } from './evidence-words.ts';
import { andMore, plural } from './fact-text.ts';

// A change window, and who let a plan through it, as readers see them.

function changeWindowView({ text, timeZone, endsAtMs }: WindowNow) {
  return { window: text, endsAt: isoTime(endsAtMs), endsAtLocal: wallText(timeZone, endsAtMs) };
}

function breakGlassView(glass: BreakGlass | undefined) {
  if (!glass) return null;
  const { at, by, reason, touched = false } = glass;
  return { at: isoTime(at), by, reason, touched };
}

/** Undefined for a plan that nobody let through. */
export function breakGlassWords({ breakGlass }: { breakGlass?: BreakGlass | undefined }): string | undefined {
  if (!breakGlass) return undefined;
  const { at, by, reason, touched } = breakGlass;
  return `BREAK GLASS: ${actorText(by)}${withPasskey(touched)} let it through at ${timeText(at)}: ${reason}.`;
}

function agreedView(agreed: PlanYes | undefined): ReportPlan['agreed'] {
  if (!agreed) return null;
  const given = agreed.given.map(({ at, by, groups, reason = null, touched = false }) => ({
    touched,
    at: isoTime(at),
    by,
    groups: [...groups],
    reason,
  }));
  return { given, missing: agreed.missing ?? null };
}

/** Where several people are asked: who has said yes, and what it waits for. */
export function agreedWords({ agreed, status }: Pick<Plan, 'agreed' | 'status'>): string | undefined {
  if (!agreed) return undefined;
  const yes = agreed.given.map(
    ({ at, by, reason, touched }) =>
      `${actorText(by)}${withPasskey(touched)}, ${howText(by)}, at ${timeText(at)}${reason === undefined ? '' : ` (${reason})`}`,
  );
  return `Yes: ${yes.join('; ')}.${status === 'pending' ? ` It needs ${agreed.missing}.` : ''}`;
}

function howText(by: string): string {
  const person = personOf(by);
  return person ? `signed in at ${new URL(person.issuer).host}` : 'with a token';
}

/** The name of its check, for people and for programs. */
export const CHANGE_WINDOW = 'change window';

/** The window in force, or the next one; undefined where none is configured. `held`: how many actions wait for its end. */
export function changeWindowText(windows: readonly ChangeWindow[], nowMs: number, held = 0): string | undefined {
  const now = windowAt(windows, nowMs);
  if (now) return [freezeText(now), ...(held === 0 ? [] : [heldWords(held)])].join('; ');
  if (windows.length === 0) return undefined;
  const next = nextWindow(windows, nowMs);
  if (!next) return 'no change window is in force, and none comes';
  const starts = untilText({ timeZone: next.timeZone, endsAtMs: next.startsAtMs });
  return `no change window is in force; the next, \`${next.text}\`, begins ${starts}`;
}

/** The same, with how many actions wait now. Errors: those of the reader, which is asked in a change window alone. */
export async function changeWindowNow(
  reader: Pick<PageReader, 'heldInForce'>,
  windows: readonly ChangeWindow[],
  nowMs: number,
): Promise<string | undefined> {
  const held = windowAt(windows, nowMs) ? await reader.heldInForce('frozen') : 0;
  return changeWindowText(windows, nowMs, held);
}

function heldWords(held: number): string {
  return `${plural(held, 'action')} ${held === 1 ? 'waits' : 'wait'} for its end`;
}

/** Which are configured, and until when alerts wait, if they do now. */
export function quietHoursText(windows: readonly ChangeWindow[], nowMs: number): string {
  const all = windows.map(({ text }) => text).join('; ');
  const now = windowAt(windows, nowMs);
  return now ? `${all}; in force until ${untilText(now)}: alerts wait` : all;
}

/** A run's plan. A run that planned nothing still has a digest. `planned`: what it held in that run, if later runs changed it. */
export function reportPlan(
  plan: Plan | undefined,
  live: readonly Intent[],
  digest: string,
  difference: PlanDifference | null = null,
  planned: Planned | undefined = undefined,
): ReportPlan {
  const held = (planned?.plan ?? plan)?.intents.filter((intent) => intent.held).map(heldView) ?? [];
  return { ...reportPlanHead(plan, progressView(plan, live), digest, difference, planned), held };
}

type Planned = { plan: Plan; change: CountedChange } | undefined;

/** What the plan of a run held in it, if later runs changed it, and that is kept. */
export async function plannedIn(
  reader: Pick<ReportReader, 'planAt'>,
  plan: Plan | undefined,
  digest: string | undefined,
): Promise<Planned> {
  if (!plan || digest === undefined || digest === plan.digest) return undefined;
  const then = await reader.planAt(plan.id, digest);
  if (!then) return undefined;
  const { joined, left, changed } = await compareIntents(then.intents, plan.intents);
  return { plan: then, change: { joined: joined.length, left: left.length, changed: changed.length } };
}

/** The same without the intents that it holds. */
export function reportPlanHead(
  plan: PlanOutline | undefined,
  progress: PlanProgress | null,
  digest: string,
  difference: PlanDifference | null,
  planned: Planned | undefined = undefined,
): Omit<ReportPlan, 'held'> {
  const shown = planned?.plan ?? plan;
  return {
    id: plan?.id ?? null,
    digest: digest || (plan?.digest ?? ''),
    intents: shown ? sizeOf(shown) : 0,
    status: plan?.status ?? null,
    createdAt: isoOrNull(shown?.createdAt),
    expiresAt: isoOrNull(plan?.expiresAt),
    decidedAt: isoOrNull(plan?.decidedAt),
    decidedBy: plan?.decidedBy ?? null,
    decidedReason: plan?.decidedReason ?? null,
    breakGlass: breakGlassView(plan?.breakGlass),
    agreed: agreedView(plan?.agreed),
    supersededBy: idsOrNull(plan?.supersededBy),
    difference,
    carriedOn:
      plan && digest !== '' && plan.digest !== digest
        ? {
            digest: plan.digest,
            at: isoTime(plan.createdAt),
            intents: sizeOf(plan),
            change: planned?.change ?? null,
          }
        : null,
    progress,
  };
}

function heldView({ action, target, basis, reason, reasonText, effect }: PlannedIntent): ReportHeldIntent {
  return {
    action,
    target,
    rules: [...new Set(basis.map((item) => item.rule))],
    subjects: [...new Set(basis.map((item) => item.subjectId))],
    reason,
    reasonText,
    effect,
  };
}

function idsOrNull(ids: readonly string[] | undefined): string[] | null {
  return ids ? [...ids] : null;
}

/** Null unless it was applied or interrupted. */
function progressView(plan: Plan | undefined, live: readonly Intent[]): PlanProgress | null {
  return plan && hasProgress(plan) ? progressOf(plan, live) : null;
}

/**
 * A plan by itself, with all of its intents. `live`: the live intents of its episodes, if it has a progress. `difference`: of the plans in the
 * place of a superseded one; null in a list.
 */
export function planView(
  plan: Plan,
  live: readonly Intent[] = [],
  difference: PlanDifference | null = null,
  evidence?: EvidenceReader,
  revisions: readonly PlanRevision[] | null = null,
  needs?: string | undefined,
): PlanShown {
  return {
    id: plan.id,
    digest: plan.digest,
    runId: plan.runId,
    mode: plan.mode,
    status: plan.status,
    createdAt: isoTime(plan.createdAt),
    expiresAt: isoTime(plan.expiresAt),
    decidedAt: isoOrNull(plan.decidedAt),
    decidedBy: plan.decidedBy ?? null,
    decidedReason: plan.decidedReason ?? null,
    breakGlass: breakGlassView(plan.breakGlass),
    agreed: agreedView(plan.agreed),
    needs: needs ?? null,
    releases: releasedRule(plan) ?? null,
    supersededBy: idsOrNull(plan.supersededBy),
    difference,
    intents: plan.intents,
    revisions: revisions?.map(({ createdAt, ...one }) => ({ ...one, createdAt: isoTime(createdAt) })) ?? null,
    dropped: plan.dropped?.intents ?? null,
    progress: progressView(plan, live),
    evidence: evidenceOfPlan(plan, evidence),
  };
}

export function intentView(intent: Intent): IntentShown {
  return {
    id: intent.id,
    runId: intent.runId,
    planId: intent.planId ?? null,
    action: intent.action,
    target: intent.target,
    settings: intent.settings,
    undo: intent.undo,
    mode: intent.mode,
    approved: intent.approved,
    status: intent.status,
    outcome: intent.outcome ?? null,
    note: intent.note ?? null,
    attempts: intent.attempts,
    refusals: timesRefused(intent),
    doubtRetries: intent.doubtRetries,
    createdAt: isoTime(intent.createdAt),
    sentAt: isoOrNull(intent.sentAt),
    settledAt: isoOrNull(intent.settledAt),
    basis: intent.basis,
    effect: intent.effect,
  };
}

export function claimView(claim: Claim): ClaimShown {
  return { ...claim, openedAt: isoTime(claim.openedAt), endedAt: isoOrNull(claim.endedAt) };
}

// Exemptions, the stop switch and the result of a release, as readers see them: times as text, nothing left out.

export function exemptionView(exemption: Exemption, nowMs: number): ExemptionShown {
  return {
    id: exemption.id,
    about: aboutText(exemption),
    subject: exemption.subject ?? null,
    selector: exemption.selector ?? null,
    owner: exemption.owner,
    reason: exemption.reason,
    expiresAt: isoTime(exemption.expiresAt),
    createdAt: isoTime(exemption.createdAt),
    createdBy: exemption.createdBy,
    endedAt: isoOrNull(exemption.endedAt),
    endedBy: exemption.endedBy ?? null,
    endedReason: exemption.endedReason ?? null,
    usedAt: isoOrNull(exemption.usedAt),
    inForce: isInForce(exemption, nowMs),
    acceptForgeable: exemption.acceptForgeable ?? false,
  };
}

/** What a person asks for, with what is in force on the device. */
export async function requestView(
  reader: Pick<RecordReader, 'claims'>,
  request: ExemptionRequest,
  nowMs: number,
): Promise<ExemptionRequestShown> {
  const { id, person, device, serial, name, reason } = request;
  const claims = await openClaims(reader, { subjectId: device });
  const inForce = new Map(claims.map(({ action, target }) => [`${action} ${target}`, { action, target }]));
  return {
    ...{ id, person, device, serial, name, rule: request.rule ?? null, episodeId: request.episodeId ?? null, reason },
    forSeconds: Math.floor(request.forMs / 1_000),
    askedAt: isoTime(request.askedAt),
    expiresAt: isoTime(expiresAtOf(request)),
    status: requestStatusAt(request, nowMs),
    answeredAt: isoOrNull(request.answeredAt),
    answeredBy: request.answeredBy ?? null,
    sentence: request.sentence ?? null,
    exemption: request.exemption ?? null,
    exemptUntil: isoOrNull(request.exemptUntil),
    inForce: [...inForce.values()].map((one) => ({
      ...one,
      command: `trustward claims release ${shellWord(one.target)} --reason TEXT`,
    })),
  };
}

export function stopView({ at, by, reason }: Stop): StopShown {
  return { at: isoTime(at), by, reason };
}

export function acceptanceView({ source, at, by, reason, run, causes, count }: Acceptance): AcceptanceShown {
  return { source, at: isoTime(at), by, reason, run, causes, count };
}

/** The result of a release: the undo that was sent, if one was needed. */
export function releasedView(released: Released): ReleasedShown {
  const { target, action, state, text, intent } = released;
  return { target, action, state, text, intent: intent ? intentView(intent) : null };
}

// Lists as other programs get them, a page at a time, the newest first: the endpoint answers with them, and commands
// print them.

/** Errors: AppError `usage` when the row that the page follows is gone. */
export async function claimList(
  reader: Pick<RecordReader, 'newestClaims'>,
  { limit, ...filter }: PagedClaims & { limit: number },
) {
  const { rows, total } = await reader.newestClaims(filter, limit);
  return { claims: rows.map(claimView), total, next: nextOf(rows, limit) };
}

const JOINED_SHOWN = 3;

export interface JoinedView {
  count: number;
  /** Some of them, one line each. Names in it are as they came: escape it where it is shown. */
  examples: string[];
}

type ListedExemption = ExemptionShown & { covers: Covered | null; joinedLater: JoinedView };

/** Nobody joins one that is over. */
export async function joinedView(reader: MemberReader, exemption: Exemption, nowMs: number): Promise<JoinedView> {
  if (!isInForce(exemption, nowMs)) return { count: 0, examples: [] };
  const { count, some } = await reader.joinedLater(exemption, JOINED_SHOWN);
  return { count, examples: some.map(identityText) };
}

/** `2 joined later and wait: …`; undefined when nothing waits. */
export function joinedText({ count, examples }: JoinedView): string | undefined {
  if (count === 0) return undefined;
  return `${count} joined later and wait${count === 1 ? 's' : ''}: ${examples.join('; ')}${andMore(count - examples.length)}`;
}

type ExemptionQuery = Pick<Parameters<PageReader['exemptionPage']>[0], 'before' | 'limit'> & { inForce: boolean };

/** `joinedLater` waits for a person. `covers` is null where it cannot be known. Errors: AppError `usage` when the row that the page follows is gone. */
export async function exemptionList(
  reader: Pick<PageReader, 'exemptionPage'> & IdentityReader & MemberReader,
  { inForce, ...page }: ExemptionQuery,
  nowMs: number,
) {
  const { rows, total } = await reader.exemptionPage({ ...page, ...(inForce && { inForceAt: nowMs }) });
  const exemptions: ListedExemption[] = [];
  for (const one of rows) {
    const covers = (await coveredBy(reader, one)) ?? null;
    exemptions.push({ ...exemptionView(one, nowMs), covers, joinedLater: await joinedView(reader, one, nowMs) });
  }
  return { exemptions, total, next: nextOf(rows, page.limit) };
}

// The operator commands that a run saw, as the JSON report has them and as sentences for the summary.

export function operatorView(run: RunRecord, stopNow: Stop | undefined, frozen: number): ReportOperatorState {
  const { silentSince, stop, freeze, ending, unused, accepted } = run.findings?.operator ?? {};
  return {
    silentSince: isoOrNull(silentSince),
    stopped: stop ? stopView(stop) : null,
    stoppedNow: stopNow ? stopView(stopNow) : null,
    changeWindow: freeze ? { ...changeWindowView(freeze), held: frozen } : null,
    exemptionsEnding: (ending ?? []).map(({ expiresAt, ...head }) => ({ ...head, expiresAt: isoTime(expiresAt) })),
    exemptionsUnused: (unused ?? []).map(({ createdAt, ...head }) => ({ ...head, createdAt: isoTime(createdAt) })),
    accepted: (accepted ?? []).map(({ source, by, reason, overrode, refused }) => ({
      source,
      by,
      reason,
      overrode,
      refused: refused ?? null,
    })),
  };
}

/** One sentence for each thing that a reader has to know; none without operator commands. */
export function operatorWords(operator: ReportOperatorState): string[] {
  const { exemptionsEnding, exemptionsUnused, accepted } = operator;
  return [
    ...(operator.silentSince === null
      ? []
      : [`This was a DRY RUN: ${silenceText(Date.parse(operator.silentSince))}. The next run is an ordinary one.`]),
    ...stopWords(operator),
    ...changeWindowWords(operator),
    ...accepted.map(({ source, by, reason, overrode, refused }) =>
      refused === null
        ? `${actorText(by)} accepted this reading of ${source} (${reason}), which overruled: ${overrode.map(({ text }) => text).join('; ')}.`
        : `The acceptance of ${source} by ${actorText(by)} was used up without effect: ${refused}.`,
    ),
    ...exemptionsEnding.map(
      ({ id, about, owner, expiresAt }) => `Exemption ${id} of ${about} (${owner}) ends at ${timeWords(expiresAt)}.`,
    ),
    ...exemptionsUnused.map(
      ({ id, about, owner, createdAt }) =>
        `Exemption ${id} of ${about} (${owner}) has matched nothing since ${timeWords(createdAt)}.`,
    ),
  ];
}

function changeWindowWords({ changeWindow }: ReportOperatorState): string[] {
  if (!changeWindow) return [];
  const { window, endsAt, endsAtLocal, held } = changeWindow;
  const waits = held === 0 ? 'it holds nothing back in this run' : heldWords(held);
  return [`CHANGE WINDOW (${window}) until ${endsAtLocal} (${timeWords(endsAt)}): ${waits}. Undoing goes on.`];
}

/** The stop that the run saw, and the current one: either may have begun or ended since the run. */
function stopWords({ stopped, stoppedNow }: ReportOperatorState): string[] {
  const lasts = stopped !== null && stopped.at === stoppedNow?.at;
  return [
    ...(stopped && !lasts
      ? [
          `This run was STOPPED by ${actorText(stopped.by)} at ${timeWords(stopped.at)} (${stopped.reason}), which has been lifted since.`,
        ]
      : []),
    ...(stoppedNow
      ? [
          `STOPPED by ${actorText(stoppedNow.by)} at ${timeWords(stoppedNow.at)} (${stoppedNow.reason}): nothing is called until it is resumed.`,
        ]
      : []),
  ];
}

// What was done of a plan that was applied, in words, for a report and for the answer to `apply`.

const WORDS = { failed: 'failed', unknown: 'in doubt', parked: 'parked', dry_run: 'dry run' } as const;

/** `1 of 3 done, 1 failed, 1 refused`. */
export function appliedWords(outcomes: PlanProgress['outcomes'], refused: number): string {
  const done = (outcomes.succeeded ?? 0) + (outcomes.confirmed ?? 0);
  const total = Object.values(outcomes).reduce((sum, count) => sum + count, refused);
  const rest = Object.entries(WORDS).flatMap(([outcome, word]) => {
    const count = outcomes[outcome] ?? 0;
    return count === 0 ? [] : [`${count} ${word}`];
  });
  return [`${done} of ${total} done`, ...rest, ...(refused === 0 ? [] : [`${refused} refused`])].join(', ');
}

/** `plan P was applied: 1 of 3 done, …`, or what else it is. An intent that preflight withdrew was refused too. */
export function planLine(
  { id, status }: { id: string; status: string },
  applied?: {
    intents: readonly { status: string; outcome?: string | null | undefined }[];
    refused: readonly unknown[];
  },
): string {
  if (status !== 'applied' || !applied) return `plan ${id} is ${status}`;
  const outcomes: PlanProgress['outcomes'] = {};
  let refused = applied.refused.length;
  for (const intent of applied.intents) {
    if (intent.status === 'withdrawn') refused += 1;
    else outcomes[intent.outcome ?? 'unknown'] = (outcomes[intent.outcome ?? 'unknown'] ?? 0) + 1;
  }
  return `plan ${id} was applied: ${appliedWords(outcomes, refused)}`;
}

/** `ban-compromised: 3 ban_device`, one line each. */
export function countLines(intents: readonly PlannedIntent[]): string[] {
  return plannedCounts({ intents }).map(({ rules, action, count }) => `  ${rules.join(', ')}: ${count} ${action}`);
}

/** `5 of 12 actions`, `12 actions`. */
export function partWords(chosen: number, all: number): string {
  return chosen === all ? plural(all, 'action') : `${chosen} of ${plural(all, 'action')}`;
}
