// management contract: every endpoint once: where it is, what it takes, what it answers, who may call it.
// Client, console and the OpenAPI document read paths from here alone. Full paths, below `{base_url}`.
import { z } from 'zod';
import { AppError } from '../../domain/errors.ts';
import * as answer from './answers.ts';
import { EmptyEnvelope, MessageAnswer } from './answers.ts';
import * as bundle from './bundle.ts';
import { DeviceUpdateBody } from './device-update.ts';
import { EventBatch, EventInput } from './event.ts';
import * as policy from './policy.ts';
import * as query from './query.ts';
import { RegisteredService, ServiceSpec } from './service.ts';

// The description of an endpoint, and what many of them share.

export interface Endpoint {
  /** Its number in the specification; undefined for what field notes add. */
  number: number | undefined;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Full path; `{name}` stands for one segment. */
  path: string;
  /** The same endpoint elsewhere, as public clients call it. */
  aliases: readonly string[];
  summary: string;
  query: z.ZodObject;
  /** Its parameters may come as a form in the body, too. */
  takesForm?: boolean;
  /** undefined: no body is sent. */
  body: z.ZodType | undefined;
  answer: z.ZodType;
  statuses: readonly number[];
  /** `user`: access token or API key; `admin`: the admin token; `refresh`: a refresh token (or API key). */
  auth: 'user' | 'admin' | 'refresh';
  /** How errors come: `{Message}`, or the envelope. */
  errors: 'message' | 'envelope';
  /** It changes something: it is never sent twice. */
  writes: boolean;
}

/** Prefixes under which bundles are found; the first is the specification's. */
export const BUNDLE_PREFIXES = ['/experimental/v2', '/api/experimental/v2', '/api/v2'] as const;

const at = (name: string) => ({ path: `/api/v1/${name}`, aliases: [`/api/v2/${name}`] });
const bundleAt = (name: string) => ({
  path: `${BUNDLE_PREFIXES[0]}/${name}`,
  aliases: BUNDLE_PREFIXES.slice(1).map((prefix) => `${prefix}/${name}`),
});
const READ = { body: undefined, auth: 'user', errors: 'message', writes: false } as const;
const WRITE = { body: undefined, auth: 'user', errors: 'message', writes: true } as const;
const BUNDLE = {
  query: query.NoQuery,
  statuses: [200, 400, 401, 403, 500],
  auth: 'admin',
  errors: 'envelope',
} as const;
/** 401 is answered everywhere, also where the specification lists only others. */
const STATUSES = {
  list: [200, 400, 401, 500],
  events: [200, 400, 401, 403, 500],
  plain: [200, 400, 401, 500],
} as const;

// The endpoints of service bundles, 13 to 19.

const BUNDLE_ENDPOINTS = {
  create_bundle: {
    ...BUNDLE,
    ...bundleAt('bundle'),
    number: 13,
    method: 'POST',
    summary: 'Create a service bundle',
    body: bundle.BundleInput,
    answer: answer.BundleAnswer,
    writes: true,
  },
  add_service_to_bundle: {
    ...BUNDLE,
    ...bundleAt('bundle/{bundle_id}/service'),
    number: 14,
    method: 'POST',
    summary: 'Add one service to a bundle',
    body: bundle.BundleServiceInput,
    answer: answer.EmptyEnvelope,
    writes: true,
  },
  update_bundle: {
    ...BUNDLE,
    ...bundleAt('bundle/{bundle_id}'),
    number: 15,
    method: 'PUT',
    summary: 'Update a service bundle',
    body: bundle.BundleInput,
    answer: answer.BundleAnswer,
    writes: true,
  },
  delete_bundle: {
    ...BUNDLE,
    ...bundleAt('bundle/{bundle_id}'),
    number: 16,
    method: 'DELETE',
    summary: 'Delete a service bundle',
    body: bundle.EmptyBody,
    answer: answer.EmptyEnvelope,
    writes: true,
  },
  remove_service_from_bundle: {
    ...BUNDLE,
    ...bundleAt('bundle/{bundle_id}/service'),
    number: 17,
    method: 'DELETE',
    summary: 'Remove one service from a bundle',
    body: bundle.BundleServiceInput,
    answer: answer.EmptyEnvelope,
    writes: true,
  },
  bundle_services: {
    ...BUNDLE,
    ...bundleAt('service_bundle'),
    number: 18,
    method: 'POST',
    summary: 'Associate services with a bundle',
    body: bundle.BundledServicesInput,
    answer: answer.BundledServicesAnswer,
    writes: true,
  },
  unbundle_service: {
    ...BUNDLE,
    ...bundleAt('service_bundle/{bundled_service_id}'),
    number: 19,
    method: 'DELETE',
    summary: 'Remove an association of a service with a bundle',
    body: bundle.EmptyBody,
    answer: answer.EmptyEnvelope,
    writes: true,
  },
} as const satisfies Record<string, Endpoint>;

