// management client: lists of devices and users, in pages or whole, as records or as pieces of bytes. In: a caller and a source. Out: what
// the list has, in order, with its boundaries checked (`pages.ts`).
import { inOrder } from '../../base/turns.ts';
import { AppError } from '../../domain/errors.ts';
import { isFacts, ownText } from '../../domain/facts.ts';
import type { ListPiece, PieceRead } from '../../domain/lists.ts';
import type { Page } from '../../domain/ports.ts';
import type { EndpointId } from '../contract/endpoints.ts';
import type { BundledService, BundleInput, ServiceBundle } from '../contract.ts';
import { type Caller, ifServed, type QueryValue, subjectOf, unexpected, type Written } from './caller.ts';
import { problem, type Subject } from './fault.ts';
import { asListed, ownBytes, PAGED, type PagesOptions, readPages, readPieces } from './list-pieces.ts';
import { type PageParts, partsOfPage, refuseErrorCode, refuseStatus } from './page-parts.ts';

export type PagedSource = 'devices' | 'users';
export type ReadPiece<T> = (piece: ListPiece) => Promise<PieceRead<T>>;

export const UNPAGED = { devices: 'list_devices', users: 'list_endusers', services: 'list_services' } as const;
const PAGE_SIZE = 1_000;
/** Pieces that are parsed, or wait for it, while the next ones are fetched. */
const AHEAD = 4;

export function pagesOf(
  caller: Caller,
  source: PagedSource,
  options: Partial<PagesOptions>,
): AsyncGenerator<Page, void> {
  const { lists, concurrency } = caller.settings;
  const reader = {
    about: subjectOf(PAGED[source][lists].id),
    keyField: PAGED[source].key,
    fetch: (skip: number, limit: number, signal: AbortSignal) => fetchPage(caller, source, skip, limit, signal),
  };
  return readPages(reader, { pageSize: PAGE_SIZE, concurrency, ...options });
}

export function pagesInPieces<T>(
  caller: Caller,
  source: 'devices',
  read: ReadPiece<T>,
): AsyncGenerator<PieceRead<T>, void> {
  const { lists, concurrency } = caller.settings;
  const reader = {
    about: subjectOf(PAGED[source][lists].id),
    fetch: async (skip: number, limit: number, isFirst: boolean, signal: AbortSignal) => {
      const { about, answer } = await fetchAnswer(caller, source, skip, limit, signal);
      refuseStatus(about, answer, answer.body, caller.redactor);
      return read({ source, lists, form: 'page', at: Math.ceil(skip / limit), isFirst, bytes: ownBytes(answer.body) });
    },
  };
  return readPieces(reader, { pageSize: PAGE_SIZE, concurrency: concurrency + AHEAD });
}

export function listInPieces<T>(
  caller: Caller,
  source: 'devices',
  read: ReadPiece<T>,
): AsyncGenerator<PieceRead<T>, void> {
  const pieces = caller.pieces(UNPAGED[source]);
  let at = 0;
  return inOrder(pieces, AHEAD, (bytes) =>
    read({ source, lists: 'v1', form: 'elements', at: at++, isFirst: true, bytes: ownBytes(bytes) }),
  );
}

/** One page, parsed in its turn. */
export async function fetchPage(
  caller: Caller,
  source: PagedSource,
  skip: number,
  limit: number,
  signal?: AbortSignal,
): Promise<() => PageParts> {
  const { about, answer } = await fetchAnswer(caller, source, skip, limit, signal);
  const { lists } = caller.settings;
  return () => asListed(lists, source, partsOfPage(about, answer, PAGED[source].list, caller.redactor));
}

function fetchAnswer(caller: Caller, source: PagedSource, skip: number, limit: number, signal?: AbortSignal) {
  const { lists } = caller.settings;
  const { id, orderBy } = PAGED[source][lists];
  const query =
    lists === 'v1'
      ? { Skip: skip, Limit: limit, Order: 'asc', OrderBy: orderBy }
      : { skip, limit, order: 'asc', order_by: orderBy };
  return caller.fetch(id, { query }, signal);
}

// The endpoints of service bundles, signed with the admin token.

export class BundleCalls {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Endpoint 13. */
  createBundle(bundle: BundleInput): Promise<Written<ServiceBundle>> {
    return this.#writeBundle('create_bundle', {}, bundle);
  }

  /** Endpoint 14. */
  addServiceToBundle(bundleId: string, serviceId: string): Promise<Written<unknown>> {
    return this.#writeBundle('add_service_to_bundle', { bundle_id: bundleId }, { service_id: serviceId });
  }

