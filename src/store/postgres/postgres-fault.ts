// store: explains a failure of PostgreSQL or of the way to it. In: the thrown error. Out: an AppError that names the server and the remedy, and
// the kind for `/readyz` and alerts. It decides nothing, and no text of it has a password.
import { AppError, type ErrorCode } from '../../domain/errors.ts';
import type { StoreFault, StoreFaultKind } from '../../domain/store-fault.ts';
import { brokenRule, collisionAt } from '../constraint-fault.ts';

type Kind = Extract<StoreFaultKind, 'busy' | 'full' | 'read_only' | 'corrupt' | 'io' | 'gone' | 'slow' | 'crowded'>;

const TEXTS: Readonly<Record<Kind, string>> = {
  busy: 'another session holds what this one needs: it is tried again with the next run',
  full: 'its disk is full: make room, nothing was called without a record',
  read_only: 'it is read-only, as a standby is: let TRUSTWARD_DB name the primary, or promote this server',
  corrupt: 'its files are damaged: restore a backup',
  io: 'its disk does not answer as it should: check the disk of the server',
  gone: 'it does not answer, or ended the session: check the server, and whether another one was promoted',
  slow: 'it answered too late: check the load of the server, and sessions that hold locks',
  crowded: 'it has no connection or memory left: raise `max_connections`, or run fewer processes',
};

/** By SQLSTATE, or by the code of the socket. */
const KINDS: readonly (readonly [RegExp, Kind])[] = [
  [/^(40001|40P01|55P03)$/, 'busy'],
  [/^53100$/, 'full'],
  [/^(25006)$/, 'read_only'],
  [/^(XX001|XX002)$/, 'corrupt'],
  [/^(58030|58P01)$/, 'io'],
  [/^(53200|53300|53400)$/, 'crowded'],
  [/^(57014|25P03|25P04|ETIMEDOUT)$/, 'slow'],
  [/^(08...|57P0[1-5])$/, 'gone'],
  [/^(ECONN[A-Z]+|EPIPE|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ENOENT|EADDRNOTAVAIL)$/, 'gone'],
];

/** pg's own errors have no code. */
const MESSAGES: readonly (readonly [RegExp, Kind])[] = [
  [/timeout expired|timeout exceeded|heartbeat timed out|due to connection timeout|Query read timeout/i, 'slow'],
  [/Connection terminated|Client has encountered a connection error|Client was closed|not queryable/i, 'gone'],
];

const LOGIN = 'it refuses the login: check the role in TRUSTWARD_DB, its password, and pg_hba.conf';
const UNTRUSTED =
  'no encrypted connection was made: check `sslmode` and `sslrootcert` in TRUSTWARD_DB, and the certificate of the server';

/** Of connecting, by pg's own errors. */
const TEXTS_OF_CONNECTING: readonly (readonly [RegExp, string])[] = [
  [/^SASL: /, LOGIN],
  [/does not support SSL|error establishing an SSL/i, UNTRUSTED],
];

const CODES: Partial<Record<Kind, ErrorCode>> = { busy: 'store_locked', corrupt: 'store_damaged' };

const NO_TABLES = 'it has no tables of this version yet: `trustward run` or a worker makes them';
/** A session begins as this role, which the first run on a server makes. */
const NO_ROLE = /^role "trustward_work" does not exist$/;

const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/^28/, LOGIN],
  [/CERT|TLS|SSL|SIGNATURE|^EPROTO$/, UNTRUSTED],
  [/^42P06$/, 'it has a schema `trustward` of something else: give Trustward a database of its own'],
  [/^3D000$/, 'there is no such database: an administrator runs `CREATE DATABASE`'],
  [
    /^(42501)$/,
    'the role may not do this: let all processes log in as the role that made the tables, and grant it `trustward_work`',
  ],
  [/^(42P01|3F000)$/, NO_TABLES],
  [/^54000$/, 'a name or an id is too long to be found by an index: more than 2,600 bytes'],
];

