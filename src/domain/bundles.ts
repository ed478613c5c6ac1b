// domain: which services are in which bundles, as far as the server lists them. The target of a bundle's action is
// `SERVICE BUNDLE`.
import type { ActionTraits } from './action.ts';
import type { SubjectSummary } from './target.ts';

/** The ids of a bundle's services, by bundle. A bundle that is not listed is unknown. */
export type Bundles = ReadonlyMap<string, ReadonlySet<string>>;

/** The field that an action on a bundle writes. It is in no record, so no rule can read it. */
export const MEMBERSHIP = 'bundle membership';

/** A bundle's id holds no space; the actions' `refuseSettings` makes sure. */
export function bundleParts(target: string): { serviceId: string; bundleId: string } {
  const space = target.lastIndexOf(' ');
  return { serviceId: target.slice(0, space), bundleId: target.slice(space + 1) };
}

/** Whether the service is in the bundle, as a flag; undefined when the server does not list the bundle. */
export function membershipOf(bundles: Bundles | undefined, target: string): 'TRUE' | 'FALSE' | undefined {
  const { serviceId, bundleId } = bundleParts(target);
  const members = bundles?.get(bundleId);
  return members && (members.has(serviceId) ? 'TRUE' : 'FALSE');
}

/** The summary with the value that the action writes for this very target: a service is in many bundles. */
export function summaryOfTarget(
  summary: SubjectSummary,
  traits: ActionTraits,
  target: string,
  bundles?: Bundles,
): SubjectSummary {
  if (traits.fieldWritten !== MEMBERSHIP) return summary;
  return { ...summary, state: { ...summary.state, [MEMBERSHIP]: membershipOf(bundles, target) } };
}
