// management contract: end users and devices, with their trust and MDM data, as servers send them.
// In: parsed JSON. Out: checked records with unknown fields kept. It must never refuse a record for a field that is
// merely absent: the paged lists lack some.
import { z } from 'zod';
import { bool, flag, integer, list, namedSchemas, text } from './shapes.ts';

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
