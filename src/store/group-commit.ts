// store: several units of work in one transaction: each wait for the disk serves all that are due. In: units, each with its audit entries.
// Out: each is committed, or fails with its own error. INVARIANT: units are committed in the order in which they came, and one that fails
// leaves nothing behind and takes no other with it.

export class GroupCommit {
  private due: Unit[] = [];

  /** Commits all of these in one transaction, or none of them. */
  constructor(private readonly commit: (units: readonly (() => void)[]) => void) {}

  /** `at_once`: before anything else happens, with all that are asked for in this turn. `soon`: with those that come until the next turn. */
  add(work: () => void, when: 'at_once' | 'soon'): Promise<void> {
    return new Promise((done, failed) => {
      this.due.push({ work, done, failed });
      if (when === 'at_once') queueMicrotask(() => this.flush());
      else setImmediate(() => this.flush());
    });
  }

  private flush(): void {
    const units = this.due;
    this.due = [];
    if (units.length === 0) return;
    try {
      this.commit(units.map(({ work }) => work));
    } catch (error) {
      if (units.length === 1) units[0]?.failed(error);
      else this.commitSingly(units);
      return;
    }
    for (const { done } of units) done();
  }

  /** One of them cannot be committed, or all cannot: each has its own answer. */
  private commitSingly(units: readonly Unit[]): void {
    for (const { work, done, failed } of units) {
      try {
        this.commit([work]);
        done();
      } catch (error) {
        failed(error);
      }
    }
  }
}

interface Unit {
  work: () => void;
  done: () => void;
  failed: (error: unknown) => void;
}
