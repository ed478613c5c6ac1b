// management contract: every endpoint once: where it is, what it takes, what it answers, who may call it.
// Client, console and the OpenAPI document read paths from here alone. Full paths, below `{base_url}`.
import { AppError } from '../../domain/errors.ts';
import * as answer from './answers.ts';
import { DeviceUpdateBody } from './device-update.ts';
import { at, type Endpoint, READ, STATUSES, WRITE } from './endpoint.ts';
import { BUNDLE_ENDPOINTS } from './endpoints-of-bundles.ts';
import { NEWER_ENDPOINTS } from './endpoints-of-newer-servers.ts';
import { POLICY_ENDPOINTS } from './endpoints-of-policies.ts';
import * as query from './query.ts';
import { RegisteredService, ServiceSpec } from './service.ts';

export { BUNDLE_PREFIXES, type Endpoint } from './endpoint.ts';

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
