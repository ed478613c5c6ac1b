// test: a process that moves a database to PostgreSQL and is killed (kill -9) before its nth step: a query to the server, or a change on the disk.
// Arguments: n, the address. It prints the number of its steps when it ends.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import Database from 'better-sqlite3';
import pg from 'pg';

const killAt = Number(process.argv[2]);
let steps = Number.NEGATIVE_INFINITY; // of loading the program, none counts
function step(): void {
  steps += 1;
  if (steps === killAt) process.kill(process.pid, 'SIGKILL');
}

for (const name of ['fsyncSync', 'renameSync'] as const) {
  const real = fs[name] as (...given: unknown[]) => unknown;
  const counted = (...given: unknown[]) => {
    step();
    return real(...given);
  };
  Object.defineProperty(fs, name, { value: counted });
}
syncBuiltinESMExports();
const query = pg.Client.prototype.query as (...given: unknown[]) => unknown;
pg.Client.prototype.query = function counted(this: pg.Client, ...given: unknown[]) {
  step();
  return query.apply(this, given);
} as typeof pg.Client.prototype.query;
const begun = Database.prototype.transaction;
Database.prototype.transaction = function counted(this: Database.Database, ...given: Parameters<typeof begun>) {
  step();
  return begun.apply(this, given);
} as typeof begun;

const { commandOrThrow } = await import('../../support/in-process.ts');
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith('TRUSTWARD_')));
steps = 0;
await commandOrThrow(['db', 'move', '--to', process.argv[3] as string], env as Record<string, string>);
process.stdout.write(`${steps}\n`);
process.exit(0);
