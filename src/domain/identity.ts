// domain: by which names people know a subject: its id, serial number, name and owners, as a trusted reading has shown them. In: a
// record. Out: its identity, and a line for people. It only finds names: nothing that acts rests on it.

import type { PrintKey } from '../base/print-bits.ts';
import { shownName } from '../base/text.ts';
import { timeText } from '../base/time.ts';
import { AppError } from './errors.ts';
import { type Facts, ownText, ownTexts } from './facts.ts';
import { factsOf } from './listed-facts.ts';
import { SUBJECT_KINDS, type SubjectKind, type SubjectRef } from './subjects.ts';

/** What one reading shows of a subject. Texts are empty where the record has none, or a value of another type. */
export interface IdentitySeen extends SubjectRef {
  /** Of a device. */
  serial: string;
  name: string;
  platform: string;
  model: string;
  /** E-mail addresses; undefined: this reading does not show them. */
  owners: readonly string[] | undefined;
}

/** The same, with what lists filter and sort by (listed-facts.ts). */
export interface ListedIdentity extends IdentitySeen {
  facts: number;
}

export interface Identity extends IdentitySeen {
  firstAt: number;
  /** Of any of the above, or its coming or going. */
  changedAt: number;
  /** Since when trusted lists no longer have it; undefined: the last one had it. */
  goneAt: number | undefined;
}

/** How a text names an identity. `owner`: a device, by one of its owners. */
export type NamedBy = 'id' | 'serial' | 'name' | 'owner';

export interface NamedIdentity {
  identity: Identity;
  by: NamedBy;
}

/** All that is known and selected by one field. */
export interface SelectedIdentities {
  /** Of those that the last trusted list had. */
  count: number;
  /** Some of them. */
  examples: Identity[];
}

/** The store as names are resolved. */
export interface IdentityReader {
  /** Every identity that the text names, in any case, up to a number of each way: see `NAMED_MAX`. Those of trusted lists first. */
  identitiesNamed(text: string): Promise<NamedIdentity[]>;
  /** Those whose id or serial number one of the texts is, in any case: some of very many. Those of trusted lists first. */
  identitiesOf(texts: readonly string[]): Promise<Identity[]>;
  /** Some of those that have all words of the text in their names, by the words' beginnings: of each kind at most one more than `NEAR_MAX`. */
  identitiesLike(text: string, kinds: readonly SubjectKind[]): Promise<Identity[]>;
  /** What the value of a field selects now; undefined: the field is not kept (`Groups`), or no list of this kind was read yet. */
  identitiesSelected(field: string, value: string): Promise<SelectedIdentities | undefined>;
}

/** Names are chosen by people and may be shared by any number: no more than these are read of each way. */
export const NAMED_MAX = 50;

/** Names that are offered for one that nothing has. */
export const NEAR_MAX = 5;

/** What a trusted reading of one kind changes. */
export interface IdentityChanges {
  kind: SubjectKind;
  /** New ones, and those of which something differs. */
  changed: Iterable<ListedIdentity>;
  /** Whether the reading had a record of one of the two fingerprints that are here, made with this key. Undefined: none is gone. */
  had: { key: PrintKey; has(prints: PresentPrints, at: number): boolean } | undefined;
  /** When the reading ended, epoch ms. */
  readAt: number;
}

/**
 * Fingerprints of four numbers each. Of all identities of a kind that the last trusted list had: two of each, without and with owners
 * (identity-print.ts). A million of them are usual.
 */
export type PresentPrints = Int32Array;

/** The fields of a record that are kept, in the order of `id`, `serial`, `name`, `platform`, `model`. */
export const FIELDS: Record<SubjectKind, readonly (string | undefined)[]> = {
  device: ['DeviceID', 'SerialNumber', 'DeviceFriendlyName', 'Platform', 'Model'],
  user: ['Email', undefined, 'Name', undefined, undefined],
  service: ['ServiceID', undefined, 'ServiceName', undefined, undefined],
};

export function identityOf(kind: SubjectKind, record: Facts): ListedIdentity {
  const texts = FIELDS[kind].map((field) => fieldText(record, field));
  const [id, serial, name, platform, model] = texts as [string, string, string, string, string];
  return {
    kind,
    id,
    serial,
    name,
    platform,
    model,
    owners: kind === 'device' ? ownTexts(record, 'Emails') : undefined,
    facts: factsOf(kind, record),
  };
}

