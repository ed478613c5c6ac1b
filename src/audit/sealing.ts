// audit: what the key of a database signs: checkpoints, and the last entry of each transaction. In: the private key, and the public
// ones of it and those before it. Out: the functions with which the store seals.
import type { KeyObject } from 'node:crypto';
import type { JudgeEnd } from '../domain/acting-tables.ts';
import type { SignEntry } from '../domain/audit-entry.ts';
import type { SealCheckpoint } from '../domain/checkpoint.ts';
import { judgeEndBy } from './chain-end.ts';
import { type PublicKeys, sealWith } from './checkpoint.ts';
import { signEntriesWith } from './entry-signature.ts';

export interface Signing {
  seal: SealCheckpoint;
  sign: SignEntry;
  judgeEnd: JudgeEnd;
}

export function signingWith(privateKey: KeyObject, publicKeys: PublicKeys): Signing {
  return {
    seal: sealWith(privateKey),
    sign: signEntriesWith(privateKey),
    judgeEnd: judgeEndBy(publicKeys),
  };
}
