// store: remembers the last failure of the database until it can be written again. In: each failure, each committed change, and
// whether the files are in place.
// Out: the current fault; one line in the log when it begins and one when it is over.
import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolderSync } from '../../base/files.ts';
import { timeText } from '../../base/time.ts';
import { isLasting, type StoreFault } from '../../domain/database.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import { meaningOf, replacedError } from '../store-fault.ts';

// Whether a file that is open is still the one under its name.

/** Something that must stay in place while a connection writes. */
export interface InPlace {
  /** Errors: AppError `store_failed`, whose meaning is `replaced`. */
  demandInPlace(): void;
}

export class OpenedFile implements InPlace {
  private readonly identity: string | undefined;

  /** Of a file as it is now; one that does not exist must not appear either. */
  constructor(private readonly file: string) {
    this.identity = identityOf(file);
  }

  demandInPlace(): void {
    if (identityOf(this.file) !== this.identity) throw replacedError(this.file);
  }
}

/** Device and inode: a rename over a file changes them, writing to it does not. Undefined: there is no such file. */
function identityOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true });
  return found && `${found.dev}:${found.ino}`;
}

/** Creates a missing file, which only its owner reads. */
export function prepareFile(file: string): void {
  makeFolderSync(dirname(file));
  if (existsSync(file)) return;
  closeSync(openSync(file, 'a', 0o600));
  chmodSync(file, 0o600);
}

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
