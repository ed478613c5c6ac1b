// http: the token of the first start: made at random, kept in a 0600 file beside the database. In: the database's file
// name. Out: the token and its place. It never prints the token.
import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { AppError } from '../domain/errors.ts';

export interface TokenFile {
  token: string;
  file: string;
  /** False when it already existed. */
  created: boolean;
}

/** Errors: AppError `config` when the file can be read by others, holds no token, or cannot be read or written. */
export function loadOrCreateToken(databaseFile: string): TokenFile {
  const file = `${databaseFile}.token`;
  try {
    return { token: readToken(file), file, created: false };
  } catch (error) {
    if (error instanceof AppError) throw error;
    if (codeOf(error) !== 'ENOENT') throw unusable(file, error, 'read');
  }
  const token = randomBytes(32).toString('base64url');
  try {
    // Written to a temporary file first: a crash in between leaves no file with half a token.
    const aside = `${file}.${process.pid}.new`;
    rmSync(aside, { force: true }); // of a start that was killed here, with the same number
    writeFileSync(aside, `${token}\n`, { mode: 0o600, flag: 'wx' });
    // Another process may have made it meanwhile: that one stays.
    linkSync(aside, file);
    rmSync(aside);
  } catch (error) {
    rmSync(`${file}.${process.pid}.new`, { force: true });
    if (codeOf(error) === 'EEXIST') return { token: readToken(file), file, created: false };
    throw unusable(file, error, 'written');
  }
  return { token, file, created: true };
}

function readToken(file: string): string {
  const { mode } = statSync(file);
  if ((mode & 0o077) !== 0) {
    throw new AppError(
      'config',
      `\`${file}\` holds the token of the HTTP endpoint and can be read by others: run \`chmod 600 ${file}\`, or delete it to get a new one`,
    );
  }
  const token = readFileSync(file, 'utf8').trim();
  if (!/^[\w.~+/=-]{16,512}$/.test(token)) {
    throw new AppError(
      'config',
      `\`${file}\` holds no token (16 to 512 letters, digits or any of \`._~+/=-\`): delete it to get a new one`,
    );
  }
  return token;
}

function unusable(file: string, error: unknown, verb: string): AppError {
  return new AppError(
    'config',
    `the token file \`${file}\` cannot be ${verb} (${codeOf(error)}): check its folder, or set TRUSTWARD_TOKEN`,
    { cause: error },
  );
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown }).code ?? 'unknown error');
}