// Endpoints that the specification does not have; newer servers and clients do.

const NEWER_ENDPOINTS = {
  list_endusers_v2: {
    ...READ,
    number: undefined,
    method: 'GET',
    path: '/api/v2/enduser',
    aliases: ['/api/v2/endusers', '/api/experimental/v2/enduser'],
    summary: 'List end users in the envelope: limit 100, newest first unless asked otherwise',
    query: query.EnduserQueryV2,
    answer: answer.EnduserEnvelope,
    statuses: STATUSES.list,
    errors: 'envelope',
  },
  list_devices_v2: {
    ...READ,
    number: undefined,
    method: 'GET',
    path: '/api/v2/devices',
    aliases: ['/api/experimental/v2/devices'],
    summary: 'List devices in the envelope: limit 10, newest first unless asked otherwise',
    query: query.DeviceQueryV2,
    answer: answer.DeviceEnvelope,
    statuses: STATUSES.list,
    errors: 'envelope',
  },
  list_event_types: {
    ...READ,
    ...at('event_types'),
    number: undefined,
    method: 'GET',
    summary: 'The types of events',
    query: query.NoQuery,
    answer: answer.EventTypes,
    statuses: [200, 401, 403, 500],
    errors: 'envelope',
  },
  submit_events: {
    ...WRITE,
    ...at('events'),
    number: undefined,
    method: 'POST',
    summary: 'Submit events',
    query: query.NoQuery,
    body: z.union([z.array(EventInput).min(1), EventInput, EventBatch]),
    answer: answer.MessageAnswer,
    statuses: STATUSES.events,
  },
  list_bundles: {
    ...BUNDLE,
    ...bundleAt('bundle'),
    number: undefined,
    method: 'GET',
    summary: 'List service bundles',
    query: query.BundleListQuery,
    body: undefined,
    answer: answer.BundleList,
    writes: false,
  },
  get_bundle: {
    ...BUNDLE,
    ...bundleAt('bundle/{bundle_id}'),
    number: undefined,
    method: 'GET',
    summary: 'One service bundle',
    body: undefined,
    answer: answer.BundleAnswer,
    writes: false,
  },
  remove_service_from_bundle_by_path: {
    ...BUNDLE,
    ...bundleAt('bundle/{bundle_id}/service/{service_id}'),
    number: undefined,
    method: 'DELETE',
    summary: 'Remove one service from a bundle, named in the path',
    body: undefined,
    answer: answer.EmptyEnvelope,
    writes: true,
  },
  list_bundled_services: {
    ...BUNDLE,
    ...bundleAt('service_bundle'),
    number: undefined,
    method: 'GET',
    summary: 'List associations of services with bundles',
    query: query.BundleListQuery,
    body: undefined,
    answer: answer.BundledServiceList,
    writes: false,
  },
} as const satisfies Record<string, Endpoint>;

