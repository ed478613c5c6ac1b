// console: new API keys for a database whose first credentials were lost, also while a console runs on it. In: a file and what the keys are
// called. Out: their secrets, once. It never makes a database.
import { existsSync } from 'node:fs';
import { AppError } from '../domain/errors.ts';
import type { Clock } from '../domain/ports.ts';
import type { KeyScope } from '../management/contract.ts';
import { issueCredential, scopeOf } from './store/credentials.ts';
import { openDatabase } from './store/database.ts';
import { makeStore } from './store/store.ts';

export interface NewKey {
  name: string;
  scope: KeyScope;
}

/** The secrets, in the order of the keys; all of them are made or none. AppError: `usage` for a name that is taken, `store_failed`. */
export function addApiKeys(dbFile: string, keys: readonly NewKey[], clock: Clock): string[] {
  if (!existsSync(dbFile))
    throw new AppError('usage', `there is no database \`${dbFile}\`: name that of the console by --db`);
  const db = openDatabase(dbFile);
  try {
    const store = makeStore(db, clock, { eventsMax: 0, eventsMs: 0 }, undefined);
    return store.sql.atomically(() =>
      keys.map(({ name, scope }) => {
        if (scopeOf(store, 'api_key', name) !== undefined) {
          throw new AppError('usage', `the console has an API key \`${name}\` already: give another name`);
        }
        return issueCredential(store, 'api_key', name, scope);
      }),
    );
  } finally {
    db.close();
  }
}
