// The ports of the endpoint that a composition fills in, whoever makes its runs: what is read, explained and commanded. In: a composition, the
// ports to who works. Out: the endpoint's ports, but for who may ask.
import type { Composition } from '../compose/compose.ts';
import type { ReplayKeeper } from '../domain/replay-beside.ts';
import { explainSubject } from '../explain/explain-subject.ts';
import { historyOfSubject, whyOf, whyStored } from '../explain/why.ts';
import type { HttpDeps, StreamSource } from '../http/index.ts';
import { driftReader } from '../operator/plan-drift.ts';
import { buildSummary, views, writeReport } from '../report/index.ts';
import { schemas } from '../report/schemas/index.ts';
import type { RunQueue } from '../schedule/run-queue.ts';
import { keptEvidence } from './daily-evidence.ts';
import type { Turns } from './operations.ts';
import { operatorPort } from './operator.ts';
import { pastPorts } from './past.ts';
import { planPorts } from './plans.ts';
import { replaysOf } from './replays.ts';
import { rulePorts } from './rules.ts';
import type { UnderWay } from './under-way.ts';

export interface WorkPorts
  extends Pick<HttpDeps, 'isDaemon' | 'trigger' | 'readiness' | 'nextRunAtMs' | 'tokens' | 'metrics'>,
    Pick<StreamSource, 'onAudited' | 'ending'> {
  /** Commands that call something. */
  turns: Turns;
  /** Rules are tried in this queue. */
  trials: RunQueue;
  underWay: UnderWay;
  /** Absent: replays are of this process. */
  replayKeeper?: ReplayKeeper;
}

export type ComposedDeps = Omit<HttpDeps, 'verifyToken' | 'signIn' | 'rates' | 'rateLimits'>;

export function composedDeps(composition: Composition, work: WorkPorts): ComposedDeps {
  const { config, engine, log } = composition;
  const { store, clock } = engine;
  const { turns, trials, underWay, replayKeeper, onAudited, ending, ...ports } = work;
  const evidence = keptEvidence(config);
  return {
    ...ports,
    reader: store,
    schemas,
    views: {
      ...views,
      summary: (reader, since, until) => buildSummary(reader, since, until, config.windows.freeze),
      report: (reader, run, format) => writeReport(reader, run, format, { actions: engine.actions, evidence }),
      plan: (plan, live, difference) => views.plan(plan, live, difference, evidence),
    },
    plans: planPorts(turns),
    planDrift: driftReader(engine),
    operator: operatorPort(engine, turns),
    running: () => underWay.now(),
    daemonMode: () => engine.daemonMode,
    ...rulePorts(composition, trials, underWay),
    replays: replaysOf(composition, replayKeeper),
    explain: async (rule, subject) => {
      engine.active(); // without rules it says why
      return explainSubject(composition.explaining(), rule, subject);
    },
    why: (of) => whyOf(composition.explaining(), of),
    whyStored: (of, unread) => whyStored(composition.explaining(), of, unread),
    history: (subject, limit) => historyOfSubject(composition.explaining(), subject, limit),
    ...pastPorts(composition),
    evidence,
    verifyAudit: (seen) => composition.verifyAudit(seen),
    stream: { onAudited, onProgress: (listener) => underWay.onProgress(listener), ending },
    answers: composition.answers,
    publicUrl: config.notify.publicUrl,
    hosts: { listenHost: config.listen.host, allowed: ownNames(config.allowedHosts, config.notify.publicUrl) },
    changeWindows: config.windows.freeze,
    clock,
    log,
    demo: engine.demo,
  };
}

/** The links that people get name the public address: it must be served. */
export function ownNames(allowedHosts: readonly string[], publicUrl: string | undefined): string[] {
  return [...allowedHosts, ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname])];
}
