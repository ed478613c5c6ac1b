// audit: whether the end of a chain is one's own. In: the last checkpoint in the database, the entries after it, the public keys. Out:
// what is wrong with it. What it says of the tables is believed without the chain before it, so all of it must be signed. It reads nothing.
import type { AuditEnd, JudgeEnd } from '../domain/acting-tables.ts';
import { ChainWalk } from './chain.ts';
import { type PublicKeys, parseCheckpoint, signatureFault } from './checkpoint.ts';
import { isSignedBy } from './entry-signature.ts';

/** Each transaction signs its last entry, so the last one of the chain is signed, unless the checkpoint covers it. */
export function judgeEndBy(keys: PublicKeys): JudgeEnd {
  return (end) => {
    const walk = beginOf(end, keys);
    if (walk === undefined) return 'a last checkpoint in the database that its key did not sign';
    const covered = walk.seq;
    const [first] = end.entries;
    if (first?.seq === covered && first.hash !== walk.head) return 'other entries than its last checkpoint covers';
    const later = end.entries.filter(({ seq }) => seq > covered);
    for (const entry of later) {
      const fault = walk.step(entry);
      if (fault !== undefined) return `a broken link after entry ${walk.seq}: ${fault}`;
    }
    const last = later.at(-1);
    if (last === undefined)
      return first?.seq === covered || covered === 0 ? undefined : `fewer than ${covered} entries`;
    if (!end.isSigned || isSignedBy(keys, last)) return undefined;
    return `${last.seq} entries, and the last one is not signed by the key of this database`;
  };
}

/** A walk that begins behind the checkpoint; undefined when nobody can believe the checkpoint. */
function beginOf({ sealed }: AuditEnd, keys: PublicKeys): ChainWalk | undefined {
  if (!sealed) return new ChainWalk();
  const checkpoint = parseCheckpoint(sealed.line);
  if (checkpoint?.size !== sealed.size || signatureFault(checkpoint, keys) !== undefined) return undefined;
  return new ChainWalk(checkpoint.size, checkpoint.head);
}
