// The whole flow, readable on one screen: pull → evaluate → decide → approve → act; the audit is written along the way.
// In: a request. Out: a finished run, in the store. It never asks whether a run is dry: only act/gate does.
import { carryOut } from './act/carry-out.ts';
import { isToBeCarriedOut, openAgain, openIntent, reopened } from './act/gate.ts';
import { resolveDoubts, resolveLeftovers, settleDoubtsOnce } from './act/resolve.ts';
import { sealing } from './approve/plans.ts';
import { deciding } from './decide/decide.ts';
import { drainedInTurns, giveWay } from './domain/give-way.ts';
import { timesRefused } from './domain/intent.ts';
import { leastMode } from './domain/mode.ts';
import type { Run, RunRequest } from './domain/run.ts';
import { actContext, afterPull, decideInput, type Engine, rulesOfRun } from './run/engine.ts';
import { logOperatorState, operatorStateSeen } from './run/operator-commands.ts';
import { pullSnapshot } from './run/pull-snapshot.ts';
import { wasJudged, wasReached } from './run/pulled-snapshot.ts';
import { commitOf } from './run/run-commit.ts';
import { abortRun, beginRun, completeRun } from './run/run-life.ts';

/**
 * One run; `begun` is called when it has its id. Errors: if the run could not judge anything, the cause (AppError `api_unreachable`,
 * `api_refused`, `store_failed` …) is thrown after the run is recorded as aborted. Decisions made until then stay.
 */
export async function runCycle(engine: Engine, request: RunRequest, begun?: (run: Run) => void): Promise<Run> {
  const rules = await rulesOfRun(engine, request);
  const run = await beginRun(engine, request, rules);
  begun?.(run);
  const { store, ids, settings, log, progress } = engine;
  try {
    const before = await actContext(engine, run, rules, run.mode);
    await resolveLeftovers(before);
    await store.expirePlans();

    const openState = await store.openState(run.startedAt);
    const pulled = await pullSnapshot(engine, run, rules, openState);
    if (wasReached(pulled)) await store.bind(engine.bindTo);
    progress?.({ phase: 'deciding' });
    // Deciding, sealing and committing take long for thousands of targets: a stop is answered between them.
    await giveWay();
    const input = decideInput(engine, run, rules, pulled, openState);
    const decided = await drainedInTurns(deciding(input));
    const plans = sealing({
      id: ids.next(),
      runId: run.id,
      mode: leastMode(run.mode, run.daemonMode),
      nowMs: run.startedAt,
      ttlMs: settings.planTtlMs,
      planned: decided.planned,
      isWhole: request.rules === undefined && rules.rules.every((rule) => wasJudged(rule, pulled)),
      pending: await store.plans({ status: 'pending' }, 100),
      approved: await store.plans({ status: 'approved' }, 100),
    });
    const sealed = await drainedInTurns(plans);
    const intents = decided.acts
      .filter((act) => !act.isUnchanged && act.retryOf === undefined)
      .map((act) => openIntent(act.draft, act.mode, { id: ids.next(), runId: run.id, nowMs: run.startedAt }));
    const seen = operatorStateSeen(run, openState, pulled, settings.exemptions);
    progress?.({ phase: 'recording' });
    await giveWay();
    await store.commitRun(commitOf(run, rules, pulled, decided, input, sealed, intents, seen));
    await store.saveIdentities(pulled.identities);
    logOperatorState(log, run, seen);

    // Based on the rules that propose it now: a rule that was removed or set to dry-run since gains no claim.
    const known = new Map(openState.intents.map((intent) => [intent.id, intent]));
    const retries = decided.acts.flatMap(({ retryOf, mode, draft: { basis } }) => {
      const failed = retryOf === undefined ? undefined : known.get(retryOf);
      return failed ? [openAgain({ ...failed, basis }, mode)] : [];
    });
    // A refusal (401) ends the run: what was refused before keeps nothing else waiting.
    retries.sort((a, b) => timesRefused(a) - timesRefused(b));
    const acting = afterPull(before, engine, rules, pulled);
    await store.reopen(reopened(run.id, retries.filter(isToBeCarriedOut)));
    await carryOut(acting, [...intents, ...retries]);
    progress?.({ phase: 'settling doubts' });
    await resolveDoubts(acting);
    if (request.waitForDoubts) await settleDoubtsOnce(acting);
    progress?.({ phase: 'sealing the audit' });
    return await completeRun(engine, run, pulled);
  } catch (error) {
    await abortRun(engine, run, error);
    throw error;
  }
}
