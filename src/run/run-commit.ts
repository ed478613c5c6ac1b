// run: everything that a run found and decided, put together for one transaction: committed before anything is called.
import type { Decided, DecideInput } from '../decide/input.ts';
import type { AuditNote } from '../domain/audit-entry.ts';
import type { Decision } from '../domain/decision.ts';
import type { Intent } from '../domain/intent.ts';
import type { Run, RunRuleTally } from '../domain/run.ts';
import type { RunCommit } from '../domain/store.ts';
import { SOURCES } from '../domain/subjects.ts';
import { ceilingUse } from './ceiling-use.ts';
import type { DecidedRun } from './decided-run.ts';
import type { RunRules } from './engine.ts';
import type { OperatorStateSeen } from './operator-commands.ts';
import type { PulledSnapshot } from './pulled-snapshot.ts';

export function commitOf(
  run: Run,
  rules: RunRules,
  pulled: PulledSnapshot,
  input: DecideInput,
  { decided, sealed, intents }: DecidedRun,
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
    supersededPlans: sealed.superseded,
    exemptions: { used: decided.exemptionsUsed, warned: seen.warned },
    notes: [
      ...seen.notes,
      ...untrustedNotes(run, pulled),
      ...decided.notes,
      ...sealed.notes,
      ...intents.map((intent) => intentNote(run, intent)),
    ],
  };
}

function talliesOf(rules: RunRules, pulled: PulledSnapshot, { limits }: Decided): RunRuleTally[] {
  const tallies = new Map(pulled.judgements.flatMap(({ tallies }) => tallies.map((tally) => [tally.rule, tally])));
  const unjudged = new Set(pulled.unjudged);
  return rules.rules.map(({ id, title, mode, hash }) => {
    const none = { rule: id, match: 0, no_match: 0, unknown: 0, error: 0, missing: {}, examples: [] };
    const own = limits.get(id);
    const tally = { ...(tallies.get(id) ?? none), title, mode, hash, judged: !unjudged.has(id) };
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
  return SOURCES.flatMap((source) => {
    const { reasons, state } = pulled.snapshot.sources[source];
    if (reasons.length === 0) return [];
    const body = { run: run.id, source, state, reasons: reasons.map(({ code, text }) => ({ code, text })) };
    return [{ kind: 'source.untrusted' as const, body }];
  });
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
