// decide, after the answers: what each deletion takes, for the person who approves it. In: answered proposals, claims, the
// snapshot's devices. Out: each such proposal with who loses what, and which claims end with it. Deletions of one plan count
// together: a user who loses one device by each is left without any, though none of them alone would do it. Pure.
import { deletionOf, deletionTarget, type OwnersView } from '../domain/deletion.ts';
import type { Fleet, FleetDevice } from '../domain/fleet.ts';
import { hasNoKnownDevice } from '../domain/target.ts';
import type { Claims } from './claims.ts';
import { aimOf, isPlannable, type Proposal, weighs } from './proposal.ts';

type Serials = ReadonlyMap<string, ReadonlySet<string>>;

export function describeDeletions(proposals: readonly Proposal[], fleet: Fleet): void {
  const deleting = proposals.filter(
    ({ traits, summary }) => traits.deletesDevices && !(summary.kind === 'user' && hasNoKnownDevice(summary)),
  );
  if (deleting.length === 0) return;
  const known = fleet.serialsOf(ownersOf(deleting, fleet));
  const planned = deleting.filter(({ answer }) => answer !== undefined && isPlannable(answer));
  const taken = new Map<Proposal['ownMode'], Taken>();
  for (const proposal of deleting) {
    const together = taken.get(proposal.ownMode) ?? new Taken(planned.filter((other) => weighs(other, proposal)));
    taken.set(proposal.ownMode, together);
    proposal.deletion = describeDeletion(proposal, fleet, known, together);
  }
}

/** Claims on the target end with it: a deleted device is no longer banned, and may be registered again. */
export function describeEnds(proposals: readonly Proposal[], claims: Claims): void {
  for (const proposal of proposals.filter(({ traits }) => traits.removesTarget)) {
    const open = claims.openOn(aimOf(proposal));
    proposal.ends = [...new Set(open.map(({ action, rule }) => `${action} of rule ${rule}`))].sort();
  }
}

function describeDeletion(
  proposal: Proposal,
  fleet: Fleet,
  known: Serials | undefined,
  taken: Taken,
): Proposal['deletion'] {
  const { serial, email } = deletionTarget(proposal.target, proposal.settings);
  const devices = fleet.devicesOf(serial);
  const ofUser = email === undefined ? undefined : new Set(proposal.summary.serials);
  const view: OwnersView = {
    keepsAnother: (owner) => {
      const serials = ofUser ?? (known && (known.get(owner) ?? new Set<string>()));
      return serials && [...serials].some((other) => other !== serial && !taken.has(other, owner));
    },
    losesThisToo: (owner) => taken.has(serial, owner),
  };
  // An untrusted list of devices does not show who else has this one.
  const shown = known || email === undefined ? devices : [];
  return { devices: shown, deletion: deletionOf(email, shown, view) };
}

/** What the deletions of one plan take together. */
class Taken {
  private readonly whole = new Set<string>();
  private readonly mappings = new Map<string, Set<string>>();

  constructor(planned: readonly Proposal[]) {
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

/** The user of a user rule is known by their own record. */
function ownersOf(proposals: readonly Proposal[], fleet: Fleet): Set<string> {
  const devices = proposals.flatMap(({ summary }): FleetDevice[] =>
    summary.kind === 'device' ? fleet.devicesOf(summary.serial) : [],
  );
  return new Set(devices.flatMap(({ owners }) => owners ?? []).map((owner) => owner.toLowerCase()));
}
