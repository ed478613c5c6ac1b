// console handlers: which handler answers which endpoint of the contract. In: one call of one endpoint, already admitted and checked.
// Out: one table, complete by its type: an endpoint without a handler does not compile. A change is whole or none at all. An unknown id is a
// 400: the specification lists no 404. Every filter of a list filters, and all of them must match: clients act on what comes back.
import type { z } from 'zod';
import { AppError } from '../domain/errors.ts';
import {
  type DeviceUpdate,
  type ENDPOINTS,
  type EndpointId,
  EVENT_TYPES,
  type EventBatch,
  type EventInput,
  flagOf,
  MESSAGE_SUCCESS,
  stringifyExact,
} from '../platform/contract.ts';
import { type Answer, envelope, jsonAnswer, listAnswer, Refusal, textAnswer } from './answer.ts';
import * as keys from './store/api-keys.ts';
import * as bundles from './store/bundles.ts';
import { type DevicePatch, deleteDevices, updateDevices, writeEffect } from './store/device-changes.ts';
import {
  type Criteria,
  DEVICE_ORDER_COLUMNS,
  DEVICE_ORDER_COLUMNS_V2,
  DEVICES,
  type DeviceRow,
  deviceCriteria,
  deviceCriteriaV2,
  devicesOfSerial,
  ENDUSER_ORDER_COLUMNS,
  ENDUSER_ORDER_COLUMNS_V2,
  ENDUSERS,
  enduserCriteria,
  enduserCriteriaV2,
  type ListSource,
  type RecordForm,
  type RecordPage,
  readAll,
  readPage,
} from './store/devices.ts';
import {
  beginningOfLog,
  countEvents,
  type EventMembers,
  filledBlocks,
  listEvents,
  pruneEvents,
  writeEvent,
} from './store/events.ts';
import * as policies from './store/policies.ts';
import { deleteService, insertService, listServices, switchService } from './store/services.ts';
import type { Actor, ConsoleStore } from './store/store.ts';

type BodyOf<Id extends EndpointId> = (typeof ENDPOINTS)[Id]['body'] extends z.ZodType
  ? z.output<(typeof ENDPOINTS)[Id]['body']>
  : undefined;

export interface Call<Id extends EndpointId> {
  store: ConsoleStore;
  actor: Actor;
  query: z.output<(typeof ENDPOINTS)[Id]['query']>;
  body: BodyOf<Id>;
  /** The body as it was sent. */
  bodyText: string;
  /** Values of the path's `{names}`. */
  params: Readonly<Record<string, string>>;
  requestId: string;
  /** Which fields records of pages have. */
  pageForm: RecordForm;
}

export type Handler<Id extends EndpointId> = (call: Call<Id>) => Answer;
type Handlers = { [Id in EndpointId]: Handler<Id> };

