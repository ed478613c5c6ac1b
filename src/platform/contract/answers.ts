// management contract: what each endpoint answers, as a client may meet it.
// In: parsed JSON. Out: checked answers. Errors outside bundles carry `Message`; bundles and v2 the envelope.
import { z } from 'zod';
import { BundledService, envelopeOf, ServiceBundle } from './bundle.ts';
import { Event, FeedEvent } from './event.ts';
import { Device, DeviceV2, Enduser, EnduserV2 } from './people-and-devices.ts';
import { RegisteredService } from './service.ts';
import { Integer, integer, namedSchemas, text } from './shapes.ts';

/** Success of 11 and 12, error of everything outside bundles; the access token of `refresh_token`. */
export const MessageAnswer = z.looseObject({ Message: z.string() }).register(namedSchemas, { id: 'MessageAnswer' });
export type MessageAnswer = z.infer<typeof MessageAnswer>;

/** Errors outside bundles: some servers send `error` and `error_code` instead of `Message`. */
export const ErrorAnswer = z
  .looseObject({ Message: text, error: text, error_code: integer, error_description: text })
  .register(namedSchemas, { id: 'ErrorAnswer' });
export type ErrorAnswer = z.infer<typeof ErrorAnswer>;

export const EnduserPage = z
  .looseObject({ endusers: z.array(Enduser).nullish(), count: integer })
  .register(namedSchemas, { id: 'EnduserPage' });
export type EnduserPage = z.infer<typeof EnduserPage>;

export const DevicePage = z
  .looseObject({ devices: z.array(Device).nullish(), count: integer })
  .register(namedSchemas, { id: 'DevicePage' });
export type DevicePage = z.infer<typeof DevicePage>;

/** Endpoint 1: a list, or with Skip and Limit a page. */
export const EnduserAnswer = z.union([z.array(Enduser), EnduserPage]);
export type EnduserAnswer = z.infer<typeof EnduserAnswer>;
/** Endpoint 2: a list, or with Skip and Limit a page. */
export const DeviceAnswer = z.union([z.array(Device), DevicePage]);
export type DeviceAnswer = z.infer<typeof DeviceAnswer>;
/** Version 2 of endpoint 1. */
export const EnduserEnvelope = envelopeOf(
  z.looseObject({ endusers: z.array(EnduserV2).nullish(), count: integer }),
).register(namedSchemas, { id: 'EnduserEnvelope' });
export type EnduserEnvelope = z.infer<typeof EnduserEnvelope>;
/** Version 2 of endpoint 2. */
export const DeviceEnvelope = envelopeOf(
  z.looseObject({ devices: z.array(DeviceV2).nullish(), count: integer }),
).register(namedSchemas, { id: 'DeviceEnvelope' });
export type DeviceEnvelope = z.infer<typeof DeviceEnvelope>;

/** Endpoint 3: a sentence as a JSON string. */
export const DeletedAnswer = z.string();
export type DeletedAnswer = z.infer<typeof DeletedAnswer>;

/** Endpoint 4: an array for an array, an object for an object; `Success` means success. */
export const DeviceUpdateAnswer = z
  .union([z.array(MessageAnswer), MessageAnswer])
  .register(namedSchemas, { id: 'DeviceUpdateAnswer' });
export type DeviceUpdateAnswer = z.infer<typeof DeviceUpdateAnswer>;

export const EventList = z.looseObject({ data: z.array(Event).nullish() }).register(namedSchemas, { id: 'EventList' });
export type EventList = z.infer<typeof EventList>;
export const EventFeed = z
  .looseObject({ data: z.array(FeedEvent).nullish() })
  .register(namedSchemas, { id: 'EventFeed' });
export type EventFeed = z.infer<typeof EventFeed>;
export const EventCount = z.looseObject({ data: Integer }).register(namedSchemas, { id: 'EventCount' });
export type EventCount = z.infer<typeof EventCount>;
/** The names that the event log uses, in the envelope; some servers give records without one. */
export const EventTypes = z
  .looseObject({ request_id: text, error_code: integer, error_description: text, data: z.array(z.unknown()).nullish() })
  .register(namedSchemas, { id: 'EventTypes' });
export type EventTypes = z.infer<typeof EventTypes>;

/** Endpoint 8. */
export const ServiceList = z.array(RegisteredService);
export type ServiceList = z.infer<typeof ServiceList>;

/** Endpoint 10 answers with nothing by the specification, with a Message from some servers. */
export const NothingOrMessage = z.union([z.undefined(), MessageAnswer]);
export type NothingOrMessage = z.infer<typeof NothingOrMessage>;

export const BundleAnswer = envelopeOf(ServiceBundle).register(namedSchemas, { id: 'BundleAnswer' });
export type BundleAnswer = z.infer<typeof BundleAnswer>;
export const BundledServicesAnswer = envelopeOf(
  z.looseObject({ bundled_services: z.array(BundledService).nullish() }),
).register(namedSchemas, { id: 'BundledServicesAnswer' });
export type BundledServicesAnswer = z.infer<typeof BundledServicesAnswer>;
/** 14 (its data is not specified), 16, 17 and 19. */
export const EmptyEnvelope = envelopeOf(z.unknown().optional()).register(namedSchemas, { id: 'EmptyEnvelope' });
export type EmptyEnvelope = z.infer<typeof EmptyEnvelope>;
/** GET of bundles and of their services, in newer versions; some servers give the list itself as `data`. */
export const BundleList = envelopeOf(
  z.union([
    z.array(ServiceBundle),
    z.looseObject({ bundles: z.array(ServiceBundle).nullish(), count: integer }),
    z.null(),
  ]),
).register(namedSchemas, { id: 'BundleList' });
export type BundleList = z.infer<typeof BundleList>;
export const BundledServiceList = envelopeOf(
  z.union([
    z.array(BundledService),
    z.looseObject({ bundled_services: z.array(BundledService).nullish(), count: integer }),
    z.null(),
  ]),
).register(namedSchemas, { id: 'BundledServiceList' });
export type BundledServiceList = z.infer<typeof BundledServiceList>;
