// store: remembers the last failure of the database until it can be written again. In: each failure, each committed change, and
// whether the files are in place.
// Out: the current fault; one line in the log when it begins and one when it is over.
import type { Clock, Log } from '../domain/ports.ts';
import { isLasting, type StoreFault } from '../domain/store-fault.ts';
import { timeText } from '../domain/time-text.ts';
import type { InPlace } from './opened-file.ts';
import { meaningOf } from './store-fault.ts';

/** The events that a connection reports. */
export interface StoreWatch {
  failed(meaning: Pick<StoreFault, 'kind' | 'text'>): void;
  /** A change was committed. */
  wrote(): void;
}

export class StoreHealth implements StoreWatch {
  private current: StoreFault | undefined;
  private files: InPlace | undefined;

  constructor(
    private readonly clock: Pick<Clock, 'nowMs'>,
    private readonly log: Log,
  ) {}

  /** From now on a file that is deleted or replaced is a fault as soon as somebody asks, not only at the next write. */
  watch(files: InPlace): void {
    this.files = files;
  }

  fault(): StoreFault | undefined {
    try {
      this.files?.demandInPlace();
    } catch (error) {
      const meaning = meaningOf(error);
      if (meaning) this.failed(meaning);
    }
    return this.current;
  }

  failed({ kind, text }: Pick<StoreFault, 'kind' | 'text'>): void {
    const before = this.current;
    if (before && (before.kind === kind || isLasting(before))) return;
    this.current = { kind, text, since: before?.since ?? this.clock.nowMs() };
    this.log.error({ kind }, `the database fails: ${text}`);
  }

  wrote(): void {
    if (!this.current || isLasting(this.current)) return;
    const { kind, since } = this.current;
    this.current = undefined;
    this.log.warn({ kind }, `the database can be written again; it could not since ${timeText(since)}`);
  }
}
