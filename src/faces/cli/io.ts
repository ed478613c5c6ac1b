// cli: what every command receives, and how it writes. Standard output has only the result; everything else goes
// to standard error. A command returns its exit code; failures are thrown and become one line and a code in main.ts.

import { accessSync, constants, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, delimiter, dirname, extname, resolve } from 'node:path';
import { shellWord } from '../../base/text.ts';
import { type Database, DEFAULT_ORGANIZATION, demandSqlite, isOrganizationId } from '../../domain/database.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import {
  databaseIn,
  type Environment,
  type Flags,
  isAddress,
  isPostgres,
  readDatabasePath,
} from '../../runtime/config/name-reader.ts';
import { coloured, type Ending, showsColour } from '../../runtime/system/process.ts';
import { showHidden } from '../report/fact-text.ts';
import { paragraph, type TerminalOptions } from '../report/terminal-table.ts';

// Commands in texts for people, as this process was started: a person can copy them.

interface Started {
  /** The path of the program, links not followed. */
  program: string;
  env: Record<string, string | undefined>;
  /** The file of the program itself: the build makes it so. */
  isExecutable: boolean;
}

/**
 * `trustward` when that is found on PATH, otherwise the whole path of the program, which works from every folder. Never through npx: outside
 * of the folder where it is installed that asks a public registry for a name that is not ours. npm adds folders to PATH that no shell has.
 */
export function invokedAs({ program, env, isExecutable }: Started): string {
  const isOnPath = env.npm_command === undefined && env.PATH?.split(delimiter).includes(dirname(program));
  if (basename(program) === 'trustward' && isOnPath) return 'trustward';
  return isExecutable ? shellWord(program) : `node ${shellWord(program)}`;
}

/**
 * Of this process. main.ts sets the command; in tests and for the library it stays. `organization`: what `--org` names, if it is given. `settings`: what
 * other options gave and the environment has otherwise, as the shell sets it.
 */
export const invocation: { command: string; organization: string | undefined; settings: readonly string[] } = {
  command: 'trustward',
  organization: undefined,
  settings: [],
};

const RULES = 'TRUSTWARD_RULES';

/** Files with their whole paths: a person may paste it in another folder. INVARIANT: no password of an address is among them. */
export function settingsOf(env: Environment, { db, endpoint, apiUrl, rules }: Flags): string[] {
  const whole = db === undefined || isAddress(db) ? db : resolve(db);
  const folders = rules?.split(delimiter).map((folder) => resolve(folder));
  const given = [
    { name: 'TRUSTWARD_DB', as: db, value: whole },
    { name: 'TRUSTWARD_ENDPOINT', as: endpoint, value: endpoint },
    { name: 'TRUSTWARD_API_URL', as: apiUrl, value: apiUrl },
    { name: RULES, as: rules, value: folders?.join(delimiter) },
  ];
  return given.flatMap(({ name, as, value }) => {
    const own = env[name]?.trim();
    if (value === undefined || own === as || own === value || mayHoldPassword(value)) return [];
    return [`${name}=${shellWord(value)}`];
  });
}

