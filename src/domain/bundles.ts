// domain: which services are in which bundles, as far as the server tells. The target of a bundle's action is `SERVICE BUNDLE`.
import type { ActionTraits } from './action.ts';
import type { SubjectSummary } from './target.ts';

/** By bundle, the ids of its services. A bundle that is not listed is not told. */
export type Bundles = ReadonlyMap<string, ReadonlySet<string>>;

/** What an action on a bundle writes: no field of any record, so that no rule can read it. */
export const MEMBERSHIP = 'bundle membership';

/** A bundle's id holds no space; `refuseSettings` of the actions sees to it. */
export function bundleParts(target: string): { serviceId: string; bundleId: string } {
  const space = target.lastIndexOf(' ');
  return { serviceId: target.slice(0, space), bundleId: target.slice(space + 1) };
}

/** Whether the service is in the bundle, as a flag; undefined when the server does not say. */
export function membershipOf(bundles: Bundles | undefined, target: string): 'TRUE' | 'FALSE' | undefined {
  const { serviceId, bundleId } = bundleParts(target);
  const members = bundles?.get(bundleId);
  return members && (members.has(serviceId) ? 'TRUE' : 'FALSE');
}

/** The card with what the action writes of this very target: a service is in many bundles. */
export function summaryOfTarget(
  summary: SubjectSummary,
  traits: ActionTraits,
  target: string,
  bundles?: Bundles,
): SubjectSummary {
  if (traits.fieldWritten !== MEMBERSHIP) return summary;
  return { ...summary, state: { ...summary.state, [MEMBERSHIP]: membershipOf(bundles, target) } };
}
