// evaluate: the events of one subject in one window, by time. Moving the window costs time only for what enters and leaves it.
// In: times in any order. Out: how many, how many different values, and the newest, between two bounds.

export class Track {
  private times: number[] = [];
  /** Beside the times; undefined as long as no entry has a value: most windows only count. */
  private values: string[] | undefined;
  /** The window: entries from `first` up to, not including, `end`. */
  private first = 0;
  private end = 0;
  private byValue: Map<string, number> | undefined;

  /** `value`: empty for none. */
  add(timeMs: number, value: string): void {
    if (value !== '') this.values ??= new Array<string>(this.times.length).fill('');
    const last = this.times.length - 1;
    if (last < 0 || timeMs >= (this.times[last] as number)) {
      this.times.push(timeMs);
      this.values?.push(value);
      return;
    }
    const index = this.placeOf(timeMs);
    this.times.splice(index, 0, timeMs);
    this.values?.splice(index, 0, value);
    if (index < this.first) this.first++;
    else if (index < this.end) this.count(index, 1);
    if (index < this.end) this.end++;
  }

  /** Slides the window to the entries of `fromMs` to `toMs`, both inclusive; forward or back. Grows before it shrinks. */
  slide(fromMs: number, toMs: number): void {
    const { times } = this;
    while (this.end < times.length && (times[this.end] as number) <= toMs) this.count(this.end++, 1);
    while (this.first > 0 && (times[this.first - 1] as number) >= fromMs) this.count(--this.first, 1);
    while (this.end > this.first && (times[this.end - 1] as number) > toMs) this.count(--this.end, -1);
    while (this.first < this.end && (times[this.first] as number) < fromMs) this.count(this.first++, -1);
  }

  /** The same entries, with a window that is still to be set. */
  copy(): Track {
    const track = new Track();
    track.times = [...this.times];
    track.values = this.values && [...this.values];
    return track;
  }

  get isEmpty(): boolean {
    return this.times.length === 0;
  }
  get size(): number {
    return this.end - this.first;
  }
  get distinct(): ReadonlyMap<string, number> {
    return this.byValue ?? NO_VALUES;
  }
  get newestMs(): number | undefined {
    return this.end > this.first ? this.times[this.end - 1] : undefined;
  }

  /** Drops older entries. Returns whether any are left. */
  forget(beforeMs: number): boolean {
    const drop = this.placeOf(beforeMs - 1);
    if (drop > 0) {
      while (this.first < Math.min(drop, this.end)) this.count(this.first++, -1);
      this.times = this.times.slice(drop);
      this.values = this.values?.slice(drop);
      this.first = Math.max(0, this.first - drop);
      this.end = Math.max(0, this.end - drop);
    }
    return this.times.length > 0;
  }

  /** The value of an entry that enters or leaves the window. */
  private count(index: number, by: 1 | -1): void {
    const value = this.values?.[index];
    if (value === undefined || value === '') return;
    this.byValue ??= new Map();
    const now = (this.byValue.get(value) ?? 0) + by;
    if (now === 0) this.byValue.delete(value);
    else this.byValue.set(value, now);
  }

  /** The first index whose time is after `timeMs`. */
  private placeOf(timeMs: number): number {
    let [low, high] = [0, this.times.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.times[middle] as number) <= timeMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const NO_VALUES: ReadonlyMap<string, number> = new Map();