function mayHoldPassword(value: string): boolean {
  return isAddress(value) && /:[^/@]*@|password/i.test(value.replace(/^[^:]*:\/\//, ''));
}

/** Rules that are only tried are not those of the next command. */
export function leaveOutRules(): void {
  invocation.settings = invocation.settings.filter((setting) => !setting.startsWith(`${RULES}=`));
}

/** Commands that take `--org`. */
export const OF_ORGANIZATION: readonly string[] = [
  ...[
    'inbox',
    'run',
    'plan',
    'approve',
    'reject',
    'apply',
    'why',
    'report',
    'plans',
    'summary',
    'runs',
    'decisions',
    'replay',
  ],
  ...['devices', 'users', 'services'],
  ...[
    'exempt add',
    'exempt list',
    'exempt confirm',
    'exempt end',
    'requests list',
    'requests grant',
    'requests refuse',
    'stop',
    'resume',
    'check',
    'rollout resume',
    'rollout restart',
    'snapshot accept',
    'intents list',
    'intents resolve',
  ],
  ...[
    'notices',
    'notifications',
    'claims list',
    'claims release',
    'mine link',
    'mine revoke',
    'open',
    'tokens add',
    'tokens list',
    'tokens revoke',
    'doctor',
    'mail preview',
    'mail test',
  ],
  ...['db backup', 'db restore', 'db move', 'audit list', 'audit verify', 'audit export', 'audit archive'],
  ...[
    'evidence',
    'audit accept-tables',
    'audit accept-restore',
    'audit new-key',
    'history list',
    'history verify',
    'history forget',
  ],
  ...['rules check', 'rules test', 'rules evidence', 'rules list', 'rules diff', 'rules sign', 'explain', 'facts'],
];

// A command begins a line, follows a backtick, or follows another one. A border of a table would move.
const COMMAND = /(^ *|`|; |Usage: )trustward (?=[a-z[-]|COMMAND)/g;

// A text may be broken into lines already.
const PATHS = [...OF_ORGANIZATION].map((path) => path.replace(' ', '\\s+')).join('|');
const ABOUT_ONE = new RegExp(`(^ *|\`|; )trustward\\s+(?:${PATHS})(?![\\w-])`, 'gm');

export function asInvoked(text: string): string {
  const command = [...invocation.settings, invocation.command].join(' ');
  const named = withOrganization(text);
  if (command === 'trustward') return named;
  const lines = named
    .split('\n')
    .map((line) =>
      line.includes('│') ? line : line.replace(COMMAND, (_, opening: string) => `${opening}${command} `),
    );
  return lines.join('\n');
}

/** Whoever named an organization has several, or may: the next command needs its name, too. */
function withOrganization(text: string): string {
  const { organization } = invocation;
  if (organization === undefined || !isOrganizationId(organization)) return text;
  return text.replace(ABOUT_ONE, (found, opening: string, at: number) => {
    const end = at + found.length;
    const isInTable = lineAt(text, end).includes('│');
    const rest = opening === '`' ? text.slice(end, text.indexOf('`', end)) : text.slice(end).split('\n')[0];
    return isInTable || /--(org|all-organizations)\b/.test(rest ?? '') ? found : `${found} --org ${organization}`;
  });
}

function lineAt(text: string, at: number): string {
  return text.slice(text.lastIndexOf('\n', at - 1) + 1).split('\n')[0] ?? '';
}

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
export function faultText(error: unknown, before = '', { isTTY, columns } = process.stderr): string {
  const lines = `${before}${lineOf(error)}`.split('\n');
  // A script reads whole lines. A command in backticks is never broken.
  return lines
    .map((line) => (isTTY ? paragraph(line, { width: columns, named: asInvoked }) : showHidden(line)))
    .join('\n');
}

/** Options that most commands share, as commander gives them. */
export interface CommonOptions extends Flags {
  format?: string;
  out?: string;
  /** Of a list. */
  wide?: true;
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
  endpoint,
  db,
  org,
  rules,
  schedule,
  watch,
  mode,
  listen,
  actConcurrency,
}: Flags): Record<keyof Flags, string | undefined> {
  return { apiUrl, endpoint, db, org, rules, schedule, watch, mode, listen, actConcurrency };
}

/** How names of files end, by what is in them. */
const ENDINGS: Readonly<Record<string, readonly string[]>> = {
  text: ['.txt', '.text'],
  json: ['.json'],
  md: ['.md', '.markdown'],
  csv: ['.csv'],
  html: ['.html', '.htm'],
  junit: ['.xml'],
};

/**
 * The format: `--format`, otherwise the one that the ending of `--out` stands for. Called before a command does anything: work for a
 * result that cannot be written is wasted, or done and never shown. `otherEndings`: what a file of any other ending holds; without it,
 * such an ending is refused. Errors: AppError `usage`.
 */
export function outputOf<T extends string>(
  options: CommonOptions,
  allowed: readonly T[],
  fallback: T,
  otherEndings?: T,
): T {
  const format = options.format ?? formatOf(options.out, allowed, otherEndings) ?? fallback;
  if (!(allowed as readonly string[]).includes(format))
    throw new AppError('usage', `--format is \`${format}\`: expected ${allowed.join(', ')}`);
  if (options.out !== undefined) refuseUnwritable(options.out);
  return format as T;
}

/** Undefined: the name of the file promises nothing, or the command has one format anyway. */
function formatOf<T extends string>(file: string | undefined, allowed: readonly T[], others: T | undefined) {
  const ending = extname(file ?? '').toLowerCase();
  if (ending === '' || allowed.length === 1) return undefined;
  const found = allowed.find((format) => ENDINGS[format]?.includes(ending)) ?? others;
  if (found !== undefined) return found;
  const known = allowed.map((format) => ENDINGS[format]?.[0]).join(', ');
  throw new AppError(
    'usage',
    `--out: \`${file}\` ends in \`${ending}\`: expected ${known}, or name a format with --format`,
  );
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

type Fitted = Required<TerminalOptions>;

/** The width of a text: the terminal's, or 100 columns in pipes and files. */
export function widthOf({ out }: Pick<CommonOptions, 'out'>): Fitted {
  const columns = out === undefined && process.stdout.isTTY ? process.stdout.columns : 100;
  return { width: Math.max(columns || 100, 60), named: asInvoked };
}

/** The width of a list: the terminal's. Without one, and with `--wide`, its lines are whole. */
export function lineWidthOf({ out, wide }: CommonOptions): Fitted {
  const { isTTY, columns } = process.stdout;
  return { width: out === undefined && !wide && isTTY ? columns || 80 : Number.POSITIVE_INFINITY, named: asInvoked };
}

export function sizeText(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, bytes < 1_000 ? 0 : Math.floor(Math.log10(bytes) / 3));
  return `${power === 0 ? bytes : (bytes / 1_000 ** power).toFixed(1)} ${units[power]}`;
}
