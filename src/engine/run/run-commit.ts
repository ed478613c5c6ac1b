// run: everything that a run found and decided, put together for one transaction: committed before anything is called.

import { timeText } from '../../base/time.ts';
import { type ActionName, type CeilingUse, ceilingOf, kindOfTarget } from '../../domain/action.ts';
import type { AuditNote } from '../../domain/audit-entry.ts';
import { freezeText, windowAt } from '../../domain/change-window.ts';
import type { Decision } from '../../domain/decision.ts';
import { aboutText, type Exemption, type ExemptionSettings, isEnding, isUnused } from '../../domain/exemption.ts';
import { isFacts } from '../../domain/facts.ts';
import type { Intent } from '../../domain/intent.ts';
import type { NewNotice } from '../../domain/notice.ts';
import { type RunOperatorState, silenceText, stopText, type UsedAcceptance } from '../../domain/operator.ts';
import type { Log } from '../../domain/ports.ts';
import { almostValues, isLive } from '../../domain/rule.ts';
import type { Run, RunRuleTally } from '../../domain/run.ts';
import type { OpenState, RunCommit } from '../../domain/store.ts';
import { SOURCE_OF, SOURCES } from '../../domain/subjects.ts';
import type { Decided, DecideInput } from '../decide/input.ts';
import type { DecidedRun, EngineSettings, RunRules } from './engine.ts';
import type { PulledSnapshot } from './pulled-snapshot.ts';

// What a run uses of the ceilings of its actions, to be kept with the run.

function ceilingUse(input: DecideInput, decided: Pick<Decided, 'acts'>): CeilingUse[] {
  const { run, day } = input.settings.ceilings;
  return [...targetsByAction(input, decided)].flatMap(([action, targets]): CeilingUse[] => {
    const traits = input.traits.get(action);
    if (!traits?.changesFleet) return [];
    const subjects = input.sources[SOURCE_OF[kindOfTarget(traits)]].count;
    const before = input.openState.attempts24h.get(action) ?? 0;
    return [
      {
        action,
        window: 'run',
        used: (input.part?.attempts.get(action) ?? 0) + targets.size,
        allowed: ceilingOf(run, subjects),
      },
      { action, window: '24h', used: before + targets.size, allowed: ceilingOf(day, subjects) },
    ];
  });
}

/** Also of actions that were attempted in the last 24 hours. A rule whose own mode is `dry-run` uses nothing. */
function targetsByAction(input: DecideInput, { acts }: Pick<Decided, 'acts'>): Map<ActionName, Set<string>> {
  const onTrial = new Set(input.judged.filter(({ mode }) => !isLive(mode)).map(({ id }) => id));
  const byAction = new Map<ActionName, Set<string>>();
  for (const action of input.openState.attempts24h.keys()) byAction.set(action, new Set());
  for (const { draft } of acts) {
    if (draft.basis.every(({ rule }) => onTrial.has(rule))) continue;
    byAction.set(draft.action, (byAction.get(draft.action) ?? new Set()).add(draft.target));
  }
  return byAction;
}

// The operator commands that a run sees, for its report, its audit and its log: the stop switch, exemptions that end
// soon or were never used, accepted readings.

export const EXEMPTIONS_DEFAULT: ExemptionSettings = { warnMs: 86_400_000, unusedMs: 30 * 86_400_000 };

interface OperatorStateSeen {
  operator: RunOperatorState;
  /** Exemptions whose coming end is announced for the first time. */
  warned: string[];
  notes: AuditNote[];
}

type SeenBy = Pick<EngineSettings, 'exemptions' | 'freeze'>;

