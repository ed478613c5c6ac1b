// http: the fields of a form, checked by zod at the edge. In: a request and a schema. Out: its value, or 400 that lists every fault. An
// empty field counts as one that was not sent: a browser sends every text field of a form.
import { z } from 'zod';
import { readBodyText } from './body.ts';
import { checkInput } from './input.ts';
import { Problem } from './problem.ts';
import type { Ctx } from './route.ts';

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
