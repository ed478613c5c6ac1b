// domain: the contract of each file in act/actions/. Other stages see only the traits.

import type { Deletion } from './deletion.ts';
import type { Change } from './effect.ts';
import type { Fact, Facts } from './facts.ts';
import type { Api, WriteAnswer } from './ports.ts';
import type { SubjectKind } from './subjects.ts';

export const ACTION_NAMES = [
  'ban_device',
  'unban_device',
  'delete_device',
  'enable_service',
  'disable_service',
  'delete_service',
  'update_service',
  'add_to_bundle',
  'remove_from_bundle',
  'notify',
] as const;
export type ActionName = (typeof ACTION_NAMES)[number];

/** What loading, deciding and reporting need to know about an action: data, no calls. */
export interface ActionTraits {
  name: ActionName;
  /** The subjects whose rules may name it; any other pairing is a load error. */
  subjects: readonly SubjectKind[];
  /** The action that undoes it; undefined: none does. */
  inverse: ActionName | undefined;
  /** The record field that it writes: a rule with this action that reads the field is a load error. */
  fieldWritten: string | undefined;
  /** The value of `fieldWritten` after the action. */
  valueWritten: string | undefined;
  /**
   * What else it writes with these settings, as paths that `when` could read (`ServiceSpec`,
   * `$spec.metadata.description`). A rule with this action that reads one is a load error. Accepts settings that
   * `refuseSettings` refuses: it never throws.
   */
  alsoWrites?(settings: Facts): string[];
  /** It removes its target, which ends everything proposed for that target. */
  removesTarget?: true;
  /** It lifts a ban or a switch, which contradicts removing the target. */
  givesAccess?: boolean;
  /** False for `notify`: it has no target state and makes no call. */
  changesFleet: boolean;
  /** Checks the settings in a rule's `with`; returns what is wrong with them, or undefined. */
  refuseSettings(settings: Facts): string | undefined;
  /**
   * What it would change in the document that it rewrites (a service's spec, as in its record), without secrets;
   * undefined when the document cannot be read. Only for an action that rewrites one.
   */
  changes?(spec: Fact | undefined, settings: Facts): Change[] | undefined;
  /** One sentence for people: what happens to which target. `settings` is the rule's `with`; an undo has none. */
  effect(
    target: string,
    devices: readonly { id: string; name: string }[],
    settings: Facts,
    changes?: readonly Change[],
    deletion?: Deletion,
  ): string;
}

/** The state of a target as read back. `evidence` is kept in the audit. */
export interface ReadBack {
  /** `unreadable`: the server does not return the state; a person has to resolve a doubt about it. */
  state: 'as_intended' | 'otherwise' | 'absent' | 'unreadable';
  /** The records read, filtered again here by key: a server may ignore its filter. */
  records: Facts[];
  evidence: Facts;
  /** For a deletion of devices: what it would delete now. */
  deletion?: Deletion;
}

/** One whole action. Only act/ calls `perform`, after the intent is committed as `sent`. */
export interface Action extends ActionTraits {
  readBack(api: Api, target: string, settings: Facts): Promise<ReadBack>;
  /** Why it must not be done to what was just read, for people; undefined: it may be done. */
  refuse?(fresh: ReadBack): string | undefined;
  /** Sends the one request, built from the records just read. Never retried here. */
  perform(api: Api, target: string, fresh: ReadBack, settings: Facts): Promise<WriteAnswer>;
}
