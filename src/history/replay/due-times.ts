// history: what is due at a time of the recorded past. In: things, each with a time. Out: those that are due now, each once for each time it was
// put in. Buckets of a minute: a month has few of them, and nothing is sorted.

const BUCKET_MS = 60_000;

export class DueTimes<T> {
  private buckets = new Map<number, { atMs: number; one: T }[]>();
  private nextBucket = Number.POSITIVE_INFINITY;

  add(atMs: number, one: T): void {
    if (!Number.isFinite(atMs)) return;
    const bucket = Math.floor(atMs / BUCKET_MS);
    const known = this.buckets.get(bucket);
    if (known) known.push({ atMs, one });
    else this.buckets.set(bucket, [{ atMs, one }]);
    this.nextBucket = Math.min(this.nextBucket, bucket);
  }

  /** Takes those of this time or earlier. */
  take(nowMs: number): T[] {
    const last = Math.floor(nowMs / BUCKET_MS);
    if (this.nextBucket > last) return [];
    const due: T[] = [];
    const isOld = last - this.nextBucket > this.buckets.size;
    const keys = isOld ? [...this.buckets.keys()].filter((key) => key <= last) : range(this.nextBucket, last);
    for (const key of keys) {
      const bucket = this.buckets.get(key);
      if (!bucket) continue;
      const left = key === last ? bucket.filter(({ atMs }) => atMs > nowMs) : [];
      for (const { atMs, one } of bucket) if (atMs <= nowMs) due.push(one);
      if (left.length > 0) this.buckets.set(key, left);
      else this.buckets.delete(key);
    }
    this.nextBucket = this.buckets.has(last) ? last : this.buckets.size === 0 ? Number.POSITIVE_INFINITY : last + 1;
    return due;
  }

  clear(): void {
    this.buckets = new Map();
    this.nextBucket = Number.POSITIVE_INFINITY;
  }
}

function* range(from: number, to: number): Iterable<number> {
  for (let key = from; key <= to; key += 1) yield key;
}
