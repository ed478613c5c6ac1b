// run: a what-if: a run over other rules than the active set. In: an engine that can only read the store. Out:
// everything that a report is made of. It is like every run up to the gate and ends there; nothing of it is kept.

import { drainedInTurns, giveWay } from '../../base/turns.ts';
import type { StoredDecision } from '../../domain/decision.ts';
import { digesting } from '../../domain/digest.ts';
import type { Intent } from '../../domain/intent.ts';
import type { Run, RunRequest } from '../../domain/run.ts';
import type { ObservedEvents, RunRecord } from '../../domain/store.ts';
import type { OpenStateReader, PullReader, PullStore, ReportReader } from '../../domain/store-ports.ts';
import type { Match } from '../../domain/verdict.ts';
import { openIntent } from '../act/gate.ts';
import { deciding } from '../decide/decide.ts';
import { decideInput, demandJudged, type Engine, type PullEngine, rulesOfRun } from './engine.ts';
import { pullSnapshot } from './pull-snapshot.ts';
import { commitOf, operatorStateSeen } from './run-commit.ts';

export type WhatIfEngine = Omit<PullEngine, 'store'> &
  Pick<Engine, 'daemonMode' | 'rulesDir' | 'demo'> & {
    reader: PullReader & Pick<OpenStateReader, 'openState'> & Pick<ReportReader, 'stop'>;
  };

export interface WhatIf {
  run: RunRecord;
  matches: readonly Match[];
  /** Answers like a store that had kept it. */
  reader: ReportReader;
}

/**
 * Errors: AppError `usage` for a chosen rule that is not among them; otherwise as a run's, and none of them is
 * recorded.
 */
export async function whatIf(engine: WhatIfEngine, request: Pick<RunRequest, 'rules'>): Promise<WhatIf> {
  const { reader, ids, clock } = engine;
  const rules = await rulesOfRun(engine, request);
  const run: Run = {
    id: ids.next(),
    seq: 0,
    mode: 'dry-run',
    daemonMode: engine.daemonMode,
    trigger: 'command',
    rules: rules.rules.map((rule) => rule.id),
    ruleSetHash: rules.hash,
    rulesDir: engine.rulesDir,
    startedAt: clock.nowMs(),
    finishedAt: undefined,
    status: 'completed',
    error: undefined,
    demo: engine.demo,
    whatIf: true,
  };
  // No decision is kept from an earlier run: a report shows only what was decided now.
  const { decisions: said, ...rest } = await reader.openState(run.startedAt);
  const openState = { ...rest, decisions: [] };
  const pulled = await pullSnapshot({ ...engine, store: holding(reader) }, run, rules, openState);
  demandJudged(run, pulled);
  // A daemon answers others before and after it decides.
  await giveWay();
  const input = { ...decideInput(engine, run, rules, pulled, openState), said };
  const decided = await drainedInTurns(deciding(input));
  await giveWay();
  const intents = decided.acts.map(({ draft, mode }) =>
    openIntent(draft, mode, { id: ids.next(), runId: run.id, nowMs: run.startedAt }),
  );
  const unsealed = {
    plan: undefined,
    digest: await drainedInTurns(digesting(decided.planned)),
    carried: [],
    superseded: [],
    notes: [],
  };
  const seen = operatorStateSeen(run, openState, pulled, engine.settings);
  const { findings, decisions } = commitOf(
    run,
    rules,
    pulled,
    input,
    { decided, sealed: unsealed, intents, notices: [] },
    seen,
  );
  const record = { ...run, finishedAt: clock.nowMs(), findings, planId: undefined };
  const kept = decisions.map((decision) => ({
    ...decision,
    runId: run.id,
    runSeq: run.seq,
    writtenAt: run.startedAt,
    endedSeq: undefined,
  }));
  const matches = pulled.judgements.flatMap((judgement) => judgement.matches);
  return { run: record, matches, reader: answering(reader, kept, intents) };
}

/** The current store, and over it, while this run lasts, the events that it saw. */
function holding(reader: PullReader): PullStore {
  let held: ObservedEvents = { events: [], coverage: undefined, forgetBeforeMs: 0 };
  return {
    baseline: (source) => reader.baseline(source),
    movement: (...form) => reader.movement(...form),
    acceptances: () => reader.acceptances(),
    presentPrints: (kind, key) => reader.presentPrints(kind, key),
    newSignals: () => reader.newSignals(),
    hasNewSignals: () => reader.hasNewSignals(),
    coverage: async () => [
      ...(await reader.coverage()),
      ...(held.coverage ? [held.coverage] : []),
      ...(held.signals?.coverage ?? []),
    ],
    async *events(fromMs, type) {
      yield* reader.events(fromMs, type);
      const all = [...held.events, ...(held.signals?.events ?? [])];
      yield all.filter((event) => type === undefined || event.type === type);
    },
    observeEvents: async (observed) => {
      held = observed;
      return { added: observed.events.length };
    },
  };
}

function answering(
  reader: Pick<ReportReader, 'stop'>,
  decisions: readonly StoredDecision[],
  intents: readonly Intent[],
): ReportReader {
  const orderOf = { act: 0, hold: 1, skip: 2 };
  const sorted = decisions.toSorted(
    (a, b) => orderOf[a.decision] - orderOf[b.decision] || compare(a.rule, b.rule) || compare(a.target, b.target),
  );
  return {
    decisionsOfRun: async () => sorted,
    comparedRun: async () => undefined,
    decisionsEnded: async () => [],
    endedDecisions: async () => [],
    matchesOfRuns: async () => [],
    intents: async ({ ids = [] }) => intents.filter(({ id }) => ids.includes(id)),
    plan: async () => undefined,
    planAt: async () => undefined,
    stop: () => reader.stop(),
  };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
