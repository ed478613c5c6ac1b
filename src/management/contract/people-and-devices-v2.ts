// management contract: devices and end users as the lists of version 2 give them: other records than in version 1, in snake case.
// In: parsed JSON. Out: checked records with unknown fields kept. It must never refuse a record for a field that is merely absent.
import { z } from 'zod';
import { bool, integer, list, namedSchemas, text } from './shapes.ts';

/** What is unknown is empty. There is no MDM data and no score: what version 1 has in `MdmData` and `TrustData`. */
export const DeviceV2 = z
  .looseObject({
    id: z.string(),
    /** The friendly name. */
    name: text,
    serial_number: z.string(),
    ownership: text,
    platform: text,
    model: text,
    os: text,
    architecture: text,
    /** A full semantic version, or empty. */
    app_version: text,
    banned: bool,
    mdm_present: bool,
    mdm_vendor_name: text,
    trust_level: text,
    trust_status: text,
    trust_profile_display_name: text,
    threat_profile_display_name: text,
    /** Nanoseconds. */
    created_at: integer,
    /** Nanoseconds; 0: never. */
    last_login: integer,
    extra_details: z.looseObject({ emails: list(z.string()) }).nullish(),
    role_names: list(z.string()),
  })
  .register(namedSchemas, { id: 'DeviceV2' });
export type DeviceV2 = z.infer<typeof DeviceV2>;

export const EnduserV2 = z
  .looseObject({
    name: text,
    email: z.string(),
    status: text,
    /** Nanoseconds. */
    created_at: integer,
    /** Nanoseconds; 0: never invited. */
    invited_at: integer,
    /** Nanoseconds; 0: never. */
    last_login: integer,
    security_roles: list(z.string()),
  })
  .register(namedSchemas, { id: 'EnduserV2' });
export type EnduserV2 = z.infer<typeof EnduserV2>;
