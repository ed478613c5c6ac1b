// domain: whom an exemption covers: those that it protected when it was made, and those that a person confirmed since. In: subjects with what
// identifies them. Out: a packed list of prints, which grows by 16 bytes a subject, and the question whether a subject is in it. Pure.
import type { Exemption } from './exemption.ts';
import { type Identity, nameKey } from './identity.ts';
import type { SubjectRef } from './subjects.ts';

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
