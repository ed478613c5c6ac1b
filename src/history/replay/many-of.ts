// history: an index from a key to the few things that have it: devices of a serial number, of an owner. In: keys and things. Out: the things.
// Nearly every key has one, so that one takes no set of its own.

export class ManyOf<T> {
  private readonly byKey = new Map<string, T | Set<T> | undefined>();

  add(key: string, one: T): void {
    const known = this.byKey.get(key);
    if (known === undefined) this.byKey.set(key, one);
    else if (known instanceof Set) known.add(one);
    else if (known !== one) this.byKey.set(key, new Set([known, one]));
  }

  /** A key stays: a map in which one key comes and goes a hundred thousand times becomes slow. */
  delete(key: string, one: T): void {
    const known = this.byKey.get(key);
    if (known instanceof Set) {
      known.delete(one);
      if (known.size === 0) this.byKey.set(key, undefined);
    } else if (known === one) this.byKey.set(key, undefined);
  }

  of(key: string): Iterable<T> {
    const known = this.byKey.get(key);
    return known === undefined ? [] : known instanceof Set ? known : [known];
  }

  clear(): void {
    this.byKey.clear();
  }
}
