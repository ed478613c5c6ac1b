// commands: `db move --to ADDRESS`: takes a SQLite database, its audit and what lies beside it to an organization in PostgreSQL, whole or not at
// all. The file stays, and nothing goes on with it. In: both databases. Out: what was moved, and the settings to go on with.
import { dirname } from 'node:path';
import { moveDatabase } from '../compose/move.ts';
import { databaseIn, postgresIn } from '../config/database.ts';
import { databaseName, demandSqlite } from '../domain/database.ts';
import { shellWord } from '../domain/shell-word.ts';
import { auditCheckText } from '../report/audit-check-text.ts';
import { type CommonOptions, type Io, outputOf, write } from './io.ts';

export interface MoveOptions extends CommonOptions {
  to: string;
}

/** Errors: as moveDatabase; AppError `usage` and `config` for the two databases. */
export async function dbMoveCommand(io: Io, options: MoveOptions): Promise<number> {
  const format = outputOf(options, ['text', 'json'] as const, 'text');
  const { to, org, db } = options;
  // The organization is of the target, and so are the files that name it.
  const found = databaseIn({ ...io.env, TRUSTWARD_ORGANIZATIONS: undefined }, { ...(db !== undefined && { db }) });
  const source = demandSqlite(found, 'give the file that is to be moved with --db');
  const target = postgresIn(io.env, to, { ...(org !== undefined && { org }) });
  const { rows, checked } = await moveDatabase(source, target);
  const folder = dirname(target.beside);
  const { entries, head } = checked;
  const moved = rows && Object.fromEntries(rows);
  const next = `TRUSTWARD_DB=${shellWord(target.url)} trustward audit verify --org ${target.organization}`;
  const lines = [
    rows
      ? `${source.file}: moved to ${databaseName(target)}, ${countsText(rows)}`
      : `${source.file}: was moved to ${databaseName(target)} before; it is whole there`,
    auditCheckText(checked),
    `what lay beside it is in ${folder}`,
    '',
    'The file stays as it is, and is opened for writing no more. Go on with:',
    `  ${next}`,
  ];
  const result = { from: source.file, to: target.url, organization: target.organization, rows: moved ?? null, folder };
  const json = JSON.stringify({ ...result, audit: { entries, head } }, null, 2);
  write(io, options, format === 'json' ? json : lines.join('\n'));
  return 0;
}

function countsText(rows: ReadonlyMap<string, number>): string {
  const all = [...rows.values()].reduce((sum, count) => sum + count, 0);
  const [decisions, claims] = [rows.get('decisions') ?? 0, rows.get('claims') ?? 0];
  return `${all} rows (${decisions} decisions, ${claims} claims)`;
}
