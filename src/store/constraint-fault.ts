// store: explains a change that the tables' own rules refuse. In: SQLite's error, and the statement. Out: for a collision that
// requests can cause, an AppError `conflict` with its remedy; for any other, a sentence that names the table. It decides nothing.
import { AppError } from '../domain/errors.ts';

/** By the columns of the unique index that refused. */
const COLLISIONS: { readonly [columns: string]: string } = {
  'endpoint_tokens.name': 'there is a token of this name already: revoke it first, or choose another name',
  'intent_episodes.episode_id, intent_episodes.action, intent_episodes.target':
    'the same action is planned, under way or done for this target and episode already: nothing was changed; see `trustward intents list`',
};

/** A known collision; undefined for any other error. */
export function collision(error: Error): AppError | undefined {
  const columns = /^UNIQUE constraint failed: (.+)$/.exec(error.message)?.[1] ?? '';
  if (!Object.hasOwn(COLLISIONS, columns)) return undefined;
  return new AppError('conflict', COLLISIONS[columns] as string, { cause: error });
}

/** INVARIANT: a refused statement takes its whole transaction back. A trigger's own text is written for people. */
export function brokenRule(error: Error, code: string, sql: string): string {
  const table = /^\s*(?:INSERT INTO|UPDATE|DELETE FROM)\s+(\w+)/i.exec(sql)?.[1];
  const what = table === undefined ? 'a change' : `a change of table \`${table}\``;
  const why = code === 'SQLITE_CONSTRAINT_TRIGGER' ? `: ${error.message}` : ' that breaks its rules';
  return `it refused ${what}${why}; nothing was changed: check it with \`trustward doctor\``;
}
