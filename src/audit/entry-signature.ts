// audit: the signature of the last entry of each transaction. In: a key, an entry. Out: its signature, or whether it has one. The
// signature covers the previous hash, so it covers all entries before too: nobody without the key can append to the chain.
import { type KeyObject, sign, verify } from 'node:crypto';
import type { AuditEntry, SignEntry } from '../domain/audit-entry.ts';
import type { PublicKeys } from './checkpoint.ts';

/** Keeps these signatures apart from any other use of the key. */
const DOMAIN_ENTRY_SIGNATURE = Buffer.from([0x05]);

/** Signs with an Ed25519 private key. */
export function signEntriesWith(privateKey: KeyObject): SignEntry {
  return (prev, seq, bytes) => sign(null, signedBytes(prev, seq, bytes), privateKey).toString('base64');
}

/** Whether one of the keys signed this entry. */
export function isSignedBy(keys: PublicKeys, { prev, seq, bytes }: AuditEntry): boolean {
  const [, unsigned, signature] = SIGNED.exec(bytes) ?? [];
  if (unsigned === undefined || signature === undefined) return false;
  const signed = signedBytes(prev, seq, `${unsigned}}`);
  return [...keys.values()].some((key) => verify(null, signed, key, Buffer.from(signature, 'base64')));
}

/** INVARIANT: the signature is the last member of an entry: `AuditLog` writes it there. */
const SIGNED = /^(\{.*),"signature":"([A-Za-z0-9+/=]+)"\}$/s;

function signedBytes(prev: string, seq: number, bytes: string): Buffer {
  return Buffer.concat([DOMAIN_ENTRY_SIGNATURE, Buffer.from(`${prev}${seq}`), Buffer.from(bytes)]);
}
