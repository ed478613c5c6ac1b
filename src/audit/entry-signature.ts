// audit: the signature of the last entry of each transaction. In: a key, entries. Out: a signature, or what is wrong with the end of a
// chain. The signature covers the previous hash, so it covers all entries before too: nobody without the key can append to the chain.
import { type KeyObject, sign, verify } from 'node:crypto';
import type { AuditEntry, EndFault, SignEntry } from '../domain/audit-entry.ts';
import { ChainWalk } from './chain.ts';
import { type PublicKeys, parseCheckpoint, signatureFault } from './checkpoint.ts';

/** Keeps these signatures apart from any other use of the key. */
const DOMAIN_ENTRY_SIGNATURE = Buffer.from([0x05]);

/** Signs with an Ed25519 private key. */
export function signEntriesWith(privateKey: KeyObject): SignEntry {
  return (prev, seq, bytes) => sign(null, signedBytes(prev, seq, bytes), privateKey).toString('base64');
}

/** Everything from the last checkpoint on must be as one of the keys signed it. */
export function endFaultWith(keys: PublicKeys): EndFault {
  return (line, entries) => {
    const checkpoint = line === undefined ? undefined : parseCheckpoint(line);
    if (line !== undefined && (!checkpoint || signatureFault(checkpoint, keys) !== undefined))
      return 'a last checkpoint that the key of this database did not sign';
    const walk = new ChainWalk(checkpoint?.size, checkpoint?.head);
    for (const entry of entries) {
      const fault = walk.step(entry);
      if (fault !== undefined) return `a fault at entry ${walk.seq + 1}: ${fault}`;
    }
    const end = entries.at(-1);
    if (!end || isSignedBy(keys, end)) return undefined;
    return `${end.seq} entries, and the last one is not signed by the key of this database`;
  };
}

/** Whether one of the keys signed this entry. */
function isSignedBy(keys: PublicKeys, { prev, seq, bytes }: AuditEntry): boolean {
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
