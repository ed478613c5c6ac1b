// management contract: the body of `mdm/update_device` in its two spellings, an array and a single object.
// In: parsed JSON. Out: updates whose `Banned` is always "TRUE" or "FALSE". It must never take another word for a flag. 0 and 1 are flags:
// clients send back what lists of version 2 gave them.
import { z } from 'zod';
import { FLAGS } from '../../domain/platform-values.ts';
import { bit, namedSchemas, text } from './shapes.ts';
import { flagOf } from './values.ts';

const Banned = z.union([z.enum(FLAGS), bit.transform((value) => flagOf(Boolean(value)))], {
  error: 'must be "TRUE" or "FALSE"',
});

/** One object of the body. Which fields are required is not specified: none is. */
export const DeviceUpdate = z
  .looseObject({
    Model: text,
    Ownership: text,
    Platform: text,
    Architecture: text,
    Banned: Banned.optional(),
    // Sent by clients that send a single object.
    OS: text,
    IsMDMPresent: bit.optional(),
    MDMVendorName: text,
  })
  .register(namedSchemas, { id: 'DeviceUpdate' });
export type DeviceUpdate = z.infer<typeof DeviceUpdate>;

/** The whole body: answer an array with an array, an object with an object. */
export const DeviceUpdateBody = z
  .union([z.array(DeviceUpdate).min(1), DeviceUpdate])
  .register(namedSchemas, { id: 'DeviceUpdateBody' });
export type DeviceUpdateBody = z.infer<typeof DeviceUpdateBody>;
