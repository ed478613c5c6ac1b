// management contract: the endpoints of service bundles, 13 to 19.
// In: nothing. Out: rows of the endpoint table. Paths are those of the specification; newer prefixes are aliases.
import * as answer from './answers.ts';
import * as bundle from './bundle.ts';
import { BUNDLE, bundleAt, type Endpoint } from './endpoint.ts';

export const BUNDLE_ENDPOINTS = {
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
