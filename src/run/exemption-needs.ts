// run: what exemptions and deletions make a run read beyond its rules' sources. In: exemptions in force, rules. Out:
// yes or no. The same is checked again with single records before each call; a run reads it so that a dry run is
// accurate.
import type { Exemptions } from '../decide/exemptions.ts';
import type { Rule } from '../domain/rule.ts';
import type { Source } from '../domain/subjects.ts';

/** No rule reads users, but a device's owner decides whether it is exempt. */
export function needsExemptOwners(exemptions: Exemptions, sources: ReadonlySet<Source>): boolean {
  return exemptions.asksForOwnerRecords && sources.has('devices') && !sources.has('users');
}

/**
 * No rule reads devices, but one deletes users' devices: its other owners decide whether a device is removed, and an
 * exemption of it, or of another owner, protects it.
 */
export function needsMappedDevices(rules: readonly Rule[], sources: ReadonlySet<Source>): boolean {
  return !sources.has('devices') && rules.some(deletesMappings);
}

/** Whether a rule's actions touch devices of the users that it matches. */
export function deletesMappings({ subject, then }: Pick<Rule, 'subject' | 'then'>): boolean {
  return subject === 'user' && then.some(({ action }) => action === 'delete_device');
}