/** auth.ts answers `refresh_token`. */
export const HANDLERS: Omit<Handlers, 'refresh_token'> = {
  list_endusers: ({ store, query, pageForm }) =>
    listOrPage(store, 'endusers', ENDUSERS, pageForm, query, ENDUSER_ORDER_COLUMNS, 'email', endusersAsked(query)),
  list_endusers_v2: ({ store, query, requestId }) =>
    pageV2(store, 'endusers', ENDUSERS, requestId, query, ENDUSER_ORDER_COLUMNS_V2, 100, enduserCriteriaV2(query)),
  list_devices: ({ store, query, pageForm }) =>
    listOrPage(store, 'devices', DEVICES, pageForm, query, DEVICE_ORDER_COLUMNS, 'serialnumber', devicesAsked(query)),
  list_devices_v2: ({ store, query, requestId }) =>
    pageV2(store, 'devices', DEVICES, requestId, query, DEVICE_ORDER_COLUMNS_V2, 10, deviceCriteriaV2(query)),
  delete_device: deleteDevice,
  update_device: updateDevice,
  list_events: ({ store, query }) => eventList(store, query, 'list'),
  count_events: ({ store, query }) => jsonAnswer({ data: countEvents(store, query) }),
  feed_events: ({ store, query }) => eventList(store, query, 'feed'),
  list_event_types: ({ requestId }) => enveloped(requestId, EVENT_TYPES),
  submit_events: submitEvents,
  list_services: ({ store, query }) => textAnswer(`[${listServices(store, query).join(',')}]`),
  insert_service: ({ store, actor, body, bodyText }) => textAnswer(insertService(store, actor, body, bodyText.trim())),
  delete_service: ({ store, actor, query }) =>
    serviceAnswer(query.ServiceID, deleteService(store, actor, query.ServiceID), 'deleted'),
  enable_service: ({ store, actor, query }) =>
    serviceAnswer(query.ServiceID, switchService(store, actor, query.ServiceID, 'TRUE'), 'enabled'),
  disable_service: ({ store, actor, query }) =>
    serviceAnswer(query.ServiceID, switchService(store, actor, query.ServiceID, 'FALSE'), 'disabled'),
  create_bundle: ({ store, actor, body, requestId }) =>
    enveloped(requestId, bundles.createBundle(store, actor, inputOf(body))),
  add_service_to_bundle: ({ store, actor, params, body, requestId }) =>
    enveloped(requestId, bundles.addServices(store, actor, params.bundle_id ?? '', [body.service_id])[0]),
  update_bundle: ({ store, actor, params, body, requestId }) =>
    enveloped(requestId, bundles.updateBundle(store, actor, params.bundle_id ?? '', inputOf(body))),
  delete_bundle: ({ store, actor, params, requestId }) =>
    enveloped(requestId, bundles.deleteBundle(store, actor, params.bundle_id ?? '')),
  remove_service_from_bundle: ({ store, actor, params, body, requestId }) =>
    enveloped(requestId, bundles.removeService(store, actor, params.bundle_id ?? '', body.service_id)),
  remove_service_from_bundle_by_path: ({ store, actor, params, requestId }) =>
    enveloped(requestId, bundles.removeService(store, actor, params.bundle_id ?? '', params.service_id ?? '')),
  bundle_services: ({ store, actor, body, requestId }) =>
    enveloped(requestId, { bundled_services: bundles.addServices(store, actor, body.bundle_id, body.service_ids) }),
  unbundle_service: ({ store, actor, params, requestId }) =>
    enveloped(requestId, bundles.removeAssociation(store, actor, params.bundled_service_id ?? '')),
  list_bundles: ({ store, query, requestId }) => {
    const all = bundles.listBundles(store, { id: query.bundle_id, name: query.bundle_name });
    return enveloped(requestId, { bundles: sliceOf(all, query.skip, query.limit), count: all.length });
  },
  get_bundle: ({ store, params, requestId }) => enveloped(requestId, bundles.bundleOf(store, params.bundle_id ?? '')),
  list_bundled_services: ({ store, query, requestId }) => {
    const all = bundles.listBundledServices(store, query.bundle_id);
    return enveloped(requestId, { bundled_services: sliceOf(all, query.skip, query.limit), count: all.length });
  },
  list_policies: ({ store, query }) => textAnswer(`[${policies.listPolicies(store, query.PolicyID).join(',')}]`),
  insert_policy: ({ store, actor, body, bodyText }) =>
    textAnswer(policies.insertPolicy(store, actor, body, bodyText.trim())),
  delete_policy: ({ store, actor, query }) => {
    policies.deletePolicy(store, actor, query.PolicyID);
    return jsonAnswer({ Message: `the policy \`${query.PolicyID}\` was deleted` });
  },
  attach_policy: ({ store, actor, query }) => {
    const ids = { policy: query.PolicyID, service: query.ServiceID };
    return textAnswer(policies.attachPolicy(store, actor, ids, flagOf(query.Enabled ?? true)));
  },
  detach_policy: ({ store, actor, query }) => {
    policies.detachPolicy(store, actor, { policy: query.PolicyID, service: query.ServiceID });
    return jsonAnswer({ Message: `the policy \`${query.PolicyID}\` was detached from \`${query.ServiceID}\`` });
  },
  list_service_policies: ({ store, params }) =>
    textAnswer(`[${policies.policiesOfService(store, params.service_id ?? '').join(',')}]`),
  shield_config: ({ store, requestId }) =>
    enveloped(requestId, { Configs: policies.listShields(store).map((ShieldName) => ({ ShieldName })) }),
  list_api_keys: ({ store, requestId }) => enveloped(requestId, keys.listApiKeys(store)),
  create_api_key: ({ store, actor, body, requestId }) => enveloped(requestId, keys.createApiKey(store, actor, body)),
  update_api_key: ({ store, actor, body, params, requestId }) =>
    enveloped(requestId, keys.updateApiKey(store, actor, params.api_key_id ?? '', body)),
  delete_api_key: ({ store, actor, params, requestId }) =>
    enveloped(requestId, keys.deleteApiKey(store, actor, params.api_key_id ?? '')),
};

