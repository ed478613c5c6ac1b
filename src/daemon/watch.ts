// The daemon's looks at the event log between two scheduled runs. In: a look, a whole run, the queue that gives each its turn, a clock. Out:
// counters and the state that `/readyz` shows; one line in the log for each change of state, not for each look.
import { AppError, lineOf } from '../domain/errors.ts';
import type { Clock, Log } from '../domain/ports.ts';
import type { WatchCounters, WatchLook, WatchRequest, WatchState } from '../domain/watch.ts';
import { plural, showHidden } from '../report/index.ts';
import type { RunQueue } from '../schedule/run-queue.ts';

export interface WatchParts {
  everyMs: number;
  clock: Pick<Clock, 'nowMs' | 'monotonicMs' | 'sleep'>;
  log: Log;
  queue: Pick<RunQueue, 'inTurn'>;
  look(request: Omit<WatchRequest, 'mode'>): Promise<WatchLook>;
  /** Errors: those of a run, which it has recorded and shown by itself. */
  runWhole(): Promise<unknown>;
  /** Scheduled times after this one, until now. */
  missedSince(atMs: number): number;
}

/** After so long without one, the next event that names a stranger is news again. */
const STRANGERS_AGAIN_MS = 86_400_000;

export class Watch {
  readonly counters: WatchCounters;
  private scheduledRuns = 0;
  /** The number of scheduled runs when the last extra whole run was asked for. */
  private wholeAfter: number | undefined;
  private strangersAtMs: number | undefined;

  constructor(private readonly parts: WatchParts) {
    const none = { looks: 0, failed: 0, runs: 0, wholeRuns: 0, events: 0, named: 0, strangers: 0, unread: 0 };
    const since = parts.clock.nowMs();
    this.counters = { since, everyMs: parts.everyMs, ...none, lastLookAt: undefined, state: { kind: 'looks' } };
  }

  missedSince(atMs: number): number {
    return this.parts.missedSince(atMs);
  }

  /** A scheduled run begins: from now on, one more extra whole run may be made. */
  scheduledRunBegins(): void {
    this.scheduledRuns += 1;
  }

  /** Looks again and again until `ending`: a period after the look before began, or a quarter of one after it ended. It never rejects. */
  async untilEnding(ending: AbortSignal): Promise<void> {
    const { everyMs, clock } = this.parts;
    let tookMs = 0;
    while (everyMs > 0 && !ending.aborted) {
      await clock.sleep(Math.max(everyMs - tookMs, everyMs / 4), ending).catch(() => {}); // the end of the process ends the wait
      const begunMs = clock.monotonicMs();
      if (!ending.aborted) await this.lookOnce(ending);
      tookMs = clock.monotonicMs() - begunMs;
    }
  }

  /** INVARIANT: at most one look or extra run waits for its turn: the next look comes after both. */
  private async lookOnce(ending: AbortSignal): Promise<void> {
    const { queue, look, missedSince } = this.parts;
    let found: WatchLook;
    let scheduledRuns = 0;
    try {
      found = await queue.inTurn('watch', undefined, () => {
        scheduledRuns = this.scheduledRuns;
        return look({ missedSince, mayStartWhole: this.wholeAfter !== this.scheduledRuns });
      });
    } catch (error) {
      if (!ending.aborted) this.failed(error);
      return;
    }
    this.found(found);
    if (found.result === 'whole') await this.startWhole(found, scheduledRuns, ending);
  }

  /** A scheduled run that began since the look is that whole run. `scheduledRuns`: how many had begun at the look. */
  private async startWhole({ reason }: WatchLook, scheduledRuns: number, ending: AbortSignal): Promise<void> {
    const { log, queue, runWhole } = this.parts;
    log.info({ reason: reason?.code }, `watch asks for a whole run: ${showHidden(reason?.text ?? '')}`);
    try {
      await queue.inTurn('watch', undefined, async () => {
        if (this.scheduledRuns !== scheduledRuns) return;
        this.wholeAfter = scheduledRuns;
        this.counters.wholeRuns += 1;
        await runWhole();
      });
    } catch (error) {
      if (!ending.aborted) log.error({}, `the whole run that watch asked for failed: ${lineOf(error)}`);
    }
  }

  /** INVARIANT: a rest goes on while looks ask for whole runs with its reason: each period begins with such a look. */
  private found({ result, events, named, read, strangers, unread, run, reason }: WatchLook): void {
    const { clock, log } = this.parts;
    const { counters } = this;
    const atMs = clock.nowMs();
    counters.looks += 1;
    counters.lastLookAt = atMs;
    // What a look rests over, the next one sees again.
    if (result !== 'rest') {
      counters.events += events;
      counters.named += named;
      counters.strangers += strangers;
      counters.unread += unread;
    }
    if (run) {
      counters.runs += 1;
      const { id, seq, mode } = run;
      log.info({ run: id, seq, mode }, `run ${seq} (watch, ${mode}) is done: it read ${plural(read, 'subject')}`);
    }
    if (strangers > 0) this.sawStrangers(strangers, atMs);
    if (result === 'rest' && reason) this.becomes({ kind: 'rests', sinceMs: atMs, code: reason.code }, reason.text);
    else if (result !== 'whole' || codeOf(counters.state) !== reason?.code) this.becomes({ kind: 'looks' }, '');
  }

  private sawStrangers(count: number, atMs: number): void {
    const { log } = this.parts;
    const isNews = this.strangersAtMs === undefined || atMs - this.strangersAtMs >= STRANGERS_AGAIN_MS;
    this.strangersAtMs = atMs;
    if (isNews)
      log.warn({ strangers: count }, 'new events name subjects that are not found; /readyz counts those that follow');
  }

  private failed(error: unknown): void {
    const { clock } = this.parts;
    this.counters.failed += 1;
    const code = error instanceof AppError ? error.code : 'internal';
    this.becomes({ kind: 'fails', sinceMs: clock.nowMs(), code }, lineOf(error));
  }

  /** INVARIANT: the log has each change once: a state that stays with the same code keeps its beginning and adds no line. */
  private becomes(state: WatchState, text: string): void {
    const { log } = this.parts;
    const before = this.counters.state;
    const isSame = state.kind === before.kind && codeOf(state) === codeOf(before);
    if (isSame) return;
    this.counters.state = state;
    const shown = showHidden(text);
    if (state.kind === 'looks') log.info({}, 'watch looks at the event log again');
    else if (state.kind === 'rests') log.warn({ reason: state.code }, `watch rests: ${shown}`);
    else log.error({ code: state.code }, `a look at the event log failed: ${shown}; the next one tries again`);
  }
}

function codeOf(state: WatchState): string {
  return state.kind === 'looks' ? '' : state.code;
}
