// store: several units of work in one transaction: each wait for the disk serves all that are due. In: units, each with its audit entries.
// Out: each is committed, or fails with its own error. INVARIANT: units are committed in the order in which they came, and one that fails
// leaves nothing behind and takes no other with it.
import type { Work } from './queries.ts';

export class GroupCommit {
  private due: Unit[] = [];

  /** Commits all of these in one transaction, or none of them. */
  constructor(private readonly commit: (units: readonly (() => Work<void>)[]) => void | Promise<void>) {}

  /** `at_once`: before anything else happens, with all that are asked for in this turn. `soon`: with those that come until the next turn. */
  add(work: () => Work<void>, when: 'at_once' | 'soon'): Promise<void> {
    return new Promise((done, failed) => {
      this.due.push({ work, done, failed });
      if (when === 'at_once') queueMicrotask(() => this.flush());
      else setImmediate(() => this.flush());
    });
  }

  /** INVARIANT: what commits at once has committed when this returns. */
  private flush(): void {
    const units = this.due;
    this.due = [];
    if (units.length === 0) return;
    const done = () => {
      for (const unit of units) unit.done();
    };
    const failed = (error: unknown) => {
      if (units.length === 1) units[0]?.failed(error);
      else this.commitSingly(units);
    };
    this.committed(units, done, failed);
  }

  /** One of them cannot be committed, or all cannot: each has its own answer. */
  private commitSingly(units: readonly Unit[]): void {
    for (const unit of units) this.committed([unit], unit.done, unit.failed);
  }

  private committed(units: readonly Unit[], done: () => void, failed: (error: unknown) => void): void {
    try {
      const committed = this.commit(units.map(({ work }) => work));
      if (committed) committed.then(done, failed);
      else done();
    } catch (error) {
      failed(error);
    }
  }
}

interface Unit {
  work: () => Work<void>;
  done: () => void;
  failed: (error: unknown) => void;
}