function enveloped(requestId: string, data: unknown): Answer {
  return textAnswer(envelope(requestId, JSON.stringify(data ?? {})));
}

function inputOf(body: Call<'create_bundle'>['body']): bundles.BundlePatch {
  return { ...body, service_ids: body.service_ids ?? undefined };
}

function sliceOf<T>(all: T[], skip = 0, limit = all.length): T[] {
  return all.slice(skip, skip + limit);
}

function serviceAnswer(id: string, done: string, what: string): Answer {
  if (done === 'no_such_service') throw new Refusal(400, `\`ServiceID\` matches no service: \`${id}\``);
  return jsonAnswer({ Message: `the service \`${id}\` was ${what}` });
}

// Lists of devices and end users. In version 1: a list, or a page, which is asked for with Skip, with Limit, or with both. In version 2: records of
// their own, a page in the envelope, newest first by default.

/** The page size that clients request; the size of a page requested by Skip alone. */
const LIMIT_DEFAULT = 1_000;
/** A larger page is written in pieces of this size. */
const PIECE = 1_000;

type Reader = (skip: number, limit: number) => RecordPage;

function pageAnswer(
  name: string,
  read: Reader,
  skip: number,
  limit: number,
  wrap: (text: string) => [string, string],
): Answer {
  const first = read(skip, Math.min(limit, PIECE));
  const count = first.count;
  const [before, after] = wrap(`,"count":${count}`);
  if (limit <= PIECE || skip + PIECE >= count)
    return textAnswer(`${before}"${name}":[${first.records.join(',')}]${after}`);
  const batches = function* (): Generator<string[]> {
    yield first.records;
    for (let done = PIECE; done < limit && skip + done < count; done += PIECE) {
      yield read(skip + done, Math.min(PIECE, limit - done)).records;
    }
  };
  return listAnswer(batches(), `${before}"${name}":[`, `]${after}`);
}

interface QueryV1 {
  Skip?: number | undefined;
  Limit?: number | undefined;
  Order?: 'asc' | 'desc' | undefined;
  OrderBy?: string | undefined;
}

function listOrPage(
  store: ConsoleStore,
  name: string,
  list: ListSource,
  pageForm: RecordForm,
  query: QueryV1,
  columns: Record<string, string>,
  byDefault: string,
  criteria: Criteria,
): Answer {
  const isPage = query.Skip !== undefined || query.Limit !== undefined;
  const by = query.OrderBy ?? (isPage ? byDefault : undefined);
  const order = { column: by === undefined ? undefined : columns[by], descending: query.Order === 'desc' };
  if (!isPage) return listAnswer(readAll(store, list, criteria, order, 'unpaged'));
  const read: Reader = (skip, limit) => readPage(store, list, criteria, order, skip, limit, pageForm);
  return pageAnswer(name, read, query.Skip ?? 0, query.Limit ?? LIMIT_DEFAULT, (count) => ['{', `${count}}`]);
}

interface QueryV2 {
  skip?: number | undefined;
  limit?: number | undefined;
  order?: 'asc' | 'desc' | undefined;
  order_by?: string | undefined;
}

function pageV2(
  store: ConsoleStore,
  name: string,
  list: ListSource,
  requestId: string,
  query: QueryV2,
  columns: Record<string, string>,
  limitDefault: number,
  criteria: Criteria,
): Answer {
  const order = { column: columns[query.order_by ?? 'created_at'], descending: query.order !== 'asc' };
  const read: Reader = (skip, limit) => readPage(store, list, criteria, order, skip, limit, 'v2');
  const [before, after] = envelope(requestId, '\n').split('\n') as [string, string];
  return pageAnswer(name, read, query.skip ?? 0, query.limit ?? limitDefault, (count) => [
    `${before}{`,
    `${count}}${after}`,
  ]);
}

function devicesAsked(query: Call<'list_devices'>['query']): Criteria {
  const { Serialnumber: serial, Email: email, Model: model, DeviceFriendlyName: friendlyName } = query;
  const exact = { serial: query.exact_serial_number, email: query.exact_email };
  return deviceCriteria({ serial, email, model, friendlyName }, exact);
}

