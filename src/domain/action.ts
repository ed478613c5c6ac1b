// domain: the contract of each file in act/actions/. Other stages see only the traits.

import type { Deletion } from './deletion.ts';
import type { Change } from './effect.ts';
import type { Fact, Facts } from './facts.ts';
import type { Api, TargetReads, WriteAnswer } from './ports.ts';
import type { SubjectKind, SubjectRef } from './subjects.ts';
import type { SubjectSummary } from './target.ts';

/**
 * Plain text: domain does not know which actions there are. Loading a rule checks its actions against the registry
 * (act/actions.ts); a stored row may name an action that this version does not have.
 */
export type ActionName = string;

/** A kind of target of an action. */
export interface TargetTraits {
  /** For people, as the head of a column, where the target is neither its subject nor a serial number: `Mailbox`. */
  noun?: string;
  /** The targets on a matched subject, with the settings that the rule gives. */
  of(summary: SubjectSummary, settings: Facts): readonly string[];
  /** Settings of a target on this subject in place of the rule's, where the target's text alone does not identify it. */
  settingsOf?(subject: SubjectRef): Facts | undefined;
  /** The kind of the target, then what identifies it among those of its kind. Equal only for one and the same thing. */
  identity(target: string, settings: Facts): readonly [kind: string, ...parts: string[]];
  /** What the target names, where that is several things: two calls about one of them never go at once. */
  parts?(target: string): readonly string[];
  /** The serial number whose devices it hits; absent: it hits no devices. */
  serialOf?(target: string, settings: Facts): string;
}

/** What loading, deciding and reporting need to know about an action: data, no calls. */
export interface ActionTraits {
  name: ActionName;
  /** The subjects whose rules may name it; any other pairing is a load error. */
  subjects: readonly SubjectKind[];
  target: TargetTraits;
  /** The action that undoes it; undefined: none does. */
  inverse: ActionName | undefined;
  /** The record field that it writes: a rule with this action that reads the field is a load error. */
  fieldWritten: string | undefined;
  /** The value of `fieldWritten` after the action, as `flagText` reads it. */
  valueWritten: string | undefined;
  /** The `action` of the `Audit` event that the platform writes of it; undefined: none is known. */
  auditedAs?: string;
  /** What a target is called after it, for people: `banned`. Only where it takes access away. */
  stateText?: string;
  /**
   * What else it writes with these settings, as paths that `when` could read (`ServiceSpec`,
   * `$spec.metadata.description`). A rule with this action that reads one is a load error. Accepts settings that
   * `refuseSettings` refuses: it never throws.
   */
  alsoWrites?(settings: Facts): string[];
  /** Sources whose unpaged list a run must read for a rule with this action, whatever `when` reads. */
  unpaged?(rule: { subject: SubjectKind; owners: 'one' | 'all' }): readonly ('devices' | 'users')[];
  /** Whether it is done already is seen in the list of bundles only. */
  readsBundles?: true;
  /** It leaves the owners of a device with one less. */
  takesDevice?: true;
  /** It ends people's mappings to the devices of a serial number: who loses what is described before a person approves. */
  deletesDevices?: true;
  /** It removes its target, which ends everything proposed for that target. */
  removesTarget?: true;
  /** It lifts a ban or a switch, which contradicts removing the target. */
  givesAccess?: boolean;
  /** False: its target has no state, and it makes no call. */
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

/** By name, as the registry has them. */
export type KnownTraits = ReadonlyMap<ActionName, ActionTraits>;

/** The fields of a subject's record that actions write: kept to see whether they are done. */
export function fieldsWritten(known: KnownTraits, kind: SubjectKind): string[] {
  const writing = [...known.values()].filter(({ subjects }) => subjects.includes(kind));
  return [...new Set(writing.flatMap(({ fieldWritten }) => fieldWritten ?? []))];
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
  readBack(api: TargetReads, target: string, settings: Facts): Promise<ReadBack>;
  /** Why it must not be done to what was just read, for people; undefined: it may be done. */
  refuse?(fresh: ReadBack): string | undefined;
  /** The webhooks that are notified when it is done. */
  recipients?(settings: Facts): readonly string[];
  /** Sends the one request, built from the records just read. Never retried here. */
  perform(api: Api, target: string, fresh: ReadBack, settings: Facts): Promise<WriteAnswer>;
}
