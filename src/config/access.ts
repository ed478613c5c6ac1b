// Configuration: what a command needs that goes to the daemon of a database, or to the database itself. In: environment and
// flags. Out: the database and the token. It reads no other setting.
import type { Database } from '../domain/database.ts';
import { readDatabase } from './database.ts';
import type { Flags } from './database-path.ts';
import { type Environment, NameReader } from './name-reader.ts';
import { isToken } from './secret-text.ts';

export interface DatabaseAccess {
  database: Database;
  token: string | undefined;
}

/**
 * What an operator command needs: the database, and the token of its daemon. No other wrong setting can block a stop.
 */
export function readDatabaseAccess(env: Environment, flags: Flags = {}): DatabaseAccess {
  const reader = new NameReader(env);
  const token = readToken(reader);
  const database = readDatabase(reader, flags);
  reader.finish();
  return { database, token };
}

export function readToken(reader: NameReader): string | undefined {
  const token = reader.secret('TRUSTWARD_TOKEN');
  if (token !== undefined && !isToken(token))
    reader.fault(
      'TRUSTWARD_TOKEN',
      'TRUSTWARD_TOKEN is not a valid token: expected 16 to 512 letters, digits or any of `._~+/=-`',
    );
  return token;
}
