// management contract: endpoints that the specification does not have; newer servers and clients do.
// In: nothing. Out: rows of the endpoint table. The engine must manage without each of them.
import { z } from 'zod';
import * as answer from './answers.ts';
import { at, BUNDLE, bundleAt, type Endpoint, READ, STATUSES, WRITE } from './endpoint.ts';
import { EventBatch, EventInput } from './event.ts';
import * as query from './query.ts';
import { DeviceQueryV2, EnduserQueryV2 } from './query-v2.ts';

export const NEWER_ENDPOINTS = {
  list_endusers_v2: {
    ...READ,
    number: undefined,
    method: 'GET',
    path: '/api/v2/enduser',
    aliases: ['/api/v2/endusers', '/api/experimental/v2/enduser'],
    summary: 'List end users in the envelope: limit 100, newest first unless asked otherwise',
    query: EnduserQueryV2,
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
    query: DeviceQueryV2,
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
