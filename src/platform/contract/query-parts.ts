// management contract: the values that query parameters take. In: text. Out: zod schemas of one parameter each. A bad value must never
// become a missing one.
import { z } from 'zod';

/** A filter: an empty text is no filter. */
export const filter = z
  .string()
  .transform((value) => (value === '' ? undefined : value))
  .optional();

export const count = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a whole number, 0 or more')
  .transform(Number)
  .meta({ type: 'integer' })
  .optional();

/** 19 digits fit, so that a client's "for ever" does. */
export const epochMs = z
  .string()
  .regex(/^\d{1,19}$/, 'must be a time in whole milliseconds since 1970')
  .transform(Number)
  .meta({ type: 'integer' })
  .optional();

export const order = oneOf(['asc', 'desc'] as const);
export const flagFilter = oneOf(['true', 'false'] as const).transform((value) => value && value === 'true');

/** One of a closed set in any case, with or without underscores; empty is none of them. Out: as the set spells it. */
export function oneOf<const T extends readonly string[]>(values: T) {
  return z
    .string()
    .transform((value, context): T[number] | undefined => {
      const found = values.find((each) => plain(each) === plain(value));
      if (!found) context.addIssue(`must be one of ${values.map((each) => `\`${each}\``).join(', ')}`);
      return found;
    })
    .meta({ enum: [...values] })
    .optional();
}

function plain(word: string): string {
  return word.replaceAll('_', '').toLowerCase();
}

/** Several values separated by a pipe; empty ones are dropped. */
export const piped = z
  .string()
  .transform((value) => {
    const values = value.split('|').filter((each) => each !== '');
    return values.length === 0 ? undefined : values;
  })
  .optional();

export function required(what: string) {
  return z.string({ error: `is required: ${what}` }).min(1, `must not be empty: ${what}`);
}
