// store: explains a failure of SQLite or of the disk. In: the thrown error. Out: an AppError that names the file and the remedy,
// and the same without the file, for readers who may not know its path. It decides nothing.

import { accessSync, constants, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { StoreFault, StoreFaultKind } from '../domain/database.ts';
import { AppError, type ErrorCode } from '../domain/errors.ts';

// Explains a change that the tables' own rules refuse.

/** By the unique index that refused. */
const COLLISIONS: { readonly [index: string]: string } = {
  endpoint_tokens_in_use: 'there is a token of this name already: revoke it first, or choose another name',
  intent_episodes_live:
    'the same action is planned, under way or done for this target already while its match lasts: nothing was changed; see `trustward inbox`',
};

/** SQLite names the columns of the index. */
const INDEXES: { readonly [columns: string]: string } = {
  'endpoint_tokens.name': 'endpoint_tokens_in_use',
  'intent_episodes.episode_id, intent_episodes.action, intent_episodes.target': 'intent_episodes_live',
};

/** A known collision; undefined for any other error. */
function collision(error: Error): AppError | undefined {
  const columns = /^UNIQUE constraint failed: (.+)$/.exec(error.message)?.[1] ?? '';
  return Object.hasOwn(INDEXES, columns) ? collisionAt(INDEXES[columns] as string, error) : undefined;
}

/** A collision at a unique index that requests can cause; undefined for any other index. */
export function collisionAt(index: string, error: Error): AppError | undefined {
  if (!Object.hasOwn(COLLISIONS, index)) return undefined;
  return new AppError('conflict', COLLISIONS[index] as string, { cause: error });
}

/** INVARIANT: a refused statement takes its whole transaction back. A trigger's own text is written for people. */
export function brokenRule(error: Error, isTrigger: boolean, sql: string): string {
  const table = /^\s*(?:INSERT INTO|UPDATE|DELETE FROM)\s+(\w+)/i.exec(sql)?.[1];
  const what = table === undefined ? 'a change' : `a change of table \`${table}\``;
  const why = isTrigger ? `: ${error.message}` : ' that breaks its rules';
  return `it refused ${what}${why}; nothing was changed: check it with \`trustward doctor\``;
}

type Meaning = Pick<StoreFault, 'kind' | 'text'>;

/** Of a file. A server fails in its own ways: see postgres/shared-tables.ts. */
type FileFaultKind = Exclude<StoreFaultKind, 'gone' | 'slow' | 'crowded'>;

const TEXTS: Record<FileFaultKind, string> = {
  busy: 'another process is writing to it: wait, or end that process',
  full: 'the disk is full: make room, nothing was called without a record',
  read_only:
    'it cannot be written: check the owner and mode of the file and its folder, and whether the disk is read-only',
  corrupt: 'it is damaged or not a database: restore a backup',
  edited: 'it was changed beside the engine: `trustward audit verify` says where',
  replaced:
    'it was deleted or replaced while it was open: nothing is called or recorded; put the right file in place and restart',
  io: 'the disk does not answer as it should: check it, its quota and the limit on the size of files',
};

const KINDS: [RegExp, FileFaultKind][] = [
  [/^SQLITE_BUSY|^SQLITE_LOCKED/, 'busy'],
  [/^SQLITE_FULL|^ENOSPC/, 'full'],
  [/^SQLITE_READONLY|^SQLITE_PERM|^EACCES|^EPERM|^EROFS/, 'read_only'],
  [/^SQLITE_CORRUPT|^SQLITE_NOTADB/, 'corrupt'],
  [/^SQLITE_IOERR|^EIO|^EDQUOT|^EFBIG/, 'io'],
];

const ACCEPT = 'nothing is called until `trustward audit accept-tables --reason …`';

/** `what`: what differs from the record, for anybody. */
export function editedFault(what: string, remedy = ACCEPT): AppError {
  const message = `the database was changed beside the engine: ${what}; ${remedy}`;
  return new AppError('store_edited', message, { detail: 'edited' satisfies StoreFaultKind });
}

/** `what`: in words that follow "the database has". Nobody can accept that: what somebody put there would run with each change. */
export function schemaFault(what: string): AppError {
  return editedFault(
    `it has ${what}`,
    'remove it or put it back by hand, or restore a backup: `trustward db restore FILE`',
  );
}

/** Of a damage that SQLite finds only when it is asked. */
export function damagedFault(what: string): AppError {
  return new AppError('store_damaged', `${what}: ${TEXTS.corrupt}`, { detail: 'corrupt' satisfies StoreFaultKind });
}

const CODES: Partial<Record<FileFaultKind, ErrorCode>> = { busy: 'store_locked', corrupt: 'store_damaged' };

/** Any other error than a failure of SQLite or of the file system is returned unchanged. `sql`: the statement that failed. */
export function storeError(error: unknown, file: string, sql = ''): unknown {
  if (error instanceof AppError) return error;
  const code = codeOf(error);
  if (!/^SQLITE_|^E[A-Z]+$/.test(code)) return error;
  const known = collision(error as Error);
  if (known) return known;
  const kind = kindOf(code, file);
  const advice = kind ? TEXTS[kind] : (unopened(code) ?? refused(error as Error, code, sql));
  return new AppError((kind && CODES[kind]) ?? 'store_failed', `database \`${file}\` (${code}): ${advice}`, {
    cause: error,
    detail: kind,
  });
}

/** `file`: of the database, or one beside it that belongs to it. */
export function replacedError(file: string): AppError {
  return new AppError('store_failed', `\`${file}\`: ${TEXTS.replaced}`, {
    detail: 'replaced' satisfies StoreFaultKind,
  });
}

/** The fault of the disk that an error shows; undefined when it is about something else. */
export function meaningOf(error: unknown): Meaning | undefined {
  if (!(error instanceof AppError) || !error.code.startsWith('store_')) return undefined;
  const kind = error.detail as FileFaultKind | undefined;
  return kind && { kind, text: kind === 'edited' ? error.message : TEXTS[kind] };
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown }).code ?? '');
}

function unopened(code: string): string | undefined {
  return /^SQLITE_CANTOPEN|^ENOENT|^ENOTDIR|^EISDIR/.test(code) ? 'it cannot be opened: check the path' : undefined;
}

function refused(error: Error, code: string, sql: string): string {
  return code.startsWith('SQLITE_CONSTRAINT')
    ? brokenRule(error, code === 'SQLITE_CONSTRAINT_TRIGGER', sql)
    : error.message;
}

function kindOf(code: string, file: string): FileFaultKind | undefined {
  const kind = KINDS.find(([pattern]) => pattern.test(code))?.[1];
  return kind === 'io' ? causeOfIo(file) : kind;
}

/** SQLite reports a disk that became read-only, and some full ones, only as an I/O error: so the disk itself is tested. */
function causeOfIo(file: string): FileFaultKind {
  try {
    accessSync(file, constants.W_OK);
    return statfsSync(dirname(file)).bavail === 0 ? 'full' : 'io';
  } catch (error) {
    return codeOf(error) === 'EROFS' ? 'read_only' : 'io';
  }
}
