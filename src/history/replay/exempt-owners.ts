// history: the users whom exemptions cover by their name or groups, kept from run to run. In: exemptions in force, the users that changed. Out:
// their records, as exemptions compare them. A month of runs over a large fleet looks at each user once.
import type { Exemptions } from '../../decide/exemptions.ts';
import { type Exemption, isInForce } from '../../domain/exemption.ts';
import type { Facts } from '../../domain/facts.ts';
import type { WorldKind, WorldSubject } from './world-kind.ts';

export class ExemptOwners {
  private about = '';
  private readonly owners = new Map<string, Facts>();
  private touched: Set<WorldSubject> | undefined;

  of(
    inForce: Exemptions,
    all: readonly Exemption[],
    nowMs: number,
    users: WorldKind,
    projected: (record: Facts) => Facts,
  ): ReadonlyMap<string, Facts> {
    this.touched ??= users.touched();
    const about = JSON.stringify(
      all.flatMap((one) => (isInForce(one, nowMs) ? [[one.id, one.subject ?? null, one.selector ?? null]] : [])),
    );
    if (about !== this.about) for (const user of users.all) this.touched.add(user);
    this.about = about;
    for (const { id } of this.touched) {
      const email = id.toLowerCase();
      this.owners.delete(email);
      // Servers may list one address in two cases: the greater one counts, as in a pull.
      for (const { record } of [...users.byEmail.of(email)].sort((a, b) => (a.id < b.id ? -1 : 1)))
        if (record && inForce.concernsUser(record)) this.owners.set(email, projected(record));
    }
    this.touched.clear();
    return this.owners;
  }
}
