// domain: whether anybody is known by an e-mail address. In: the address, and the identities. Out: nothing, or an error.
import { shownName } from './clip.ts';
import { AppError } from './errors.ts';
import type { IdentityReader } from './identity.ts';

/** Errors: AppError `not_found` for an address that is neither a user's nor an owner's. */
export async function demandKnownOwner(reader: Pick<IdentityReader, 'identitiesNamed'>, owner: string): Promise<void> {
  const named = await reader.identitiesNamed(owner);
  if (named.some(({ by, identity }) => by === 'owner' || (by === 'id' && identity.kind === 'user'))) return;
  const what = `nobody is known as \`${shownName(owner)}\``;
  throw new AppError(
    'not_found',
    `${what}: no trusted snapshot has shown this e-mail address as a user's or as the owner of a device`,
  );
}
