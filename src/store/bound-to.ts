// store: which API a database belongs to. In: the address and lists of a run. Out: the audit of what was bound or changed, or a refusal that says
// what to do.
import type { AuditNote } from '../domain/audit-entry.ts';
import { AppError } from '../domain/errors.ts';
import type { Lists } from '../domain/lists.ts';
import { replaceLists } from './kept-lists.ts';
import type { Db, Work } from './queries.ts';

/** INVARIANT: called inside a transaction. Errors: AppError `bound_elsewhere`. */
export function* bindTo(db: Db, address: string, lists: Lists | undefined): Work<AuditNote[]> {
  const bound = (yield* db.get<{ value: string }>("SELECT value FROM meta WHERE key = 'address'"))?.value;
  if (bound !== undefined && bound !== address) throw boundElsewhere(db.name, bound, address);
  if (bound === undefined) yield* db.insert('meta', { key: 'address', value: address });
  const from = lists && (yield* replaceLists(db, lists));
  return [
    ...(bound === undefined ? [{ kind: 'database.bound', body: { address } } as const] : []),
    ...(from === undefined ? [] : [{ kind: 'lists.changed', body: { from, to: lists } } as const]),
  ];
}

export function boundElsewhere(file: string, bound: string, address: string): AppError {
  return new AppError(
    'bound_elsewhere',
    `database \`${file}\` belongs to ${bound}, not to ${address}: set TRUSTWARD_DB to another file for this address`,
  );
}
