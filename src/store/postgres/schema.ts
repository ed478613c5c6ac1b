// store: whether the triggers and the walls between organizations are those that the migrations make. In: a database. Out: what else there is.
// A trigger that somebody put there would run in every unit of work, as a change of its own. It only reads.
import { ACTING_TABLES } from '../acting-tables.ts';
import type { Db, Work } from '../queries.ts';

const APPEND_ONLY = [
  'audit audit_no_update',
  'audit audit_no_delete',
  'audit audit_no_truncate',
  'checkpoints checkpoints_no_change',
  'checkpoints checkpoints_no_truncate',
  'audit_archives audit_archives_no_change',
  'audit_archives audit_archives_no_truncate',
];
const OWNERS = 'endpoint_tokens note_owner';
const FOLLOWING = ACTING_TABLES.flatMap((table) =>
  ['insert', 'update', 'delete'].map((event) => `${table} follow_${event}`),
);
const EXPECTED: readonly string[] = [...APPEND_ONLY, ...FOLLOWING, OWNERS];

const TRIGGERS = `SELECT relname AS "table", tgname AS name, tgenabled AS enabled FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
  WHERE relnamespace = 'trustward'::regnamespace AND NOT tgisinternal`;

const OPEN = `SELECT relname AS "table" FROM pg_class WHERE relnamespace = 'trustward'::regnamespace AND relkind = 'r'
  AND EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'org')
  AND NOT (relrowsecurity AND relforcerowsecurity AND (SELECT count(*) FROM pg_policy WHERE polrelid = pg_class.oid) = 1) LIMIT 1`;

/** What differs, in words that follow "the database has"; undefined: nothing. */
export function* strangeTables(db: Db): Work<string | undefined> {
  const rows = yield* db.all<{ table: string; name: string; enabled: string }>(TRIGGERS);
  const found = new Map(rows.map(({ table, name, enabled }) => [`${table} ${name}`, enabled]));
  const strange = [...found.keys()].find((key) => !EXPECTED.includes(key));
  if (strange !== undefined) return `the trigger ${quoted(strange)}, which no version of Trustward made`;
  const missing = EXPECTED.find((key) => !/^[OA]$/.test(found.get(key) ?? ''));
  if (missing !== undefined) return `no trigger ${quoted(missing)} that is on`;
  const open = yield* db.get<{ table: string }>(OPEN);
  return open && `no wall between organizations on table \`${open.table}\``;
}

function quoted(key: string): string {
  const [table, name] = key.split(' ');
  return `\`${name}\` on table \`${table}\``;
}
