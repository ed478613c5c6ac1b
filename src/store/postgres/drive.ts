// store: takes the steps of a program on one connection of PostgreSQL. In: a connection in a transaction, a program. Out: what it returns. A
// query that fails fails within the program.
import { giveWay } from '../../domain/give-way.ts';
import type { Work } from '../queries.ts';
import { postgresError } from './postgres-fault.ts';
import { type Found, type Statement, statementOf } from './statement.ts';

/** The part of a connection that programs need. */
export interface Session {
  query(statement: Statement): Promise<Found>;
}

/** `beforeStep`: fails to end the program between two steps. */
export async function drive<T>(
  session: Session,
  place: string,
  work: Work<T>,
  beforeStep?: () => Promise<void> | undefined,
): Promise<T> {
  let step = work.next();
  while (!step.done) {
    const waits = beforeStep?.();
    if (waits) await waits;
    if (step.value === undefined) {
      await giveWay();
      step = work.next();
      continue;
    }
    const { sql, values } = step.value;
    let found: Found;
    try {
      found = await session.query(statementOf(sql, values));
    } catch (error) {
      step = work.throw(postgresError(error, place, sql));
      continue;
    }
    step = work.next(found);
  }
  return step.value;
}
