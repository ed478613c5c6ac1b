// commands: a fault of the Management API for an operator at the command line: with the address, and where the
// credential came from. In: the client's error. Out: the same kind of error, one line. No secret is in it.
import type { Config } from '../config/config.ts';
import { AppError } from '../domain/errors.ts';

/** Where the credential is read from: a file, or else the setting that has it. */
export function credentialName({ api, secretFiles }: Config): string {
  const setting = api?.credential.kind === 'refresh_token' ? 'TRUSTWARD_REFRESH_TOKEN' : 'TRUSTWARD_API_KEY';
  const file = secretFiles.get(setting);
  return file === undefined ? setting : `the credential in \`${file}\``;
}

/** Runs work that calls the API. Errors: those of the work; errors of the API also name its address. */
export async function namingApi<T>(config: Config, work: () => Promise<T>): Promise<T> {
  const { api } = config;
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || !api || !/^api_/.test(error.code)) throw error;
    const { code, message, options } = error;
    const hint = code === 'api_refused' ? ` (${credentialName(config)})` : '';
    throw new AppError(code, `Management API at ${api.url}: ${message}${hint}`, options);
  }
}
