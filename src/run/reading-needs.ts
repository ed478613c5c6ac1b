// run: what a run must read for exemptions and actions, beyond the sources of its rules. In: exemptions in force, rules, traits. Out:
// sources and forms. Single records are read again before each call; a run reads them so that a dry run shows the same answers.
import type { Exemptions } from '../decide/exemptions.ts';
import type { ActionName, KnownTraits } from '../domain/action.ts';
import type { Rule } from '../domain/rule.ts';
import type { Source } from '../domain/subjects.ts';

/** No rule reads users, but who owns a device decides whether it is exempt. */
export function needsExemptOwners(exemptions: Exemptions, sources: ReadonlySet<Source>): boolean {
  return exemptions.asksForOwnerRecords && sources.has('devices') && !sources.has('users');
}

/**
 * Sources to read in the unpaged form, whatever the rules read: only this form shows a device's owners and a user's devices.
 * This may be a source that no rule reads: a user's device is deleted only if nobody else owns it, and an exemption may protect either.
 */
export function unpagedForActions(rules: readonly Rule[], actions: KnownTraits): ReadonlySet<'devices' | 'users'> {
  return new Set(
    rules.flatMap((rule) => rule.then.flatMap(({ action }) => actions.get(action)?.unpaged?.(rule) ?? [])),
  );
}

/** Whether the list of bundles is needed to see if a target is in its state, or was reversed, for some of these actions. */
export function readsBundles(named: readonly { action: ActionName }[], actions: KnownTraits): boolean {
  return named.some(({ action }) => actions.get(action)?.readsBundles);
}

/** Whether a rule's actions delete devices, or users' mappings to them. */
export function deletesDevices({ then }: Pick<Rule, 'then'>, actions: KnownTraits): boolean {
  return then.some(({ action }) => actions.get(action)?.deletesDevices);
}
