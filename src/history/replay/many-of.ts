// history: an index from a key to the few things that have it: devices of a serial number, of an owner. In: keys and things. Out: the things.
// Nearly every key has one, so that one takes no set of its own.

export class ManyOf<T> {
  private readonly byKey = new Map<string, T | Set<T>>();

  add(key: string, one: T): void {
    const known = this.byKey.get(key);
    if (known === undefined) this.byKey.set(key, one);
    else if (known instanceof Set) known.add(one);
    else if (known !== one) this.byKey.set(key, new Set([known, one]));
  }

  delete(key: string, one: T): void {
    const known = this.byKey.get(key);
    if (known instanceof Set) {
      known.delete(one);
      if (known.size === 0) this.byKey.delete(key);
    } else if (known === one) this.byKey.delete(key);
  }

  of(key: string): Iterable<T> {
    const known = this.byKey.get(key);
    return known === undefined ? [] : known instanceof Set ? known : [known];
  }

  clear(): void {
    this.byKey.clear();
  }
}
