// commands: what every command receives, and how it writes. Standard output has only the result; everything else goes
// to standard error. A command returns its exit code; failures are thrown and become one line and a code in main.ts.
import { accessSync, constants, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { databaseIn, isPostgres } from '../config/database.ts';
import { type Flags, readDatabasePath } from '../config/database-path.ts';
import type { Environment } from '../config/name-reader.ts';
import { type Database, demandSqlite } from '../domain/database.ts';
import { AppError, lineOf } from '../domain/errors.ts';
import { DEFAULT_ORGANIZATION } from '../domain/organization.ts';
import { showHidden } from '../report/hostile-text.ts';
import { coloured, showsColour } from '../system/colour.ts';
import type { Ending } from '../system/ending.ts';
import { asInvoked } from './invocation.ts';

export interface Io {
  env: Environment;
  out(text: string): void;
  err(text: string): void;
  /** Asks a person at the terminal, and returns the line of the answer; undefined where nobody can be asked. */
  ask?(question: string): Promise<string>;
  /** Resolves when the process is asked to end (SIGINT, SIGTERM, SIGHUP). */
  untilStopped(): Promise<void>;
  /** Of this process, when the command is all that runs in it. */
  ending?: Ending;
}

// Controls that JSON does not escape (DEL, C1), and what turns text around: bidirectional marks, overrides, isolates.
const UNSEEN = /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * What is printed controls no terminal: JSON is written with `\uXXXX` instead, and stays equal when it is parsed. Text
 * and Markdown have none of these characters.
 */
export function withoutUnseen(io: Io): Io {
  const escaped = (found: string) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return { ...io, out: (text) => io.out(text.replace(UNSEEN, escaped)) };
}

/** What a person reads of an error. It may quote names that devices chose: hidden characters are spelled out, line by line. */
export function faultText(error: unknown): string {
  return lineOf(error).split('\n').map(showHidden).join('\n');
}

/** Options that most commands share, as commander gives them. */
export interface CommonOptions extends Flags {
  format?: string;
  out?: string;
}

/** Errors: AppError `config`; `usage` and `not_found` for `--org`. */
export function databaseOf(io: Io, options: Flags): Database {
  return databaseIn(io.env, flagsOf(options));
}

/** For what only a file has: with PostgreSQL it is refused whatever organization is meant. Errors: as `databaseOf`, AppError `usage`. */
export function databaseFileOf(io: Io, options: Flags, instead: string): string {
  const flags = flagsOf(options);
  const any = isPostgres(readDatabasePath(io.env, flags)) ? DEFAULT_ORGANIZATION : undefined;
  return demandSqlite(databaseIn(io.env, flags, any), instead).file;
}

/** Of all options of a command, those that are settings. The type names each of them, so that none is left out. */
export function flagsOf({
  apiUrl,
  db,
  org,
  rules,
  schedule,
  watch,
  mode,
  listen,
  actConcurrency,
}: Flags): Record<keyof Flags, string | undefined> {
  return { apiUrl, db, org, rules, schedule, watch, mode, listen, actConcurrency };
}

/**
 * The requested format. Called before a command does anything: work for a result that cannot be written is wasted, or
 * done and never shown.
 */
export function outputOf<T extends string>(options: CommonOptions, allowed: readonly T[], fallback: T): T {
  const format = options.format ?? fallback;
  if (!(allowed as readonly string[]).includes(format))
    throw new AppError('usage', `--format is \`${format}\`: expected ${allowed.join(', ')}`);
  if (options.out !== undefined) refuseUnwritable(options.out);
  return format as T;
}

function refuseUnwritable(file: string): void {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    if (found?.isDirectory()) throw unwritable(file, 'EISDIR');
    accessSync(found ? file : dirname(file), constants.W_OK);
  } catch (error) {
    throw unwritable(file, error);
  }
}

export function unwritable(file: string, error: unknown): AppError {
  if (error instanceof AppError) return error;
  const code = typeof error === 'string' ? error : (error as NodeJS.ErrnoException).code;
  return new AppError('usage', `--out: \`${file}\` cannot be written (${code}): give a file in a folder that can be`);
}

/** Writes a result to standard output, or to `--out`, whole or not at all (0600: reports name people and devices). */
export function write(io: Io, options: Pick<CommonOptions, 'out' | 'format'>, text: string): void {
  const whole = text.endsWith('\n') ? text : `${text}\n`;
  if (options.out !== undefined) writeOut(options.out, whole);
  else if ((options.format ?? 'text') === 'text') writeText(io, whole);
  else io.out(whole);
}

/** Text for a person: here and nowhere else, commands are named as this one was started, and a terminal gets colour. */
export function writeText(io: Io, text: string): void {
  const named = asInvoked(text);
  io.out(showsColour(process.stdout, io.env) ? coloured(named) : named);
}

function writeOut(file: string, text: string): void {
  const isPlace = statSync(file, { throwIfNoEntry: false })?.isFile() === false; // a pipe or a device
  const written = isPlace ? file : `${file}.${process.pid}.new`;
  try {
    writeFileSync(written, text, { mode: 0o600 });
    if (!isPlace) renameSync(written, file);
  } catch (error) {
    if (!isPlace) rmSync(written, { force: true });
    throw unwritable(file, error);
  }
}

export function countOf(text: string, name: string, most: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > most) {
    throw new AppError('usage', `${name} is \`${text}\`: expected a whole number from 1 to ${most}`);
  }
  return value;
}

/** The width of a text: the terminal's, or 100 columns in pipes and files. */
export function widthOf({ out }: Pick<CommonOptions, 'out'>): { width: number } {
  const columns = out === undefined && process.stdout.isTTY ? process.stdout.columns : 100;
  return { width: Math.max(columns || 100, 60) };
}