  /** Endpoint 15. */
  updateBundle(bundleId: string, bundle: BundleInput): Promise<Written<ServiceBundle>> {
    return this.#writeBundle('update_bundle', { bundle_id: bundleId }, bundle);
  }

  /** Endpoint 16. */
  deleteBundle(bundleId: string): Promise<Written<unknown>> {
    return this.#writeBundle('delete_bundle', { bundle_id: bundleId }, {});
  }

  /** Endpoint 17. */
  removeServiceFromBundle(bundleId: string, serviceId: string): Promise<Written<unknown>> {
    return this.#writeBundle('remove_service_from_bundle', { bundle_id: bundleId }, { service_id: serviceId });
  }

  /** Endpoint 18. */
  bundleServices(bundleId: string, serviceIds: string[]): Promise<Written<{ bundled_services: BundledService[] }>> {
    return this.#writeBundle('bundle_services', {}, { bundle_id: bundleId, service_ids: serviceIds });
  }

  /** Endpoint 19. */
  unbundleService(bundledServiceId: string): Promise<Written<unknown>> {
    return this.#writeBundle('unbundle_service', { bundled_service_id: bundledServiceId }, {});
  }

  /** All bundles, where the server lists them (newer ones do); undefined otherwise. */
  listBundles(): Promise<ServiceBundle[] | undefined> {
    return ifServed(() => this.#enveloped<ServiceBundle>('list_bundles', 'bundles'));
  }

  /** All associations of services with bundles, where the server lists them; undefined otherwise. */
  listBundledServices(): Promise<BundledService[] | undefined> {
    return ifServed(() => this.#enveloped<BundledService>('list_bundled_services', 'bundled_services'));
  }

  async #enveloped<T>(id: EndpointId, listName: string): Promise<T[]> {
    const value = await this.#caller.read(id);
    if (!isFacts(value)) throw unexpected(id, 'no envelope');
    refuseErrorCode(subjectOf(id), value, this.#caller.redactor);
    const data = isFacts(value.data) ? value.data[listName] : value.data;
    if (data !== undefined && data !== null && !Array.isArray(data)) throw unexpected(id, `no list of ${listName}`);
    return (data ?? []) as T[];
  }

  async #writeBundle<T>(id: EndpointId, path: Record<string, string>, body: unknown): Promise<Written<T>> {
    const written = await this.#caller.write(id, 'envelope', { path, body });
    return { ...written, value: isFacts(written.value) ? (written.value.data as T) : undefined };
  }
}

// Looking up one record.

/** A filter by id finds one record: more of them are a filter that was ignored. */
const PAGE = { Skip: 0, Limit: 10 };

/**
 * The serial numbers of a DeviceID, which newer servers filter by. Their records name it `id` or, in the form of version 1, `DeviceID`.
 * Undefined: this server lacks the list, ignores the filter, or has no serial number for the device.
 */
export async function serialsOf(
  deviceId: string,
  ask: (query: Record<string, QueryValue>) => Promise<Page>,
): Promise<string[] | undefined> {
  const records = await recordsOf(ask({ id: deviceId, ...PAGE }));
  if (!records || records.length === 0) return records && [];
  const own = records.filter(isFacts).filter((each) => (ownText(each, 'DeviceID') ?? ownText(each, 'id')) === deviceId);
  const serials = own.map((each) => ownText(each, 'SerialNumber') ?? ownText(each, 'serial_number') ?? '');
  const known = serials.filter((serial) => serial.trim() !== '');
  return known.length > 0 ? known : undefined;
}

/** Undefined: the list is not there, or not for this credential, or not one of version 2. */
async function recordsOf(asked: Promise<Page>): Promise<unknown[] | undefined> {
  try {
    return (await asked).records;
  } catch (error) {
    if (error instanceof AppError && (error.code === 'api_answer' || error.code === 'api_forbidden')) return undefined;
    throw error;
  }
}

/** A lookup was answered with a list. */
export function unfiltered(about: Subject, query: Record<string, string>, recordsMax: number): AppError {
  const words = `the server sent more than ${recordsMax} records for one \`${Object.keys(query)[0]}\`: it ignores this filter, and the rest was not read`;
  return problem('api_answer', about, 'unfiltered', words);
}

/** A list was read instead of a lookup. */
export function notAmong(about: Subject, recordsMax: number): AppError {
  const words = `the device is not among the first ${recordsMax} of the list, and this server has no lookup by DeviceID: give its serial number`;
  return problem('api_answer', about, 'unfiltered', words);
}
