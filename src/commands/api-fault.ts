// commands: a fault of the Management API for an operator at the command line: with the address, and where the
// credential came from. In: the client's error. Out: the same kind of error, one line. No secret is in it.
import type { Config } from '../config/config.ts';
import { AppError } from '../domain/errors.ts';

/** Runs work that calls the API. Errors: those of the work; errors of the API also name its address. */
export async function namingApi<T>({ api }: Config, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || !api || !/^api_/.test(error.code)) throw error;
    const { code, message, options } = error;
    const setting = api.credential.kind === 'api_key' ? 'TRUSTWARD_API_KEY' : 'TRUSTWARD_REFRESH_TOKEN';
    const hint = { api_refused: ` (${setting})`, api_unreachable: ' (TRUSTWARD_API_URL)' }[code as string] ?? '';
    throw new AppError(code, `Management API at ${api.url}: ${message}${hint}`, options);
  }
}
