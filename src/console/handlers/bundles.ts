// console handlers: service bundles, inside the envelope.
// In: checked bodies and path values. Out: the envelope with `error_code` 0. An unknown id is a 400: the specification lists no 404.
import { type Answer, textAnswer } from '../answer.ts';
import { envelope } from '../refusal.ts';
import * as bundles from '../store/bundles.ts';
import type { Call } from './call.ts';

type AnyCall = Pick<Call<'get_bundle'>, 'requestId' | 'params'>;

function enveloped(call: AnyCall, work: () => unknown): Answer {
  return textAnswer(envelope(call.requestId, JSON.stringify(work() ?? {})));
}

function param(call: AnyCall, name: 'bundle_id' | 'service_id' | 'bundled_service_id'): string {
  return call.params[name] ?? '';
}

function inputOf(body: Call<'create_bundle'>['body']): bundles.BundlePatch {
  return { ...body, service_ids: body.service_ids ?? undefined };
}

export function createBundle(call: Call<'create_bundle'>): Answer {
  return enveloped(call, () => bundles.createBundle(call.store, call.actor, inputOf(call.body)));
}

export function updateBundle(call: Call<'update_bundle'>): Answer {
  return enveloped(call, () =>
    bundles.updateBundle(call.store, call.actor, param(call, 'bundle_id'), inputOf(call.body)),
  );
}

export function deleteBundle(call: Call<'delete_bundle'>): Answer {
  return enveloped(call, () => bundles.deleteBundle(call.store, call.actor, param(call, 'bundle_id')));
}

export function addServiceToBundle(call: Call<'add_service_to_bundle'>): Answer {
  const { store, actor, body } = call;
  return enveloped(call, () => bundles.addServices(store, actor, param(call, 'bundle_id'), [body.service_id])[0]);
}

export function removeServiceFromBundle(call: Call<'remove_service_from_bundle'>): Answer {
  const { store, actor, body } = call;
  return enveloped(call, () => bundles.removeService(store, actor, param(call, 'bundle_id'), body.service_id));
}

export function removeServiceByPath(call: Call<'remove_service_from_bundle_by_path'>): Answer {
  const { store, actor } = call;
  return enveloped(call, () =>
    bundles.removeService(store, actor, param(call, 'bundle_id'), param(call, 'service_id')),
  );
}

export function bundleServices(call: Call<'bundle_services'>): Answer {
  const { store, actor, body } = call;
  return enveloped(call, () => ({
    bundled_services: bundles.addServices(store, actor, body.bundle_id, body.service_ids),
  }));
}

export function unbundleService(call: Call<'unbundle_service'>): Answer {
  return enveloped(call, () => bundles.removeAssociation(call.store, call.actor, param(call, 'bundled_service_id')));
}

export function listBundles(call: Call<'list_bundles'>): Answer {
  const { bundle_id: id, bundle_name: name, skip, limit } = call.query;
  return enveloped(call, () => {
    const all = bundles.listBundles(call.store, { id, name });
    return { bundles: sliceOf(all, skip, limit), count: all.length };
  });
}

export function getBundle(call: Call<'get_bundle'>): Answer {
  return enveloped(call, () => bundles.bundleOf(call.store, param(call, 'bundle_id')));
}

export function listBundledServices(call: Call<'list_bundled_services'>): Answer {
  const { bundle_id: bundleId, skip, limit } = call.query;
  return enveloped(call, () => {
    const all = bundles.listBundledServices(call.store, bundleId);
    return { bundled_services: sliceOf(all, skip, limit), count: all.length };
  });
}

function sliceOf<T>(all: T[], skip = 0, limit = all.length): T[] {
  return all.slice(skip, skip + limit);
}
