// audit: the first line of the file of checkpoints: it names the database that the file belongs to, by an id that the database has
// too, and is signed. In: an id, a key. Out: a line, and what a line says. Pure. It is no checkpoint: it covers no entry.
import { type KeyObject, sign, verify } from 'node:crypto';
import { canonicalJson } from '../domain/canonical.ts';
import { keyIdOf, type PublicKeys } from './checkpoint.ts';

export interface DatabaseLine {
  /** The id of the database. */
  database: string;
  keyId: string;
  /** Ed25519, base64. */
  signature: string;
}

/** Keeps these signatures apart from those of checkpoints. */
const DOMAIN_DATABASE = Buffer.from([0x04]);

/** Makes the line of a database. */
export function databaseLineWith(privateKey: KeyObject): (database: string) => string {
  const keyId = keyIdOf(privateKey);
  return (database) => {
    const signature = sign(null, signedBytes({ database, keyId }), privateKey).toString('base64');
    return canonicalJson({ database, keyId, signature });
  };
}

/** Undefined when the line is not exactly the text of one. */
export function parseDatabaseLine(line: string): DatabaseLine | undefined {
  try {
    const { database, keyId, signature } = JSON.parse(line) as DatabaseLine;
    return canonicalJson({ database, keyId, signature }) === line ? { database, keyId, signature } : undefined;
  } catch {
    return undefined;
  }
}

export function isSigned(line: DatabaseLine, keys: PublicKeys): boolean {
  const key = keys.get(line.keyId);
  return key !== undefined && verify(null, signedBytes(line), key, Buffer.from(line.signature, 'base64'));
}

function signedBytes({ database, keyId }: Omit<DatabaseLine, 'signature'>): Buffer {
  return Buffer.concat([DOMAIN_DATABASE, Buffer.from(canonicalJson({ database, keyId }))]);
}
