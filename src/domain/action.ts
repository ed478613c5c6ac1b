// domain: the contract of each file in act/actions/. Other stages see only the traits.
import { type Fact, type Facts, ownText } from './facts.ts';
import type { Api, TargetReads, WriteAnswer } from './ports.ts';
import type { SubjectKind, SubjectRef, SubjectSummary } from './subjects.ts';

// What a deletion takes beside its named target (specification, endpoint 3: four rules with and without an e-mail
// address).

/** Null: not known. E-mail addresses are as read, each once; everything is sorted. */
export interface Deletion {
  /** DeviceIDs that are deleted. One that another owner keeps is not deleted. */
  devices: string[] | null;
  /** Owners whose mapping to the serial number ends. */
  owners: string[] | null;
  /** The number of revoked certificates: one for each mapping of a user to a device. */
  certificates: number | null;
  /** Owners who are left without a device, and are deleted too. */
  users: string[] | null;
}

interface MappedDevice {
  id: string;
  /** Undefined: the server did not list them. */
  owners: readonly string[] | undefined;
}

/** Known facts about owners, by lower-case e-mail address. */
export interface OwnersView {
  /** Whether one keeps a device of another serial number; undefined: not known. */
  keepsAnother(owner: string): boolean | undefined;
  /** Whether another deletion of the same plan ends this mapping to the serial number too. */
  losesThisToo?(owner: string): boolean;
}

/** The part of a serial number that is deleted: all of it, or one user's mapping to it. */
interface DeletionTarget {
  serial: string;
  email: string | undefined;
}

/**
 * The e-mail address comes from the settings: a serial number may look like anything, even like another one and an
 * address.
 */
export function mappingSettings(email: string): Facts {
  return { Email: email };
}

export function deletionTarget(target: string, settings: Facts): DeletionTarget {
  const email = ownText(settings, 'Email');
  return email === undefined ? { serial: target, email } : { serial: target.slice(0, -(email.length + 1)), email };
}

export function deletionOf(email: string | undefined, devices: readonly MappedDevice[], view: OwnersView): Deletion {
  return email === undefined ? wholeDeletion(devices, view) : mappingDeletion(email, devices, view);
}

function wholeDeletion(devices: readonly MappedDevice[], view: OwnersView): Deletion {
  const mappings = mappingsOf(devices);
  const owners = mappings && addressesOf(mappings);
  return {
    devices: devices.map(({ id }) => id).sort(),
    owners,
    certificates: mappings === null ? null : mappings.length,
    users: owners && leftWithout(owners, view),
  };
}

function mappingDeletion(email: string, devices: readonly MappedDevice[], view: OwnersView): Deletion {
  const users = leftWithout([email], view);
  const isKnown = devices.every(({ owners }) => owners !== undefined);
  const mapped = devices.filter(({ owners = [] }) => owners.some((owner) => isSame(owner, email)));
  // A user lists the device and no device lists the user: one of the two is out of date.
  if (!isKnown || mapped.length === 0) return { devices: null, owners: [email], certificates: null, users };
  const isLast = ({ owners = [] }: MappedDevice) =>
    owners.every((owner) => isSame(owner, email) || view.losesThisToo?.(owner.toLowerCase()) === true);
  return {
    devices: mapped
      .filter(isLast)
      .map(({ id }) => id)
      .sort(),
    owners: [email],
    certificates: mapped.length,
    users,
  };
}

function mappingsOf(devices: readonly MappedDevice[]): string[] | null {
  if (devices.some(({ owners }) => owners === undefined)) return null;
  return devices.flatMap(({ owners = [] }) => addressesOf(owners));
}

function leftWithout(owners: readonly string[], view: OwnersView): string[] | null {
  const keeps = owners.map((owner) => view.keepsAnother(owner.toLowerCase()));
  return keeps.includes(undefined) ? null : owners.filter((_, index) => keeps[index] === false);
}

/** Servers differ in the case of addresses; each person counts once. */
function addressesOf(owners: readonly string[]): string[] {
  return [...new Map(owners.map((owner) => [owner.toLowerCase(), owner])).values()].sort();
}

