// test support: a database, and workers that take them over connections, clocks and proxies of their own.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { Position, Positions } from '../../../src/domain/lease.ts';
import type { Clock } from '../../../src/domain/ports.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { PostgresLeases } from '../../../src/store/postgres/lease.ts';
import { WORK_ROLE } from '../../../src/store/postgres/organization.ts';
import { type Cluster, migratedDatabase, OWNER } from '../../support/postgres.ts';

/** Each row is one commit of acting. */
const ACTS = `CREATE TABLE trustward.acts (n bigserial, org text DEFAULT trustward.organization(), fence bigint, what text);
  GRANT USAGE ON SEQUENCE trustward.acts_n_seq TO ${WORK_ROLE};
  SELECT trustward.keep_apart('acts')`;

export interface WorkerOptions {
  port?: number;
  leaseMs?: number;
  clock?: Clock;
  positions?: Positions;
  open?: (organization: string) => Promise<pg.Client>;
}

export interface LeaseWorld {
  url(port?: number): string;
  worker(holder: string, options?: WorkerOptions): PostgresLeases;
  rows<Row extends object>(statement: string, values?: unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

export async function leaseWorld(cluster: Cluster): Promise<LeaseWorld> {
  const database = await migratedDatabase(cluster);
  await cluster.query(ACTS, database, OWNER);
  return worldOn(cluster, database);
}

export function worldOn(cluster: Cluster, database: string): LeaseWorld {
  const url = (port = cluster.port) => cluster.url(database).replace(`:${cluster.port}/`, `:${port}/`);
  return {
    url,
    worker: (holder, { port, leaseMs = 1_000, clock = systemClock, positions = memoryPositions(), ...given } = {}) =>
      new PostgresLeases({
        open: given.open ?? ((organization) => open(url(port), organization)),
        clock,
        holder,
        leaseMs,
        positions,
      }),
    rows: async (statement, values) => {
      const client = new pg.Client({ connectionString: cluster.url(database, 'postgres') });
      await client.connect();
      try {
        return (await client.query(statement, values)).rows;
      } finally {
        await client.end();
      }
    },
    close: () => cluster.dropDatabase(database),
  };
}

export async function open(connectionString: string, organization: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  await client.connect();
  await client.query(`SET ROLE ${WORK_ROLE}; SET search_path = trustward, pg_catalog`);
  await client.query("SELECT set_config('trustward.org', $1, false)", [organization]);
  return client;
}

export function memoryPositions(): Positions & { all: Map<string, Position> } {
  const all = new Map<string, Position>();
  return {
    all,
    read: (organization) => all.get(organization),
    write: (name, position) => void all.set(name, position),
  };
}

export function newOrganization(): string {
  return `org-${randomBytes(4).toString('hex')}`;
}

/** A clock of another machine: both of its clocks stand elsewhere. */
export function clockApart(apart: { wallMs: number; monotonicMs?: number }): Clock & { apart: { wallMs: number } } {
  return {
    apart,
    nowMs: () => systemClock.nowMs() + apart.wallMs,
    monotonicMs: () => systemClock.monotonicMs() + (apart.monotonicMs ?? 0),
    sleep: systemClock.sleep,
  };
}