function endusersAsked(query: Call<'list_endusers'>['query']): Criteria {
  const { Serialnumber: serial, Email: email, Name: name } = query;
  return enduserCriteria({ serial, email, name }, { email: query.exact_email });
}

// Updating and deleting devices: `Success` for each object of the body, or a sentence.

/** Writes what it is sent to every device of the serial number, empty texts too: a `Success` that wrote less would lose it. */
function updateDevice({ store, actor, query, body }: Call<'update_device'>): Answer {
  const updates = Array.isArray(body) ? body : [body];
  const devices = devicesOfSerial(store, query.SerialNumber);
  if (devices.length === 0) throw new Refusal(400, `\`SerialNumber\` matches no device: \`${query.SerialNumber}\``);
  refuseFixed(updates, devices);
  const patch = agreedPatch(updates, devices);
  updateDevices(store, actor, query.SerialNumber, patch);
  const message = { Message: MESSAGE_SUCCESS };
  return jsonAnswer(Array.isArray(body) ? updates.map(() => message) : message);
}

const COLUMNS = {
  Banned: 'banned',
  Model: 'model',
  Ownership: 'ownership',
  Platform: 'platform',
  Architecture: 'architecture',
  OS: 'os',
  MDMVendorName: 'mdm_source',
  IsMDMPresent: 'mdm_marked',
} as const satisfies { [Field in keyof DeviceUpdate]?: keyof DevicePatch };

/** Fields of the record that no update writes. Clients send back whole records, so that they may be there as they are. */
const FIXED = { SerialNumber: 'serial', DeviceFriendlyName: 'friendly_name', AppVersion: 'app_version' } as const;

function refuseFixed(updates: readonly DeviceUpdate[], devices: readonly DeviceRow[]): void {
  for (const [field, column] of Object.entries(FIXED)) {
    const present = devices.map((device) => device[column]);
    const differs = updates.some(
      (update) => Object.hasOwn(update, field) && !present.includes(update[field] as string),
    );
    if (differs) throw new Refusal(400, `\`${field}\` cannot be changed: leave it out`);
  }
}

/**
 * What all objects agree on. Where several objects differ they describe the devices of the serial number one by one: each value must be
 * one that such a device has, and nothing is written. `Banned` must not differ: it is for all of them.
 */
function agreedPatch(updates: readonly DeviceUpdate[], devices: readonly DeviceRow[]): DevicePatch {
  const patch: { [column: string]: string } = {};
  let isNamed = false;
  for (const [field, column] of Object.entries(COLUMNS) as [keyof typeof COLUMNS, keyof DevicePatch][]) {
    const sent = [...new Set(updates.flatMap((update) => textOf(update[field]) ?? []))];
    if (sent.length > 0) isNamed = true;
    if (sent.length === 1) patch[column] = sent[0] as string;
    const present = new Set<string>(devices.map((device) => device[column]));
    if (sent.length > 1 && (field === 'Banned' || sent.some((value) => !present.has(value)))) {
      const why = 'differs between the objects: all devices of a serial number are updated alike';
      throw new Refusal(400, `\`${field}\` ${why}`);
    }
  }
  if (!isNamed) throw new Refusal(400, 'the body names nothing to update: give `Banned`');
  return patch;
}

function textOf(sent: string | boolean | 0 | 1 | undefined): string | undefined {
  return sent === undefined || typeof sent === 'string' ? sent : flagOf(Boolean(sent));
}

function deleteDevice({ store, actor, query }: Call<'delete_device'>): Answer {
  switch (deleteDevices(store, actor, query.SerialNumber, query.Email)) {
    case 'deleted':
      return jsonAnswer('the end user device was deleted');
    case 'no_such_device':
      throw new Refusal(400, `\`SerialNumber\` matches no device: \`${query.SerialNumber}\``);
    case 'no_such_user':
      throw new Refusal(400, `\`Email\` matches no user: \`${query.Email}\``);
    case 'not_registered':
      throw new Refusal(
        400,
        `\`Email\` is not registered on a device of \`${query.SerialNumber}\`: \`${query.Email}\``,
      );
  }
}

// The event log: events newest first unless asked otherwise, and submitting.

const EVENTS_DEFAULT = 10;

