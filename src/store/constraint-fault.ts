// store: explains a change that the tables' own rules refuse. In: the error, and the statement. Out: for a collision that
// requests can cause, an AppError `conflict` with its remedy; for any other, a sentence that names the table. It decides nothing.
import { AppError } from '../domain/errors.ts';

/** By the unique index that refused. */
const COLLISIONS: { readonly [index: string]: string } = {
  endpoint_tokens_in_use: 'there is a token of this name already: revoke it first, or choose another name',
  intent_episodes_live:
    'the same action is planned, under way or done for this target and episode already: nothing was changed; see `trustward intents list`',
};

/** SQLite names the columns of the index. */
const INDEXES: { readonly [columns: string]: string } = {
  'endpoint_tokens.name': 'endpoint_tokens_in_use',
  'intent_episodes.episode_id, intent_episodes.action, intent_episodes.target': 'intent_episodes_live',
};

/** A known collision; undefined for any other error. */
export function collision(error: Error): AppError | undefined {
  const columns = /^UNIQUE constraint failed: (.+)$/.exec(error.message)?.[1] ?? '';
  return Object.hasOwn(INDEXES, columns) ? collisionAt(INDEXES[columns] as string, error) : undefined;
}

/** A collision at a unique index that requests can cause; undefined for any other index. */
export function collisionAt(index: string, error: Error): AppError | undefined {
  if (!Object.hasOwn(COLLISIONS, index)) return undefined;
  return new AppError('conflict', COLLISIONS[index] as string, { cause: error });
}

/** INVARIANT: a refused statement takes its whole transaction back. A trigger's own text is written for people. */
export function brokenRule(error: Error, isTrigger: boolean, sql: string): string {
  const table = /^\s*(?:INSERT INTO|UPDATE|DELETE FROM)\s+(\w+)/i.exec(sql)?.[1];
  const what = table === undefined ? 'a change' : `a change of table \`${table}\``;
  const why = isTrigger ? `: ${error.message}` : ' that breaks its rules';
  return `it refused ${what}${why}; nothing was changed: check it with \`trustward doctor\``;
}
