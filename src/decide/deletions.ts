// decide, after the answers: what each deletion takes, for the person who approves it. In: wishes with answers, claims, the
// snapshot's devices. Out: each such wish with who loses what, and which claims end with it. Deletions of one plan count
// together: a user who loses one device by each is left without any, though none of them alone would do it. Pure.
import { deletionOf, deletionTarget, type OwnersView } from '../domain/deletion.ts';
import type { Fleet, FleetDevice } from '../domain/fleet.ts';
import type { Claims } from './claims.ts';
import { aimOf, isPlannable, type Wish, weighs } from './proposal.ts';
import { hasNoKnownDevice } from './proposals.ts';

type Serials = ReadonlyMap<string, ReadonlySet<string>>;

export function tellDeletions(wishes: readonly Wish[], fleet: Fleet): void {
  const deleting = wishes.filter(
    ({ traits, card }) => traits.name === 'delete_device' && !(card.kind === 'user' && hasNoKnownDevice(card)),
  );
  if (deleting.length === 0) return;
  const known = fleet.serialsOf(ownersOf(deleting, fleet));
  const planned = deleting.filter(({ answer }) => answer !== undefined && isPlannable(answer));
  const taken = new Map<Wish['ownMode'], Taken>();
  for (const wish of deleting) {
    const together = taken.get(wish.ownMode) ?? new Taken(planned.filter((other) => weighs(other, wish)));
    taken.set(wish.ownMode, together);
    wish.deletion = toldOf(wish, fleet, known, together);
  }
}

/** With the target goes what is claimed of it: a device that is not there any more is not banned, and may be registered anew. */
export function tellEnds(wishes: readonly Wish[], claims: Claims): void {
  for (const wish of wishes.filter(({ traits }) => traits.removesTarget)) {
    const open = claims.openOn(aimOf(wish));
    wish.ends = [...new Set(open.map(({ action, rule }) => `${action} of rule ${rule}`))].sort();
  }
}

function toldOf(wish: Wish, fleet: Fleet, known: Serials | undefined, taken: Taken): Wish['deletion'] {
  const { serial, email } = deletionTarget(wish.target, wish.settings);
  const devices = fleet.devicesOf(serial);
  const ofCard = email === undefined ? undefined : new Set(wish.card.serials);
  const view: OwnersView = {
    keepsAnother: (owner) => {
      const serials = ofCard ?? (known && (known.get(owner) ?? new Set<string>()));
      return serials && [...serials].some((other) => other !== serial && !taken.has(other, owner));
    },
    losesThisToo: (owner) => taken.has(serial, owner),
  };
  // A list of devices that cannot be trusted says nothing of who else has this one.
  const told = known || email === undefined ? devices : [];
  return { devices: told, deletion: deletionOf(email, told, view) };
}

/** What the deletions of one plan take. */
class Taken {
  private readonly whole = new Set<string>();
  private readonly mappings = new Map<string, Set<string>>();

  constructor(planned: readonly Wish[]) {
    for (const { target, settings } of planned) {
      const { serial, email } = deletionTarget(target, settings);
      if (email === undefined) this.whole.add(serial);
      else this.mappings.set(serial, (this.mappings.get(serial) ?? new Set()).add(email.toLowerCase()));
    }
  }

  has(serial: string, owner: string): boolean {
    return this.whole.has(serial) || this.mappings.get(serial)?.has(owner) === true;
  }
}

/** A user of a user's rule is asked by the own record. */
function ownersOf(wishes: readonly Wish[], fleet: Fleet): Set<string> {
  const devices = wishes.flatMap(({ card }): FleetDevice[] =>
    card.kind === 'device' ? fleet.devicesOf(card.serial) : [],
  );
  return new Set(devices.flatMap(({ owners }) => owners ?? []).map((owner) => owner.toLowerCase()));
}
