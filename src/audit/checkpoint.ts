// audit: makes checkpoints, and checks whether a list of them is whole. Pure: keys and lines come in, nothing is read
// here. The signature is Ed25519 over a domain byte and the canonical JSON of everything else; each has the hash of the
// one before, so the last signature covers all of them.
import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { GENESIS } from '../domain/audit-entry.ts';
import { canonicalJson } from '../domain/canonical.ts';
import { type Checkpoint, checkpointHash, checkpointLine, type SealCheckpoint } from '../domain/checkpoint.ts';

/** Keeps these signatures apart from any other use of the key. */
const DOMAIN_SIGNATURE = Buffer.from([0x03]);

/** Public keys by id. More than one after a key was replaced. */
export type PublicKeys = ReadonlyMap<string, KeyObject>;

/** 32 hex digits of the SHA-256 of the public key (SPKI, DER); of a private key: those of its public one. */
export function keyIdOf(key: KeyObject): string {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  const der = publicKey.export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(der).digest('hex').slice(0, 32);
}

/** Signs with an Ed25519 private key. */
export function sealWith(privateKey: KeyObject): SealCheckpoint {
  const keyId = keyIdOf(privateKey);
  return (previousLine, { size, head, at, tables }) => {
    const previous = previousLine === undefined ? GENESIS : checkpointHash(previousLine);
    const claim = { size, head, at, previous, keyId, tables };
    return { ...claim, signature: sign(null, signedBytes(claim), privateKey).toString('base64') };
  };
}

function signedBytes({ size, head, at, previous, keyId, tables }: Omit<Checkpoint, 'signature'>): Buffer {
  return Buffer.concat([DOMAIN_SIGNATURE, Buffer.from(canonicalJson({ size, head, at, previous, keyId, tables }))]);
}

/** The checkpoint of a line; undefined when the line is not exactly the text of one. */
export function parseCheckpoint(line: string): Checkpoint | undefined {
  try {
    const checkpoint = JSON.parse(line) as Checkpoint;
    const isOne =
      Number.isSafeInteger(checkpoint.size) && checkpoint.size > 0 && /^[0-9a-f]{64}$/.test(checkpoint.head);
    return isOne && checkpointLine(checkpoint) === line ? checkpoint : undefined;
  } catch {
    return undefined;
  }
}

/** Why the signature is invalid, in words that follow "checkpoint …"; undefined when it is valid. */
export function signatureFault(checkpoint: Checkpoint, keys: PublicKeys): string | undefined {
  const key = keys.get(checkpoint.keyId);
  if (!key) return `is signed by key ${checkpoint.keyId}, which is not the one given`;
  const isGood = verify(null, signedBytes(checkpoint), key, Buffer.from(checkpoint.signature, 'base64'));
  return isGood ? undefined : 'does not have the signature of its key';
}

export interface CheckpointFault {
  /** How many entries the bad checkpoint covers; for an unreadable one: those of the one before it, plus 1. */
  size: number;
  /** The line's number, when it cannot be read. */
  unreadable?: number;
  reason: string;
}

export interface CheckpointList {
  /** Those before the first bad one. */
  good: Checkpoint[];
  fault: CheckpointFault | undefined;
}

/**
 * Checks a list of lines, oldest first. `partial`: the list may begin in the middle, so the first one's `previous` is
 * not checked. Links are checked for all, signatures where they decide: the last one, and around a broken link.
 */
export function checkCheckpoints(lines: readonly string[], keys: PublicKeys, partial = false): CheckpointList {
  const good: Checkpoint[] = [];
  for (const [index, line] of lines.entries()) {
    const checkpoint = parseCheckpoint(line);
    const before = good.at(-1);
    if (!checkpoint) {
      const size = (before?.size ?? 0) + 1;
      return named(good, keys, { size, unreadable: index + 1, reason: 'cannot be read' });
    }
    const linkFault = index === 0 && partial ? undefined : linkFaultOf(checkpoint, before, lines[index - 1]);
    if (linkFault !== undefined) return named(good, keys, { size: checkpoint.size, reason: linkFault });
    good.push(checkpoint);
  }
  return named(good, keys, undefined);
}

function linkFaultOf(checkpoint: Checkpoint, before: Checkpoint | undefined, lineBefore: string | undefined) {
  if (before && checkpoint.size <= before.size) return `comes after one over ${before.size} entries`;
  const previous = lineBefore === undefined ? GENESIS : checkpointHash(lineBefore);
  return checkpoint.previous === previous ? undefined : 'does not follow the one before it: one was changed or removed';
}

/** The last good one must be signed; if it is not, it was changed, and the one before it is checked too. */
function named(good: Checkpoint[], keys: PublicKeys, fault: CheckpointFault | undefined): CheckpointList {
  let first = fault;
  for (let last = good.at(-1); last; last = good.at(-1)) {
    const reason = signatureFault(last, keys);
    if (reason === undefined) break;
    first = { size: last.size, reason };
    good.pop();
  }
  return { good, fault: first };
}
