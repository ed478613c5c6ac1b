// audit: the key that signs checkpoints, in files beside the database: `<database>.audit-key` (0600) and its public
// half in `<database>.audit-key.pub`. In: file names. Out: keys. It never prints a key, and never replaces one
// silently.
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { AppError } from '../domain/errors.ts';
import { writeWhole } from '../files/durable-file.ts';
import { keyIdOf, type PublicKeys } from './checkpoint.ts';

export function privateKeyFileOf(databaseFile: string): string {
  return `${databaseFile}.audit-key`;
}

export function publicKeyFileOf(databaseFile: string): string {
  return `${databaseFile}.audit-key.pub`;
}

/**
 * The private key; made when neither it nor anything signed by it exists (`hasSigned`: the database or the file outside
 * has checkpoints). `remedy`: what is tried before a backup. Errors: AppError `config` when it is missing, can be read by others, or is
 * not an Ed25519 key.
 */
export function loadOrCreateKey(databaseFile: string, hasSigned: boolean, remedy = ''): KeyObject {
  const file = privateKeyFileOf(databaseFile);
  if (existsSync(file)) {
    const key = readPrivateKey(file);
    if (!existsSync(publicKeyFileOf(databaseFile))) writePublicKey(databaseFile, createPublicKey(key));
    return key;
  }
  if (hasSigned || existsSync(publicKeyFileOf(databaseFile))) {
    throw new AppError(
      'config',
      `the key that signs the audit, \`${file}\`, is missing: ${remedy}restore it from your backup, or make a new one with \`trustward audit new-key --reason …\``,
    );
  }
  return createKey(databaseFile);
}

/** Makes a new key; its public half is added to those in the file, which still verify what they signed. */
export function createKey(databaseFile: string): KeyObject {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  guard(privateKeyFileOf(databaseFile), 'written', (file) => writeWhole(file, pem, 0o600));
  writePublicKey(databaseFile, publicKey);
  return privateKey;
}

/**
 * The public keys of a file: one or several PEM blocks. Errors: AppError `not_found` when it is missing, `config` when it
 * holds no Ed25519 public key.
 */
export function readPublicKeys(file: string): PublicKeys {
  if (!existsSync(file)) {
    throw new AppError('not_found', `the public key \`${file}\` is missing: give a copy of it with --public-key`);
  }
  const text = guard(file, 'read', () => readFileSync(file, 'utf8'));
  const blocks = text.match(/-----BEGIN PUBLIC KEY-----[\s\S]+?-----END PUBLIC KEY-----/g) ?? [];
  const keys = guard(file, 'read', () => blocks.map((pem) => createPublicKey(pem)));
  if (keys.length === 0 || keys.some((key) => key.asymmetricKeyType !== 'ed25519')) {
    throw new AppError('config', `\`${file}\` does not hold an Ed25519 public key (PEM)`);
  }
  return new Map(keys.map((key) => [keyIdOf(key), key]));
}

function readPrivateKey(file: string): KeyObject {
  if ((statSync(file).mode & 0o077) !== 0) {
    throw new AppError(
      'config',
      `\`${file}\` holds the key that signs the audit and can be read by others: run \`chmod 600 ${file}\``,
    );
  }
  const key = guard(file, 'read', () => createPrivateKey(readFileSync(file)));
  if (key.asymmetricKeyType !== 'ed25519') throw new AppError('config', `\`${file}\` does not hold an Ed25519 key`);
  return key;
}

function writePublicKey(databaseFile: string, key: KeyObject): void {
  const pem = key.export({ type: 'spki', format: 'pem' }) as string;
  guard(publicKeyFileOf(databaseFile), 'written', (file) => {
    const others = existsSync(file) ? readFileSync(file, 'utf8') : '';
    writeWhole(file, others + pem, 0o644);
  });
}

function guard<T>(file: string, verb: string, work: (file: string) => T): T {
  try {
    return work(file);
  } catch (error) {
    const code = (error as { code?: unknown }).code ?? 'not a key';
    throw new AppError('config', `the audit key \`${file}\` cannot be ${verb} (${String(code)})`, { cause: error });
  }
}
