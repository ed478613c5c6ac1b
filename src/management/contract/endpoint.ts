// management contract: the description of an endpoint, and what many of them share. In: nothing. Out: the type, the
// bundles' prefixes, and parts of rows.
import type { z } from 'zod';
import * as query from './query.ts';

export interface Endpoint {
  /** Its number in the specification; undefined for what field notes add. */
  number: number | undefined;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Full path; `{name}` stands for one segment. */
  path: string;
  /** The same endpoint elsewhere, as public clients call it. */
  aliases: readonly string[];
  summary: string;
  query: z.ZodObject;
  /** Its parameters may come as a form in the body, too. */
  takesForm?: boolean;
  /** undefined: no body is sent. */
  body: z.ZodType | undefined;
  answer: z.ZodType;
  statuses: readonly number[];
  /** `user`: access token or API key; `admin`: the admin token; `refresh`: a refresh token (or API key). */
  auth: 'user' | 'admin' | 'refresh';
  /** How errors come: `{Message}`, or the envelope. */
  errors: 'message' | 'envelope';
  /** It changes something: it is never sent twice. */
  writes: boolean;
}

/** Prefixes under which bundles are found; the first is the specification's. */
export const BUNDLE_PREFIXES = ['/experimental/v2', '/api/experimental/v2', '/api/v2'] as const;

export const at = (name: string) => ({ path: `/api/v1/${name}`, aliases: [`/api/v2/${name}`] });
export const bundleAt = (name: string) => ({
  path: `${BUNDLE_PREFIXES[0]}/${name}`,
  aliases: BUNDLE_PREFIXES.slice(1).map((prefix) => `${prefix}/${name}`),
});
export const READ = { body: undefined, auth: 'user', errors: 'message', writes: false } as const;
export const WRITE = { body: undefined, auth: 'user', errors: 'message', writes: true } as const;
export const BUNDLE = {
  query: query.NoQuery,
  statuses: [200, 400, 401, 403, 500],
  auth: 'admin',
  errors: 'envelope',
} as const;
/** 401 is answered everywhere, also where the specification lists only others. */
export const STATUSES = {
  list: [200, 400, 401, 500],
  events: [200, 400, 401, 403, 500],
  plain: [200, 400, 401, 500],
} as const;
