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
  // Each is read, although a flag may stand for it: what nothing reads is taken for a slip.
  const { TRUSTWARD_API_URL: address = '', TRUSTWARD_DB: database } = env;
  const demo = (flags.apiUrl ?? address).trim() === '';
  return flags.db ?? (database?.trim() || undefined) ?? (demo ? 'data/demo.db' : 'data/trustward.db');
}
