// store: whether a file that is open is still the one under its name. In: a file name. Out: nothing, or an AppError when the file
// was deleted or replaced: what is written then is in no file that a restart finds. It writes nothing into a file.
import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolderSync } from '../files/make-folder.ts';
import { replacedError } from './store-fault.ts';

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
