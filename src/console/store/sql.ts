// console store: SQLite statements, prepared once and kept by their text.
// In: SQL and parameters. Out: rows. It must never build SQL from a request: values are always bound.
import type Database from 'better-sqlite3';

export type SqlValue = string | number | bigint | null;

export class Sql {
  readonly #rows = new Map<string, Database.Statement>();
  readonly #columns = new Map<string, Database.Statement>();

  constructor(readonly db: Database.Database) {}

  /** Runs a change; returns how many rows it touched. */
  run(text: string, ...values: SqlValue[]): number {
    return this.#row(text).run(...values).changes;
  }

  /** The first row. Integers are numbers: don't select times in nanoseconds, they would be rounded. */
  get<T>(text: string, ...values: SqlValue[]): T | undefined {
    return this.#row(text).get(...values) as T | undefined;
  }

  all<T>(text: string, ...values: SqlValue[]): T[] {
    return this.#row(text).all(...values) as T[];
  }

  /** The first column of the first row. */
  value<T>(text: string, ...values: SqlValue[]): T | undefined {
    return this.#column(text).get(...values) as T | undefined;
  }

  /** The first column of all rows. */
  values<T>(text: string, ...values: SqlValue[]): T[] {
    return this.#column(text).all(...values) as T[];
  }

  /** One transaction, taken for writing from its start; inside another one it joins it. */
  atomically<T>(work: () => T): T {
    return this.db.inTransaction ? work() : this.db.transaction(work).immediate();
  }

  /** A statement whose integers are bigints, for what must keep 19 digits. */
  exact(text: string): Database.Statement {
    const key = `exact:${text}`;
    let statement = this.#rows.get(key);
    if (!statement) {
      statement = this.db.prepare(text).safeIntegers(true);
      this.#rows.set(key, statement);
    }
    return statement;
  }

  #row(text: string): Database.Statement {
    let statement = this.#rows.get(text);
    if (!statement) {
      statement = this.db.prepare(text);
      this.#rows.set(text, statement);
    }
    return statement;
  }

  #column(text: string): Database.Statement {
    let statement = this.#columns.get(text);
    if (!statement) {
      statement = this.db.prepare(text).pluck();
      this.#columns.set(text, statement);
    }
    return statement;
  }
}
