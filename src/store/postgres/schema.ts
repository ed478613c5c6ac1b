// store: whether the triggers and the walls between organizations are those that the migrations make. In: a database. Out: what else there is.
// A trigger that somebody put there would run in every unit of work, as a change of its own. It only reads.
import type { TableDifference } from '../../domain/acting-tables.ts';
import { ACTING_TABLES } from '../acting-tables.ts';
import type { Db, Work } from '../queries.ts';
import { WORK_ROLE } from './migrate.ts';

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
/** The version before refuses triggers that it does not know: what changes there is noted by the statements (`Dialect.noteChange`). */
const NOTED = 'exemption_members';
const FOLLOWING = ACTING_TABLES.filter((table) => table !== NOTED).flatMap((table) =>
  ['insert', 'update', 'delete'].map((event) => `${table} follow_${event}`),
);
const EXPECTED: readonly string[] = [...APPEND_ONLY, ...FOLLOWING, OWNERS];

const TRIGGERS = `SELECT relname AS "table", tgname AS name, tgenabled AS enabled FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
  WHERE relnamespace = 'trustward'::regnamespace AND NOT tgisinternal`;

/** As `keep_apart` makes it: of all roles and statements, and the one that there is. */
const WALL = '(org = trustward.organization())';
const OPEN = `SELECT relname AS "table" FROM pg_class WHERE relnamespace = 'trustward'::regnamespace AND relkind = 'r'
  AND EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'org')
  AND NOT (relrowsecurity AND relforcerowsecurity AND coalesce((
    SELECT count(*) = 1 AND bool_and(polcmd = '*' AND polroles = '{0}' AND polwithcheck IS NULL
      AND pg_get_expr(polqual, polrelid) IN ('${WALL}', '(org = organization())'))
    FROM pg_policy WHERE polrelid = pg_class.oid), false)) LIMIT 1`;
/** Row level security holds for it. */
const UNBOUND = `SELECT 1 FROM pg_roles WHERE rolname = '${WORK_ROLE}' AND (rolsuper OR rolbypassrls)`;

/** The first table that differs; undefined: none. */
export function* strangeTables(db: Db): Work<TableDifference | undefined> {
  const rows = yield* db.all<{ table: string; name: string; enabled: string }>(TRIGGERS);
  const found = new Map(rows.map(({ table, name, enabled }) => [`${table} ${name}`, enabled]));
  const strange = [...found.keys()].find((key) => !EXPECTED.includes(key));
  if (strange !== undefined)
    return differenceOf(strange, (name) => `the trigger ${name}, which no version of Trustward made`);
  const missing = EXPECTED.find((key) => !/^[OA]$/.test(found.get(key) ?? ''));
  if (missing !== undefined) return differenceOf(missing, (name) => `no trigger ${name} that is on`);
  const open = yield* db.get<{ table: string }>(OPEN);
  if (open) return { table: open.table, text: 'no wall between organizations' };
  const unbound = yield* db.get(UNBOUND);
  const text = `the role \`${WORK_ROLE}\`, which sees all organizations (BYPASSRLS or SUPERUSER)`;
  return unbound && { table: 'pg_roles', text };
}

function differenceOf(key: string, text: (name: string) => string): TableDifference {
  const [table = '', name] = key.split(' ');
  return { table, text: text(`\`${name}\``) };
}
