// run: whom exemptions cover of which nobody knows that yet: those of earlier versions, and those made before a list was read. In: what a run read.
// Out: their members, from the first trusted reading that shows them. Until then such an exemption covers all that it is about.
import { isAbout, partyOfRecord } from '../decide/exemptions.ts';
import { aboutText, type Exemption } from '../domain/exemption.ts';
import { ownText } from '../domain/facts.ts';
import { isUsable } from '../domain/snapshot.ts';
import type { OpenState } from '../domain/store.ts';
import type { Engine } from './engine.ts';
import type { PulledSnapshot } from './pulled-snapshot.ts';

type Seen = Pick<PulledSnapshot, 'exemptOwners' | 'snapshot'>;

/** INVARIANT: identities are saved: they have what the trusted readings of this run show, and nothing of the others. */
export async function takeMembers(
  { store, settings }: Pick<Engine, 'store' | 'settings'>,
  run: { id: string },
  { exemptions = [] }: Pick<OpenState, 'exemptions'>,
  seen: Seen,
): Promise<void> {
  for (const exemption of exemptions) {
    if (exemption.members !== undefined) continue;
    const members = await store.membersNow(exemption, settings.lists === 'v2' ? undefined : usersOf(exemption, seen));
    if (members === undefined) continue;
    const body = { exemption: exemption.id, about: aboutText(exemption), run: run.id, covered: members.length };
    await store.addExemptionMembers(exemption.id, members, [{ kind: 'exemption.covered', body }]);
  }
}

/** Groups are in no identity. Undefined: no trusted list of users was read. */
function usersOf(exemption: Exemption, { exemptOwners, snapshot }: Seen): string[] | undefined {
  if (exemption.selector?.field !== 'Groups' || !isUsable(snapshot.sources.users)) return undefined;
  const users = [...exemptOwners.values()].filter((record) => isAbout(exemption, partyOfRecord('user', record)));
  return users.flatMap((record) => ownText(record, 'Email') ?? []);
}
