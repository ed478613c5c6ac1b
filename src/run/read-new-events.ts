// run: the new events of a run: read, stored, and in the windows of its rules; a fresh process fills these from the store first. In: the run, its
// rules. Out: how the log was read, and for which stretches it is known.
import type { Movement } from '../domain/movement.ts';
import type { Run } from '../domain/run.ts';
import type { Coverage, SourceReading } from '../domain/snapshot.ts';
import { pullEvents } from '../pull/pull-events.ts';
import type { PullEngine, RunRules } from './engine.ts';
import { fillWindows } from './fill-windows.ts';

export interface NewEvents {
  reading: SourceReading;
  /** Undefined: the log could not be read. */
  coverage: readonly Coverage[] | undefined;
  movement: Movement | undefined;
  /** The longest window of the active rules. */
  windowMs: number;
}

export async function readNewEvents(engine: PullEngine, run: Run, rules: RunRules): Promise<NewEvents> {
  engine.progress?.({ phase: 'reading', what: 'events' });
  // Stored events serve every later run: a run over chosen rules also reads what the whole active set needs.
  const active = engine.active();
  const windowMs = Math.max(rules.evaluator.needs.windowMs, active.evaluator.needs.windowMs);
  const keptMs = Math.max(windowMs, recordedWindowMs(engine));
  const pulled = await pullEvents({
    api: engine.api,
    clock: engine.clock,
    nowMs: run.startedAt,
    windowMs: keptMs,
    triedMs: engine.feed.triedMs,
    known: await engine.store.coverage(),
    moved: { source: 'events', form: 'paged', before: await engine.store.movement('events', 'paged') },
    asksForServices:
      engine.history?.lists?.has('events') ||
      active.rules.some(({ subject, sources }) => subject === 'service' && sources.includes('events')),
    trust: engine.settings.trust,
    settings: engine.settings.events,
  });
  const forgetBeforeMs = run.startedAt - keptMs - engine.settings.events.overlapMs;
  await engine.store.observeEvents({ events: pulled.events, coverage: pulled.coverage, forgetBeforeMs });
  if (engine.feed.primed.has(rules.evaluator)) rules.evaluator.observe(pulled.events);
  else await fillWindows(engine, rules.evaluator, run.startedAt - windowMs);
  // Beyond this window events were forgotten just now: for a longer one they are read again.
  if (pulled.coverage) engine.feed.triedMs = keptMs;
  const isRead = pulled.reading.state === 'read';
  const { reading, movement } = pulled;
  return { reading, movement, coverage: isRead ? await engine.store.coverage() : undefined, windowMs };
}

/** An event log that no active rule reads is recorded for rules that look back as far. */
const RECORDED_WINDOW_MS = 24 * 3_600_000;

/** How far back the log is to be known for the history. */
export function recordedWindowMs({ history }: Pick<PullEngine, 'history'>): number {
  return history?.lists?.has('events') ? RECORDED_WINDOW_MS : 0;
}