export function fieldText(record: Facts, field: string | undefined): string {
  return field === undefined ? '' : (ownText(record, field) ?? '');
}

/** As names are compared: servers and people differ in case. */
export function nameKey(text: string): string {
  return text.trim().toLowerCase();
}

/** `owners`: of each device. Whether there are devices, and each is owned, and by others alone. */
export function areOthers(owners: readonly (readonly string[] | undefined)[], email: string): boolean {
  const isOthers = (own: readonly string[] = []) =>
    own.length > 0 && own.every((one) => nameKey(one) !== nameKey(email));
  return owners.length > 0 && owners.every(isOthers);
}

const OWNERS_SHOWN = 2;

/** `Ada's MacBook, C02XXXX, ada@example.com (device 4f1c…)`. Names in it are as they came: escape it where it is shown. */
export function identityText({ kind, id, name, serial, owners, goneAt }: Identity): string {
  const [first, ...others] = [name, serial, ...(owners ?? []).slice(0, OWNERS_SHOWN)].map(onOneLine).filter(isSaid);
  const more = (owners?.length ?? 0) > OWNERS_SHOWN ? [`${(owners?.length ?? 0) - OWNERS_SHOWN} more owners`] : [];
  const gone = goneAt === undefined ? '' : `, gone since ${timeText(goneAt)}`;
  const own = `${kind} ${shownName(onOneLine(id))}${gone}`;
  return first === undefined ? own : `${[first, ...others].map(shownName).concat(more).join(', ')} (${own})`;
}

function isSaid(text: string): boolean {
  return text !== '';
}

function onOneLine(text: string): string {
  return text.replace(/[\r\n\u2028\u2029]+/g, ' ');
}

// The one resolver of names. In: what a person typed, and the identities that it names. Out: the subject or target that
// it names, all that it may name, or nothing. INVARIANT: an id, a serial number or an e-mail address goes before a
// name: a device is called what its user wants, even like the serial number of another one.

/** One thing that a name names. */
export interface Named {
  kind: SubjectKind;
  by: NamedBy;
  /** At least one. Several devices share one serial number, and are one target. */
  subjects: readonly [Identity, ...Identity[]];
  /** What actions on it are about: a SerialNumber or a ServiceID. Undefined: a user, or a device without a serial number. */
  target: string | undefined;
  /** For people, on one line. Names in it are as they came: escape it where it is shown. */
  text: string;
}

export type Resolved =
  | { found: 'one'; named: Named }
  | { found: 'several'; among: readonly Named[] }
  /** `near`: of things that have it in their names, for people. */
  | { found: 'none'; near?: readonly string[] };

/** `kinds`: what the name may name, all by default. Without `user`, an e-mail address names the devices of that owner. */
interface ResolveOptions {
  kinds?: readonly SubjectKind[];
}

export async function resolveName(
  reader: IdentityReader,
  text: string,
  { kinds = SUBJECT_KINDS }: ResolveOptions = {},
): Promise<Resolved> {
  const resolved = resolveAmong(await reader.identitiesNamed(text), text, kinds);
  if (resolved.found !== 'none') return resolved;
  return { ...resolved, near: (await reader.identitiesLike(text, kinds)).map(identityText) };
}

/** Pure: the same over identities that were read. */
export function resolveAmong(
  identities: readonly NamedIdentity[],
  text: string,
  kinds: readonly SubjectKind[] = SUBJECT_KINDS,
): Resolved {
  const fitting = identities.filter(({ identity: { kind } }) => kinds.includes(kind));
  const of = (...ways: NamedBy[]) => fitting.filter(({ by }) => ways.includes(by));
  const exact = of('id', 'serial').filter(({ identity: { id, serial } }) => id === text || serial === text);
  const owned = kinds.includes('user')
    ? ownerOf(
        identities.filter(({ by }) => by === 'owner'),
        text,
      )
    : of('owner');
  const tiers = [exact, of('id', 'serial'), owned, presentOf(of('name'))];
  const among = thingsOf(tiers.find((tier) => tier.length > 0) ?? []);
  const [named] = among;
  if (named === undefined) return { found: 'none' };
  return among.length === 1 ? { found: 'one', named } : { found: 'several', among };
}

