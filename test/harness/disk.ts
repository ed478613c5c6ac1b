// harness: the disk below the database in memory: somebody may put another file in the place of the one that is open. In: a process that
// opens it. Out: faults, to that process's health. It never changes the database.
import type { InPlace, StoreHealth, StoreWatch } from '../../src/store/sqlite/opened-file.ts';
import { replacedError } from '../../src/store/store-fault.ts';
import type { PlantedBug } from './planted-bugs.ts';

export class SimDisk implements InPlace, StoreWatch {
  /** Called when the old file is in place again. */
  private restored: (() => void) | undefined;
  private health: StoreHealth | undefined;

  constructor(private readonly bug: PlantedBug | undefined) {}

  /** A new process opens the file that has the name by then: the old one, that somebody has put back. */
  open(health: StoreHealth): void {
    this.restored?.();
    this.restored = undefined;
    this.health = health;
    health.watch(this);
  }

  /** Until the next process, which opens the old one again. */
  replace(restored: () => void): void {
    this.restored = restored;
  }

  demandInPlace(): void {
    if (this.restored && this.bug !== 'replaced_file_is_not_noticed') throw replacedError('in memory');
  }

  failed(...[meaning]: Parameters<StoreWatch['failed']>): void {
    if (meaning.kind !== 'edited' || this.bug !== 'edited_rows_are_obeyed') this.health?.failed(meaning);
  }

  wrote(): void {
    this.health?.wrote();
  }
}
