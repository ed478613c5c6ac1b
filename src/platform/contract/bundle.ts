// management contract: service bundles, the association of services with them, and the envelope that they come in.
// In: parsed JSON. Out: checked records and bodies. An envelope must never be read past a non-zero `error_code`.
import { z } from 'zod';
import { bool, Integer, integer, list, namedSchemas, text } from './shapes.ts';

export const ServiceBundle = z
  .looseObject({
    id: z.string(),
    bundle_name: text,
    description: text,
    is_admin_created: bool,
    bulk_connect: bool,
    created_at: integer,
    updated_at: integer,
    service_ids: list(z.string()),
  })
  .register(namedSchemas, { id: 'ServiceBundle' });
export type ServiceBundle = z.infer<typeof ServiceBundle>;

export const BundledService = z
  .looseObject({
    id: z.string(),
    org_id: text,
    bundle_id: z.string(),
    service_id: z.string(),
    created_at: integer,
    updated_at: integer,
  })
  .register(namedSchemas, { id: 'BundledService' });
export type BundledService = z.infer<typeof BundledService>;

/** An envelope whatever its `data` is; `error_code` 0 means success. */
export const Envelope = z
  .looseObject({
    request_id: text,
    error_code: Integer,
    error_description: text,
    data: z.unknown().optional(),
  })
  .register(namedSchemas, { id: 'Envelope' });
export type Envelope = z.infer<typeof Envelope>;

/** An envelope that reports an error: its sentence is there twice, for clients that look for `Message`. */
export const ErrorEnvelope = Envelope.extend({ Message: z.string() }).register(namedSchemas, { id: 'ErrorEnvelope' });
export type ErrorEnvelope = z.infer<typeof ErrorEnvelope>;

/** An envelope around one kind of data. */
export function envelopeOf<T extends z.ZodType>(data: T) {
  return z.looseObject({ request_id: text, error_code: Integer, error_description: text, data });
}

const serviceId = z.string().min(1, 'must not be empty');

/** Body of 13 and 15. */
export const BundleInput = z
  .looseObject({
    bundle_name: z.string().trim().min(1, 'must not be empty'),
    description: text,
    service_ids: list(serviceId),
    bulk_connect: bool,
  })
  .register(namedSchemas, { id: 'BundleInput' });
export type BundleInput = z.infer<typeof BundleInput>;

/** Body of 14 and 17. */
export const BundleServiceInput = z
  .looseObject({ service_id: serviceId })
  .register(namedSchemas, { id: 'BundleServiceInput' });
export type BundleServiceInput = z.infer<typeof BundleServiceInput>;

/** Body of 18. */
export const BundledServicesInput = z
  .looseObject({ bundle_id: z.string().min(1, 'must not be empty'), service_ids: z.array(serviceId).min(1) })
  .register(namedSchemas, { id: 'BundledServicesInput' });
export type BundledServicesInput = z.infer<typeof BundledServicesInput>;

/** Body of 16 and 19: an empty object, and nothing at all is taken for one. */
export const EmptyBody = z.looseObject({}).register(namedSchemas, { id: 'EmptyBody' });
export type EmptyBody = z.infer<typeof EmptyBody>;
