// http: bodies and queries, checked by zod at the edge. In: a request and a schema. Out: its value, or 400 that lists every fault.
import { z } from 'zod';
import { givenTime } from '../domain/given-time.ts';
import { GIVEN_TEXT_MAX } from '../domain/operator.ts';
import { pathText, wordsOf } from '../domain/schema-words.ts';
import { readBodyText } from './body.ts';
import { type FieldError, Problem } from './problem.ts';
import { repeatedKey } from './repeated-key.ts';
import type { Ctx } from './route.ts';

const TWICE = 'is given more than once';

/** An empty body counts as `{}`. The content type is ignored: tokens, not cookies, identify the caller. */
export async function readBody<T>(context: Ctx, schema: z.ZodType<T>): Promise<T> {
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
export function readParams<T>({ req }: Ctx, schema: z.ZodType<T> & z.ZodObject): T {
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
export function checkInput<T>(schema: z.ZodType<T>, value: unknown, where: Where): T {
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
export const nothing = z.strictObject({});
