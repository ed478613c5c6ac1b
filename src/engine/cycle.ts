// The whole flow, readable on one screen: pull → evaluate → decide → approve → act; the audit is written along the way.
// In: a request. Out: a finished run, in the store. It never asks whether a run is dry: only act/gate does.

import type { Run, RunRequest, WatchLook, WatchRequest } from '../domain/run.ts';
import { resolveDoubts, resolveLeftovers, settleDoubtsOnce } from './act/resolve.ts';
import { applyWarned } from './operate/plans.ts';
import { planBraked } from './operate/rollout.ts';
import {
  abortRun,
  actContext,
  actOn,
  afterPull,
  beginRun,
  completeRun,
  decideInput,
  decideRun,
  type Engine,
  isAnything,
  newRun,
  plansBeside,
  rulesOfRun,
  takeMembers,
} from './run/engine.ts';
import { keepHistory, look } from './run/look.ts';
import { pullSnapshot } from './run/pull-snapshot.ts';
import { takeOverLookBacks, wasJudged, wasReached } from './run/pulled-snapshot.ts';
import { commitOf, logOperatorState, operatorStateSeen } from './run/run-commit.ts';

/**
 * One run; `begun` is called when it has its id. Errors: if the run could not judge anything, the cause (AppError `api_unreachable`,
 * `api_refused`, `store_failed` …) is thrown after the run is recorded as aborted. Decisions made until then stay.
 */
export async function runCycle(engine: Engine, request: RunRequest, begun?: (run: Run) => void): Promise<Run> {
  const rules = await rulesOfRun(engine, request);
  const run = await beginRun(engine, newRun(engine, request, rules), request);
  begun?.(run);
  const { store, settings, log, progress } = engine;
  try {
    const before = await actContext(engine, run, rules, run.mode);
    await resolveLeftovers(before);
    await store.expirePlans();

    const openState = await store.openState(run.startedAt);
    const pulled = await pullSnapshot(engine, run, rules, openState);
    if (wasReached(pulled)) await store.bind(engine.bindTo, settings.lists ?? 'v1');
    progress?.({ phase: 'deciding' });
    const input = decideInput(engine, run, rules, pulled, openState);
    const judged = rules.rules.every((rule) => wasJudged(rule, pulled)) ? 'whole' : 'more';
    const beside = request.rules === undefined ? judged : 'apart';
    const made = await decideRun(engine, run, input, () => plansBeside(engine, beside));
    const seen = operatorStateSeen(run, openState, pulled, settings);
    progress?.({ phase: 'recording' });
    const commit = commitOf(run, rules, pulled, input, made, seen);
    await store.commitRun(commit);
    await keepHistory(engine, run, rules, pulled, input, commit);
    await store.saveIdentities(pulled.identities);
    await takeMembers(engine, run, openState, pulled);
    takeOverLookBacks(pulled);
    logOperatorState(log, run, seen);
    await planBraked(engine, run, openState.rollouts, made.decided.rollouts);

    const acting = afterPull(before, engine, rules, pulled);
    await actOn(engine, acting, openState, made);
    progress?.({ phase: 'settling doubts' });
    await resolveDoubts(acting);
    if (request.waitForDoubts) await settleDoubtsOnce(acting);
    await applyWarned(engine, run);
    progress?.({ phase: 'sealing the audit' });
    return await completeRun(engine, run, pulled);
  } catch (error) {
    await abortRun(engine, run, error);
    throw error;
  }
}

/**
 * One look at the event log between two whole runs, and a run over the subjects that it names, if that changes anything: it counts as one run
 * with the last whole one, ends nothing, and leaves doubts to whole runs. Errors: as `runCycle`; the next look sees the same events again.
 */
export async function watchCycle(
  engine: Engine,
  request: WatchRequest,
  begun?: (run: Run) => void,
): Promise<WatchLook> {
  const looked = await look(engine, request);
  if (looked.result !== 'looked') return looked;
  const { standing, figures, observed, judged } = looked;
  const { rules, whole } = standing;
  const { store, settings, log } = engine;
  const nothing = async (): Promise<WatchLook> => {
    await store.observeEvents(observed);
    return { result: 'nothing', ...figures, run: undefined, reason: undefined };
  };
  if (!judged) return nothing();
  const { pulled, openState, part } = judged;
  const asked = { mode: request.mode, trigger: 'watch', rules: undefined } as const;
  const fresh = { ...newRun(engine, asked, rules, looked.atMs), scoped: true as const, countsWith: whole.id };
  // Shares, and what is trusted, are of the lists that the last whole run read.
  const input = {
    ...decideInput(engine, fresh, rules, pulled, openState),
    sources: whole.findings.snapshot.sources,
    part,
  };
  const made = await decideRun(engine, fresh, input, () => plansBeside(engine, 'more'));
  if (!isAnything(made)) return nothing();
  const run = await beginRun(engine, fresh);
  begun?.(run);
  try {
    const before = await actContext(engine, run, rules, run.mode);
    before.counts.failures = await store.failuresOfRun(whole.id);
    const seen = operatorStateSeen(run, openState, pulled, settings);
    // One unit: the watermark never gets ahead of what was decided.
    const commit = { ...commitOf(run, rules, pulled, input, made, seen), observed };
    await store.commitRun(commit);
    await keepHistory(engine, run, rules, pulled, input, commit);
    takeOverLookBacks(pulled);
    logOperatorState(log, run, seen);
    await actOn(engine, afterPull(before, engine, rules, pulled), openState, made);
    return { result: 'acted', ...figures, run: await completeRun(engine, run, pulled), reason: undefined };
  } catch (error) {
    await abortRun(engine, run, error);
    throw error;
  }
}
