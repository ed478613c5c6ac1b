// management client: how long calls took, in one histogram a minute for the last hour. In: the time of each call that left. Out: the
// 99th percentile of the slower kind of call. Bounded: at most 61 minutes with some eighty buckets each, however many calls.
import type { Clock } from '../../domain/ports.ts';
import { type Latency, MEASURED_MS } from '../../domain/quiet-period.ts';

type Kind = Latency['kind'];

interface Bucket {
  calls: number;
  /** The longest in it: a percentile is never shorter than what was measured. */
  mostMs: number;
}
/** By the power of the fourth root of two. */
type Histogram = Map<number, Bucket>;

const MINUTE_MS = 60_000;
const MINUTES = MEASURED_MS / MINUTE_MS;
const BUCKETS_PER_DOUBLING = 4;
const BUCKET_MAX = 24 * BUCKETS_PER_DOUBLING;
/** A call without an answer takes at least its timeout, and how much longer is not known. */
const UNANSWERED_FACTOR = 2;

export class LatencyMeter {
  private readonly minutes = new Map<number, { [kind in Kind]: Histogram }>();

  constructor(
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    private readonly timeoutMs: number,
  ) {}

  /** What a call that timed out counts as. */
  get unansweredMs(): number {
    return UNANSWERED_FACTOR * this.timeoutMs;
  }

  add(kind: Kind, ms: number): void {
    const bucket = Math.min(BUCKET_MAX, Math.ceil(BUCKETS_PER_DOUBLING * Math.log2(Math.max(1, ms))));
    const histogram = this.thisMinute()[kind];
    const { calls, mostMs } = histogram.get(bucket) ?? { calls: 0, mostMs: 0 };
    histogram.set(bucket, { calls: calls + 1, mostMs: Math.max(mostMs, ms) });
  }

  addUnanswered(kind: Kind): void {
    this.add(kind, this.unansweredMs);
  }

  /** Of the slower kind. */
  latency(): Latency {
    this.forget();
    const [read, write] = [this.of('read'), this.of('write')];
    return write.p99Ms >= read.p99Ms && write.calls > 0 ? write : read;
  }

  private of(kind: Kind): Latency {
    const buckets = [...this.minutes.values()].flatMap((minute) => [...minute[kind]]).sort(([a], [b]) => b - a);
    const calls = buckets.reduce((sum, [, bucket]) => sum + bucket.calls, 0);
    // So many may be slower than the percentile.
    let slower = Math.floor(calls / 100);
    let at = 0;
    for (; at < buckets.length && slower >= (buckets[at]?.[1].calls ?? 0); at += 1)
      slower -= buckets[at]?.[1].calls ?? 0;
    const [found] = buckets[at] ?? [];
    const p99Ms = Math.max(0, ...buckets.filter(([bucket]) => bucket === found).map(([, { mostMs }]) => mostMs));
    return { p99Ms: Math.ceil(p99Ms), calls, kind };
  }

  private thisMinute(): { [kind in Kind]: Histogram } {
    const number = this.minuteNow();
    const known = this.minutes.get(number);
    if (known) return known;
    this.forget();
    const fresh = { read: new Map(), write: new Map() };
    this.minutes.set(number, fresh);
    return fresh;
  }

  private forget(): void {
    const oldest = this.minuteNow() - MINUTES;
    for (const number of this.minutes.keys()) if (number < oldest) this.minutes.delete(number);
  }

  private minuteNow(): number {
    return Math.floor(this.clock.monotonicMs() / MINUTE_MS);
  }
}
