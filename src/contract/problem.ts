// contract: refusals as problem details (RFC 9457), and which code of error each is.
import { z } from 'zod';
import type { ErrorCode } from '../domain/errors.ts';

/** What the type of every problem begins with; its name follows, which is stable. */
export const TYPE = 'urn:trustward:problem:';

export const problemSchema = z.strictObject({
  type: z.string().describe('`urn:trustward:problem:` and a name, which is stable'),
  title: z.string(),
  status: z.int(),
  detail: z.string().describe('what, where, and what to do'),
  instance: z.string().optional().describe('the path of the request'),
  errors: z
    .array(z.strictObject({ path: z.string().describe('where; empty for the whole'), message: z.string() }))
    .optional(),
});

export const PROBLEMS: Record<ErrorCode, [status: number, slug: string, title: string]> = {
  usage: [400, 'bad-request', 'The request is wrong'],
  config: [500, 'configuration', 'The configuration is wrong'],
  rules: [409, 'rules', 'The rules cannot be loaded'],
  bound_elsewhere: [409, 'bound-elsewhere', 'The database belongs to another address'],
  api_unreachable: [502, 'api-unreachable', 'The Management API cannot be reached'],
  api_refused: [502, 'api-refused', 'The Management API refuses the credential'],
  api_forbidden: [502, 'api-forbidden', 'The Management API forbids this'],
  api_answer: [502, 'api-answer', 'The Management API gave an answer that cannot be used'],
  store_locked: [503, 'store-locked', 'The database is in use by another process'],
  store_damaged: [503, 'store-damaged', 'The database is damaged'],
  store_edited: [503, 'store-edited', 'The database was changed beside the engine'],
  store_failed: [503, 'store-failed', 'The database does not work'],
  port_busy: [500, 'port-busy', 'An address is taken'],
  not_found: [404, 'not-found', 'Not found'],
  conflict: [409, 'conflict', 'The current state forbids this'],
  busy: [429, 'busy', 'Too much is waiting already'],
  stopped: [503, 'stopping', 'Trustward is shutting down'],
  internal: [500, 'internal', 'Something went wrong inside'],
};

/** The code of a problem that another process answered, by the name in its type and its status. */
export function codeOfProblem(type: string, status: number): ErrorCode {
  const name = type.startsWith(TYPE) ? type.slice(TYPE.length) : undefined;
  const [code] = Object.entries(PROBLEMS).find(([, [, slug]]) => slug === name) ?? [];
  return (code as ErrorCode | undefined) ?? OF_STATUS[status] ?? 'internal';
}

const OF_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: 'usage',
  401: 'config',
  403: 'config',
  404: 'not_found',
  409: 'conflict',
  413: 'usage',
  422: 'usage',
  429: 'busy',
};
