// evaluate: all event windows of a rule set. In: events, once each, in any order, and the time. Out: counts per subject.
// It never asks for events: what it was not given is a gap, and a gap makes a count a lower bound.
import type { TrustEvent } from '../../domain/event.ts';
import type { Coverage } from '../../domain/snapshot.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import type { EventCount } from '../language/expression.ts';
import type { Value } from '../language/three-valued.ts';
import { compileFilter, type EventFilter } from './filter.ts';
import type { SubjectKeys } from './tracks.ts';
import { EventWindow, type WindowView } from './window.ts';

/** Events up to this far in the future count, since clocks differ. */
export const SKEW_MAX_MS = 300_000;
/** How long events are kept after they leave their window, in case a clock is set back. */
const KEPT_BACK_MS = 3_600_000;
/** The log is read a little before a run's time: up to this much at the end of a window is no gap. */
const READ_LAG_MAX_MS = 60_000;

interface Entry {
  window: EventWindow;
  filter: EventFilter;
}

export class Windows {
  private readonly entries = new Map<string, Entry>();
  private readonly byKind: Record<SubjectKind, Entry[]> = { device: [], user: [], service: [] };
  private readonly seen = new Map<string, number>();
  private longestMs = 0;
  private nowMs = Number.NEGATIVE_INFINITY;
  private sweptMs = Number.NEGATIVE_INFINITY;
  /** Older events have been forgotten. */
  private forgottenMs = Number.NEGATIVE_INFINITY;

  /** Adds a window for an operator unless an equal one exists. */
  register(key: string, spec: EventCount): EventWindow {
    const known = this.entries.get(key);
    if (known) return known.window;
    const entry = { window: new EventWindow(spec), filter: compileFilter(spec) };
    this.entries.set(key, entry);
    this.byKind[spec.subject].push(entry);
    this.longestMs = Math.max(this.longestMs, spec.withinMs);
    return entry.window;
  }

  /** Takes events in. An id counts once for as long as it can be in a window. */
  observe(events: readonly TrustEvent[]): void {
    if (this.entries.size === 0) return;
    for (const event of events) {
      if (event.createdAtMs < this.forgottenMs || this.seen.has(event.id)) continue;
      this.seen.set(event.id, event.createdAtMs);
      for (const kind of ['device', 'user', 'service'] as const) this.add(event, kind);
    }
  }

  private add(event: TrustEvent, kind: SubjectKind): void {
    const entries = this.byKind[kind];
    const keys = entries.length > 0 ? eventKeys(event, kind) : undefined;
    if (!keys) return;
    for (const { window, filter } of entries) {
      const passed = filter(event);
      if (passed !== 'no') window.add(keys, event.createdAtMs, passed.value, passed.sure);
    }
  }

  /** Moves the end of all windows. An earlier time than before is allowed: events that are still kept come back. */
  advance(nowMs: number): void {
    this.nowMs = nowMs;
    if (nowMs < this.sweptMs) {
      this.sweptMs = nowMs;
      return;
    }
    if (nowMs - this.sweptMs < Math.max(60_000, this.longestMs / 8)) return;
    this.sweptMs = nowMs;
    const oldest = nowMs - this.longestMs - KEPT_BACK_MS;
    this.forgottenMs = Math.max(this.forgottenMs, oldest);
    for (const [id, timeMs] of this.seen) if (timeMs < oldest) this.seen.delete(id);
    for (const { window } of this.entries.values()) window.forget(oldest);
  }

  /** What a window of this length sees, given the stretches of time the log was read for. */
  view(withinMs: number, coverage: readonly Coverage[]): WindowView {
    const { nowMs } = this;
    const fromMs = nowMs - withinMs;
    const knownSinceMs = Math.max(logKnownSince(coverage, withinMs, nowMs), this.forgottenMs);
    return { nowMs, fromMs, toMs: nowMs + SKEW_MAX_MS, whole: knownSinceMs <= fromMs, knownSinceMs };
  }

  read(window: EventWindow, keys: SubjectKeys, view: WindowView): Value {
    return window.read(keys, view);
  }
}

/** Since when the log is known without a gap up to now, for a window of this length; now itself when it is not. */
export function logKnownSince(coverage: readonly Coverage[], withinMs: number, nowMs: number): number {
  return knownSince(coverage, nowMs, Math.min(READ_LAG_MAX_MS, withinMs / 10));
}

function knownSince(coverage: readonly Coverage[], nowMs: number, lagMs: number): number {
  let since = nowMs;
  let reached = nowMs - lagMs;
  for (const { fromMs, toMs } of [...coverage].sort((a, b) => b.toMs - a.toMs)) {
    if (toMs + 1 < reached) break;
    since = Math.min(since, fromMs);
    reached = Math.min(reached, fromMs);
  }
  return since;
}

/** The subject that an event belongs to; undefined when the event names none. */
function eventKeys(event: TrustEvent, kind: SubjectKind): SubjectKeys | undefined {
  const keys = keysOf(kind, ...textsOf(event, kind));
  return keys.first === undefined && keys.second === undefined ? undefined : keys;
}

function textsOf(event: TrustEvent, kind: SubjectKind): [string | undefined, string | undefined] {
  if (kind === 'device') return [event.deviceId, event.serialNumber];
  if (kind === 'user') return [event.email, undefined];
  // A full id already names its cluster: a service of the same name in another cluster must not get the event.
  return [event.serviceId, event.serviceId?.startsWith(`${event.serviceName}.`) ? undefined : event.serviceName];
}

/** The keys of a subject; an empty text is none. */
export function keysOf(kind: SubjectKind, first: string | undefined, second: string | undefined): SubjectKeys {
  return {
    first: first === '' ? undefined : kind === 'user' ? first?.toLowerCase() : first,
    second: second === '' ? undefined : second,
  };
}
