// management contract: one event of the log, in the list's and in the feed's spelling, and as clients submit it.
// In: parsed JSON. Out: checked events with unknown fields kept. It must never refuse an event for a missing part:
// every part of it is absent somewhere.
import { z } from 'zod';
import { EVENT_SEVERITIES } from '../../domain/platform-values.ts';
import { bool, Integer, integer, list, namedSchemas, text } from './shapes.ts';

export const EventDevice = z
  .looseObject({
    id: text,
    friendly_name: text,
    mac_address: text,
    serial_number: text,
    registration_status: text,
    /** Recorded beside or instead of `registration_status`. */
    unregistered: bool,
    compromised_status: text,
    compliance_status: text,
    oem_info: text,
    model: text,
    platform: text,
    ownership: text,
    architecture: text,
    udid: text,
    source: text,
    /** Seconds or nanoseconds, or 0. */
    last_mdm_data_synced_at: integer,
    os: text,
    /** Where it was seen last, and with what. */
    last_ip_address: text,
    last_user_agent: text,
  })
  .register(namedSchemas, { id: 'EventDevice' });
export type EventDevice = z.infer<typeof EventDevice>;

export const EventUser = z
  .looseObject({ email: text, name: text, groups: list(z.string()), roles: list(z.string()) })
  .register(namedSchemas, { id: 'EventUser' });
export type EventUser = z.infer<typeof EventUser>;

const EventClient = z.looseObject({
  user_agent: text,
  /** `host:port`, or several separated by commas. */
  ip_address: text,
  geo_location: z.looseObject({ city: text, country: text, region: text }).nullish(),
});
const EventLinkEnd = z.looseObject({
  service_id: text,
  service_name: text,
  service_version: text,
  container_id: text,
  container_name: text,
  /** Empty, or `host:port`. */
  host_name: text,
  /** `host:port`. */
  ip: text,
});
const EventRole = z.looseObject({ id: text, name: text, version: text, bound_by: text, bound_at: integer });
const EventPolicy = z.looseObject({
  id: text,
  name: text,
  version: text,
  attached_by: text,
  attached_at: integer,
  enabled: bool,
});
const EventWorkloads = z.looseObject({
  container_name: text,
  container_id: text,
  image: text,
  repo: text,
  tag: text,
  labels: text,
  container_ips: text,
  app_name: text,
});
const EventChannel = z.looseObject({
  access_level: z.looseObject({ resource: text }).nullish(),
  sni_data: z.looseObject({ name_requested: text, name_matched: text }).nullish(),
  request_data: z.looseObject({ protocol: text, type: text, query_crud_types: text, query_resources: text }).nullish(),
});
const EventHost = z.looseObject({ host_ips: text, host_name: text, cluster_id: text, port_map: text });

const parts = {
  severity: text,
  action: text,
  type: text,
  sub_type: text,
  result: text,
  org_id: text,
  org_name: text,
  external_id: text,
  user_principal: z
    .looseObject({ device: EventDevice.nullish(), user: EventUser.nullish(), client: EventClient.nullish() })
    .nullish(),
  workload_principal: z.looseObject({ workload_set: EventWorkloads.nullish(), host: EventHost.nullish() }).nullish(),
  service: z.looseObject({ id: text, name: text, type: text, version: text }).nullish(),
  link: z
    .looseObject({ source: EventLinkEnd.nullish(), destination: EventLinkEnd.extend({ port: text }).nullish() })
    .nullish(),
  trustscore: z
    .looseObject({
      id: text,
      type: text,
      timestamp: integer,
      score: integer,
      trust_level: text,
      trust_profile_name: text,
      passed_factors: z.unknown().optional(),
    })
    .nullish(),
  /** The same time as `created_at`, in nanoseconds. */
  created_at_ns: integer,
  // As recorded; older servers send names, and other forms are no reason to refuse an event.
  role: list(z.union([EventRole, z.unknown()])),
  policy: z.union([EventPolicy, z.unknown()]).optional(),
  channel: z.unknown().optional(),
};

/** As endpoint 5 gives it; `created_at` is epoch ms. */
export const Event = z
  .looseObject({ id: z.string(), created_at: Integer, message: text, ...parts })
  .register(namedSchemas, { id: 'Event' });
export type Event = z.infer<typeof Event>;

/** As the feed (endpoint 7) gives it: the text is `messages`, and there is a `group_id`. */
export const FeedEvent = z
  .looseObject({ id: z.string(), created_at: Integer, messages: text, group_id: text, ...parts })
  .register(namedSchemas, { id: 'FeedEvent' });
export type FeedEvent = z.infer<typeof FeedEvent>;

/** As a client submits it: what it leaves out, the server fills in. */
export const EventInput = z
  .looseObject({
    ...parts,
    id: z.string().min(1).optional(),
    created_at: Integer.optional(),
    // The log never gives a block of another form than clients read. Older senders give names.
    role: list(z.union([z.string(), EventRole])),
    policy: z.union([z.string(), EventPolicy]).nullish(),
    channel: EventChannel.nullish(),
    type: z.string().min(1),
    severity: z.enum(EVENT_SEVERITIES).optional(),
    message: text,
  })
  .register(namedSchemas, { id: 'EventInput' });
export type EventInput = z.infer<typeof EventInput>;

/** Several events, as newer clients submit them. */
export const EventBatch = z
  .looseObject({ data: z.array(EventInput).min(1) })
  .register(namedSchemas, { id: 'EventBatch' });
export type EventBatch = z.infer<typeof EventBatch>;
