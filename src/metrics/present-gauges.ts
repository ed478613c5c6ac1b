// metrics: the present state of the process as gauges, set anew for each scrape. In: what the daemon knows by itself. Out: gauges and
// totals. It reads nothing.

import type { LaneCounters } from '../domain/lane-counters.ts';
import { MODES } from '../domain/mode.ts';
import type { WatchCounters } from '../domain/watch.ts';
import type { Metrics } from './registry.ts';
import type { MetricSources, PresentState } from './sources.ts';

export function setPresent(metrics: Metrics, now: PresentState, rules: ReturnType<MetricSources['rules']>): void {
  for (const mode of MODES) {
    const loaded = rules.filter((rule) => rule.mode === mode).length;
    metrics.set('trustward_rules', { mode }, loaded);
    metrics.set('trustward_mode', { mode }, flag(mode === now.mode));
  }
  metrics.set('trustward_mode_lowered', {}, flag(now.mode !== now.configuredMode));
  metrics.set('trustward_rules_refused', {}, flag(now.areRulesRefused));
  const { organizations } = now;
  metrics.set('trustward_organizations', {}, organizations?.count);
  metrics.set('trustward_organizations_refused', {}, organizations && flag(organizations.areRefused));
  metrics.clear('trustward_store_fault');
  if (now.fault) metrics.set('trustward_store_fault', { kind: now.fault.kind }, 1);
  metrics.set('trustward_checkpoints_behind', {}, flag(now.isCheckpointBehind));
  metrics.set('trustward_database_restored', {}, flag(now.isRestored));
  const { isHistoryFailing: gap } = now;
  metrics.set('trustward_history_failing', {}, gap === undefined ? undefined : flag(gap));
  metrics.set('trustward_change_window_end_timestamp_seconds', {}, seconds(now.frozenUntil));
  const { hasLastRunFailed: failed } = now;
  metrics.set('trustward_last_run_failed', {}, failed === undefined ? undefined : flag(failed));
  metrics.set('trustward_next_run_timestamp_seconds', {}, seconds(now.nextRunAt));
  metrics.set('trustward_api_clock_skew_seconds', {}, seconds(now.skewMs));
  metrics.set('trustward_quiet_period_seconds', {}, now.quietMs / 1_000);
  for (const { name, waiting, counters } of now.lanes) setLane(metrics, name, waiting, counters);
  setWatch(metrics, now.watch);
}

function setLane(metrics: Metrics, lane: string, waiting: number, counters: LaneCounters): void {
  metrics.set('trustward_queue_waiting', { lane }, waiting);
  metrics.set('trustward_queue_wait_max_seconds', { lane }, counters.waitMsMax / 1_000);
  for (const result of ['accepted', 'joined', 'refused', 'done', 'failed'] as const)
    metrics.total('trustward_queue_work_total', { lane, result }, counters[result]);
}

function setWatch(metrics: Metrics, watch: WatchCounters): void {
  metrics.set('trustward_watch_interval_seconds', {}, watch.everyMs / 1_000);
  metrics.set('trustward_watch_last_look_timestamp_seconds', {}, seconds(watch.lastLookAt));
  for (const state of ['looks', 'rests', 'fails'])
    metrics.set('trustward_watch_state', { state }, watch.everyMs === 0 ? undefined : flag(state === watch.state.kind));
  metrics.total('trustward_watch_looks_total', { result: 'done' }, watch.looks);
  metrics.total('trustward_watch_looks_total', { result: 'failed' }, watch.failed);
  metrics.total('trustward_watch_runs_total', { kind: 'look' }, watch.runs);
  metrics.total('trustward_watch_runs_total', { kind: 'whole' }, watch.wholeRuns);
  metrics.total('trustward_watch_events_total', {}, watch.events);
  metrics.total('trustward_watch_subjects_total', { result: 'named' }, watch.named);
  metrics.total('trustward_watch_subjects_total', { result: 'not_found' }, watch.strangers);
  metrics.total('trustward_watch_subjects_total', { result: 'not_readable' }, watch.unread);
}

export function flag(is: boolean): number {
  return is ? 1 : 0;
}

export function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1_000;
}
