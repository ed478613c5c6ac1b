// http: what a route is, and how answers are written. In: a table of routes. Out: an app's handlers, with 404 and 405.
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { type HostPolicy, refuseHost } from '../../base/hosts.ts';
import { jsonPieces } from '../../base/json.ts';
import { pathText, wordsOf } from '../../base/text.ts';
import { inTurns } from '../../base/turns.ts';
import {
  type Asking,
  type Described,
  type Entry,
  encodedJson,
  type Method,
  type ParsedOf,
} from '../../contract/operation.ts';
import { type OperationId, type Operations, operationsFor, type Performer } from '../../contract/table.ts';
import type { Caller } from '../../domain/endpoint-token.ts';
import type { Touch } from '../../domain/passkey.ts';
import { demandScope } from './auth.ts';
import { baseOf, type Mount, matchesPath } from './mount.ts';
import { type FieldError, Problem } from './problem.ts';

export type Document = ReturnType<OpenAPIHono['getOpenAPI31Document']>;
/** Made when it is first asked for. */
export type DocumentSource = () => Promise<Document>;

export type Env = {
  Variables: {
    /** INVARIANT: set wherever a route has a scope; for an open one see `callerIfAny`. */
    caller: Caller;
    /** The id of the session that the caller comes from, if it does. */
    session: string | undefined;
    /** Without a session: who the same request is of now. Errors: as at its beginning, once its token is revoked or expired. */
    callerNow: () => Caller;
    /** The pattern of the route; undefined when the request reached none. */
    route: string | undefined;
    /** The body, once it was read to be compared with an earlier one. */
    bodyText: string | undefined;
    /** Of a request with an Idempotency-Key: what its run is stored with. */
    onceId: string | undefined;
    /** On a page: what the caller's passkey signed, which nobody has brought before. */
    touch: Touch | undefined;
    /** The OpenAPI document of the endpoint. */
    document: DocumentSource;
  };
  /** Of the process, never of the client. */
  Bindings:
    | {
        /** The request and the answer on their socket; absent without one. */
        outgoing?: { destroy(): void };
        incoming?: { socket?: { remoteAddress?: string | undefined } };
        /** Where the app stands; absent when it stands alone. */
        mount?: Mount;
      }
    | undefined;
};
export type Ctx = Context<Env>;

/** The caller on a path that is open to anybody. */
export function callerIfAny(context: Ctx): Caller | undefined {
  return context.var.caller as Caller | undefined;
}

export interface Route extends Pick<Described, 'path' | 'scope' | 'isEndless'> {
  method: Method;
  /** Undefined: a page for people, which is in no document. */
  described?: Entry;
  handle(context: Ctx): Promise<Response> | Response;
}

/** JSON, ended by a line feed. Integers that JSON numbers cannot hold become strings of digits. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Promise<Response> {
  return written(inTurns(jsonLine(body)), { status, headers: { 'Content-Type': 'application/json', ...headers } });
}

function* jsonLine(body: unknown): Generator<string> {
  yield* jsonPieces(body);
  yield '\n';
}

/** INVARIANT: answered when all of it is written, so that a failure meanwhile is a problem and not half an answer. */
export async function written(chunks: AsyncIterable<string>, init: ResponseInit): Promise<Response> {
  const parts: Buffer[] = [];
  for await (const chunk of chunks) parts.push(Buffer.from(chunk));
  return new Response(Buffer.concat(parts), init);
}

/** Leads a browser to a path of ours, wherever the app stands. */
export function leadTo(context: Ctx, path: string): Response {
  return context.redirect(`${baseOf(context)}${path}`, 303);
}

/** A parameter of the path. Never missing: the route has matched. */
export function param(context: Ctx, name: string): string {
  return context.req.param(name) ?? '';
}

/** The refusal for a request that no route answers: 405 with the methods of its path, otherwise 404. */
export function noRoute(routes: readonly Route[], method: string, path: string): Problem {
  const matching = routes.filter((route) => matchesPath(route.path, path));
  if (matching.length === 0) return new Problem(404, 'not-found', 'Not found', `there is no \`${path}\``);
  const methods = matching.flatMap((route) =>
    route.method === 'GET' && !route.isEndless ? ['GET', 'HEAD'] : [route.method],
  );
  return notAllowed(method, [...new Set(methods)].join(', '));
}

function notAllowed(method: string, allow: string): Problem {
  return new Problem(
    405,
    'method-not-allowed',
    'The method is not allowed',
    `${method} is not allowed here, use ${allow}`,
    {
      headers: { Allow: allow },
    },
  );
}

export function addRoutes(app: Hono<Env>, routes: readonly Route[]): void {
  for (const { method, path, handle } of routes)
    app.on(method, path, (context) => {
      context.set('route', path);
      return handle(context);
    });
}

