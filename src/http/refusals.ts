// http: the statuses with which an operation may refuse, as its document names them. In: a route. Out: its statuses, in their order. They
// follow from what the route takes; a route names those that only its own work leads to.
import { keyHeaders } from './key-headers.ts';
import type { Route } from './route.ts';

export const MEANINGS: Readonly<Record<number, string>> = {
  400: 'the request is wrong; `errors` names each field',
  401: 'a token is needed, or it is unknown, revoked or expired',
  403: 'the scope of the token is not enough',
  404: 'what the request names is not there',
  409: 'the current state forbids this',
  413: 'the body is too large',
  422: 'the key was used with another request',
  421: 'this host is not served here',
  429: 'too much is waiting or asked at once; try again later',
  500: 'something went wrong inside: see the log',
  502: 'the Management API cannot be reached, or refuses',
  503: 'the database does not work, or Trustward is shutting down',
};
/** Of the guards that every request passes. */
const OF_ANY = [400, 413, 421, 500];
/** Of a request that may be repeated. */
const OF_KEYS = [409, 422];
/** Of whatever reads the store. */
const OF_API = [401, 429, 503];

export function refusalsOf({ scope, described }: Pick<Route, 'scope' | 'described'>): number[] {
  const statuses = new Set([...OF_ANY, ...(described?.refusals ?? [])]);
  if (scope !== undefined) for (const status of OF_API) statuses.add(status);
  // Every known token may read.
  if (scope !== undefined && scope !== 'read') statuses.add(403);
  if (described?.params) statuses.add(404);
  if (described?.headers === keyHeaders) for (const status of OF_KEYS) statuses.add(status);
  const own = described?.answers ?? {};
  return [...statuses].filter((status) => !(status in own)).sort((one, other) => one - other);
}
