// console faults: the desk, its address and its interception, put together. In: an app before its routes. Out: the
// desk. While a stale read is set, it keeps a copy of the database from when it was set.
import type { Hono } from 'hono';
import { parseExact, readBody } from '../../platform/contract.ts';
import { jsonResponse } from '../answer.ts';
import type { Doorkeeper } from '../app.ts';
import { messageBody, Refusal, readLimitedText } from '../refusal.ts';
import { copyDatabase } from '../store/database.ts';
import { type ConsoleStore, Sql } from '../store/store.ts';
import { type FaultDesk, FaultPlan, type FaultPlanInput, interceptRequests, openFaultDesk } from './interception.ts';

// The address `/faults`: setting, reading and clearing them over HTTP.

export const FAULT_ADDRESSES = ['GET', 'PUT', 'DELETE'].map((method) => ({ method, path: '/faults' }));

function addFaultAddresses(app: Hono, desk: FaultDesk, door: Doorkeeper): void {
  app.on(['GET', 'PUT', 'DELETE'], '/faults', async (context) => {
    try {
      const caller = await door.admit(context.req.header('authorization'));
      if (caller.kind !== 'admin_token') throw new Refusal(403, 'faults need the admin token');
      if (context.req.method === 'DELETE') desk.clear();
      if (context.req.method === 'PUT') desk.set(await readPlan(context.req.raw));
      return jsonResponse(200, JSON.stringify({ data: desk.status() }));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return jsonResponse(error.status, messageBody(error.message), error.headers);
    }
  });
}

async function readPlan(request: Request): Promise<FaultPlanInput> {
  let body: unknown;
  try {
    body = parseExact(await readLimitedText(request));
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal(400, 'the body must be a JSON list of faults');
  }
  const reading = readBody(FaultPlan, body);
  if (!reading.ok) throw new Refusal(400, reading.message);
  return body as FaultPlanInput;
}

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
