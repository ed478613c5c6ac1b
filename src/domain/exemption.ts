// domain: an operator's request to leave something alone for a time: who is responsible, why, and until when.
// decide/exemptions.ts alone decides what it covers; every path (deciding, preflight, explaining) asks there.
import { shownName } from '../base/text.ts';
import { timeText } from '../base/time.ts';
import {
  type Identity,
  type IdentityReader,
  identityText,
  nameKey,
  resolveName,
  type SelectedIdentities,
} from './identity.ts';
import { ID_FIELD, type SubjectKind, type SubjectRef } from './subjects.ts';

/** One value of one field of all records of a kind: a serial number, a platform, a group. */
export interface Selector {
  kind: SubjectKind;
  field: string;
  value: string;
}

export interface Exemption {
  id: string;
  /** One subject by its id; undefined when `selector` names the subjects. */
  subject: SubjectRef | undefined;
  selector: Selector | undefined;
  /** Who is responsible for it. */
  owner: string;
  reason: string;
  /** It holds until this time, epoch ms; never without an end. */
  expiresAt: number;
  createdAt: number;
  createdBy: string;
  /** When it was ended early. */
  endedAt: number | undefined;
  endedBy: string | undefined;
  endedReason: string | undefined;
  /** When it last held back a match; undefined: never. */
  usedAt: number | undefined;
  /** When its coming end was announced. */
  warnedAt: number | undefined;
  /** A person accepted that devices report the selector's field themselves. */
  acceptForgeable?: boolean;
  /**
   * Whom it covers (`ExemptionMembers`). Undefined: no trusted reading has shown that since it was made, so it covers all that it is about;
   * or whoever read it did not ask.
   */
  members?: string;
}

/** The fields that a selector may name. Each belongs to one kind, so the field alone decides the kind. */
export const SELECTOR_FIELDS: Readonly<Record<string, SubjectKind>> = {
  DeviceID: 'device',
  SerialNumber: 'device',
  DeviceFriendlyName: 'device',
  Platform: 'device',
  Model: 'device',
  Email: 'user',
  Name: 'user',
  Groups: 'user',
  ServiceID: 'service',
  ServiceName: 'service',
};

/**
 * Those that a device reports about itself, so that whoever controls it chooses the value: its user names it, and its app reports platform and
 * model. The app reports the serial number too, but an exemption of one names a device: it covers the DeviceIDs that had it.
 * DeviceIDs, addresses, names of users and groups are kept by the platform and its identity provider, and services by administrators.
 */
export const FORGEABLE_FIELDS: readonly string[] = ['DeviceFriendlyName', 'Platform', 'Model'];

export function isInForce({ endedAt, expiresAt }: Exemption, nowMs: number): boolean {
  return endedAt === undefined && nowMs < expiresAt;
}

/** When reports and alerts remind of an exemption. */
export interface ExemptionSettings {
  /** Its end is announced this long before it. */
  warnMs: number;
  /** One that matched nothing for this long is announced. */
  unusedMs: number;
}

export function isEnding({ expiresAt }: Exemption, { warnMs }: ExemptionSettings, nowMs: number): boolean {
  return expiresAt - nowMs <= warnMs;
}

export function isUnused({ usedAt, createdAt }: Exemption, { unusedMs }: ExemptionSettings, nowMs: number): boolean {
  return usedAt === undefined && nowMs - createdAt >= unusedMs;
}

/** `device 4f1c…` or `Platform = macOS`: what an exemption covers, for people. */
export function aboutText({ subject, selector }: Pick<Exemption, 'subject' | 'selector'>): string {
  if (subject) return `${subject.kind} ${subject.id}`;
  return selector ? `${selector.field} = ${shownName(selector.value)}` : 'nothing';
}

/** Why something is left alone, for people. */
export function exemptionText(exemption: Exemption): string {
  const { id, owner, reason, expiresAt } = exemption;
  return `exemption ${id} (${aboutText(exemption)}) until ${timeText(expiresAt)}, ${owner} is responsible for it: ${reason}`;
}

// Whom an exemption covers: those that it protected when it was made, and those that a person confirmed since.

/**
 * INVARIANT: nothing that is here is inherited: a device with another DeviceID or another serial number is another member.
 * `serial`: of a device; of a user, the serial number whose mapping an action hits, or empty for the user itself.
 */
export interface ExemptionMember extends SubjectRef {
  serial: string;
}

const PRINT_BYTES = 16;
const EMPTY = Buffer.alloc(0);

/** The members of one exemption, as the store, a run and the history have them: prints in their order, in base64. */
export class ExemptionMembers {
  private constructor(
    private readonly exemption: string,
    private readonly prints: Buffer,
  ) {}

  static of(exemption: string, packed = ''): ExemptionMembers {
    return new ExemptionMembers(exemption, Buffer.from(packed, 'base64'));
  }

  get size(): number {
    return this.prints.length / PRINT_BYTES;
  }

  has(member: ExemptionMember): boolean {
    return this.indexOf(member) !== undefined;
  }

  with(members: Iterable<ExemptionMember>): ExemptionMembers {
    const all = Array.from({ length: this.size }, (_, index) => this.at(index));
    for (const member of members) all.push(this.printOf(member));
    all.sort(Buffer.compare);
    const each = all.filter((print, index) => index === 0 || Buffer.compare(print, all[index - 1] as Buffer) !== 0);
    return new ExemptionMembers(this.exemption, Buffer.concat(each));
  }

