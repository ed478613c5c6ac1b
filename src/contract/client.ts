// contract: the operations of another process, over HTTP. In: its address, what identifies who asks. Out: the port, made from the table. Nothing of an
// answer is cast: it is read by the schema of its operation.
import { z } from 'zod';
import { pathText } from '../base/text.ts';
import { AppError } from '../domain/errors.ts';
import { type Entry, type InputOf, type OutputOf, partsOf } from './operation.ts';
import { codeOfProblem, TYPE } from './problem.ts';
import { OPERATIONS, type Operations, operationsWith } from './table.ts';

export interface Remote {
  /** For people: `the daemon at http://127.0.0.1:8080`. */
  name: string;
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Of several that it has, as its paths name it. */
  organization?: string;
  /** Of an answer. */
  bytesMax?: number;
  /** Of this process; a test gives the endpoint itself. */
  fetch?: (url: string, init: RequestInit) => Promise<Response> | Response;
}

/** Errors of all: AppError `usage` before anything is sent; the code and the words of a refusal; `api_unreachable`. */
export function remoteOperations(remote: Remote): Operations {
  return operationsWith((id, _parsed, input) => requested(remote, OPERATIONS[id] as Entry, input) as never);
}

/** The same for one entry, whether or not it is an operation of the engine. */
export async function requested<const E extends Entry>(
  remote: Remote,
  one: E,
  input: InputOf<E>,
): Promise<OutputOf<E>> {
  const answer = await asked(remote, one, input as object);
  const text = await textOf(remote, answer);
  if (!answer.ok) throw refusalOf(remote, answer.status, text);
  return answerOf(remote, one, answer.status, text) as OutputOf<E>;
}

/** Sends an input as its entry says. Errors: AppError `api_unreachable`. */
async function asked(
  { name, url, headers, organization, fetch: send = fetch }: Remote,
  one: Entry,
  input: object,
): Promise<Response> {
  const { params, query, body } = partsOf(one, input);
  const place = organization === undefined ? '/api' : `/api/orgs/${encodeURIComponent(organization)}`;
  const path = one.path
    .replace(/^\/api(?=\/)/, place)
    .replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name] ?? '')));
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  );
  const address = `${url}${path}${search.size === 0 ? '' : `?${search}`}`;
  const sent = one.body ? { body: JSON.stringify(body), type: { 'content-type': 'application/json' } } : undefined;
  const init = { method: one.method, redirect: 'manual', headers: { ...headers, ...sent?.type } } as const;
  let answer: Response;
  try {
    answer = await send(address, sent ? { ...init, body: sent.body } : init);
  } catch (error) {
    throw silent(name, error);
  }
  // INVARIANT: what identifies who asks goes to this address alone.
  if (answer.status < 300 || answer.status >= 400) return answer;
  const to = answer.headers.get('location')?.slice(0, 200) ?? 'nowhere';
  await answer.body?.cancel();
  throw new AppError(
    'api_answer',
    `${name} leads to \`${to}\`, and nothing is sent there: give the address of Trustward itself`,
  );
}

function silent(name: string, error: unknown): AppError {
  const { message, cause } = error as Error & { cause?: { code?: unknown } };
  const code = typeof cause?.code === 'string' ? ` (${cause.code})` : '';
  return new AppError('api_unreachable', `${name} does not answer: ${message}${code}`);
}

/** A report of a fleet of 200,000 devices is smaller. */
const BYTES_MAX = 256 * 1024 * 1024;

/** INVARIANT: no answer is longer than memory can bear. */
async function textOf({ name, bytesMax = BYTES_MAX }: Remote, { body }: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const part of body ?? []) {
      bytes += part.byteLength;
      if (bytes > bytesMax) break;
      parts.push(part);
    }
  } catch (error) {
    throw silent(name, error);
  }
  if (bytes <= bytesMax) return Buffer.concat(parts).toString();
  throw new AppError('api_answer', `${name} gave an answer of more than ${bytesMax} bytes: it is not read further`);
}

const problem = z.object({ type: z.string().default(''), title: z.string().optional(), detail: z.string().optional() });

function refusalOf({ name }: Remote, status: number, text: string): AppError {
  const { type, title, detail } = problem.catch({ type: '' }).parse(jsonIn(text));
  const words = detail ?? title ?? `HTTP ${status}, not in the words of this version: is it Trustward, and as new?`;
  return new AppError(codeOfProblem(type, status), `${name} answered: ${words}`, {
    detail: { status, slug: type.replace(TYPE, '') },
  });
}

/** How another process refused it; empty for any other error. */
export function refusalIn(error: unknown): { status?: number; slug?: string } {
  return error instanceof AppError && error.detail instanceof Object ? error.detail : {};
}

function answerOf({ name }: Remote, { answers, isCoded }: Entry, status: number, text: string): unknown {
  const schema = answers[status]?.schema ?? z.never();
  const value = jsonIn(text);
  const read = () => (isCoded ? z.safeDecode(schema, value) : schema.safeParse(value));
  let found = read();
  if (!found.success && withoutUnknown(value, found.error.issues)) found = read();
  if (found.success) return found.data;
  const where = pathText(found.error.issues[0]?.path ?? []);
  throw new AppError(
    'internal',
    `${name} answered in another form than this version reads (\`${where}\`): is it Trustward, and as new?`,
  );
}

/** A later version may add names: they are dropped. False where something else is wrong. */
function withoutUnknown(value: unknown, issues: readonly z.core.$ZodIssue[]): boolean {
  for (const issue of issues) {
    if (issue.code !== 'unrecognized_keys') return false;
    const object = issue.path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown>)[key], value);
    for (const key of issue.keys) delete (object as Record<string, unknown>)[key];
  }
  return true;
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
