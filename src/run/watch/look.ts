// run: one look at the event log between two whole runs: what is new, whom it names, and what the rules say of them now. In: the last whole
// run. Out: what is to be decided, or why nothing is. INVARIANT: on any doubt nothing is decided and nothing is stored, so that the next look
// or whole run sees the same events again.
import type { Part } from '../../decide/part.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import type { TrustEvent } from '../../domain/event.ts';
import type { ObservedEvents, OpenState } from '../../domain/store.ts';
import type { RestReason, WatchLook, WatchRequest, WholeReason } from '../../domain/watch.ts';
import { lookAtEvents } from '../../pull/look-at-events.ts';
import type { PulledEvents } from '../../pull/pull-events.ts';
import type { Engine } from '../engine.ts';
import { fillWindows } from '../fill-windows.ts';
import type { PulledSnapshot } from '../pulled-snapshot.ts';
import { recordedWindowMs } from '../read-new-events.ts';
import { boundedLookups } from '../single-reads.ts';
import { countOf, type NamedSubjects, namedSubjects } from './named-subjects.ts';
import { partSnapshot } from './part-snapshot.ts';
import { readNamed } from './read-named.ts';
import { countedWith, movedTooFar } from './since-whole.ts';
import { type Standing, standing } from './standing.ts';

/** More than these are a matter for a whole run. */
const SUBJECTS_MAX = 200;
/** Records of these subjects: a serial number of more devices than any has is nobody's. */
const RECORDS_MAX = 1_000;
/** The server sends its time in whole seconds. */
const TIME_MARGIN_MS = 2_000;

/** New events, with what is to be decided of them. */
export interface Looked {
  result: 'looked';
  figures: LookFigures;
  standing: Standing;
  atMs: number;
  observed: ObservedEvents;
  /** Undefined: they name nobody whom a rule of the look judges. */
  judged: { pulled: PulledSnapshot; openState: OpenState; part: Part } | undefined;
}

export type LookFigures = Omit<WatchLook, 'result' | 'run' | 'reason'>;

/** Errors: AppError `api_refused` (401), `stopped`, `store_failed`. */
export async function look(engine: Engine, request: WatchRequest): Promise<Looked | WatchLook> {
  const found = await standing(engine, request);
  const figures: LookFigures = { events: 0, named: 0, read: 0, strangers: 0, unread: 0 };
  if ('code' in found) return { result: 'rest', ...figures, run: undefined, reason: found };
  return new Look(engine, request, found, figures).look();
}

class Look {
  private readonly atMs: number;

  constructor(
    private readonly engine: Engine,
    private readonly request: WatchRequest,
    private readonly standing: Standing,
    private readonly figures: LookFigures,
  ) {
    this.atMs = engine.clock.nowMs();
  }

  async look(): Promise<Looked | WatchLook> {
    const { standing, figures } = this;
    const seen = await this.readEvents();
    const { state, trusted, reasons } = seen.reading;
    const reason = reasons.map(({ text }) => text).join('; ');
    if (state === 'unavailable') {
      standing.memory.forbiddenAfter = standing.whole.id;
      return this.over('rest', 'events_forbidden', reason);
    }
    if (!trusted) return this.whole('source_failed', reason);
    if (seen.events.length === 0) return { result: 'nothing', ...figures, run: undefined, reason: undefined };
    const fresh = seen.events.filter((event) => this.isAfterWhole(event));
    const named = namedSubjects(fresh, new Set(standing.rules.rules.map(({ subject }) => subject)));
    const oldest = fresh.reduce((least, { createdAtMs }) => Math.min(least, createdAtMs), Number.POSITIVE_INFINITY);
    Object.assign(figures, {
      events: fresh.length,
      named: countOf(named),
      ...(fresh.length > 0 && { oldestEventAt: oldest }),
    });
    if (figures.named > SUBJECTS_MAX) return this.whole('many_subjects', `new events name ${figures.named} subjects`);
    try {
      return await this.judge(seen, named);
    } catch (error) {
      if (!isOfReading(error)) throw error;
      figures.unread = figures.named - figures.strangers;
      return this.whole('source_failed', lineOf(error));
    }
  }