// A request's body as text, counted while it arrives.

const BODY_BYTES_MAX = 64 * 1024;
/** Of a person who is signed in: a form that names each of 10,000 targets fits. */
const FORM_BYTES_MAX = 2 * 1024 * 1024;

/** Refuses a body whose announced length is too large. Errors: Problem 413. */
export function demandShortBody(context: Ctx): void {
  const contentLength = context.req.header('content-length');
  const bytesMax = bytesMaxOf(context);
  if (contentLength !== undefined && Number(contentLength) > bytesMax) throw tooLarge(bytesMax);
}

function bytesMaxOf(context: Ctx): number {
  return context.var.session === undefined ? BODY_BYTES_MAX : FORM_BYTES_MAX;
}

/** Empty without a body. Errors: Problem 413 for one over the limit, 400 for one that breaks off or is not UTF-8. */
export async function readBodyText(context: Ctx): Promise<string> {
  const { bodyText } = context.var;
  if (bodyText !== undefined) return bodyText;
  const reader = context.req.raw.body?.getReader();
  if (!reader) return '';
  const bytesMax = bytesMaxOf(context);
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read().catch(brokenOff);
    if (done) return textOf(Buffer.concat(parts));
    bytes += value.byteLength;
    // Not cancelled: that would cut the connection before the refusal is sent. The server discards the unread rest.
    if (bytes > bytesMax) throw tooLarge(bytesMax);
    parts.push(value);
  }
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Problem(400, 'not-utf-8', 'The body is not UTF-8', 'the body is not UTF-8: send it as UTF-8');
  }
}

function brokenOff(): never {
  throw new Problem(400, 'broken-body', 'The body broke off', 'the body broke off before its end: send it again');
}

function tooLarge(bytesMax: number): Problem {
  return new Problem(413, 'too-large', 'The body is too large', `a body may have ${bytesMax} bytes at most`);
}

// Whether a body repeats a key.

/** Strings, with the colon that makes one a key, and brackets: the rest of valid JSON says nothing about keys. */
const TOKEN = /("(?:[^"\\]|\\.)*")[ \t\r\n]*(:)?|[{}[\],]/g;

interface Level {
  /** Of an object; undefined for a list. */
  keys: Set<string> | undefined;
  /** The reader's position in it. */
  step: string | number;
}

export function repeatedKey(json: string): (string | number)[] | undefined {
  const levels: Level[] = [];
  for (const [token, text, colon] of json.matchAll(TOKEN)) {
    const level = levels.at(-1);
    if (colon !== undefined && level?.keys) {
      const key = JSON.parse(text as string) as string;
      level.step = key;
      if (level.keys.has(key)) return levels.map(({ step }) => step);
      level.keys.add(key);
    } else if (token === '{') levels.push({ keys: new Set(), step: '' });
    else if (token === '[') levels.push({ keys: undefined, step: 0 });
    else if (token === '}' || token === ']') levels.pop();
    else if (token === ',' && typeof level?.step === 'number') level.step += 1;
  }
  return undefined;
}

// Bodies and queries, checked by zod at the edge.

const TWICE = 'is given more than once';

/** An empty body counts as `{}`. The content type is ignored: tokens, not cookies, identify the caller. */
async function readBody<T>(context: Ctx, schema: z.ZodType<T>): Promise<T> {
  const text = await readBodyText(context);
  return checkInput(schema, text.trim() === '' ? {} : parse(text), 'body');
}

function parse(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text, wellFormed);
  } catch {
    throw new Problem(
      400,
      'malformed-json',
      'The body is not JSON',
      'the body must be one JSON object of well-formed text',
    );
  }
  const repeated = repeatedKey(text);
  if (repeated) throw badInput('body', [{ path: pathText(repeated), message: TWICE }]);
  return value;
}

/** Half a surrogate pair cannot be stored as it came. Errors: any, for such a string. */
function wellFormed(_key: string, member: unknown): unknown {
  if (typeof member === 'string' && /\p{Surrogate}/u.test(member)) throw new SyntaxError('half a surrogate pair');
  return member;
}

export function readQuery<T>(context: Ctx, schema: z.ZodType<T>): T {
  return checkInput(schema, queryOf(context), 'query');
}

/** The same for a form that searches: a browser sends its empty fields too, and they count as not sent. */
export function readSearch<T>(context: Ctx, schema: z.ZodType<T>): T {
  const filled = Object.entries(queryOf(context)).filter(([, value]) => value.trim() !== '');
  return checkInput(schema, Object.fromEntries(filled), 'query');
}

function queryOf({ req }: Ctx): Record<string, string> {
  const repeated = Object.entries(req.queries()).find(([, values]) => values.length > 1);
  if (repeated) throw badInput('query', [{ path: repeated[0], message: TWICE }]);
  return req.query();
}