/** A user that no list has shown is known as the owner of devices. */
function ownerOf(devices: readonly NamedIdentity[], text: string): NamedIdentity[] {
  const [first] = devices;
  const email = first?.identity.owners?.find((owner) => nameKey(owner) === nameKey(text));
  if (first === undefined || email === undefined) return [];
  const none = { serial: '', name: '', platform: '', model: '', owners: undefined };
  return [{ by: 'id', identity: { ...first.identity, ...none, kind: 'user', id: email } }];
}

/** What is gone has given its name away. */
function presentOf(named: readonly NamedIdentity[]): readonly NamedIdentity[] {
  const present = named.filter(({ identity: { goneAt } }) => goneAt === undefined);
  return present.length > 0 ? present : named;
}

function thingsOf(identities: readonly NamedIdentity[]): Named[] {
  const groups = new Map<string, NamedIdentity[]>();
  // Serial numbers first: a device that has its serial number as its id too is one thing.
  const ordered = identities.toSorted((a, b) => Number(b.by === 'serial') - Number(a.by === 'serial'));
  const seen = new Set<Identity>();
  for (const one of ordered) {
    const { identity, by } = one;
    if (seen.has(identity)) continue;
    seen.add(identity);
    const key = keyOf(identity, by);
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return [...groups.values()].map((group) => thingOf(group as [NamedIdentity, ...NamedIdentity[]]));
}

function keyOf({ kind, id, serial }: Identity, by: NamedBy): string {
  if (kind === 'user') return `user ${nameKey(id)}`;
  return kind === 'device' && by !== 'id' && serial !== '' ? `serial ${serial}` : `${kind} ${id}`;
}

function thingOf(group: readonly [NamedIdentity, ...NamedIdentity[]]): Named {
  const [{ identity: first, by }, ...others] = group.toSorted(
    (a, b) => goneAtOf(b) - goneAtOf(a),
  ) as unknown as typeof group;
  const { kind, id, serial } = first;
  if (kind !== 'device') {
    const target = kind === 'service' ? id : undefined;
    return { kind, by, subjects: [first], target, text: identityText(first) };
  }
  const more = others.length === 0 ? '' : ` and ${others.length} more of this serial number`;
  return {
    kind,
    by,
    subjects: [first, ...others.map(({ identity }) => identity)],
    target: serial === '' ? undefined : serial,
    text: `${identityText(first)}${more}`,
  };
}

function goneAtOf({ identity: { goneAt } }: NamedIdentity): number {
  return goneAt ?? Number.MAX_SAFE_INTEGER;
}

/** Whether its user may have chosen the name that was given: then nothing is changed without a person's confirmation. */
export function isChosenName({ kind, by }: Pick<Named, 'kind' | 'by'>): boolean {
  return by === 'name' && kind !== 'service';
}

const CANDIDATES_SHOWN = 10;

/** Errors: AppError `usage` that lists what the name may mean, `not_found` when nothing is known by it. */
export function demandOne(resolved: Resolved, text: string): Named {
  if (resolved.found === 'one') return resolved.named;
  if (resolved.found === 'none') throw nothingKnown(text, resolved.near);
  const shown = resolved.among.slice(0, CANDIDATES_SHOWN).map((named) => named.text);
  const more = resolved.among.length > shown.length ? `; and ${resolved.among.length - shown.length} more` : '';
  const what = `\`${shownName(onOneLine(text))}\` names ${resolved.among.length}: ${shown.join('; ')}${more}`;
  throw new AppError('usage', `${what}; give an id, a serial number or an e-mail address`);
}

/** The same where something is changed. Errors: also AppError `usage` for a name that its user may have chosen. */
export function demandOneToChange(resolved: Resolved, text: string): Named {
  const named = demandOne(resolved, text);
  if (!isChosenName(named)) return named;
  const [{ id }] = named.subjects;
  const give = named.target === undefined ? `its id \`${id}\`` : `its serial number \`${named.target}\``;
  const what = `\`${shownName(onOneLine(text))}\` is only the name of ${named.text}, and names are chosen by their users`;
  throw new AppError('usage', `${what}: give ${give}`);
}

export function nothingKnown(text: string, near: readonly string[] = []): AppError {
  const shown = near.slice(0, NEAR_MAX);
  const more = near.length > shown.length ? '; and more' : '';
  const why =
    shown.length === 0
      ? ': no trusted snapshot has shown it as an id, a serial number, an e-mail address or a name'
      : `; names that have it: ${shown.join('; ')}${more}`;
  return new AppError('not_found', `nothing is known as \`${shownName(onOneLine(text))}\`${why}`);
}