export function operatorStateSeen(
  run: Pick<Run, 'id' | 'startedAt' | 'silentSince'>,
  openState: Pick<OpenState, 'exemptions' | 'stop'>,
  pulled: Pick<PulledSnapshot, 'accepted'>,
  { exemptions: settings = EXEMPTIONS_DEFAULT, freeze: windows = [] }: SeenBy,
): OperatorStateSeen {
  const now = run.startedAt;
  const all = openState.exemptions ?? [];
  const ending = all.filter((exemption) => isEnding(exemption, settings, now));
  const unused = all.filter((exemption) => isUnused(exemption, settings, now));
  const fresh = ending.filter(({ warnedAt }) => warnedAt === undefined);
  return {
    operator: {
      silentSince: run.silentSince,
      stop: openState.stop,
      freeze: windowAt(windows, now),
      ending: ending.map((exemption) => ({ ...headOf(exemption), expiresAt: exemption.expiresAt })),
      unused: unused.map((exemption) => ({ ...headOf(exemption), createdAt: exemption.createdAt })),
      accepted: pulled.accepted,
    },
    warned: fresh.map(({ id }) => id),
    notes: [
      ...pulled.accepted.map((used) => acceptanceNote(run.id, used)),
      ...fresh.map((exemption): AuditNote => {
        const { id, expiresAt } = exemption;
        return { kind: 'exemption.ending', body: { exemption: id, run: run.id, expiresAt, usedAt: exemption.usedAt } };
      }),
    ],
  };
}

function headOf(exemption: Exemption): { id: string; about: string; owner: string } {
  return { id: exemption.id, about: aboutText(exemption), owner: exemption.owner };
}

/** Only one that applied makes a baseline; one that did not is used up all the same. */
function acceptanceNote(run: string, { source, by, reason, overrode, refused }: UsedAcceptance): AuditNote {
  const reasons = overrode.map(({ code, text }) => ({ code, text }));
  return refused === undefined
    ? { kind: 'baseline.accepted', body: { run, source, by, reason, overrode: reasons } }
    : { kind: 'notice', body: { run, source, by, text: `the acceptance was used up without effect: ${refused}` } };
}

/** One line each: a stop in every run that it holds back, everything else once. */
export function logOperatorState(log: Log, run: Pick<Run, 'id'>, { operator, warned }: OperatorStateSeen): void {
  if (operator.silentSince !== undefined) log.warn({ run: run.id }, `a dry run: ${silenceText(operator.silentSince)}`);
  if (operator.stop) log.warn({ run: run.id }, `nothing is called: ${stopText(operator.stop)}`);
  if (operator.freeze) log.warn({ run: run.id }, `nothing acts: ${freezeText(operator.freeze)}`);
  for (const { id, about, owner, expiresAt } of operator.ending) {
    if (!warned.includes(id)) continue;
    log.warn({ run: run.id, exemption: id, owner }, `the exemption of ${about} ends at ${timeText(expiresAt)}`);
  }
  for (const { source, refused } of operator.accepted) {
    const what = refused === undefined ? 'is the new baseline' : `was not accepted: ${refused}`;
    log.warn({ run: run.id, source }, `the present reading of ${source} ${what}`);
  }
}

export function commitOf(
  run: Run,
  rules: RunRules,
  pulled: PulledSnapshot,
  input: DecideInput,
  { decided, sealed, intents, notices }: DecidedRun,
  seen: OperatorStateSeen,
): RunCommit {
  return {
    runId: run.id,
    findings: {
      snapshot: pulled.snapshot,
      tallies: talliesOf(rules, pulled, decided),
      planDigest: sealed.digest,
      operator: { ...seen.operator, ceilings: ceilingUse(input, decided) },
    },
    baselines: pulled.baselines,
    movements: pulled.movements,
    episodes: decided.episodes,
    claims: decided.claims,
    decisions: withIntents(decided.decisions, intents),
    endedDecisions: decided.ended,
    intents,
    plan: sealed.plan,
    carriedPlans: sealed.carried,
    supersededPlans: sealed.superseded,
    exemptions: { used: decided.exemptionsUsed, warned: seen.warned },
    notices: { begun: notices, ended: decided.notices.ended },
    rollouts: decided.rollouts,
    notes: [
      ...seen.notes,
      ...untrustedNotes(run, pulled),
      ...decided.notes,
      ...decided.decisions.flatMap((decision) => notesOfDecision(run, decision)),
      ...sealed.notes,
      ...intents.map((intent) => intentNote(run, intent)),
      ...notices.map((notice) => noticeNote(run, notice)),
    ],
  };
}