/** The headers that the schema names. */
export function readHeaders<T>({ req }: Ctx, schema: z.ZodType<T> & z.ZodObject): T {
  const given = Object.keys(schema.shape).map((name) => [name, req.header(name)] as const);
  return checkInput(schema, Object.fromEntries(given.filter(([, value]) => value !== undefined)), 'header');
}

/** Errors: Problem 404, as for anything else that the path names and that is not there. */
function readParams<T>({ req }: Ctx, schema: z.ZodType<T> & z.ZodObject): T {
  const given = req.param() as Record<string, string>;
  const checked = schema.safeParse(given);
  if (checked.success) return checked.data as T;
  const issue = checked.error.issues[0] as z.core.$ZodIssue;
  const detail = `\`${pathText(issue.path)}\` in the path ${wordsOf(issue, given)}`;
  throw new Problem(404, 'not-found', 'Not found', detail);
}

type Where = 'body' | 'query' | 'form' | 'header';

/** More help nobody, and an answer stays short. */
const FAULTS_MAX = 100;

/** Errors: Problem 400 that lists the first 100 faults. */
function checkInput<T>(schema: z.ZodType<T>, value: unknown, where: Where): T {
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  const words = (issue: z.core.$ZodIssue) =>
    where === 'form' && isRepeated(issue, value) ? TWICE : wordsOf(issue, value);
  const { issues } = checked.error;
  const named = issues.slice(0, FAULTS_MAX).map((issue) => ({ path: pathText(issue.path), message: words(issue) }));
  throw badInput(where, named, issues.length - named.length);
}

/** A field of a form that is sent many times is a list, where one text was expected. */
function isRepeated({ code, path }: z.core.$ZodIssue, value: unknown): boolean {
  const [name, ...deeper] = path;
  if (name === undefined || deeper.length > 0 || code === 'too_small' || code === 'too_big') return false;
  return Array.isArray((value as Record<PropertyKey, unknown>)[name]);
}

function badInput(where: Where, errors: FieldError[], more = 0): Problem {
  const named = errors.map(({ path, message }) => `${path === '' ? `the ${where}` : `\`${path}\``} ${message}`);
  if (more > 0) named.push(`and ${more} more faults`);
  return new Problem(400, 'bad-request', 'The request is wrong', `the ${where} is wrong: ${named.join('; ')}`, {
    errors,
  });
}

// A route of an entry.

/** Errors of its handler: also Problem 400, 404, 413 for input that its schemas refuse. */
export function routeOf<const E extends Entry>(
  described: E,
  handle: (context: Ctx, input: ParsedOf<E>) => Promise<Response> | Response,
): Route {
  const { method, path, scope, isEndless, params, query, headers, body, adminFor } = described as Entry;
  return {
    method,
    path,
    scope,
    ...(isEndless && { isEndless }),
    described,
    handle: async (context) => {
      if (isEndless && context.req.method !== method) throw notAllowed(context.req.method, method);
      const input: Record<string, unknown> = {};
      if (params) Object.assign(input, readParams(context, params));
      if (query) Object.assign(input, readQuery(context, query));
      if (headers) readHeaders(context, headers);
      if (body) Object.assign(input, await readBody(context, body));
      if (adminFor !== undefined && input[adminFor] === true) demandScope(context.var.caller, 'admin');
      return handle(context, input as ParsedOf<E>);
    },
  };
}

/** The operations of some families of the table, in its order. `own`: routes of those that answer otherwise than with the JSON of their schema. */
export function operationRoutes(
  { performer }: { performer: Performer },
  families: readonly Readonly<Record<string, Entry>>[],
  own: { readonly [Id in OperationId]?: Route } = {},
): Route[] {
  return families.flatMap((family) => {
    const turns = new Map<Entry['atOnce'], Turns>();
    return Object.entries(family).map(([name, one]) => {
      const id = name as OperationId;
      const turn = one.atOnce && (turns.get(one.atOnce) ?? new Turns(one.atOnce));
      if (turn) turns.set(one.atOnce, turn);
      const route = routeOf(one, async (context, input) => {
        const work = () => performer.perform(id, input as never, askingOf(context));
        return answered(one, (await (turn ? turn.take(work) : work())) as object);
      });
      return own[id] ?? route;
    });
  });
}

/** What the engine offers, in the name of the caller. */
export function operationsOf({ performer }: { performer: Performer }, context: Ctx): Operations {
  return operationsFor(performer, askingOf(context));
}

export function askingOf({ var: { caller, onceId, touch } }: Ctx): Asking {
  return { by: caller.name, groups: caller.groups, onceId, touch };
}

/** The first status of the entry, with what it says of the answer. */
export function answered(one: Entry, answer: object): Promise<Response> {
  const [[status, { schema }] = ['200', {} as { schema?: z.ZodType }]] = Object.entries(one.answers);
  const body = one.isCoded && schema ? encodedJson(schema, answer) : answer;
  return json(body, Number(status));
}

// The fields of a form, checked by zod at the edge.

const FORM_TYPE = 'application/x-www-form-urlencoded';
/** One that names each of 10,000 targets has fewer. Reading more would keep everybody else waiting. */
const FIELDS_MAX = 15_000;

/** A field that may be sent many times, such as that of checkboxes; a list, also of none or one. */
export function listField<T>(item: z.ZodType<T>) {
  const listed = (value: unknown) => (value === undefined || Array.isArray(value) ? (value ?? []) : [value]);
  return z.preprocess(listed, z.array(item));
}

/** Errors: Problem 400, 413, 415 for another content type. */
export async function readForm<T>(context: Ctx, schema: z.ZodType<T>): Promise<T> {
  const type = (context.req.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== FORM_TYPE) {
    const detail = `the body must be a form: send it as \`${FORM_TYPE}\``;
    throw new Problem(415, 'no-form', 'The body is no form', detail);
  }
  return checkInput(schema, fieldsOf(await readBodyText(context)), 'form');
}

