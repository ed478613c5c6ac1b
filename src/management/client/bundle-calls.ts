// management client: the endpoints of service bundles, signed with the admin token. In: bundles and services by id.
// Out: write answers with the envelope's data. Servers with only the specified endpoints allow no read-back here: a
// doubt stays a doubt.
import { isFacts } from '../../domain/facts.ts';
import type { EndpointId } from '../contract/endpoints.ts';
import type { BundledService, BundleInput, ServiceBundle } from '../contract.ts';
import { type Caller, ifServed, type Written } from './caller.ts';
import { refuseErrorCode } from './page-answer.ts';
import { subjectOf, unexpected } from './requests.ts';

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
