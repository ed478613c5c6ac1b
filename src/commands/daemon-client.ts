// commands: while a daemon runs it is the only writer; writing commands go through its HTTP endpoint.
import { existsSync, readFileSync } from 'node:fs';
import type { DatabaseAccess } from '../config/access.ts';
import { USER_HEADER } from '../domain/actor.ts';
import { AppError, type ErrorCode } from '../domain/errors.ts';
import { readDaemonAddress } from '../store/writer-lock.ts';
import { userHere } from './actor.ts';

export interface DaemonClient {
  url: string;
  /** The folder of its rules. */
  rulesDir: string | undefined;
  /** Errors: AppError with the endpoint's message. */
  call(method: 'GET' | 'POST', path: string, body?: unknown): Promise<string>;
}

/** The active daemon of this database, or undefined when none announced itself or it does not answer. */
export async function findDaemon({ database, token: given }: DatabaseAccess): Promise<DaemonClient | undefined> {
  if (database.kind === 'postgres') return undefined; // every process may write to it
  const address = readDaemonAddress(database.file);
  if (!address) return undefined;
  if (!(await isTrustward(address.url))) return undefined; // a leftover file
  const token = given ?? readTokenFile(`${database.beside}.token`);
  const { rulesDir } = address;
  return { url: address.url, rulesDir, call: (method, path, body) => call(address.url, token, method, path, body) };
}

/** Another process may listen there by now: it must not receive the token. */
async function isTrustward(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(5_000), redirect: 'error' });
    const health = (await answer.json()) as { status?: unknown };
    return answer.ok && health.status === 'ok';
  } catch {
    return false;
  }
}

async function call(url: string, token: string, method: string, path: string, body: unknown): Promise<string> {
  const headers: Record<string, string> = {
    authorization: `Bearer ${token}`,
    [USER_HEADER]: encodeURIComponent(userHere()),
  };
  if (body !== undefined) headers['content-type'] = 'application/json';
  const answer = await fetch(`${url}${path}`, {
    method,
    redirect: 'error',
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
  }).catch((error) => {
    throw new AppError('api_unreachable', `the daemon at ${url} no longer answers: ${(error as Error).message}`);
  });
  const text = await answer.text();
  if (!answer.ok)
    throw new AppError(
      codeOf(answer.status),
      `the daemon at ${url} answered: ${detailOf(text) ?? `HTTP ${answer.status}`}`,
    );
  return text;
}

const CODES: Record<number, ErrorCode> = {
  400: 'usage',
  401: 'config',
  403: 'config',
  404: 'not_found',
  409: 'conflict',
  422: 'usage',
  429: 'busy',
};

function codeOf(status: number): ErrorCode {
  return CODES[status] ?? 'internal';
}

function detailOf(text: string): string | undefined {
  try {
    const problem = JSON.parse(text) as { detail?: unknown; title?: unknown };
    return typeof problem.detail === 'string'
      ? problem.detail
      : typeof problem.title === 'string'
        ? problem.title
        : undefined;
  } catch {
    return undefined;
  }
}

function readTokenFile(file: string): string {
  if (!existsSync(file)) {
    throw new AppError(
      'config',
      `the daemon's token is not in \`${file}\`: set TRUSTWARD_TOKEN to the one that it was started with`,
    );
  }
  return readFileSync(file, 'utf8').trim();
}
