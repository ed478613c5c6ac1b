// history: what rules matched and did, by stretches of the replayed time. In: counts with their times. Out: stretches of one length: the shortest
// with which the recorded time has at most 180 of them, however long the time is that was asked for.
import type { ReplayBucket } from '../../domain/replay.ts';

type Counts = ReplayBucket['rules'][string];

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** INVARIANT: each is a multiple of the one before, so that stretches can be joined. */
const LENGTHS_MS = [1, 5, 15, 60, 360].map((minutes) => minutes * MINUTE_MS).concat(DAY_MS);
const BUCKETS_MAX = 180;

export class TallyBuckets {
  private readonly buckets = new Map<number, ReplayBucket>();
  private lengthMs = MINUTE_MS;
  private firstMs = Number.POSITIVE_INFINITY;
  private lastMs = Number.NEGATIVE_INFINITY;

  run(atMs: number): void {
    this.at(atMs).runs += 1;
  }

  /** To add to. */
  countsAt(atMs: number, rule: string): Counts {
    return countsOf(this.at(atMs), rule);
  }

  finish(): ReplayBucket[] {
    return [...this.buckets.values()].sort((a, b) => a.fromMs - b.fromMs);
  }

  private at(atMs: number): ReplayBucket {
    this.firstMs = Math.min(this.firstMs, atMs);
    this.lastMs = Math.max(this.lastMs, atMs);
    while (this.lastMs - this.firstMs > BUCKETS_MAX * this.lengthMs) this.join();
    return this.bucket(atMs);
  }

  private join(): void {
    const before = this.finish();
    this.buckets.clear();
    this.lengthMs = LENGTHS_MS.find((ms) => ms > this.lengthMs) ?? 2 * this.lengthMs;
    for (const { fromMs, runs, rules } of before) {
      const bucket = this.bucket(fromMs);
      bucket.runs += runs;
      for (const [rule, one] of Object.entries(rules)) {
        const counts = countsOf(bucket, rule);
        counts.matches = Math.max(counts.matches, one.matches);
        counts.unknown = Math.max(counts.unknown, one.unknown);
        counts.acts += one.acts;
        counts.undos += one.undos;
      }
    }
  }

  private bucket(atMs: number): ReplayBucket {
    const { lengthMs } = this;
    const fromMs = Math.floor(atMs / lengthMs) * lengthMs;
    const bucket = this.buckets.get(fromMs) ?? { fromMs, toMs: fromMs + lengthMs, runs: 0, rules: {} };
    this.buckets.set(fromMs, bucket);
    return bucket;
  }
}

function countsOf({ rules }: ReplayBucket, rule: string): Counts {
  const counts = rules[rule] ?? { matches: 0, acts: 0, undos: 0, unknown: 0 };
  rules[rule] = counts;
  return counts;
}
