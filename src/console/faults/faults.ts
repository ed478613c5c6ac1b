// console faults: the desk, its address and its interception, put together. In: an app before its routes. Out: the
// desk. While a stale read is set, it keeps a copy of the database from when it was set.
import type { Hono } from 'hono';
import type { Doorkeeper } from '../auth.ts';
import { copyDatabase } from '../store/database.ts';
import { Sql } from '../store/sql.ts';
import type { ConsoleStore } from '../store/store.ts';
import { addFaultAddresses } from './addresses.ts';
import { type FaultDesk, openFaultDesk } from './desk.ts';
import { interceptRequests } from './interception.ts';

/** Must be called before any route is added: interception comes first. */
export function addFaults(app: Hono, store: ConsoleStore, door: Doorkeeper, closing: AbortSignal): FaultDesk {
  let stale: ConsoleStore | undefined;
  const forget = (): void => {
    stale?.sql.db.close();
    stale = undefined;
  };
  const desk = openFaultDesk((hasStaleReads) => {
    forget();
    if (hasStaleReads) stale = { ...store, sql: new Sql(copyDatabase(store.sql.db)) };
  });
  closing.addEventListener('abort', forget, { once: true });
  app.use('*', interceptRequests(app, { desk, clock: store.clock, staleStore: () => stale, closing }));
  addFaultAddresses(app, desk, door);
  return desk;
}
