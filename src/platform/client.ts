// management client: the Management API, one typed method for each endpoint; for the engine (the Api port) and for any
// script. In: an address and a credential. Out: records as they came, integers exact, and writes classed as done,
// failed or doubtful. It must never retry a write, nor let a credential into an error.

import { AppError } from '../domain/errors.ts';
import { type Facts, isFacts } from '../domain/facts.ts';
import type { PieceRead } from '../domain/lists.ts';
import type { Api, ApiListener, EventQuery, Latency, Page, WriteAnswer } from '../domain/ports.ts';
import { Caller, ifServed, type QueryValue, subjectOf, unexpected, type Written } from './client/caller.ts';
import type { ClientOptions, Credential } from './client/fault.ts';
import type { PagesOptions } from './client/list-pieces.ts';
import { pageOf, wholePage } from './client/page-parts.ts';
import {
  BundleCalls,
  fetchPage,
  listInPieces,
  notAmong,
  type PagedSource,
  pagesInPieces,
  pagesOf,
  type ReadPiece,
  serialsOf,
  UNPAGED,
  unfiltered,
} from './client/paged-lists.ts';
import type { EndpointId } from './contract/endpoints.ts';
import type {
  Device,
  DeviceQuery,
  Enduser,
  EnduserQuery,
  Event,
  EventFeedQuery,
  EventInput,
  EventListQuery,
  FeedEvent,
  RegisteredService,
  ServiceQuery,
  ServiceSpec,
} from './contract.ts';

/** The parameters of a query by the specification's names; several values of one are given as a list. */
export type Params<Q> = { [name in keyof Q]?: QueryValue };
export type EventParams = EventQuery & Params<EventListQuery>;

export class ManagementClient extends BundleCalls implements Api {
  readonly address: string;
  readonly #caller: Caller;

  /** Errors: AppError `config` for an address or credential that cannot be used. Nothing is sent yet. */
  constructor(options: ClientOptions) {
    const caller = new Caller(options);
    super(caller);
    this.#caller = caller;
    this.address = `${this.#caller.settings.origin}${this.#caller.settings.basePath}`;
  }

  /** From now on: what was read again from where the credential came. Errors: AppError `config`; then the old one stays. */
  replaceCredentials(credential: Credential, adminToken?: string): void {
    this.#caller.replaceCredentials(credential, adminToken);
  }

  skewMs(): number | undefined {
    return this.#caller.skewMs();
  }

  latency(): Latency {
    return this.#caller.latency.latency();
  }

  unansweredMs(): number {
    return this.#caller.latency.unansweredMs;
  }

  watchCalls(listener: ApiListener): void {
    this.#caller.settings.calls.watch(listener);
  }

  close(): Promise<void> {
    return this.#caller.close();
  }

  // Devices and users

