// http: the one way to page through a list. In: the position that the page before has given as `next`. Out: a page, and the position of
// the page after it. A position names a row, so rows that are added meanwhile neither repeat nor hide another.
import { z } from 'zod';
import { limitField, nameField } from './input.ts';

/** The query of a list, newest first. */
export const pageFields = {
  limit: limitField,
  before: nameField.optional().describe('`next` of the page before'),
};

/** The answer of a list. `key`: the name of its rows. */
export function pageSchema(
  key: string,
  row: z.ZodType,
  { next = z.string(), ...more }: { next?: z.ZodType } & Record<string, z.ZodType> = {},
) {
  const position = z.union([next, z.null()]).describe('where the next page begins; null at the end');
  return z.strictObject({ [key]: z.array(row), ...more, next: position });
}

/** How many rows the filters let through, on all pages. */
export const total = z.int().min(0).describe('on all pages');
