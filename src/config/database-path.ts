// Configuration: where the database is. In: environment and flags. Out: its path. It loads nothing, since reading commands need
// nothing else.
import type { Environment } from './name-reader.ts';

export interface Flags {
  apiUrl?: string;
  db?: string;
  org?: string;
  rules?: string;
  schedule?: string;
  watch?: string;
  mode?: string;
  listen?: string;
  actConcurrency?: string;
}

/** What the reading commands need: only the database; no credential. */
export function readDatabasePath(env: Environment, flags: Flags = {}): string {
  const demo = (flags.apiUrl ?? env.TRUSTWARD_API_URL ?? '').trim() === '';
  return flags.db ?? (env.TRUSTWARD_DB?.trim() || undefined) ?? (demo ? 'data/demo.db' : 'data/trustward.db');
}
