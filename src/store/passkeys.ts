// store: the passkeys of persons. In: a key that is added or removed, and the notes of what was answered with one. Out: all of them, also those that were
// removed. INVARIANT: what an authenticator counted is kept in the transaction of the answer, so of two answers with one count one is refused.
import type { AuditNote } from '../domain/audit-entry.ts';
import { AppError } from '../domain/errors.ts';
import { counterOf, isGoingBack, type Passkey, touchIn } from '../domain/passkey.ts';
import { Columns } from './columns.ts';
import { noted } from './exemption-members.ts';
import type { Db, Work } from './queries.ts';

const PASSKEY = new Columns<Passkey>({
  id: 'id',
  issuer: 'issuer',
  sub: 'sub',
  email: 'email',
  name: 'name',
  publicKey: 'public_key',
  origin: 'origin',
  counter: 'counter',
  addedAt: 'added_at',
  removedAt: 'removed_at',
  usedAt: 'used_at',
});

/** The oldest first. They are few: a person registers each. */
export function* readPasskeys(db: Db): Work<Passkey[]> {
  return (yield* db.all('SELECT * FROM passkeys ORDER BY added_at, id')).map(PASSKEY.nounOf);
}

function* passkeyOf(db: Db, id: string): Work<Passkey | undefined> {
  const row = yield* db.get('SELECT * FROM passkeys WHERE id = ?', id);
  return row && PASSKEY.nounOf(row);
}

function* write(db: Db, passkey: Passkey): Work<void> {
  yield* noted(db, 'passkeys', 'id', passkey.id, () => db.upsert('passkeys', PASSKEY.rowOf(passkey), 'id'));
}

/** Adds it, or keeps that it was removed: of several at a time one. Errors: AppError `conflict`. */
export function* savePasskey(db: Db, passkey: Passkey): Work<void> {
  const known = yield* passkeyOf(db, passkey.id);
  const isNext = passkey.removedAt === undefined ? !known : known && known.removedAt === undefined;
  if (!isNext)
    throw new AppError(
      'conflict',
      `this passkey was ${known?.removedAt ? 'removed' : 'registered'} before: nothing was changed`,
    );
  yield* write(db, { ...passkey, counter: Math.max(passkey.counter, known?.counter ?? 0), usedAt: known?.usedAt });
}

/** Errors: AppError `conflict` for a key that was removed meanwhile, or counts backwards. */
export function* useTouched(db: Db, notes: readonly AuditNote[], nowMs: number): Work<void> {
  const touch = notes.map(({ body }) => touchIn(body)).find((one) => one !== undefined);
  if (!touch) return;
  const known = yield* passkeyOf(db, touch.passkey);
  const counter = counterOf(touch);
  if (!known || known.removedAt !== undefined)
    throw new AppError('conflict', 'the passkey was removed meanwhile: nothing was done');
  if (isGoingBack(counter, known.counter)) {
    const counts = `it counts ${counter} uses, and ${known.counter} before`;
    throw new AppError(
      'conflict',
      `the passkey \`${known.name}\` may have been copied, since ${counts}: nothing was done; remove it, and register another`,
    );
  }
  yield* write(db, { ...known, counter, usedAt: nowMs });
}