// The endpoints of policies, of what they are attached to, of the shield configuration and of API keys.

const MORE = { number: undefined, query: query.NoQuery, statuses: STATUSES.events } as const;
const v2 = (name: string) => ({ path: `/api/v2/${name}`, aliases: [], errors: 'envelope' as const });

const POLICY_ENDPOINTS = {
  list_policies: {
    ...READ,
    ...MORE,
    ...at('security_policies'),
    method: 'GET',
    summary: 'List policies',
    query: query.PolicyQuery,
    answer: z.array(policy.SecurityPolicy),
  },
  insert_policy: {
    ...WRITE,
    ...MORE,
    ...at('insert_security_policy'),
    method: 'POST',
    summary: 'Create or update a policy',
    body: policy.PolicySpec,
    answer: policy.SecurityPolicy,
  },
  delete_policy: {
    ...WRITE,
    ...MORE,
    ...at('delete_security_policy'),
    method: 'DELETE',
    summary: 'Delete a policy that is attached to nothing',
    query: query.PolicyIdQuery,
    answer: MessageAnswer,
  },
  attach_policy: {
    ...WRITE,
    ...MORE,
    ...at('insert_security_attach_policy'),
    method: 'POST',
    summary: 'Attach a policy to a service; parameters come in the query or as a form',
    query: query.AttachPolicyQuery,
    takesForm: true,
    answer: policy.PolicyAttached,
  },
  detach_policy: {
    ...WRITE,
    ...MORE,
    ...at('delete_security_attach_policy'),
    method: 'DELETE',
    summary: 'Detach a policy from a service',
    query: query.DetachPolicyQuery,
    answer: MessageAnswer,
  },
  list_service_policies: {
    ...READ,
    ...MORE,
    ...at('policy/attachment/service/{service_id}'),
    method: 'GET',
    summary: 'The policies of a service; none for an unknown one',
    answer: z.array(policy.PolicyAttachment),
  },
  shield_config: {
    ...READ,
    ...MORE,
    ...v2('shield_config'),
    method: 'GET',
    summary: 'The shields of the organization',
    answer: policy.ShieldConfigAnswer,
  },
  list_api_keys: {
    ...READ,
    ...MORE,
    ...v2('api_key'),
    method: 'GET',
    summary: 'List API keys, without their secrets',
    answer: policy.ApiKeyList,
  },
  create_api_key: {
    ...WRITE,
    ...MORE,
    ...v2('api_key'),
    method: 'POST',
    summary: 'Make an API key; its secret is shown in this answer alone',
    body: policy.ApiKeyInput,
    answer: policy.NewApiKeyAnswer,
  },
  update_api_key: {
    ...WRITE,
    ...MORE,
    ...v2('api_key/{api_key_id}'),
    method: 'PUT',
    summary: 'Change an API key',
    body: policy.ApiKeyPatch,
    answer: policy.ApiKeyAnswer,
  },
  delete_api_key: {
    ...WRITE,
    ...MORE,
    ...v2('api_key/{api_key_id}'),
    method: 'DELETE',
    summary: 'Revoke an API key',
    answer: EmptyEnvelope,
  },
} as const satisfies Record<string, Endpoint>;