function eventList(
  store: ConsoleStore,
  { order, skip, limit, ...filter }: Call<'list_events' | 'feed_events'>['query'],
  form: 'list' | 'feed',
): Answer {
  const events = listEvents(store, filter, order !== 'asc', skip ?? 0, limit ?? EVENTS_DEFAULT, form);
  return textAnswer(`{"data":[${events.join(',')}]}`);
}

/**
 * All events of the body are written, or none. An id that is already in the log is not written again. One that the log would drop at once
 * is a reason to refuse: its sender would believe that it is kept.
 */
function submitEvents({ store, actor, body }: Call<'submit_events'>): Answer {
  const inputs = eventsIn(body);
  refuseOld(store, inputs);
  const latestMs = store.clock.nowMs() + AHEAD_MAX_MS;
  const ids = store.sql.atomically(() => {
    const written = inputs.map((input, index) => writeEvent(store, draftOf(filledBlocks(input), index, latestMs)));
    writeEffect(store, actor, 'events_submitted', '', { count: written.length });
    return written;
  });
  pruneEvents(store);
  return jsonAnswer({
    Message: 'Success',
    data: ids.length === 1 ? '1 event was stored' : `${ids.length} events were stored`,
    ids,
  });
}

function eventsIn(body: Call<'submit_events'>['body']): readonly EventInput[] {
  if (Array.isArray(body)) return body;
  return 'type' in body ? [body as EventInput] : (body as EventBatch).data;
}

// biome-ignore format: a list of names
const OWN_MEMBERS = new Set([
  'id', 'created_at', 'external_id', 'severity', 'type', 'sub_type', 'action', 'result', 'message', 'messages',
  'org_id', 'org_name', 'group_id', 'created_at_ns',
]);

/**
 * Clocks differ; an event from further ahead would hide all later ones from clients that read from the newest time on.
 */
const AHEAD_MAX_MS = 86_400_000;

/** Named in a refusal; it says how many more there are. */
const NAMED_MAX = 10;

function refuseOld(store: ConsoleStore, inputs: readonly EventInput[]): void {
  const { fromMs, why } = beginningOfLog(store);
  const old = inputs.flatMap((input, index) =>
    input.created_at !== undefined && Number(input.created_at) < fromMs ? [index] : [],
  );
  if (old.length === 0) return;
  const more = old.length > NAMED_MAX ? ` and ${old.length - NAMED_MAX} more` : '';
  const named = `${old.length === 1 ? 'event' : 'events'} ${old.slice(0, NAMED_MAX).join(', ')}${more}`;
  throw new Refusal(400, `\`created_at\` of ${named} is before ${fromMs}: ${why}; no event of the request was stored`);
}

function draftOf(input: EventInput, index: number, latestMs: number) {
  const createdAtMs = input.created_at === undefined ? undefined : Number(input.created_at);
  if (createdAtMs !== undefined && (createdAtMs < 0 || createdAtMs > latestMs)) {
    const what = 'must be a time in milliseconds since 1970, at most a day ahead';
    throw new Refusal(400, `\`created_at\` of event ${index} ${what}`);
  }
  const { device, user } = input.user_principal ?? {};
  const end = input.link?.destination ?? input.link?.source;
  const workload = input.workload_principal?.workload_set;
  return {
    type: input.type,
    subType: input.sub_type ?? '',
    action: input.action ?? '',
    severity: input.severity ?? 'INFO',
    message: input.message ?? '',
    ...(input.result === undefined ? {} : { result: input.result }),
    ...(input.id === undefined ? {} : { id: input.id }),
    ...(input.external_id === undefined ? {} : { externalId: input.external_id }),
    ...(createdAtMs === undefined ? {} : { createdAtMs }),
    keys: {
      deviceId: device?.id ?? '',
      serial: device?.serial_number ?? '',
      email: user?.email ?? '',
      serviceName: input.service?.name || end?.service_name || workload?.app_name || '',
      containerId: workload?.container_id || end?.container_id || input.service?.id || '',
    },
    members: otherMembers(input),
  } as const;
}

/** Everything else the client sent stays as it is, digits included. */
function otherMembers(input: EventInput): EventMembers {
  try {
    return Object.fromEntries(
      Object.entries(input)
        .filter(([name, value]) => !OWN_MEMBERS.has(name) && value !== undefined)
        .map(([name, value]) => [name, stringifyExact(value)]),
    );
  } catch (error) {
    throw new AppError('usage', 'an event is nested too deeply', { cause: error });
  }
}
