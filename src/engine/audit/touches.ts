// audit: what passkeys signed, verified offline. In: the entries in order. Out: what is wrong with one, by the keys that the entries before it registered.
// INVARIANT: nothing but the entries is asked: a table that was edited changes no verdict.
import { type AuditEntry, entryBody } from '../../domain/audit-entry.ts';
import type { Facts } from '../../domain/facts.ts';
import { type Passkey, type TouchKind, touchedFor, touchIn } from '../../domain/passkey.ts';
import { touchFault } from '../../domain/touch.ts';

/** What a touch in an entry of this kind may be for. */
const KINDS: ReadonlyMap<string, readonly TouchKind[]> = new Map([
  ['plan.agreed', ['approve']],
  ['plan.approved', ['approve', 'glass']],
  ['plan.glass_broken', ['glass', 'apply']],
  ['passkey.added', ['add']],
  ['passkey.removed', ['remove']],
]);

type Registered = Pick<Passkey, 'id' | 'issuer' | 'sub' | 'publicKey' | 'origin'>;

export class TouchWalk {
  private readonly keys = new Map<string, Registered>();
  private readonly removed = new Set<string>();
  /** Signed with keys of which only earlier entries know, which are not here. */
  unknown = 0;

  /** `isWhole`: the entries begin with the first. Undefined: nothing is wrong. */
  step(entry: Pick<AuditEntry, 'kind' | 'bytes'>, isWhole: boolean): string | undefined {
    const kinds = KINDS.get(entry.kind);
    if (!kinds) return undefined;
    const body = entryBody(entry);
    const fault = this.faultOf(body, kinds, isWhole);
    // Whoever removes a key, or adds another, may have signed that with it.
    if (entry.kind === 'passkey.added') {
      const key = body as unknown as Registered & { passkey: string };
      this.keys.set(key.passkey, { ...key, id: key.passkey });
    }
    if (entry.kind === 'passkey.removed') this.removed.add(String(body.passkey));
    return fault;
  }

  /** For who reads the result; undefined: all were verified. */
  note(): string | undefined {
    if (this.unknown === 0) return undefined;
    return `${this.unknown} entries are signed with passkeys that were registered before the first entry here: verify them together with the earlier ones`;
  }

  private faultOf(body: Facts, kinds: readonly TouchKind[], isWhole: boolean): string | undefined {
    const touch = touchIn(body);
    if (!touch) return undefined;
    const key = this.keys.get(touch.passkey);
    if (this.removed.has(touch.passkey)) return 'is signed with a passkey that was removed before';
    if (!key && !isWhole) this.unknown += 1;
    if (!key) return isWhole ? 'is signed with a passkey that nobody registered' : undefined;
    const fault = kinds.includes(touch.kind) ? touchFault(touch, touchedFor(body), key) : 'was made for something else';
    return fault && `has a passkey's answer that ${fault}`;
  }
}
