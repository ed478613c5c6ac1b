// management contract: the few shapes that records are made of, tolerant of what servers differ in.
// In: nothing. Out: zod schemas. They keep unknown fields and 19-digit integers; they must never coerce or default.
import { z } from 'zod';

/** Schemas that the OpenAPI document lists by name. */
export const namedSchemas = z.registry<{ id: string }>();

/** An integer of any size: beyond ±(2^53 − 1) it is a bigint (see exact-json), so that no digit is lost. */
export const Integer = z
  .custom<number | bigint>((value) => typeof value === 'bigint' || Number.isInteger(value), 'must be an integer')
  .meta({ type: 'integer' });
export type Integer = z.infer<typeof Integer>;

/** Text that may be absent. */
export const text = z.string().optional();
/** The same as clients send it, that marshal an absent text as null. */
export const textOrNull = z.string().nullish();
/** An integer that may be absent. */
export const integer = Integer.optional();
/** `"TRUE"` or `"FALSE"`; some servers send booleans. */
export const flag = z.union([z.string(), z.boolean()]).optional();
/** A boolean that may be absent. */
export const bool = z.boolean().optional();
/** A boolean, or an integer that stands for one. */
export const bit = z.union([z.boolean(), z.literal(0), z.literal(1)]);
/** A list that may be null or absent. */
export function list<T extends z.ZodType>(item: T) {
  return z.array(item).nullish();
}

/** When, in nanoseconds, and by whom a record was created, changed and deleted; DeletedAt is 0 and DeletedBy empty when it is not deleted. */
export const recordHistory = {
  CreatedAt: integer,
  LastUpdatedAt: integer,
  DeletedAt: integer,
  CreatedBy: text,
  LastUpdatedBy: text,
  DeletedBy: text,
};
