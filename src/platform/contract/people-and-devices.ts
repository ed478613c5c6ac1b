// management contract: end users and devices, with their trust and MDM data, as servers send them.
// In: parsed JSON. Out: checked records with unknown fields kept. It must never refuse a record for a field that is
// merely absent: the paged lists lack some.
import { z } from 'zod';
import { bit, bool, flag, integer, list, namedSchemas, text } from './shapes.ts';

export const Factor = z
  .looseObject({
    Name: text,
    Value: text,
    Type: text,
    Source: text,
    Description: text,
    RemediationDescription: text,
    RemediationURL: text,
  })
  .register(namedSchemas, { id: 'Factor' });
export type Factor = z.infer<typeof Factor>;

export const TrustData = z
  .looseObject({
    EntityTrustscore: integer,
    OverrideTrustscore: integer,
    AccessTrustscore: integer,
    OverrideActive: flag,
    Level: text,
    /** Nanoseconds. */
    UpdatedAt: integer,
    Factors: list(Factor),
  })
  .register(namedSchemas, { id: 'TrustData' });
export type TrustData = z.infer<typeof TrustData>;

export const MdmData = z
  .looseObject({
    /** Nanoseconds; 0 when never synced. */
    Timestamp: integer,
    Source: text,
    CompromisedStatus: flag,
    CompliantStatus: flag,
  })
  .register(namedSchemas, { id: 'MdmData' });
export type MdmData = z.infer<typeof MdmData>;

export const Enduser = z
  .looseObject({
    Email: z.string(),
    Name: text,
    /** Names, separated by commas. */
    Groups: text,
    /** Nanoseconds; unpaged list only, as the two below. */
    LastLogin: integer,
    LoginCount: integer,
    SerialNumbers: list(z.string()),
    TrustData: TrustData.nullish(),
    Roles: list(z.string()),
    CreatedAt: integer,
  })
  .register(namedSchemas, { id: 'Enduser' });
export type Enduser = z.infer<typeof Enduser>;

export const Device = z
  .looseObject({
    DeviceID: z.string(),
    SerialNumber: z.string(),
    DeviceFriendlyName: text,
    /** By the specification in the unpaged list only, as the two below. */
    Emails: list(z.string()),
    /** Nanoseconds. */
    LastLogin: integer,
    LoginCount: integer,
    Ownership: text,
    Platform: text,
    Model: text,
    Architecture: text,
    RegisteredStatus: flag,
    MdmData: MdmData.nullish(),
    TrustData: TrustData.nullish(),
    Roles: list(z.string()),
    Banned: flag,
    OS: text,
    AppVersion: text,
    CreatedAt: integer,
    IsMDMPresent: bool,
    MDMVendorName: text,
  })
  .register(namedSchemas, { id: 'Device' });
export type Device = z.infer<typeof Device>;

// The lists of version 2 give other records, in snake case.

const FactorV2 = z.looseObject({
  name: text,
  value: text,
  type: text,
  source: text,
  description: text,
  remediation: z.looseObject({ description: text, url: text }).nullish(),
});

/** The level that access goes by, and what it comes from. */
const TrustV2 = z.looseObject({
  value: integer,
  level: text,
  status: text,
  /** What was calculated when; an override does not change it. */
  last_evaluated: z.looseObject({ value: integer, level: text, timestamp: integer }).nullish(),
  /** Nanoseconds; 0: never. */
  expired_at: integer,
  factors: list(FactorV2),
});

/** As events show a score. */
const TrustscoreV2 = z.looseObject({ id: text, type: text, timestamp: integer, score: integer });

/** What is unknown is empty. Much of what version 1 has in `MdmData` and `TrustData` is not there, or in `extra_details` alone. */
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
    /** 0 or 1, as published; booleans from some servers. */
    banned: bit.optional(),
    mdm_present: bit.optional(),
    mdm_vendor_name: text,
    mdm_vendor_udid: text,
    /** Null: unknown. */
    mdm_compliant: bit.nullish(),
    /** Of its MDM data. */
    source: text,
    trust_level: text,
    trust_status: text,
    trust_profile_display_name: text,
    threat_profile_display_name: text,
    /** Nanoseconds. */
    created_at: integer,
    /** Nanoseconds; 0: never. */
    last_login: integer,
    extra_details: z
      .looseObject({
        emails: list(z.string()),
        number_of_users: integer,
        role_names: list(z.string()),
        trust: TrustV2.nullish(),
        trustscore: TrustscoreV2.nullish(),
      })
      .nullish(),
    role_names: list(z.string()),
  })
  .register(namedSchemas, { id: 'DeviceV2' });
export type DeviceV2 = z.infer<typeof DeviceV2>;

export const EnduserV2 = z
  .looseObject({
    id: text,
    org_id: text,
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