export const ENDPOINTS = {
  list_endusers: {
    ...READ,
    number: 1,
    method: 'GET',
    path: '/api/v1/endusers',
    aliases: [],
    summary: 'List end users',
    query: query.EnduserQuery,
    answer: answer.EnduserAnswer,
    statuses: STATUSES.list,
  },
  list_devices: {
    ...READ,
    number: 2,
    method: 'GET',
    path: '/api/v1/devices',
    aliases: [],
    summary: 'List devices',
    query: query.DeviceQuery,
    answer: answer.DeviceAnswer,
    statuses: STATUSES.list,
  },
  delete_device: {
    ...WRITE,
    number: 3,
    method: 'DELETE',
    path: '/api/v1/delete_device',
    aliases: ['/v1/delete_device', '/api/v1/v1/delete_device', '/api/v2/delete_device'],
    summary: 'Delete an end-user device, or one user’s mapping to it',
    query: query.DeleteDeviceQuery,
    answer: answer.DeletedAnswer,
    statuses: STATUSES.plain,
  },
  update_device: {
    ...WRITE,
    ...at('mdm/update_device'),
    number: 4,
    method: 'POST',
    summary: 'Ban or unban the devices of a serial number',
    query: query.UpdateDeviceQuery,
    body: DeviceUpdateBody,
    answer: answer.DeviceUpdateAnswer,
    statuses: STATUSES.plain,
  },
  list_events: {
    ...READ,
    ...at('events'),
    number: 5,
    method: 'GET',
    summary: 'List events',
    query: query.EventListQuery,
    answer: answer.EventList,
    statuses: STATUSES.events,
  },
  count_events: {
    ...READ,
    ...at('events/count'),
    number: 6,
    method: 'GET',
    summary: 'Count events',
    query: query.EventCountQuery,
    answer: answer.EventCount,
    statuses: STATUSES.events,
  },
  feed_events: {
    ...READ,
    ...at('events/feed'),
    number: 7,
    method: 'GET',
    summary: 'Events feed',
    query: query.EventFeedQuery,
    answer: answer.EventFeed,
    statuses: STATUSES.events,
  },
  list_services: {
    ...READ,
    ...at('registered_services'),
    number: 8,
    method: 'GET',
    summary: 'List services',
    query: query.ServiceQuery,
    answer: answer.ServiceList,
    statuses: STATUSES.plain,
  },
  insert_service: {
    ...WRITE,
    ...at('insert_registered_service'),
    number: 9,
    method: 'POST',
    summary: 'Create or update a service',
    query: query.NoQuery,
    body: ServiceSpec,
    answer: RegisteredService,
    statuses: STATUSES.plain,
  },
  delete_service: {
    ...WRITE,
    ...at('delete_registered_service'),
    number: 10,
    method: 'DELETE',
    summary: 'Delete a service',
    query: query.ServiceIdQuery,
    answer: answer.NothingOrMessage,
    statuses: STATUSES.plain,
  },
  enable_service: {
    ...WRITE,
    ...at('enable_registered_service'),
    number: 11,
    method: 'POST',
    summary: 'Enable a service',
    query: query.ServiceIdQuery,
    answer: answer.MessageAnswer,
    statuses: STATUSES.plain,
  },
  disable_service: {
    ...WRITE,
    ...at('disable_registered_service'),
    number: 12,
    method: 'POST',
    summary: 'Disable a service',
    query: query.ServiceIdQuery,
    answer: answer.MessageAnswer,
    statuses: STATUSES.plain,
  },
  refresh_token: {
    ...WRITE,
    ...at('refresh_token'),
    number: undefined,
    method: 'POST',
    summary: 'Exchange a refresh token (or an API key) for an access token',
    query: query.NoQuery,
    answer: answer.MessageAnswer,
    statuses: [200, 401, 500],
    auth: 'refresh',
    writes: false,
  },
  ...BUNDLE_ENDPOINTS,
  ...NEWER_ENDPOINTS,
  ...POLICY_ENDPOINTS,
} as const satisfies Record<string, Endpoint>;

export type EndpointId = keyof typeof ENDPOINTS;
export const ENDPOINT_IDS = Object.keys(ENDPOINTS) as EndpointId[];

/** Puts values into a path's `{names}`, each escaped as one segment. AppError `usage` when one is missing or empty. */
export function fillPath(path: string, values: Readonly<Record<string, string>>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    // A dot segment would be resolved away by URL parsers, and the request would meet another endpoint.
    if (!value || value === '.' || value === '..')
      throw new AppError('usage', `\`${name}\` is empty or cannot stand in a path`);
    return encodeURIComponent(value);
  });
}
