// store: PostgreSQL's pieces of statements. It knows of no hints, since its statistics are kept up, and has the values of plans and entries in
// columns of their own (migrations/0029-first.sql). Keys begin with the organization.
import type { Dialect } from '../dialect.ts';

export const POSTGRES: Dialect = {
  by: () => '',
  unindexed: '',
  conflict: (columns) => `ON CONFLICT (org, ${columns})`,
  planned: 'planned',
  releases: 'releases',
  auditTarget: 'target',
  auditActor: 'actor',
  noteChange: (table, is) => `INSERT INTO row_changes (relation, is_added, content)
    SELECT '${table}', ${is === 'added'}, row_to_json(${table})::text FROM ${table} WHERE exemption_id = ?`,
};
