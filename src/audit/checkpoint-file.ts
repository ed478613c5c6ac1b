// audit: the file of checkpoints outside the database, `<database>.checkpoints`, 0600: a line that names the database, then the
// checkpoints, one line each, oldest first. Lines are only appended. After a crash it may lag behind the database; it is never ahead.
import { existsSync, readFileSync, renameSync, truncateSync } from 'node:fs';
import { AppError } from '../domain/errors.ts';
import { appendLines, readFirst, readTail, syncFolderOf, writeWhole } from '../files/durable-file.ts';
import { parseDatabaseLine } from './database-line.ts';

export function checkpointFileOf(databaseFile: string): string {
  return `${databaseFile}.checkpoints`;
}

/** What the file shows at a glance. */
export interface Outside {
  isMissing: boolean;
  /** The line that names the database; undefined in a file of an earlier version. */
  named: string | undefined;
  /** The last whole line of a checkpoint. */
  last: string | undefined;
}

export class CheckpointFile {
  constructor(readonly name: string) {}

  /** The whole lines of checkpoints; undefined when the file is missing. Errors: AppError `store_failed`. */
  lines(): string[] | undefined {
    return this.guard('read', () => {
      if (!existsSync(this.name)) return undefined;
      const lines = readFileSync(this.name, 'utf8').split('\n').slice(0, -1);
      return parseDatabaseLine(lines[0] ?? '') ? lines.slice(1) : lines;
    });
  }

  /** Only reads: a torn line stays, since a writer may be at work on it. */
  look(): Outside {
    return this.guard('read', () => {
      const [first, tail] = [readFirst(this.name), readTail(this.name)];
      const named = first !== undefined && parseDatabaseLine(first) ? first : undefined;
      const isName = tail?.last !== undefined && parseDatabaseLine(tail.last) !== undefined;
      return { isMissing: tail === undefined, named, last: isName ? undefined : tail?.last };
    });
  }

  /** Removes a line that a crash tore: it was not acknowledged, so the database still has it, and it is written again. */
  mend(): void {
    this.guard('read', () => {
      const tail = readTail(this.name);
      if (tail && tail.torn !== '') truncateSync(this.name, tail.wholeBytes);
    });
  }

  append(lines: readonly string[]): void {
    this.guard('written', () => appendLines(this.name, lines));
  }

  /** Replaces everything in one step: the line that names the database, and all checkpoints. */
  write(named: string, lines: readonly string[]): void {
    const text = [named, ...lines].map((line) => `${line}\n`).join('');
    this.guard('written', () => writeWhole(this.name, text, 0o600));
  }

  /** Sets the file aside, if there is one, under the returned name. */
  setAside(suffix: string): string | undefined {
    return this.guard('written', () => {
      if (!existsSync(this.name)) return undefined;
      const aside = `${this.name}.${suffix}`;
      renameSync(this.name, aside);
      syncFolderOf(this.name);
      return aside;
    });
  }

  private guard<T>(verb: string, work: () => T): T {
    try {
      return work();
    } catch (error) {
      const code = (error as { code?: unknown }).code ?? (error as Error).message;
      throw new AppError('store_failed', `the checkpoints \`${this.name}\` cannot be ${verb} (${String(code)})`, {
        cause: error,
      });
    }
  }
}