  /** The same one when it has none of them. */
  without(members: Iterable<ExemptionMember>): ExemptionMembers {
    const gone = new Set<number>();
    for (const member of members) {
      const index = this.indexOf(member);
      if (index !== undefined) gone.add(index);
    }
    if (gone.size === 0) return this;
    const kept = Array.from({ length: this.size }, (_, index) => (gone.has(index) ? EMPTY : this.at(index)));
    return new ExemptionMembers(this.exemption, Buffer.concat(kept));
  }

  packed(): string {
    return this.prints.toString('base64');
  }

  private indexOf(member: ExemptionMember): number | undefined {
    const print = this.printOf(member);
    let [from, to] = [0, this.size];
    while (from < to) {
      const middle = (from + to) >> 1;
      const order = Buffer.compare(print, this.at(middle));
      if (order === 0) return middle;
      if (order < 0) to = middle;
      else from = middle + 1;
    }
    return undefined;
  }

  private at(index: number): Buffer {
    return this.prints.subarray(index * PRINT_BYTES, (index + 1) * PRINT_BYTES);
  }

  /** Of 128 bits, since devices choose serial numbers. Servers and people differ in the case of those and of addresses. */
  private printOf({ kind, id, serial }: ExemptionMember): Buffer {
    const text = JSON.stringify([this.exemption, kind, kind === 'user' ? nameKey(id) : id, nameKey(serial)]);
    // Reading commands load this file too, and most of them print nobody: hashing is loaded with the first print.
    const { createHash } = process.getBuiltinModule('node:crypto');
    return createHash('sha256').update(text).digest().subarray(0, PRINT_BYTES);
  }
}

/**
 * What protecting these takes: the subjects themselves, and for each device its owners, whose mapping to its serial number an action may
 * remove.
 */
export function membersOf(
  identities: readonly Pick<Identity, 'kind' | 'id' | 'serial' | 'owners'>[],
): ExemptionMember[] {
  return identities.flatMap(({ kind, id, serial, owners = [] }): ExemptionMember[] =>
    kind === 'device'
      ? [{ kind, id, serial }, ...owners.map((owner) => ({ kind: 'user' as const, id: owner, serial }))]
      : [{ kind, id, serial: '' }],
  );
}

/** Those that joined an exemption after it was made, as trusted readings show them. */
export interface JoinedLater {
  count: number;
  /** The first of them. */
  some: Identity[];
}

/** The store as members are found: by identities, which trusted readings alone change. */
export interface MemberReader {
  /**
   * Whom this would protect now. `users`: addresses that it selects by a field that identities do not have. Undefined: not known, since no
   * trusted reading has shown what it takes: the list of this kind, but for an address, and devices with their owners.
   */
  membersNow(
    about: Pick<Exemption, 'subject' | 'selector'>,
    users?: readonly string[],
  ): Promise<ExemptionMember[] | undefined>;
  /** `max`: of `some`. Nobody joins an exemption whose members are not known. */
  joinedLater(exemption: Exemption, max: number): Promise<JoinedLater>;
}

// What an exemption covers now, as far as identities show it: for people, who see at once when it covers nothing.

export interface Covered {
  kind: SubjectKind;
  /** Of those that the last trusted list had. */
  count: number;
  /** Up to three of them, one line each. */
  examples: string[];
}

/** Undefined: it cannot be known. No list of this kind was read, or its field is not kept. */
export async function coveredBy(
  reader: IdentityReader,
  { subject, selector }: Pick<Exemption, 'subject' | 'selector'>,
): Promise<Covered | undefined> {
  const kind = (subject ?? selector)?.kind;
  if (kind === undefined) return undefined;
  const field = subject ? ID_FIELD[subject.kind] : (selector?.field ?? '');
  const value = subject?.id ?? selector?.value ?? '';
  const selected = await reader.identitiesSelected(field, value);
  if (field === 'Email' && !selected?.count) {
    // A user who is only known as the owner of devices is protected with them.
    const owner = await resolveName(reader, value, { kinds: ['user'] });
    if (owner.found === 'one') return { kind, count: 1, examples: [owner.named.text] };
  }
  if (field === 'DeviceID' && subject && selected?.count === 0) return bySerial(reader, kind, value);
  return selected && coveredOf(kind, selected);
}

/** A device that nothing was known of may have been named by its serial number. */
async function bySerial(reader: IdentityReader, kind: SubjectKind, value: string): Promise<Covered | undefined> {
  const selected = await reader.identitiesSelected('SerialNumber', value);
  return selected && coveredOf(kind, selected);
}

function coveredOf(kind: SubjectKind, { count, examples }: SelectedIdentities): Covered {
  return { kind, count, examples: examples.map(identityText) };
}

/** `covers 1 device: Ada's MacBook, C02…`. Names in it are as they came: escape it where it is shown. */
export function coveredText({ kind, count, examples }: Covered): string {
  if (count === 0) return 'covers nothing that is known now';
  const more = count > examples.length ? ` and ${count - examples.length} more` : '';
  return `covers ${count} ${kind}${count === 1 ? '' : 's'}: ${examples.join('; ')}${more}`;
}