  private async readEvents(): Promise<PulledEvents> {
    const { engine, atMs, standing } = this;
    const { api, clock, store, settings } = engine;
    const fromMs = (await this.readUntil()) - settings.events.overlapMs;
    const isOfServices = ({ subject, sources }: { subject: string; sources: readonly string[] }) =>
      subject === 'service' && sources.includes('events');
    return lookAtEvents({
      api,
      clock,
      nowMs: atMs,
      fromMs,
      known: await store.eventTimes(fromMs),
      asksForServices: standing.rules.rules.some(isOfServices),
      trust: settings.trust,
      settings: settings.events,
    });
  }

  /** The watermark: how far the log was read. A whole run that reads no log has read the subjects instead. */
  private async readUntil(): Promise<number> {
    const { engine, atMs, standing } = this;
    const { startedAt } = standing.whole;
    const last = (await engine.store.coverage()).at(-1)?.toMs;
    // A stretch that ends in the future was read by a clock that was wrong.
    if (last === undefined || last > atMs + engine.settings.events.overlapMs) return startedAt;
    return this.wholeReadNoLog() ? Math.max(last, startedAt) : last;
  }

  private wholeReadNoLog(): boolean {
    return this.standing.whole.findings.snapshot.sources.events.state === 'skipped';
  }

  /** What came before a whole run that reads no log is not new: it read every subject as it was after that. */
  private isAfterWhole({ createdAtMs }: TrustEvent): boolean {
    const serverAheadMs = this.engine.api.skewMs() ?? 0;
    return !this.wholeReadNoLog() || createdAtMs >= this.standing.whole.startedAt + serverAheadMs - TIME_MARGIN_MS;
  }

  private async judge(seen: PulledEvents, named: NamedSubjects): Promise<Looked | WatchLook> {
    const { engine, standing, figures, atMs } = this;
    const begun = engine.steady.read();
    const lookups = boundedLookups(engine.api);
    const { records, strangers } = await readNamed(lookups, engine.store, named);
    Object.assign(figures, { strangers, read: Object.values(records).flat().length });
    if (figures.read > RECORDS_MAX) return this.whole('many_subjects', `new events name ${figures.read} records`);
    const looked = { result: 'looked', figures, standing, atMs, observed: await this.observe(seen) } as const;
    if (figures.read === 0) return { ...looked, judged: undefined };
    const coverage = [...(await engine.store.coverage()), ...(seen.coverage ? [seen.coverage] : [])];
    const events = { ...seen.reading, count: seen.events.length };
    const given = { engine, lookups, standing, nowMs: atMs, begun, records, fresh: seen.events, events, coverage };
    const { pulled, openState } = await partSnapshot(given);
    const moved = await movedTooFar(engine, standing, pulled, openState, this.request.mayStartWhole);
    if (moved !== undefined) return this.whole('fact_moved', moved);
    return { ...looked, judged: { pulled, openState, part: await countedWith(engine, standing, records, pulled) } };
  }

  /**
   * The windows have them from now on, and the store when the look is committed. If it is not, the next one reads them again: an id counts
   * once.
   */
  private async observe({ events, coverage }: PulledEvents): Promise<ObservedEvents> {
    const { engine, atMs, standing } = this;
    const { evaluator } = standing.rules;
    const { windowMs } = evaluator.needs;
    if (!engine.feed.primed.has(evaluator)) await fillWindows(engine, evaluator, atMs - windowMs);
    evaluator.observe(events);
    const keptMs = Math.max(windowMs, recordedWindowMs(engine));
    return { events, coverage, forgetBeforeMs: atMs - keptMs - engine.settings.events.overlapMs };
  }

  private whole(code: WholeReason, text: string): WatchLook {
    return this.over(this.request.mayStartWhole ? 'whole' : 'rest', code, text);
  }

  private over(result: 'whole' | 'rest', code: WholeReason | RestReason, text: string): WatchLook {
    return { result, ...this.figures, run: undefined, reason: { code, text } };
  }
}

/** Of single records. A refused credential and the end of the process are not: they end the look. */
function isOfReading(error: unknown): error is AppError {
  return error instanceof AppError && ['api_unreachable', 'api_forbidden', 'api_answer'].includes(error.code);
}