function fieldsOf(text: string): Record<string, string | string[]> {
  const fields = new Map<string, string[]>();
  const pairs = text.split('&', FIELDS_MAX + 1);
  if (pairs.length > FIELDS_MAX) {
    const detail = `the form has more than ${FIELDS_MAX} fields: send fewer`;
    throw new Problem(400, 'malformed-form', 'The form is malformed', detail);
  }
  for (const pair of pairs) {
    const end = pair.indexOf('=');
    const name = end < 0 ? '' : decoded(pair.slice(0, end));
    const value = decoded(pair.slice(end + 1));
    if (name === '' || value === '') continue;
    const values = fields.get(name);
    if (values) values.push(value);
    else fields.set(name, [value]);
  }
  return Object.fromEntries(
    [...fields].map(([name, values]) => [name, values.length === 1 ? (values[0] as string) : values]),
  );
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part.replace(/\+/g, ' '));
  } catch {
    throw new Problem(400, 'malformed-form', 'The form is malformed', 'the form must be percent-encoded UTF-8');
  }
}

export interface Pages {
  /**
   * Outside of `/api`. With a scope, only a session opens them: without one a GET leads to `/sign-in?to=…`, and a POST is Problem
   * 401. Every POST needs our own Origin, also one without a scope.
   */
  routes: readonly Route[];
  /** Shows an error, which may quote hostile text. On a path of no page too, and before the caller is known. */
  problem(problem: Problem, context: Ctx): Promise<Response> | Response;
}

// Costly answers, a few at once.

const RETRY_AFTER_S = 5;

export class Turns {
  private underWay = 0;
  private readonly waiting: (() => void)[] = [];

  /** @param what names the work, in the plural. */
  constructor(private readonly bounds: { what: string; underWayMax: number; waitingMax: number }) {}

  /** Errors: those of the work; Problem 429 when too many wait. */
  async take<T>(work: () => Promise<T>): Promise<T> {
    await this.begin();
    try {
      return await work();
    } finally {
      // A place is passed on to the next, and only otherwise given back.
      const next = this.waiting.shift();
      if (next) next();
      else this.underWay -= 1;
    }
  }

  private async begin(): Promise<void> {
    const { what, underWayMax, waitingMax } = this.bounds;
    if (this.underWay < underWayMax) {
      this.underWay += 1;
      return;
    }
    if (this.waiting.length >= waitingMax) {
      const detail = `${underWayMax} ${what} are under way and ${waitingMax} wait: ask again in a few seconds`;
      const headers = { 'Retry-After': String(RETRY_AFTER_S) };
      throw new Problem(429, 'too-many-requests', 'Too many at once', detail, { headers });
    }
    await new Promise<void>((resolve) => {
      this.waiting.push(resolve);
    });
  }
}

const CLOSE = { headers: { Connection: 'close' } };

/** Errors: Problem 421 for a host that is not ours, 400 for one that is not a host at all. */
export function demandHost({ req }: Ctx, policy: HostPolicy): void {
  const refusal = refuseHost({ header: req.header('host'), url: req.url }, policy);
  if (!refusal) return;
  if (refusal.kind === 'malformed')
    throw new Problem(400, 'bad-host', 'The Host header is wrong', 'the Host header is not a host', CLOSE);
  throw new Problem(
    421,
    'misdirected',
    'This host is not served here',
    `\`${refusal.name}\` is not an allowed host: call the endpoint by its own address, or add the name to TRUSTWARD_ALLOWED_HOSTS`,
    CLOSE,
  );
}
