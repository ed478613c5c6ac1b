// http: signing in to an organization of which it is not known yet whether it is there. In: its name. Out: its sessions and links by the store alone. A
// token of it is asked for only where it is open, so nothing here is a caller. INVARIANT: the same steps for each name.
import { SignIn } from '../sign-in.ts';
import type { Caller } from '../tokens.ts';
import type { OrganizationsParts } from './ports.ts';

export type SigningParts = Pick<OrganizationsParts, 'signIns' | 'secret' | 'clock' | 'address' | 'publicUrl'>;

/** @param verifyHash the owner of a token of it, or of all. */
export function signInAt(
  id: string,
  { signIns, secret, clock, address, publicUrl }: SigningParts,
  outer: SignIn,
  verifyHash: (hash: string) => Caller | undefined,
): SignIn {
  return new SignIn({ store: signIns(id), verifyHash, secret, clock, address, publicUrl, organization: id, outer });
}

export function outsideOf(id: string, parts: SigningParts, outer: SignIn): Outside {
  return signInAt(id, parts, outer, () => undefined);
}

type Outside = Pick<SignIn, 'hasSession' | 'hasLink' | 'signOut'>;
