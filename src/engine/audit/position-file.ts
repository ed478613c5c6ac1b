// audit: the file `position` of an organization, beside its checkpoints and outside of the database, 0600. In: where the database was before
// something was sent. Out: the same, after a restart. It is whole, old or new.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeWhole } from '../../base/files.ts';
import { AppError } from '../../domain/errors.ts';
import type { Position, Positions } from '../../domain/lease.ts';

export function positionFileIn(folder: string): string {
  return join(folder, 'position');
}

/** `folderOf`: the folder of an organization's state; it exists. */
export function positionFiles(folderOf: (organization: string) => string): Positions {
  const fileOf = (organization: string) => positionFileIn(folderOf(organization));
  return {
    read: (organization) => {
      const file = fileOf(organization);
      return guard(file, 'read', () => (existsSync(file) ? parse(file, readFileSync(file, 'utf8')) : undefined));
    },
    write: (organization, position) => {
      const file = fileOf(organization);
      guard(file, 'written', () => writeWhole(file, `${JSON.stringify(position)}\n`, 0o600));
    },
  };
}

function parse(file: string, text: string): Position {
  const damaged = () =>
    new AppError(
      'store_failed',
      `the file \`${file}\` is damaged: check with \`trustward audit verify\` that the database lacks nothing, then delete the file`,
    );
  let value: Partial<Position> | null;
  try {
    value = JSON.parse(text) as Partial<Position> | null;
  } catch {
    throw damaged();
  }
  const { system, timeline, lsn, fence, commits } = value ?? {};
  const isWhole =
    typeof system === 'string' &&
    typeof lsn === 'string' &&
    /^[\dA-F]{1,8}\/[\dA-F]{1,8}$/i.test(lsn) &&
    [timeline, fence, commits].every(Number.isSafeInteger);
  if (!isWhole) throw damaged();
  return value as Position;
}

function guard<T>(file: string, verb: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof AppError) throw error;
    const code = (error as { code?: unknown }).code ?? (error as Error).message;
    throw new AppError('store_failed', `the file \`${file}\` cannot be ${verb} (${String(code)})`, { cause: error });
  }
}