function talliesOf(rules: RunRules, pulled: PulledSnapshot, { limits }: Decided): RunRuleTally[] {
  const tallies = new Map(pulled.judgements.flatMap(({ tallies }) => tallies.map((tally) => [tally.rule, tally])));
  const unjudged = new Set(pulled.unjudged);
  const counted = new Map(pulled.baselines.map(({ source, values }) => [source, values]));
  return rules.rules.map((rule) => {
    const { id, title, mode, hash, forMs, subject } = rule;
    const almost = almostValues(rule, counted.get(SOURCE_OF[subject]) ?? {}).filter(({ count }) => count !== undefined);
    const none = { rule: id, match: 0, no_match: 0, unknown: 0, error: 0, missing: {}, examples: [] };
    const own = limits.get(id);
    const lasting = forMs > 0 ? { forMs } : {};
    const tally = {
      ...(tallies.get(id) ?? none),
      title,
      mode,
      hash,
      judged: !unjudged.has(id),
      ...lasting,
      ...(almost.length > 0 && { almostValues: almost }),
    };
    return own ? { ...tally, limits: own } : tally;
  });
}

/** A decision shows the intent that carries it out. */
export function withIntents(decisions: readonly Decision[], intents: readonly Intent[]): Decision[] {
  const byDecision = new Map(intents.flatMap((intent) => intent.basis.map((basis) => [basis.decisionId, intent])));
  return decisions.map((decision) => {
    const intent = byDecision.get(decision.id);
    return intent ? { ...decision, intentId: intent.id, outcome: intent.outcome } : decision;
  });
}

function untrustedNotes(run: Run, pulled: PulledSnapshot): AuditNote[] {
  const { sources, given = [] } = pulled.snapshot;
  return [...SOURCES.map((source) => sources[source]), ...given].flatMap(({ source, reasons, state }) => {
    if (reasons.length === 0) return [];
    const body = { run: run.id, source, state, reasons: reasons.map(({ code, text }) => ({ code, text })) };
    return [{ kind: 'source.untrusted' as const, body }];
  });
}

function noticeNote(run: Run, notice: NewNotice): AuditNote {
  const { id, episodeId, rule, subject, target, address, round, content } = notice;
  const about = { notice: id, run: run.id, episode: episodeId, rule, subject: { ...subject }, target, to: address };
  return { kind: 'notice.begun', body: { ...about, round, action: content.action } };
}

/** What goes back and forth by our own acts needs a person: the alert is about this entry. */
function notesOfDecision(run: Run, decision: Decision): AuditNote[] {
  const made = decisionNote(run, decision);
  const { rule, action, target, mode, reason, reasonText } = decision;
  if (reason !== 'matches_again' || !isLive(mode)) return [made];
  return [made, { kind: 'decision.flapped', body: { rule, action, target, reasonText } }];
}

function decisionNote(run: Run, decision: Decision): AuditNote {
  const {
    id,
    rule,
    ruleHash,
    subject,
    decision: name,
    reason,
    reasonText,
    action,
    target,
    mode,
    facts,
    episodeId,
  } = decision;
  return {
    kind: 'decision.made',
    body: {
      decision: id,
      run: run.id,
      asOf: run.startedAt,
      rule,
      ruleHash,
      subject: { kind: subject.kind, id: subject.id },
      answer: name,
      reason,
      reasonText,
      action,
      target,
      mode,
      facts: isFacts(facts) ? facts : {},
      episode: episodeId,
    },
  };
}

function intentNote(run: Run, intent: Intent): AuditNote {
  const { id, action, target, mode, undo, outcome, basis, effect } = intent;
  return {
    kind: outcome === 'dry_run' ? 'intent.dry' : 'intent.planned',
    body: {
      intent: id,
      run: run.id,
      action,
      target,
      mode,
      undo,
      effect: effect.text,
      basis: basis.map(({ rule, ruleHash, subjectId, episodeId, facts }) => ({
        rule,
        ruleHash,
        subject: subjectId,
        episode: episodeId,
        facts,
      })),
    },
  };
}
