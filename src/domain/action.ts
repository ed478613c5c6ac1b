// domain: the contract that each file in act/actions/ fulfils. Other stages see only the traits.

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

/** What loading, deciding and reporting need to know of an action: data, no calls. */
export interface ActionTraits {
  name: ActionName;
  /** The subjects whose rules may name it; another pairing is a load error. */
  subjects: readonly SubjectKind[];
  /** The action that undoes it; undefined: nothing does. */
  inverse: ActionName | undefined;
  /** The record field that it writes: a rule of it that reads this field is a load error. */
  fieldWritten: string | undefined;
  /** The value that `fieldWritten` has once it is done. */
  valueWritten: string | undefined;
  /**
   * What else it writes with these settings, as paths that `when` could read (`ServiceSpec`, `$spec.metadata.description`);
   * a rule of it that reads one is a load error. Settings that `refuseSettings` refuses may be given: it never throws.
   */
  alsoWrites?(settings: Facts): string[];
  /** When it is done, there is no target any more: whatever was wished of it is over. */
  removesTarget?: true;
  /** It gives back what a ban or a switch took: contrary to removing the target. */
  givesAccess?: boolean;
  /** False for `notify`: it has no target state and sends no call. */
  changesFleet: boolean;
  /** Checks the settings a rule gives in `with`; answers what is wrong with them, or undefined. */
  refuseSettings(settings: Facts): string | undefined;
  /**
   * What it would change in the document that it rewrites (a service's spec, as in its record), without secrets; undefined when
   * that cannot be read. Only of an action that rewrites one.
   */
  changes?(spec: Fact | undefined, settings: Facts): Change[] | undefined;
  /** One sentence for people: what happens to whom. `settings` is what the rule gives in `with`; undoing has none. */
  effect(
    target: string,
    devices: readonly { id: string; name: string }[],
    settings: Facts,
    changes?: readonly Change[],
    deletion?: Deletion,
  ): string;
}

/** What a target reads back as. `evidence` is kept in the audit. */
export interface ReadBack {
  /** `unreadable`: the server does not say; a doubt about it needs a person. */
  state: 'as_intended' | 'otherwise' | 'absent' | 'unreadable';
  /** The records read, matched again here by key: a server may ignore its filter. */
  records: Facts[];
  evidence: Facts;
  /** Of a deletion of devices: what it would take now. */
  deletion?: Deletion;
}

/** One action whole. `perform` is only called by act/, after the intent is committed as `sent`. */
export interface Action extends ActionTraits {
  readBack(api: Api, target: string, settings: Facts): Promise<ReadBack>;
  /** Why it must not be done to what was just read, for people; undefined: it may. */
  refuse?(fresh: ReadBack): string | undefined;
  /** Sends the one request, built from the records just read. Never retried here. */
  perform(api: Api, target: string, fresh: ReadBack, settings: Facts): Promise<WriteAnswer>;
}