  /** One page in a stable order (by serial number, by e-mail). */
  async page(source: PagedSource, skip: number, limit: number, signal?: AbortSignal): Promise<Page> {
    return wholePage((await fetchPage(this.#caller, source, skip, limit, signal))());
  }

  /** All pages in order, several at once, a large one in parts; see `readPages` for what is checked and thrown. */
  pages(source: PagedSource, options: Partial<PagesOptions> = {}): AsyncGenerator<Page, void> {
    return pagesOf(this.#caller, source, options);
  }

  /** The unpaged list, element by element in batches: never whole in memory. Complete, or it throws. */
  stream(source: PagedSource | 'services'): AsyncGenerator<unknown[], void> {
    return this.#caller.stream(UNPAGED[source]);
  }

  /** The same records in pieces that `read` parses: see the port. */
  inPieces<T>(source: 'devices', form: 'paged' | 'unpaged', read: ReadPiece<T>): AsyncGenerator<PieceRead<T>, void> {
    return form === 'paged' ? pagesInPieces(this.#caller, source, read) : listInPieces(this.#caller, source, read);
  }

  /** Endpoint 1. Without Skip and Limit the whole list (for many users, `stream`). */
  async listEndusers(query: Params<EnduserQuery> = {}): Promise<{ endusers: Enduser[]; count: number | undefined }> {
    const page = await this.#list('list_endusers', 'endusers', query);
    return { endusers: page.records as Enduser[], count: page.total };
  }

  /** Endpoint 2. Without Skip and Limit the whole list (for many devices, `stream`). */
  async listDevices(query: Params<DeviceQuery> = {}): Promise<{ devices: Device[]; count: number | undefined }> {
    const page = await this.#list('list_devices', 'devices', query);
    return { devices: page.records as Device[], count: page.total };
  }

  /** All devices of a serial number, filtered again here: a server may ignore its filter. */
  devicesOfSerial(serialNumber: string, recordsMax?: number): Promise<Facts[]> {
    const query = { Serialnumber: serialNumber };
    return this.#matching('list_devices', query, (each) => each.SerialNumber === serialNumber, recordsMax);
  }

  /** The device of this DeviceID: by the filter of newer servers; of others, in the list. */
  async device(deviceId: string, recordsMax: number): Promise<Facts | undefined> {
    const isWanted = (each: Facts) => each.DeviceID === deviceId;
    const serials = await serialsOf(deviceId, (query) => this.#list('list_devices_v2', 'devices', query));
    if (serials === undefined) return this.#firstOf('list_devices', isWanted, recordsMax);
    for (const serial of serials) {
      const found = (await this.devicesOfSerial(serial, recordsMax)).find(isWanted);
      if (found) return found;
    }
    return undefined;
  }

  /** The end user of this e-mail (in any case, the exact one first), in the unpaged form. */
  async user(email: string, recordsMax?: number): Promise<Facts | undefined> {
    const wanted = email.toLowerCase();
    const isWanted = ({ Email }: Facts) => typeof Email === 'string' && Email.toLowerCase() === wanted;
    const found = await this.#matching('list_endusers', { Email: email }, isWanted, recordsMax);
    return found.find((each) => each.Email === email) ?? found[0];
  }

  /** Endpoint 4: one update for all devices of a serial number. Done only when every `Message` is `Success`. */
  async updateDevices(serialNumber: string, devices: Facts[]): Promise<WriteAnswer> {
    refuseEmpty('serial number', serialNumber);
    const parts = { query: { SerialNumber: serialNumber }, body: devices };
    return this.#plain(this.#caller.write('update_device', 'every_message', parts));
  }

  /** Endpoint 3: without an e-mail all users' mappings, the device, and the users left without one. */
  async deleteDevice(serialNumber: string, email?: string): Promise<WriteAnswer> {
    refuseEmpty('serial number', serialNumber);
    // A server may count an empty e-mail as none, and delete everybody's mapping.
    if (email !== undefined) refuseEmpty('e-mail', email);
    const parts = { query: { SerialNumber: serialNumber, Email: email } };
    return this.#plain(this.#caller.write('delete_device', 'no_error', parts));
  }

  // Events

  /** Endpoint 5. */
  async events(query: EventParams): Promise<Event[]> {
    return this.#data('list_events', eventParams(query)) as Promise<Event[]>;
  }

  /** Endpoint 6; 10,001 means "more than it counts". */
  async countEvents(query: EventParams): Promise<number> {
    const { order: _order, skip: _skip, limit: _limit, ...filters } = query;
    const value = await this.#caller.read('count_events', { query: eventParams(filters) });
    const count = isFacts(value) ? Number(value.data ?? Number.NaN) : Number.NaN;
    if (!Number.isSafeInteger(count) || count < 0) throw unexpected('count_events', 'no count of events');
    return count;
  }

  /** Endpoint 7. */
  async feedEvents(query: Params<EventFeedQuery> = {}): Promise<FeedEvent[]> {
    return this.#data('feed_events', query) as Promise<FeedEvent[]>;
  }

  /** The names of event types, where the server lists them; undefined otherwise. */
  listEventTypes(): Promise<unknown[] | undefined> {
    return ifServed(() => this.#data('list_event_types', {}));
  }

  submitEvents(events: EventInput[]): Promise<WriteAnswer> {
    return this.#plain(this.#caller.write('submit_events', 'no_error', { body: events }));
  }

  // Services

  /** Endpoint 8. */
  async listServices(query: Params<ServiceQuery> = {}): Promise<RegisteredService[]> {
    const records: unknown[] = [];
    for await (const batch of this.#caller.stream('list_services', { query })) records.push(...batch);
    return records as RegisteredService[];
  }

  /** The service of this id, or undefined; filtered again here. */
  async service(serviceId: string, recordsMax?: number): Promise<Facts | undefined> {
    const isWanted = (each: Facts) => each.ServiceID === serviceId;
    return (await this.#matching('list_services', { ServiceID: serviceId }, isWanted, recordsMax))[0];
  }

  /** Endpoint 9. The record holds an OIDC client secret. */
  insertService(spec: ServiceSpec): Promise<Written<RegisteredService>> {
    return this.#caller.write('insert_service', 'no_error', { body: spec }) as Promise<Written<RegisteredService>>;
  }

  /** Endpoint 10. Disable the service first, as other clients do. */
  deleteService(serviceId: string): Promise<WriteAnswer> {
    return this.#writeService('delete_service', serviceId);
  }

  /** Endpoint 11. */
  enableService(serviceId: string): Promise<WriteAnswer> {
    return this.#writeService('enable_service', serviceId);
  }

  /** Endpoint 12. */
  disableService(serviceId: string): Promise<WriteAnswer> {
    return this.#writeService('disable_service', serviceId);
  }

  /** `refresh_token`: a new access token. The client's own calls do this by themselves. */
  refreshToken(): Promise<string> {
    return this.#caller.exchangeToken();
  }

  async #list(
    id: 'list_endusers' | 'list_devices' | 'list_devices_v2',
    listName: string,
    query: Record<string, QueryValue>,
  ): Promise<Page> {
    return pageOf(subjectOf(id), await this.#caller.read(id, { query }), listName, this.#caller.redactor);
  }

  async #matching(
    id: EndpointId,
    query: Record<string, string>,
    isWanted: (record: Facts) => boolean,
    recordsMax = Number.POSITIVE_INFINITY,
  ): Promise<Facts[]> {
    const found: Facts[] = [];
    let read = 0;
    for await (const batch of this.#caller.stream(id, { query })) {
      for (const record of batch) if (isFacts(record) && isWanted(record)) found.push(record);
      read += batch.length;
      if (read > recordsMax) throw unfiltered(subjectOf(id), query, recordsMax);
    }
    return found;
  }

  async #firstOf(id: EndpointId, isWanted: (record: Facts) => boolean, recordsMax: number): Promise<Facts | undefined> {
    let read = 0;
    for await (const batch of this.#caller.stream(id)) {
      const found = batch.filter(isFacts).find(isWanted);
      if (found) return found;
      read += batch.length;
      if (read > recordsMax) throw notAmong(subjectOf(id), recordsMax);
    }
    return undefined;
  }

  async #data(id: EndpointId, query: Record<string, QueryValue>): Promise<unknown[]> {
    const value = await this.#caller.read(id, { query });
    const data = isFacts(value) ? (value.data ?? []) : value;
    if (!Array.isArray(data)) throw unexpected(id, 'no list in `data`');
    return data;
  }

  async #writeService(id: EndpointId, serviceId: string): Promise<WriteAnswer> {
    refuseEmpty('service ID', serviceId);
    return this.#plain(this.#caller.write(id, 'no_error', { query: { ServiceID: serviceId } }));
  }

  async #plain(writing: Promise<Written<unknown>>): Promise<WriteAnswer> {
    const { kind, status, text } = await writing;
    return { kind, status, text } as WriteAnswer;
  }
}

/** AppError `usage`: an empty name must not reach a server that might apply the request to everything. */
function refuseEmpty(what: string, value: string): void {
  if (value.trim() === '') throw new AppError('usage', `the ${what} is empty`);
}

function eventParams(query: EventParams): Record<string, QueryValue> {
  const { afterMs, beforeMs, serviceName, ...named } = query;
  return { ...named, ...defined({ after: afterMs, before: beforeMs, service_name: serviceName }) };
}

function defined(values: Record<string, QueryValue>): Record<string, QueryValue> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
