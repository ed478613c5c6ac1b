// support: a database in memory that counts each statement as it runs it, and shows what SQLite reads for one.
import Database from 'better-sqlite3';
import { migrate, SqliteDb } from '../../src/store/sqlite/database.ts';

type Value = string | number | bigint | null;
interface Asked {
  times: number;
  values: Value[];
}

export class CountingDb extends SqliteDb {
  readonly asked = new Map<string, Asked>();

  override run(sql: string, ...values: Value[]): number {
    this.count(sql, values);
    return super.run(sql, ...values);
  }
  override all<T>(sql: string, ...values: Value[]): T[] {
    this.count(sql, values);
    return super.all(sql, ...values);
  }
  override get<T>(sql: string, ...values: Value[]): T | undefined {
    this.count(sql, values);
    return super.get(sql, ...values);
  }

  /**
   * What SQLite would read for it. The triggers that follow rows for the audit make it list child tables too, which it skips as long as
   * no constraint is broken: without them it lists what it reads.
   */
  planOf(sql: string): string[] {
    for (const { name } of super.all<{ name: string }>("SELECT name FROM sqlite_temp_master WHERE type = 'trigger'"))
      this.exec(`DROP TRIGGER temp.${name}`);
    const { values } = this.asked.get(sql) as Asked;
    return super.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values).map(({ detail }) => detail);
  }

  private count(sql: string, values: Value[]): void {
    this.asked.set(sql, { times: (this.asked.get(sql)?.times ?? 0) + 1, values });
  }
}

export function countingDatabase(): CountingDb {
  const db = new CountingDb(new Database(':memory:'), ':memory:');
  migrate(db);
  db.exec('PRAGMA foreign_keys = ON');
  return db;
}
