// audit: the file of checkpoints outside the database, `<database>.checkpoints`: one line each, 0600, oldest first.
// Lines are only appended. After a crash it may lag behind the database; it is never ahead.
import { existsSync, readFileSync, renameSync, truncateSync } from 'node:fs';
import { AppError } from '../domain/errors.ts';
import { appendLines, readTail, syncFolderOf, writeWhole } from './durable-file.ts';

export function checkpointFileOf(databaseFile: string): string {
  return `${databaseFile}.checkpoints`;
}

export class CheckpointFile {
  constructor(readonly name: string) {}

  /** All whole lines; undefined when the file is missing. Errors: AppError `store_failed`. */
  lines(): string[] | undefined {
    return this.guard('read', () => {
      if (!existsSync(this.name)) return undefined;
      return readFileSync(this.name, 'utf8').split('\n').slice(0, -1);
    });
  }

  /** The last whole line; `missing` without the file. A line that a crash tore is removed first. */
  lastLine(): { missing: boolean; last: string | undefined } {
    return this.guard('read', () => {
      const tail = readTail(this.name);
      if (!tail) return { missing: true, last: undefined };
      // Only an unacknowledged line can be torn: the database still has it, and it is written again.
      if (tail.torn !== '') truncateSync(this.name, tail.wholeBytes);
      return { missing: false, last: tail.last };
    });
  }

  /** The last whole line, for reading: a torn line stays, since a writer may be at work on it. */
  lastWhole(): string | undefined {
    return this.guard('read', () => readTail(this.name)?.last);
  }

  append(lines: readonly string[]): void {
    this.guard('written', () => appendLines(this.name, lines));
  }

  /** Replaces all lines, and sets the former file aside, under the returned name. */
  replace(lines: readonly string[], suffix: string): string | undefined {
    return this.guard('written', () => {
      const aside = existsSync(this.name) ? `${this.name}.${suffix}` : undefined;
      if (aside !== undefined) renameSync(this.name, aside);
      writeWhole(this.name, lines.map((line) => `${line}\n`).join(''), 0o600);
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
