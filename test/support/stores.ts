// support: the store on each of its databases, for tests of what all of them promise. In: a database. Out: an empty store of an organization
// that no other test has.
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../src/domain/ports.ts';
import { linkEntry } from '../../src/engine/audit/signing-key.ts';
import type { Sealing } from '../../src/store/audit-log.ts';
import { PostgresPool } from '../../src/store/postgres/pool.ts';
import { PostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { SqlStore } from '../../src/store/sql-store.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { freshDatabase } from './memory-database.ts';
import { FakeClock } from './platform.ts';
import { type Cluster, hasNoPostgres, migratedDatabase, sharedCluster } from './postgres.ts';

export interface OpenedStore {
  store: SqlStore;
  clock: FakeClock;
  close(): Promise<void>;
}

export interface TestedDatabase {
  name: string;
  isMissing: boolean;
  /** For all tests of a file. */
  prepare(): Promise<void>;
  open(sealing?: Sealing): Promise<OpenedStore>;
  end(): Promise<void>;
}

class InSqlite implements TestedDatabase {
  readonly name = 'SQLite';
  readonly isMissing = false;

  async prepare(): Promise<void> {}

  async open(sealing?: Sealing): Promise<OpenedStore> {
    const clock = new FakeClock();
    const db = freshDatabase();
    const store = new SqliteStore(db, linkEntry, clock, sealing);
    return { store, clock, close: () => store.close() };
  }

  async end(): Promise<void> {}
}

export class InPostgres implements TestedDatabase {
  readonly name = hasNoPostgres ? 'PostgreSQL (SKIPPED: it is not installed)' : 'PostgreSQL';
  readonly isMissing = hasNoPostgres;
  private cluster: Cluster | undefined;
  private database = '';
  pool!: PostgresPool;

  async prepare(): Promise<void> {
    this.cluster = await sharedCluster();
    this.database = await migratedDatabase(this.cluster);
    this.pool = new PostgresPool(this.url());
  }

  url(role?: string): string {
    return (this.cluster as Cluster).url(this.database, role);
  }

  /** A statement as a superuser. */
  query(sql: string): ReturnType<Cluster['query']> {
    return (this.cluster as Cluster).query(sql, this.database);
  }

  async open(sealing?: Sealing, organization = newOrganization()): Promise<OpenedStore & { organization: string }> {
    const clock = new FakeClock();
    const store = await this.openAs(organization, clock, sealing);
    return { store, clock, organization, close: () => store.close() };
  }

  openAs(organization: string, clock: Clock, sealing?: Sealing): Promise<PostgresStore> {
    return PostgresStore.open({ pool: this.pool, organization, link: linkEntry, clock, sealing });
  }

  async end(): Promise<void> {
    await this.pool.close();
    await this.cluster?.dropDatabase(this.database);
  }
}

export function newOrganization(): string {
  return `org-${randomBytes(6).toString('hex')}`;
}

export function databases(): readonly TestedDatabase[] {
  return [new InSqlite(), new InPostgres()];
}
