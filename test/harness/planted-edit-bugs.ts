// harness: a planted bug: the end of the audit is not compared with what this process, or one with its key, wrote last. In: the parts of a
// healthy store. Out: the parts of a sick one. Nothing in the product knows of it.
import type { Signing } from '../../src/engine/audit/signing-key.ts';
import { headOf } from '../../src/store/audit-rows.ts';
import type { Db, Work } from '../../src/store/queries.ts';
import type { SqliteDb } from '../../src/store/sqlite/database.ts';
import type { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { PlantedBug } from './planted-bugs.ts';

export function sickSigning(signing: Signing, bug: PlantedBug | undefined): Signing {
  return bug === 'strange_end_is_obeyed' ? { ...signing, judgeEnd: () => undefined } : signing;
}

export function sickEnd(store: SqliteStore, _db: SqliteDb, bug: PlantedBug | undefined): SqliteStore {
  if (bug !== 'strange_end_is_obeyed') return store;
  const { audits } = store as unknown as { audits: { own: unknown; demandOwnEnd(db: Db): Work<void> } };
  audits.demandOwnEnd = function* (tables) {
    audits.own = yield* headOf(tables);
  };
  return store;
}
