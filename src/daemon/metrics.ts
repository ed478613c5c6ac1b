// The daemon's part of the metrics: what they ask about the present. In: the composition, the daemon's own state. Out: something that
// measures, and the listener of the metrics alone where one is configured.
import type { Composition } from '../compose/compose.ts';
import type { Config } from '../config/config.ts';
import { windowAt } from '../domain/change-window.ts';
import { LANE_NAMES, type Lane } from '../domain/lanes.ts';
import type { WatchCounters } from '../domain/watch.ts';
import { type HttpDeps, type Listening, listenForMetrics } from '../http/index.ts';
import { Measuring } from '../metrics/measuring.ts';
import type { MetricSources } from '../metrics/sources.ts';
import type { QueueCounters } from '../schedule/queue-counters.ts';
import { versionOf } from '../system/version.ts';
import type { LastRun } from './readiness.ts';

/** Of the daemon's state. */
export interface Measured {
  last: LastRun | undefined;
  queue: { counters: QueueCounters; waiting(lane: Lane): number };
  watch: { counters: WatchCounters };
  underWay: Pick<MetricSources, 'onProgress'>;
  schedule: { nextMs(): number | undefined } | undefined;
}

export function measuringOf(composition: Composition, state: Measured): Measuring {
  const { config, engine, rules, health, store, clock } = composition;
  return new Measuring({
    version: versionOf(),
    clock,
    store,
    watchCalls: (listener) => engine.api.watchCalls?.(listener),
    onProgress: (listener) => state.underWay.onProgress(listener),
    rules: () => rules.all(),
    now: () => ({
      mode: engine.daemonMode,
      configuredMode: config.mode,
      fault: health.fault(),
      isCheckpointBehind: engine.checkpointer?.fault() !== undefined,
      isRestored: engine.checkpointer?.restored() !== undefined,
      isHistoryFailing: composition.history && composition.history.fault !== undefined,
      frozenUntil: windowAt(config.windows.freeze, clock.nowMs())?.endsAtMs,
      areRulesRefused: rules.refusal !== undefined,
      sourcesRead: new Set([...rules.active().evaluator.needs.sources, ...config.recordedLists]),
      hasLastRunFailed: state.last && state.last.error !== undefined,
      nextRunAt: state.schedule?.nextMs(),
      lanes: LANE_NAMES.map((name) => ({
        name,
        waiting: state.queue.waiting(name),
        counters: state.queue.counters.lanes[name],
      })),
      watch: state.watch.counters,
      skewMs: engine.api.skewMs(),
      quietMs: engine.quiet.read().ms,
    }),
  });
}

/** Undefined without one. Errors: AppError `port_busy`, `config`. */
export async function metricsListener(
  { metricsListen }: Pick<Config, 'metricsListen'>,
  deps: Pick<HttpDeps, 'metrics' | 'log' | 'hosts'>,
): Promise<Listening | undefined> {
  if (!metricsListen) return undefined;
  const listening = await listenForMetrics(deps, metricsListen);
  deps.log.info({ url: listening.url }, `metrics without a token at ${listening.url}/metrics`);
  return listening;
}
