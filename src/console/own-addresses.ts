// console: the addresses that only this server has: health, the OpenAPI document, and data for judging a client. In:
// requests. Out: JSON. Addresses that show the organization need a credential that reads everything.
import type { Hono } from 'hono';
import { openApiDocument } from '../management/contract.ts';
import { jsonResponse } from './answer.ts';
import { type Doorkeeper, isPermitted } from './auth.ts';
import { messageBody, Refusal } from './refusal.ts';
import { certificatesOf } from './store/certificates.ts';
import { readEffects } from './store/effects.ts';
import { readNotifications } from './store/services.ts';
import type { ConsoleStore } from './store/store.ts';

export const OWN_ADDRESSES = [
  { method: 'GET', path: '/healthz' },
  { method: 'GET', path: '/openapi.json' },
  { method: 'GET', path: '/notifications' },
  { method: 'GET', path: '/certificates' },
  { method: 'GET', path: '/effects' },
];

const ROWS_MAX = 10_000;

export function addOwnAddresses(app: Hono, store: ConsoleStore, door: Doorkeeper): void {
  app.get('/healthz', () => jsonResponse(200, '{"status":"ok"}'));
  addDocument(app);
  addReading(app, '/notifications', door, (query) => ({
    data: readNotifications(store, numberIn(query, 'after'), ROWS_MAX),
  }));
  addReading(app, '/certificates', door, (query) => ({ data: certificatesOf(store, query.get('SerialNumber') ?? '') }));
  addReading(app, '/effects', door, (query) => ({ data: readEffects(store, numberIn(query, 'after'), ROWS_MAX) }));
}

function addDocument(app: Hono): void {
  let text: string | undefined;
  app.get('/openapi.json', () => {
    text ??= JSON.stringify(openApiDocument());
    return jsonResponse(200, text);
  });
}

function addReading(app: Hono, path: string, door: Doorkeeper, read: (query: URLSearchParams) => unknown): void {
  app.get(path, async (context) => {
    try {
      const caller = await door.admit(context.req.header('authorization'));
      if (!isPermitted(caller.scope, 'list_devices'))
        throw new Refusal(403, 'a credential that reads everything is needed');
      return jsonResponse(200, JSON.stringify(read(new URL(context.req.url).searchParams)));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return jsonResponse(error.status, messageBody(error.message), error.headers);
    }
  });
}

/** Rows after this number are returned; 0 by default. */
function numberIn(query: URLSearchParams, name: string): number {
  const text = query.get(name) ?? '0';
  if (!/^\d{1,15}$/.test(text)) throw new Refusal(400, `\`${name}\` must be a whole number, 0 or more`);
  return Number(text);
}
