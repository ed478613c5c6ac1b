// domain: what makes two targets one. In: an action, its target as text, its settings. Out: a key that two of them
// share only when they concern the same thing at the platform. INVARIANT: code that asks "the same target?" compares
// these keys. The text alone is ambiguous: a serial number is what a device reports, and may look like another one and
// an address, or like a ServiceID.
import type { ActionName } from './action.ts';
import { deletionTarget } from './deletion.ts';
import type { Facts } from './facts.ts';

type TargetKind = 'serial' | 'service' | 'membership' | 'notice';

const KIND_OF: { readonly [action in ActionName]: TargetKind } = {
  ban_device: 'serial',
  unban_device: 'serial',
  delete_device: 'serial',
  enable_service: 'service',
  disable_service: 'service',
  delete_service: 'service',
  update_service: 'service',
  add_to_bundle: 'membership',
  remove_from_bundle: 'membership',
  notify: 'notice',
};

export interface ActionOnTarget {
  action: ActionName;
  target: string;
  /** Claims have none: only a user's deletion needs them, and nothing claims that. */
  settings?: Facts;
}

export function targetKey({ action, target, settings = {} }: ActionOnTarget): string {
  const kind = KIND_OF[action];
  if (action !== 'delete_device') return `${kind}\u0000${target}`;
  const { serial, email } = deletionTarget(target, settings);
  return email === undefined ? `${kind}\u0000${serial}` : `mapping\u0000${serial}\u0000${email}`;
}

export function isSameTarget(a: ActionOnTarget, b: ActionOnTarget): boolean {
  return targetKey(a) === targetKey(b);
}
