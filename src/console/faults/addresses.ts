// console faults: the address `/faults`: setting, reading and clearing them over HTTP. In: a plan as JSON, from a
// caller with the admin token. Out: the current faults. It exists only when faults were enabled at the start.
import type { Hono } from 'hono';
import { parseExact, readBody } from '../../management/contract.ts';
import { jsonResponse } from '../answer.ts';
import type { Doorkeeper } from '../auth.ts';
import { readLimitedText } from '../body.ts';
import { messageBody, Refusal } from '../refusal.ts';
import type { FaultDesk } from './desk.ts';
import { FaultPlan, type FaultPlanInput } from './fault.ts';

export const FAULT_ADDRESSES = ['GET', 'PUT', 'DELETE'].map((method) => ({ method, path: '/faults' }));

export function addFaultAddresses(app: Hono, desk: FaultDesk, door: Doorkeeper): void {
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
