// run: what exemptions and actions ask a run to read beyond what its rules read. In: exemptions in force, rules, traits. Out: what.
// The same questions are asked again of single records before each call; a run asks them so that a dry run tells the truth.
import type { Exemptions } from '../decide/exemptions.ts';
import type { ActionName, KnownTraits } from '../domain/action.ts';
import type { Rule } from '../domain/rule.ts';
import type { Source } from '../domain/subjects.ts';

/** No rule reads users, but who owns a device decides whether it is exempt. */
export function needsExemptOwners(exemptions: Exemptions, sources: ReadonlySet<Source>): boolean {
  return exemptions.asksForOwnerRecords && sources.has('devices') && !sources.has('users');
}

/**
 * Sources to read in the unpaged form, whatever the rules read: it alone shows whose a device is, and which devices a user has.
 * Also a source that no rule reads: who else owns a user's device decides whether it goes, and an exemption may protect either.
 */
export function unpagedForActions(rules: readonly Rule[], actions: KnownTraits): ReadonlySet<'devices' | 'users'> {
  return new Set(
    rules.flatMap((rule) => rule.then.flatMap(({ action }) => actions.get(action)?.unpaged?.(rule) ?? [])),
  );
}

/** Whether a target is already so, and whether a person reversed it, is seen in the list of bundles for some of these actions. */
export function readsBundles(named: readonly { action: ActionName }[], actions: KnownTraits): boolean {
  return named.some(({ action }) => actions.get(action)?.readsBundles);
}

/** Whether a rule's actions delete devices, or users' mappings to them. */
export function deletesDevices({ then }: Pick<Rule, 'then'>, actions: KnownTraits): boolean {
  return then.some(({ action }) => actions.get(action)?.deletesDevices);
}
