// contract: what an operation is: one entry that says what it is called, who may ask for it, and what it takes and answers. Routes, the OpenAPI
// document, the client over HTTP and the jobs of workers derive from it; its words on the command line are in commands.ts, by its id.
import { z } from 'zod';
import { plainJson } from '../base/json.ts';
import { pathText, wordsOf } from '../base/text.ts';
import type { Scope } from '../domain/endpoint-token.ts';
import { AppError } from '../domain/errors.ts';
import { givenTime } from '../domain/given-time.ts';
import { GIVEN_TEXT_MAX } from '../domain/operator.ts';
import { isBase64url, TOUCH_KINDS, TOUCH_MAX, type Touch } from '../domain/passkey.ts';

export const TAGS = [
  ['runs', 'Runs and their reports'],
  ['plans', 'Plans, and answering them'],
  ['decisions', 'What was decided, and why'],
  ['rules', 'Loaded rules, explained and tried'],
  ['in force', 'Intents and claims'],
  ['operator', 'What a person commands'],
  ['audit', 'The record of everything'],
  ['notifications', 'The outbox'],
  ['signals', 'Shared Signals (SSF 1.0)'],
  ['tokens', 'Tokens and links of this endpoint'],
  ['organizations', 'The organizations of this endpoint'],
  ['health', 'Whether it works; open to anybody'],
] as const;

/** One answer that is no problem: JSON of a schema, text of some content types, or either. */
export interface Answer {
  description: string;
  /** Of the JSON. */
  schema?: z.ZodType;
  /** The content types of the text, such as `text/csv`. */
  types?: readonly string[];
  /** Its own headers, each with what it holds. */
  headers?: Readonly<Record<string, string>>;
}

/** Operations have the first two; the others are of standards. */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** What anybody may know of an operation over HTTP. */
export interface Described {
  /** Unique; in camel case, as generated clients name their functions. */
  id: string;
  method: Method;
  /** Each segment that begins with a colon matches one segment. */
  path: string;
  /** Undefined: open to anybody. */
  scope: Scope | undefined;
  tag: (typeof TAGS)[number][0];
  summary: string;
  /** More, in sentences. */
  description?: string;
  /** One for each parameter of the path. A value that it refuses is Problem 404. */
  params?: z.ZodObject;
  /** Without it, a query is ignored. */
  query?: z.ZodType;
  headers?: z.ZodObject;
  /** Without it, a body is not read. */
  body?: z.ZodType;
  answers: Readonly<Record<number, Answer>>;
  /** Statuses of problems, beside those that follow from its scope, its input and the guards of every request. */
  refusals?: readonly number[];
  /** Its answer has no end, so HEAD is refused. */
  isEndless?: true;
}

/** What an operation needs where no daemon runs: the record to read, the database to write, or an engine with rules and the API. */
export type Needs = 'record' | 'database' | 'engine';

export interface Entry extends Described {
  needs?: Needs;
  /** A member of the input that asks for more than the scope: with it, scope `admin` is needed. */
  adminFor?: string;
  /** Members of the answer are encoded: times are epoch milliseconds in the process, and ISO 8601 outside. */
  isCoded?: true;
  /** A costlier answer: so many at once. `what` names the work, in the plural. */
  atOnce?: { what: string; underWayMax: number; waitingMax: number };
}

export function entry<const E extends Entry>(one: E): E {
  return one;
}

type Part<E, Name extends string, Way extends 'input' | 'output'> =
  E extends Record<Name, infer T extends z.ZodType> ? (Way extends 'input' ? z.input<T> : z.output<T>) : unknown;
/** One object: parameters of the path, and the members of the query or the body. */
export type InputOf<E> = Part<E, 'params', 'input'> & Part<E, 'query', 'input'> & Part<E, 'body', 'input'>;
/** The same, parsed. */
export type ParsedOf<E> = Part<E, 'params', 'output'> & Part<E, 'query', 'output'> & Part<E, 'body', 'output'>;
type Answered<A> = A extends { schema: infer S extends z.ZodType } ? z.output<S> : never;
export type OutputOf<E extends Described> = Answered<E['answers'][keyof E['answers']]>;

/** An answer whose members are encoded, as JSON: what its schema does not have is left out or refused. */
export function encodedJson<T extends z.ZodType>(schema: T, answer: z.output<T>): z.input<T> {
  return z.encode(schema, plainJson(answer) as z.output<T>);
}

/** What a passkey signed, as a form and a job bring it. */
const bytesText = (max: number) =>
  z
    .string()
    .max(max)
    .refine((text) => isBase64url(text, max), 'expected base64url');
export const touchSchema: z.ZodType<Touch> = z.strictObject({
  kind: z.enum(TOUCH_KINDS),
  passkey: bytesText(TOUCH_MAX.passkey),
  nonce: bytesText(TOUCH_MAX.nonce),
  authenticatorData: bytesText(TOUCH_MAX.authenticatorData),
  clientDataJSON: bytesText(TOUCH_MAX.clientDataJSON),
  signature: bytesText(TOUCH_MAX.signature),
});

/** Who asks, for the record. */
export interface Asking {
  by: string;
  /** Of a person: as in `Caller`. */
  groups?: string[] | undefined;
  /** What their passkey signed: on a page alone, in no request of a program. */
  touch?: Touch | undefined;
  /** What a run is stored with that may be asked for again: of a request with an Idempotency-Key. */
  onceId?: string | undefined;
}

// An input by its parts.

interface Parts {
  params: Record<string, unknown>;
  query: Record<string, unknown>;
  body: Record<string, unknown>;
}

