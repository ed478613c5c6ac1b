// http: what open streams have in common: the head of the audit, the progress of the work under way, the beat, and how many there may
// be. In: wake-ups. Out: streams that look for themselves what is new to them. It holds no event for anybody.
import { AppError, lineOf } from '../../domain/errors.ts';
import { giveWay } from '../../domain/give-way.ts';
import type { WorkProgress } from '../../domain/progress.ts';
import type { HttpDeps } from '../deps.ts';
import { Problem } from '../problem.ts';
import { progressFrame } from './frames.ts';
import { Pages } from './pages.ts';

export const STREAMS_MAX = 500;
const STREAMS_OF_TOKEN_MAX = 50;
const RETRY_AFTER_S = 15;
const BEAT_MS = 15_000;
/** Streams are woken at most this often: commits come faster while a run acts. */
const WAKE_EVERY_MS = 100;
const PROGRESS_EVERY_MS = 250;
/** Many streams are woken less often: what they cost together leaves most of the time to other requests. */
const WAKE_EVERY_MS_EACH = 2;
/** Woken in one turn. */
const WOKEN_MAX = 50;

export interface FedStream {
  /** The name of its token. */
  token: string;
  /** There may be something new. */
  wake(): void;
  /** Called every 15 seconds. */
  beat(): void;
  end(): void;
}

export class EventFeed {
  readonly pages: Pages;
  /** The number of the last entry, as last seen. */
  head = 0;
  /** The last progress that is shown; `count` rises with each. */
  progress = { count: 0, kind: '', bytes: new Uint8Array() };
  private latest: WorkProgress | undefined;
  private readonly open = new Set<FedStream>();
  private beating: AbortController | undefined;
  private readonly entries: Throttle;
  private readonly steps: Throttle;

  constructor(
    private readonly deps: Pick<HttpDeps, 'reader' | 'views' | 'clock' | 'log' | 'stream' | 'streamsMax' | 'metrics'>,
  ) {
    const { reader, views, clock, stream } = deps;
    this.pages = new Pages(reader, views);
    const everyMs = (leastMs: number) => () => Math.max(leastMs, WAKE_EVERY_MS_EACH * this.open.size);
    this.entries = new Throttle(clock, everyMs(WAKE_EVERY_MS), () => this.lookAtHead());
    this.steps = new Throttle(clock, everyMs(PROGRESS_EVERY_MS), () => this.showProgress());
    stream.onAudited(() => this.open.size > 0 && this.entries.ask(this.beating?.signal));
    stream.onProgress((progress) => {
      this.latest = progress;
      if (progress && this.open.size > 0) this.steps.ask(this.beating?.signal);
    });
    stream.ending.addEventListener('abort', () => {
      for (const each of [...this.open]) each.end();
    });
  }

  /** Errors: Problem 429; AppError `stopped` while the process ends. */
  demandPlace(token: string): void {
    if (this.deps.stream.ending.aborted) throw new AppError('stopped', 'Trustward is shutting down');
    const ofToken = [...this.open].filter((each) => each.token === token).length;
    const most = this.deps.streamsMax?.() ?? STREAMS_MAX;
    const { size } = this.open;
    if (size >= STREAMS_MAX) throw tooMany(`${STREAMS_MAX} streams are open`);
    if (size >= most)
      throw tooMany(`${size} streams of this organization are open, and ${most} more places are left here`);
    if (ofToken >= STREAMS_OF_TOKEN_MAX) {
      throw tooMany(`${STREAMS_OF_TOKEN_MAX} streams of the token \`${token}\` are open`);
    }
  }

  add(stream: FedStream): void {
    this.open.add(stream);
    this.deps.metrics.streams(this.open.size);
    if (this.beating) return;
    this.beating = new AbortController();
    void this.beat(this.beating.signal);
  }

  remove(stream: FedStream): void {
    if (!this.open.delete(stream)) return;
    this.deps.metrics.streams(this.open.size);
    if (this.open.size > 0) return;
    this.beating?.abort();
    this.beating = undefined;
  }

  async readHead(): Promise<number> {
    const { seq } = await this.deps.reader.auditHead();
    this.head = Math.max(this.head, seq);
    return this.head;
  }

  private async beat(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await waited(this.deps.clock.sleep(BEAT_MS, signal)))) {
      await this.lookAtHead();
      for (const each of [...this.open]) each.beat();
      await this.wakeAll();
    }
  }

  private async lookAtHead(): Promise<void> {
    try {
      await this.readHead();
    } catch (error) {
      this.deps.log.warn({}, `streams cannot read the audit: ${lineOf(error)}`);
    }
    await this.wakeAll();
  }

  private async showProgress(): Promise<void> {
    if (this.latest === undefined) return; // it has ended meanwhile
    const kind = `${this.latest.plan === undefined ? 'run' : 'plan'}.progress`;
    this.progress = { count: this.progress.count + 1, kind, bytes: Buffer.from(progressFrame(this.latest)) };
    await this.wakeAll();
  }

  private async wakeAll(): Promise<void> {
    let woken = 0;
    for (const each of [...this.open]) {
      each.wake();
      woken += 1;
      if (woken % WOKEN_MAX === 0) await giveWay();
    }
  }
}

/** At once, and then at most once in a while; what is asked meanwhile becomes one time. */
class Throttle {
  private isAsked = false;
  private lastMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly clock: HttpDeps['clock'],
    private readonly everyMs: () => number,
    private readonly work: () => Promise<void>,
  ) {}

  ask(signal: AbortSignal | undefined): void {
    if (this.isAsked) return;
    this.isAsked = true;
    void this.later(signal);
  }

  private async later(signal: AbortSignal | undefined): Promise<void> {
    const restMs = this.lastMs + this.everyMs() - this.clock.monotonicMs();
    if (restMs > 0) await waited(this.clock.sleep(restMs, signal));
    else await giveWay();
    // INVARIANT: before the work, so that what comes during it is not lost.
    this.isAsked = false;
    this.lastMs = this.clock.monotonicMs();
    await this.work();
  }
}

/** False when the wait was broken off. */
function waited(sleep: Promise<void>): Promise<boolean> {
  return sleep.then(
    () => true,
    () => false,
  );
}

function tooMany(what: string): Problem {
  return new Problem(429, 'too-many-requests', 'Too many at once', `${what}: close some, or connect again later`, {
    headers: { 'Retry-After': String(RETRY_AFTER_S) },
  });
}
