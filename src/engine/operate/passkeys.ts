// operate: a person registers a passkey, or removes one. In: who, the key, and what another key of theirs signed. Out: the key as it is kept, with its
// audit entry. INVARIANT: whoever has one adds or removes one only with it, so a session that was stolen registers none beside it.
import { personOf } from '../../domain/actor.ts';
import { AppError } from '../../domain/errors.ts';
import type { Operator } from '../../domain/operator.ts';
import { type FreshPasskey, type Passkey, passkeysOf } from '../../domain/passkey.ts';
import type { PlanStore } from '../../domain/store-ports.ts';
import { type Approving, demandTouch } from '../run/approvers.ts';
import type { Engine } from '../run/engine.ts';
import { filled } from './commands.ts';

type Keeping = Pick<Engine, 'clock'> &
  Pick<Approving, 'active'> & { store: Pick<PlanStore, 'passkeys' | 'savePasskey'> };

const OF_ONE_MAX = 20;

/** Errors: AppError `usage`; `conflict` for one that was registered before, and without the touch of another that they have. */
export async function addPasskey(engine: Keeping, fresh: FreshPasskey, who: Operator): Promise<Passkey> {
  const { store, clock } = engine;
  const person = personOf(who.by);
  if (!person) throw new AppError('usage', 'only persons whom the identity provider vouches for have passkeys');
  const nowMs = clock.nowMs();
  if (passkeysOf(await store.passkeys(), who.by, nowMs).length >= OF_ONE_MAX)
    throw new AppError('usage', `a person has ${OF_ONE_MAX} passkeys at most: remove one first`);
  await demandTouch(engine, who, 'add', { of: fresh.id, digest: '' }, nowMs);
  const name = filled(fresh.name, 'name', 'say what you call this passkey');
  const added = { removedAt: undefined, usedAt: undefined };
  const passkey: Passkey = { ...fresh, ...person, name, addedAt: nowMs, ...added };
  const { id, issuer, sub, publicKey, origin, counter } = passkey;
  const { by, touch } = who;
  const body = { passkey: id, name, issuer, sub, publicKey, origin, counter, by, touch };
  await store.savePasskey(passkey, { kind: 'passkey.added', body });
  return passkey;
}

/** `ofOthers`: they may remove those of other persons, who lost them. Errors: AppError `not_found`, `usage`; `conflict` without the touch of one that they have. */
export async function removePasskey(engine: Keeping, id: string, who: Operator, ofOthers: boolean): Promise<void> {
  const { store, clock } = engine;
  const nowMs = clock.nowMs();
  const all = await store.passkeys();
  const own = passkeysOf(all, who.by, nowMs).find((one) => one.id === id);
  const found = own ?? (ofOthers ? all.find((one) => one.id === id && one.removedAt === undefined) : undefined);
  if (!found) throw new AppError('not_found', 'there is no such passkey, or it was removed: read the list again');
  const reason = own
    ? who.reason
    : filled(who.reason ?? '', 'reason', `say why ${found.email} loses it, for the audit`);
  await demandTouch(engine, who, 'remove', { of: id, digest: '' }, nowMs);
  const { by, touch } = who;
  const body = { passkey: id, name: found.name, owner: found.email, by, reason, touch };
  await store.savePasskey({ ...found, removedAt: nowMs }, { kind: 'passkey.removed', body });
}
