// history: the bundles of a what-if: the lists that runs saw, with the last of what a person set and what the replay did. In: recorded lists,
// acts. Out: lists as they would have been. What Trustward's recorded intents did is left out.
import type { KnownTraits } from '../../domain/action.ts';
import { type Bundles, bundleParts, MEMBERSHIP, membershipOf } from '../../domain/bundles.ts';
import type { Intent } from '../../domain/intent.ts';
import type { PersonsChange } from './platform-model.ts';
import type { RecordedEffects } from './recorded-effects.ts';

type Flag = 'TRUE' | 'FALSE';

export class ModelledBundles {
  private last: Bundles | undefined;
  /** By target, where the model differs from the record. */
  private readonly apart = new Map<string, Flag>();

  constructor(
    private readonly traits: KnownTraits,
    private readonly effects: RecordedEffects,
  ) {}

  seen(recorded: Bundles | undefined): { bundles: Bundles | undefined; people: PersonsChange[] } {
    if (!recorded) return { bundles: undefined, people: [] };
    const people: PersonsChange[] = [];
    for (const [target, value] of changed(this.last, recorded)) {
      const why = this.effects.explains({ field: MEMBERSHIP, target }, value);
      if (why === 'ours') this.keepApart(target, value, this.apart.get(target) ?? opposite(value));
      else this.apart.delete(target);
      if (why === undefined) people.push({ field: MEMBERSHIP, target, value });
    }
    this.last = recorded;
    return { bundles: this.modelled(recorded), people };
  }

  did({ action, target }: Pick<Intent, 'action' | 'target'>): void {
    const traits = this.traits.get(action);
    if (traits?.fieldWritten !== MEMBERSHIP) return;
    this.keepApart(target, membershipOf(this.last, target), traits.valueWritten as Flag);
  }

  private keepApart(target: string, recorded: Flag | undefined, model: Flag): void {
    if (recorded === model) this.apart.delete(target);
    else this.apart.set(target, model);
  }

  private modelled(recorded: Bundles): Bundles {
    if (this.apart.size === 0) return recorded;
    const bundles = new Map<string, Set<string>>([...recorded].map(([id, members]) => [id, new Set(members)]));
    for (const [target, value] of this.apart) {
      const { serviceId, bundleId } = bundleParts(target);
      if (value === 'TRUE') bundles.get(bundleId)?.add(serviceId);
      else bundles.get(bundleId)?.delete(serviceId);
    }
    return bundles;
  }
}

/** A bundle that was not listed before shows nothing of what anybody did. */
function* changed(before: Bundles | undefined, now: Bundles): Generator<[target: string, Flag]> {
  for (const [bundle, members] of now) {
    const was = before?.get(bundle);
    if (!was || was === members) continue;
    for (const service of members) if (!was.has(service)) yield [`${service} ${bundle}`, 'TRUE'];
    for (const service of was) if (!members.has(service)) yield [`${service} ${bundle}`, 'FALSE'];
  }
}

function opposite(value: Flag): Flag {
  return value === 'TRUE' ? 'FALSE' : 'TRUE';
}