/** Parameters of the path first; the rest is the body, or without one the query. */
export function partsOf({ params, body }: Described, input: object): Parts {
  const parts: Parts = { params: {}, query: {}, body: {} };
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined) continue;
    if (params && Object.hasOwn(params.shape, name)) parts.params[name] = value;
    else (body ? parts.body : parts.query)[name] = value;
  }
  return parts;
}

/** Errors: AppError `usage` that names the first faults, `not_found` for a parameter of the path; `spelled` is how their places are called. */
export function parsedInput<E extends Described>(
  one: E,
  input: object,
  spelled: (path: string) => string = (path) => (path === '' ? 'what was given' : `\`${path}\``),
): ParsedOf<E> {
  const parts = partsOf(one, input);
  const parsed: object = {};
  for (const name of ['params', 'query', 'body'] as const) {
    const found = one[name]?.safeParse(parts[name]);
    if (found?.success) Object.assign(parsed, found.data);
    else if (found)
      throw new AppError(name === 'params' ? 'not_found' : 'usage', faultsOf(found.error.issues, parts[name], spelled));
  }
  return parsed as ParsedOf<E>;
}

const FAULTS_MAX = 5;

function faultsOf(issues: readonly z.core.$ZodIssue[], value: unknown, spelled: (path: string) => string): string {
  const named = issues.slice(0, FAULTS_MAX).map((issue) => {
    const path = pathText(issue.path);
    const words = wordsOf(issue, value);
    return `${spelled(path)} ${path === '' ? words.replace(/`(\w+)`/g, (_, name: string) => spelled(name)) : words}`;
  });
  const more = issues.length - named.length;
  return [...named, ...(more > 0 ? [`and ${more} more faults`] : [])].join('; ');
}

// What several inputs have.

const MORE_MAX = 1_000;

/** `limit` of a list: 1 to 1,000; 50 by default. */
export const limitField = z
  .string()
  .regex(/^\d{1,4}$/, `must be a whole number from 1 to ${MORE_MAX}`)
  .transform(Number)
  .pipe(z.number().min(1).max(MORE_MAX))
  .default(50)
  .meta({ type: 'integer', minimum: 1, maximum: MORE_MAX, default: 50, pattern: undefined });

/** A position in a list that is counted from 1. */
export const positionField = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a whole number')
  .transform(Number)
  .meta({ type: 'integer', minimum: 0, maximum: 999_999_999_999_999, pattern: undefined });

const sinceText = z.string().min(1).max(100).describe('a duration back from now such as `12h`, or a date');
export const sinceField = sinceText.optional();

/** Errors: AppError `usage`. */
export function sinceOf(since: string | undefined, nowMs: number): { since?: number } {
  return since === undefined ? {} : { since: givenTime(since, 'since', nowMs, 'before') };
}

/** A name or id to search for. */
export const nameField = z.string().min(1).max(1_000);

/** What a person writes beside a command: a reason, who is responsible. */
export const givenText = z.string().trim().min(1).max(GIVEN_TEXT_MAX);

/** The parameter of a path such as `/api/plans/:id`. `what`: with its article. */
export function idParam(what: string) {
  return z.object({ id: z.string().describe(`the id of ${what}`) });
}

/** The input of an operation that takes nothing. */
export const nothing = z.strictObject({}) as z.ZodObject as z.ZodType<object, object>;

/** The query of a list, newest first. */
export const pageFields = {
  limit: limitField,
  before: nameField.optional().describe('`next` of the page before'),
};

/** The answer of a list. `key`: the name of its rows; `next`: of its position. */
export function pageSchema<
  Key extends string,
  Row extends z.ZodType,
  More extends Record<string, z.ZodType> = Record<never, z.ZodType>,
  Next extends z.ZodType = z.ZodString,
>(key: Key, row: Row, more?: More, next?: Next) {
  const position = z.union([next ?? z.string(), z.null()]).describe('where the next page begins; null at the end');
  const shape = { [key]: z.array(row), ...more, next: position };
  return z.strictObject(shape as unknown as { [key in Key]: z.ZodArray<Row> } & More & { next: z.ZodNullable<Next> });
}

/** How many rows the filters let through, on all pages. */
export const total = z.int().min(0).describe('on all pages');

export const KEY_HEADER = 'Idempotency-Key';

/** An operation with these headers may be repeated. */
export const keyHeaders = z.object({
  [KEY_HEADER]: z
    .string()
    .regex(/^[\x20-\x7e]{1,255}$/, 'must be 1 to 255 printable ASCII characters')
    .optional()
    .describe('a repeat with the same key within 24 hours gets the same answer, and nothing is done twice'),
});

/** A ticket or change number. */
export const referenceField = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .optional()
  .describe('a ticket or change number, which records and lists show beside the reason');

/** Where TRUSTWARD_REQUIRE_REFERENCE=1 demands one. Errors: AppError `usage` when an operation that takes a reference has none. */
export function demandReference({ body }: Entry, input: object): void {
  const { shape = {} } = (body ?? {}) as { shape?: object };
  if (!Object.hasOwn(shape, 'reference') || (input as { reference?: string }).reference !== undefined) return;
  throw new AppError('usage', 'a reference is required here: give the ticket or change number (`reference`)');
}

/** The members of inputs with which a person says why: forms have them where the entry has. */
const SAID = { reason: givenText.optional(), reference: referenceField };

/** Of this entry, for a form that sends them. */
export function saidFields({ body }: Entry): typeof SAID {
  const { shape = {} } = body as { shape?: object };
  return Object.fromEntries(Object.entries(SAID).filter(([name]) => Object.hasOwn(shape, name))) as typeof SAID;
}
