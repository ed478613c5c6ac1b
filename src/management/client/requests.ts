// management client: requests, made from the contract's endpoint table.
// In: an endpoint's name and its values. Out: what is sent. Parameter names go out as the specification spells them.

import type { AppError } from '../../domain/errors.ts';
import { BUNDLE_PREFIXES, ENDPOINTS, type Endpoint, type EndpointId, fillPath } from '../contract/endpoints.ts';
import { stringifyExact } from '../contract/exact-json.ts';
import { problem, type Subject } from './fault.ts';
import type { Outgoing } from './transport.ts';

export type QueryValue = string | number | bigint | boolean | readonly string[] | undefined;
export type QueryValues = Readonly<Record<string, QueryValue>>;

export interface RequestParts {
  path?: Readonly<Record<string, string>>;
  query?: QueryValues;
  body?: unknown;
}

/** Builds a request. Errors: AppError `usage` for a value that cannot stand in a path. */
export function requestOf(id: EndpointId, bundlePrefix: string, parts: RequestParts = {}): Outgoing {
  const endpoint: Endpoint = ENDPOINTS[id];
  const specified = BUNDLE_PREFIXES[0];
  const template = endpoint.path.startsWith(`${specified}/`)
    ? `${bundlePrefix}${endpoint.path.slice(specified.length)}`
    : endpoint.path;
  return {
    operation: id,
    method: endpoint.method,
    path: fillPath(template, parts.path ?? {}),
    query: queryText(parts.query ?? {}),
    body: parts.body === undefined ? undefined : stringifyExact(parts.body),
    writes: endpoint.writes,
  };
}

/** Several values of one parameter are separated by a pipe; undefined ones are left out. */
function queryText(values: QueryValues): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) params.append(name, Array.isArray(value) ? value.join('|') : String(value));
  }
  // Not every server reads `+` as a space; a plus sign itself is already `%2B`.
  return params.toString().replaceAll('+', '%20');
}

/** How errors name an endpoint. */
export function subjectOf(id: EndpointId): Subject {
  return { method: ENDPOINTS[id].method, path: ENDPOINTS[id].path };
}

/** An answer of another form than the endpoint has. `what` completes "the answer holds …". */
export function unexpected(id: EndpointId, what: string): AppError {
  return problem('api_answer', subjectOf(id), 'garbage', `the answer holds ${what}; is the API address right?`);
}
