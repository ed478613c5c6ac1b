// console handlers: which handler answers which endpoint of the contract.
// In: nothing. Out: one table, complete by its type: an endpoint without a handler does not compile.
import * as bundles from './bundles.ts';
import type { Handlers } from './call.ts';
import * as devices from './devices.ts';
import * as events from './events.ts';
import * as lists from './lists.ts';
import * as listsV2 from './lists-v2.ts';
import * as policies from './policies.ts';
import * as services from './services.ts';

/** auth.ts answers `refresh_token`. */
export const HANDLERS: Omit<Handlers, 'refresh_token'> = {
  list_endusers: lists.listEndusers,
  list_endusers_v2: listsV2.listEndusersV2,
  list_devices: lists.listDevices,
  list_devices_v2: listsV2.listDevicesV2,
  delete_device: devices.deleteDevice,
  update_device: devices.updateDevice,
  list_events: events.listEventsHandler,
  count_events: events.countEventsHandler,
  feed_events: events.feedEventsHandler,
  list_event_types: events.listEventTypes,
  submit_events: events.submitEvents,
  list_services: services.listServicesHandler,
  insert_service: services.insertServiceHandler,
  delete_service: services.deleteServiceHandler,
  enable_service: services.enableService,
  disable_service: services.disableService,
  create_bundle: bundles.createBundle,
  add_service_to_bundle: bundles.addServiceToBundle,
  update_bundle: bundles.updateBundle,
  delete_bundle: bundles.deleteBundle,
  remove_service_from_bundle: bundles.removeServiceFromBundle,
  remove_service_from_bundle_by_path: bundles.removeServiceByPath,
  bundle_services: bundles.bundleServices,
  unbundle_service: bundles.unbundleService,
  list_bundles: bundles.listBundles,
  get_bundle: bundles.getBundle,
  list_bundled_services: bundles.listBundledServices,
  list_policies: policies.listPolicies,
  insert_policy: policies.insertPolicy,
  delete_policy: policies.deletePolicy,
  attach_policy: policies.attachPolicy,
  detach_policy: policies.detachPolicy,
  list_service_policies: policies.listServicePolicies,
  shield_config: policies.shieldConfig,
  list_api_keys: policies.listApiKeys,
  create_api_key: policies.createApiKey,
  update_api_key: policies.updateApiKey,
  delete_api_key: policies.deleteApiKey,
};