function isSame(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/** For people, one text for each kind: devices, certificates with their owners, users. They may hold hostile names. */
export function deletionTexts({ devices, owners, certificates, users }: Deletion): string[] {
  const of = owners === null ? 'owners not known' : `of ${named(owners)}`;
  const count = certificates === null ? 'an unknown number of certificates' : counted(certificates, 'certificate');
  return [
    `deletes ${devices === null ? 'devices: not known' : counted(devices.length, 'device')}`,
    `revokes ${count} (${of})`,
    users === null ? 'users left without a device, and deleted: not known' : `deletes ${usersText(users)}`,
  ];
}

function usersText(users: readonly string[]): string {
  return users.length === 0 ? '0 users' : `${counted(users.length, 'user')} left without a device: ${named(users)}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function named(owners: readonly string[]): string {
  return owners.length === 0 ? 'nobody' : owners.join(', ');
}

// What an action touches and changes, as an operator reads it before approving it.

/** One changed value of a document, such as `spec.backend.target.port`. A secret shows as `[dropped]`. */
export interface Change {
  path: string;
  /** Null: it did not exist. */
  from: Fact;
  /** Null: it is removed. */
  to: Fact;
}

/** A device that an action touches, as it was read. */
export interface EffectDevice {
  id: string;
  name: string;
  platform: string;
  model: string;
  /** Absent in rows of earlier versions. */
  serial?: string;
  /** Absent where the list that was read does not show owners. */
  owners?: readonly string[];
}

/** The real effect of an action. */
export interface Effect {
  text: string;
  devices: EffectDevice[];
  /**
   * For an action that rewrites a document: its changes to the document in the snapshot. Absent when they are not
   * known.
   */
  changes?: Change[];
  /** For a deletion of devices: what each person loses. */
  deletion?: Deletion;
  /** For an action that removes its target: open claims on the target that end with it, as `ACTION of rule RULE`. */
  ends?: readonly string[];
  /** Ids of exemptions that the target joined after they were made: an approval of this effect knows of them. */
  joined?: readonly string[];
  /** Whom its rules could not warn: an approval of this effect knows of them. */
  unwarned?: readonly string[];
}

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
  /** The subjects whose rules may name it, first the kind of its target; any other pairing is a load error. */
  subjects: readonly SubjectKind[];
  /** What rules about these subjects call it, where it acts on several targets of one. */
  nameFor?: { readonly [kind in SubjectKind]?: string };
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
  /** What its owner is warned of, after "if it is not mended in time": `it is blocked: …`. */
  warnText?: string;
  /**
   * What else it writes with these settings, as paths that `when` could read (`ServiceSpec`,
   * `$spec.metadata.description`). A rule with this action that reads one is a load error. Accepts settings that
   * `refuseSettings` refuses: it never throws.
   */
  alsoWrites?(settings: Facts): string[];
  /** Sources whose unpaged list a run must read for a rule with this action, whatever `when` reads. */
  unpaged?(rule: {
    subject: SubjectKind;
    owners: 'one' | 'all';
    notice?: object | undefined;
  }): readonly ('devices' | 'users')[];
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

/** Whether a device is taken from its owners. `stateOf`: a field that actions write. */
export function isTaken(known: KnownTraits, stateOf: (field: string) => string | undefined): boolean {
  for (const { takesDevice, fieldWritten, valueWritten } of known.values())
    if (takesDevice && fieldWritten !== undefined && stateOf(fieldWritten) === valueWritten) return true;
  return false;
}

/** The fields of a subject's record that actions write: kept to see whether they are done. */
export function fieldsWritten(known: KnownTraits, kind: SubjectKind): string[] {
  const writing = [...known.values()].filter((traits) => kindOfTarget(traits) === kind);
  return [...new Set(writing.flatMap(({ fieldWritten }) => fieldWritten ?? []))];
}

/** The kind whose records show the target, whoever's rule names the action. Percentages of its ceilings are of these. */
export function kindOfTarget({ subjects }: Pick<ActionTraits, 'subjects'>): SubjectKind {
  return subjects[0] ?? 'device';
}

/** Whether other records than the matched subject's show its state: a rule about users bans devices. */
export function isShownByOthers(
  traits: Pick<ActionTraits, 'subjects' | 'fieldWritten'>,
  subject: SubjectKind,
): boolean {
  return traits.fieldWritten !== undefined && subject !== kindOfTarget(traits);
}

/** Its name in the rules about these subjects. */
export function nameInRules({ name, nameFor }: Pick<ActionTraits, 'name' | 'nameFor'>, subject: SubjectKind): string {
  return nameFor?.[subject] ?? name;
}

/** The state of several records together: one that is in the written state is enough. */
export function stateOfAll(
  states: readonly (string | undefined)[],
  { valueWritten }: Pick<ActionTraits, 'valueWritten'>,
): string | undefined {
  return states.find((state) => state === valueWritten) ?? states.find((state) => state !== undefined);
}

/** The state of a target as read back. `evidence` is kept in the audit. */
export interface ReadBack {
  /** `unreadable`: the server does not return the state; a person has to resolve a doubt about it. */
  state: 'as_intended' | 'otherwise' | 'absent' | 'unreadable';
  /** The records read, filtered again here by key: a server may ignore its filter. */
  records: Facts[];
  /** The records of subjects that are no part of the target: the users whose devices are banned. */
  beside?: Facts[];
  evidence: Facts;
  /** For a deletion of devices: what it would delete now. */
  deletion?: Deletion;
  /** E-mail addresses of everybody who has a device of the target, where the records do not show them. */
  owners?: readonly string[];
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

export interface ActionOnTarget {
  action: ActionName;
  target: string;
  /** Claims have none: only a user's deletion needs them, and nothing claims that. */
  settings?: Facts;
}

export function targetKey({ action, target, settings = {} }: ActionOnTarget, known: KnownTraits): string {
  const traits = known.get(action);
  // A stored row of a version that has this action: no target of the actions that are known is the same.
  return traits ? keyOf(traits, target, settings) : ['', action, target].join('\u0000');
}

/** The same where the traits are at hand. */
export function keyOf({ target: { identity } }: ActionTraits, target: string, settings: Facts): string {
  return identity(target, settings).join('\u0000');
}

export function isSameTarget(a: ActionOnTarget, b: ActionOnTarget, known: KnownTraits): boolean {
  return targetKey(a, known) === targetKey(b, known);
}

// Which services are in which bundles, as far as the server lists them.

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

// Ceilings: how often an action may be attempted in one run and in 24 hours.

export interface CeilingSettings {
  run: { max: number; percent: number };
  day: { max: number; percent: number };
}

/** By default: per run max(50, 5 %), per 24 h max(100, 10 %) of the subjects in the snapshot. */
export const CEILINGS_DEFAULT: CeilingSettings = { run: { max: 50, percent: 5 }, day: { max: 100, percent: 10 } };

export type CeilingWindow = 'run' | '24h';

/** What a run used of a ceiling, as it is kept with the run. */
export interface CeilingUse {
  action: ActionName;
  window: CeilingWindow;
  used: number;
  allowed: number;
}

/** How many attempts of one action are allowed at this moment. */
export function attemptsAllowed(
  settings: CeilingSettings,
  counts: { subjects: number; thisRun: number; lastDay: number },
): number {
  const run = ceilingOf(settings.run, counts.subjects) - counts.thisRun;
  const day = ceilingOf(settings.day, counts.subjects) - counts.lastDay;
  return Math.max(0, Math.min(run, day));
}

/** The greater of a number and a share of the subjects. */
export function ceilingOf({ max, percent }: CeilingSettings['run'], subjects: number): number {
  return Math.max(max, share(percent, subjects));
}

/** A percentage of a count, rounded up, so that 2 % of 40 is one. */
export function share(percent: number, count: number): number {
  return Math.ceil((percent * count) / 100 - 1e-9);
}
