// run: the bundles, as deciding needs them. In: the API. Out: which services are in which of them, or nothing.
import { readBundles } from '../act/actions/bundle-membership.ts';
import type { Bundles } from '../domain/bundles.ts';
import { AppError, lineOf } from '../domain/errors.ts';
import type { Run } from '../domain/run.ts';
import type { PullEngine } from './engine.ts';

/** Unreadable bundles are unknown, as on servers without such a list: the preflight before each call reads again. */
export async function pullBundles(
  { api, log }: Pick<PullEngine, 'api' | 'log'>,
  run: Pick<Run, 'id'>,
): Promise<Bundles | undefined> {
  try {
    return await readBundles(api);
  } catch (error) {
    if (error instanceof AppError && (error.code === 'api_refused' || error.code === 'stopped')) throw error;
    log.warn({ run: run.id }, `bundles could not be read: ${lineOf(error)}`);
    return undefined;
  }
}