/**
 * Any other error than one of PostgreSQL, of pg or of a socket is returned unchanged. `place`: host, port and database, without user and
 * password. `sql`: the statement that failed.
 */
export function postgresError(error: unknown, place: string, sql = ''): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error;
  const code = codeOf(error);
  const kind = kindOf(code, error.message);
  const ofConnecting = code === '' ? adviceIn(TEXTS_OF_CONNECTING, error.message) : undefined;
  if (code === '' && (kind ?? ofConnecting) === undefined) return error;
  const known = collision(error);
  if (known) return known;
  if (NO_ROLE.test(error.message) || adviceOf(code) === NO_TABLES)
    return new AppError('not_found', `database \`${place}\`: ${NO_TABLES}`, { cause: error });
  const advice = kind ? TEXTS[kind] : (ofConnecting ?? adviceOf(code) ?? refused(error, code, sql));
  const named = code === '' ? '' : ` (${code})`;
  return new AppError((kind && CODES[kind]) ?? 'store_failed', `database \`${place}\`${named}: ${advice}`, {
    cause: error,
    detail: kind,
  });
}

/** The fault of the server that an error shows; undefined when it is about something else. */
export function serverFaultOf(error: unknown): Pick<StoreFault, 'kind' | 'text'> | undefined {
  if (!(error instanceof AppError) || !error.code.startsWith('store_')) return undefined;
  const kind = error.detail as StoreFaultKind | undefined;
  if (kind === undefined) return undefined;
  return { kind, text: Object.hasOwn(TEXTS, kind) ? TEXTS[kind as Kind] : error.message };
}

/** Whether nothing of a transaction that ended so can have been committed later than known: an answer came. */
export function isAnswered(error: unknown): boolean {
  return /^[0-9A-Z]{5}$/.test(codeOf(error)) && !/^(08...|57P0[1-5])$/.test(codeOf(error));
}

/** `host:port/name`, for texts. Errors: AppError `config` for a text that is no such address, without the text. */
export function placeOf(url: string): string {
  const wrong = 'TRUSTWARD_DB is no address of PostgreSQL: write `postgres://ROLE:PASSWORD@HOST:PORT/DATABASE`';
  if (!URL.canParse(url)) throw new AppError('config', wrong);
  const { protocol, host, pathname, searchParams } = new URL(url);
  if (!/^postgres(ql)?:$/.test(protocol)) throw new AppError('config', wrong);
  return `${host || searchParams.get('host') || 'local'}${pathname}`;
}

interface DatabaseError extends Error {
  code?: string;
  constraint?: string;
}

function codeOf(error: unknown): string {
  const { code, errors } = error as { code?: unknown; errors?: unknown[] };
  if (code !== undefined) return String(code);
  // A host with several addresses: the last failure is as good as any.
  return Array.isArray(errors) && errors.length > 0 ? codeOf(errors.at(-1)) : '';
}

function kindOf(code: string, message: string): Kind | undefined {
  return (
    KINDS.find(([pattern]) => pattern.test(code))?.[1] ??
    (code === '' ? MESSAGES.find(([pattern]) => pattern.test(message))?.[1] : undefined)
  );
}

function adviceOf(code: string): string | undefined {
  return adviceIn(ADVICE, code);
}

function adviceIn(advice: typeof ADVICE, text: string): string | undefined {
  return advice.find(([pattern]) => pattern.test(text))?.[1];
}

/** The place of a row that is there already. */
const UNIQUE = '23505';
/** What the triggers of append-only tables raise. */
const REFUSED_BY_TRIGGER = '23001';

function collision(error: DatabaseError): AppError | undefined {
  return error.code === UNIQUE && error.constraint !== undefined ? collisionAt(error.constraint, error) : undefined;
}

function refused(error: DatabaseError, code: string, sql: string): string {
  return code.startsWith('23') ? brokenRule(error, code === REFUSED_BY_TRIGGER, sql) : error.message;
}
