// console store: service bundles and the membership of services in them.
// In: checked bodies and ids. Out: records, or why not. A bundle never names a service that doesn't exist, and never one twice.
import { AppError } from '../../domain/errors.ts';
import { writeAudit, writeEffect } from './device-changes.ts';
import { hasService } from './services.ts';
import { type Actor, type ConsoleStore, newUuid } from './store.ts';

export interface BundleRecord {
  id: string;
  bundle_name: string;
  description: string;
  is_admin_created: boolean;
  bulk_connect: boolean;
  /** Epoch ms. */
  created_at: number;
  updated_at: number;
  service_ids: string[];
}

export interface BundledServiceRecord {
  id: string;
  org_id: string;
  bundle_id: string;
  service_id: string;
  created_at: number;
  updated_at: number;
}

/** undefined leaves a field unchanged (or empty, in a new bundle). */
export interface BundlePatch {
  bundle_name: string;
  description?: string | undefined;
  bulk_connect?: boolean | undefined;
  service_ids?: string[] | undefined;
}

export function listBundles(
  store: ConsoleStore,
  filter: { id?: string | undefined; name?: string | undefined },
): BundleRecord[] {
  const rows = store.sql.all<Omit<BundleRecord, 'is_admin_created' | 'bulk_connect' | 'service_ids'> & RawFlags>(
    'SELECT * FROM bundle WHERE id = coalesce(?, id) AND bundle_name = coalesce(?, bundle_name) ORDER BY created_at, id',
    filter.id ?? null,
    filter.name ?? null,
  );
  return rows.map((row) => ({
    ...row,
    is_admin_created: row.is_admin_created === 1,
    bulk_connect: row.bulk_connect === 1,
    service_ids: store.sql.values<string>(
      'SELECT service_id FROM bundled_service WHERE bundle_id = ? ORDER BY pk',
      row.id,
    ),
  }));
}

interface RawFlags {
  is_admin_created: number;
  bulk_connect: number;
}

export function bundleOf(store: ConsoleStore, id: string): BundleRecord {
  const bundle = listBundles(store, { id })[0];
  if (!bundle) throw new AppError('usage', `no bundle has the id \`${id}\``);
  return bundle;
}

export function listBundledServices(store: ConsoleStore, bundleId: string | undefined): BundledServiceRecord[] {
  return store.sql
    .all<Omit<BundledServiceRecord, 'org_id'>>(
      `SELECT id, bundle_id, service_id, created_at, updated_at FROM bundled_service
        WHERE bundle_id = coalesce(?, bundle_id) ORDER BY pk`,
      bundleId ?? null,
    )
    .map((row) => ({ ...row, org_id: store.org.id }));
}

export function createBundle(store: ConsoleStore, actor: Actor, input: BundlePatch): BundleRecord {
  return store.sql.atomically(() => {
    refuseTakenName(store, input.bundle_name, undefined);
    const id = newUuid(store, 'bundle');
    const now = nowMs(store);
    store.sql.run(
      'INSERT INTO bundle VALUES (?, ?, ?, 1, ?, ?, ?)',
      id,
      input.bundle_name,
      input.description ?? '',
      input.bulk_connect ? 1 : 0,
      now,
      now,
    );
    setServices(store, actor, id, input.service_ids ?? []);
    audit(store, actor, 'BundleCreate', input.bundle_name);
    writeEffect(store, actor, 'bundle_created', id, { name: input.bundle_name });
    return bundleOf(store, id);
  });
}

export function updateBundle(store: ConsoleStore, actor: Actor, id: string, input: BundlePatch): BundleRecord {
  return store.sql.atomically(() => {
    const bundle = bundleOf(store, id);
    refuseTakenName(store, input.bundle_name, id);
    store.sql.run(
      'UPDATE bundle SET bundle_name = ?, description = ?, bulk_connect = ?, updated_at = ? WHERE id = ?',
      input.bundle_name,
      input.description ?? bundle.description,
      (input.bulk_connect ?? bundle.bulk_connect) ? 1 : 0,
      nowMs(store),
      id,
    );
    if (input.service_ids) setServices(store, actor, id, input.service_ids);
    audit(store, actor, 'BundleUpdate', input.bundle_name);
    writeEffect(store, actor, 'bundle_updated', id, { name: input.bundle_name });
    return bundleOf(store, id);
  });
}

export function deleteBundle(store: ConsoleStore, actor: Actor, id: string): void {
  store.sql.atomically(() => {
    const bundle = bundleOf(store, id);
    store.sql.run('DELETE FROM bundle WHERE id = ?', id);
    audit(store, actor, 'BundleDelete', bundle.bundle_name);
    writeEffect(store, actor, 'bundle_deleted', id, { name: bundle.bundle_name });
  });
}

/** Adds services; one that is already in keeps its association. Returns the associations, one per requested service. */
export function addServices(
  store: ConsoleStore,
  actor: Actor,
  bundleId: string,
  serviceIds: string[],
): BundledServiceRecord[] {
  return store.sql.atomically(() => {
    const bundle = bundleOf(store, bundleId);
    const wanted = [...new Set(serviceIds)];
    for (const serviceId of wanted) addService(store, actor, bundleId, serviceId);
    audit(store, actor, 'BundleUpdate', bundle.bundle_name);
    return listBundledServices(store, bundleId).filter((each) => wanted.includes(each.service_id));
  });
}

export function removeService(store: ConsoleStore, actor: Actor, bundleId: string, serviceId: string): void {
  store.sql.atomically(() => {
    const bundle = bundleOf(store, bundleId);
    if (!bundle.service_ids.includes(serviceId)) {
      throw new AppError('usage', `the bundle \`${bundle.bundle_name}\` has no service \`${serviceId}\``);
    }
    dropService(store, actor, bundleId, serviceId);
    audit(store, actor, 'BundleUpdate', bundle.bundle_name);
  });
}

export function removeAssociation(store: ConsoleStore, actor: Actor, bundledServiceId: string): void {
  store.sql.atomically(() => {
    const row = store.sql.get<{ bundle_id: string; service_id: string }>(
      'SELECT bundle_id, service_id FROM bundled_service WHERE id = ?',
      bundledServiceId,
    );
    if (!row) throw new AppError('usage', `no bundled service has the id \`${bundledServiceId}\``);
    removeService(store, actor, row.bundle_id, row.service_id);
  });
}

function setServices(store: ConsoleStore, actor: Actor, bundleId: string, serviceIds: string[]): void {
  const present = bundleOf(store, bundleId).service_ids;
  for (const serviceId of present) {
    if (!serviceIds.includes(serviceId)) dropService(store, actor, bundleId, serviceId);
  }
  for (const serviceId of new Set(serviceIds)) addService(store, actor, bundleId, serviceId);
}

function addService(store: ConsoleStore, actor: Actor, bundleId: string, serviceId: string): void {
  if (!hasService(store, serviceId)) throw new AppError('usage', `no service has the ServiceID \`${serviceId}\``);
  const now = nowMs(store);
  const added = store.sql.run(
    `INSERT INTO bundled_service (id, bundle_id, service_id, created_at, updated_at) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (bundle_id, service_id) DO NOTHING`,
    newUuid(store, 'bundled-service'),
    bundleId,
    serviceId,
    now,
    now,
  );
  if (added === 0) return;
  store.sql.run('UPDATE bundle SET updated_at = ? WHERE id = ?', now, bundleId);
  writeEffect(store, actor, 'bundled_service_added', bundleId, { service: serviceId });
}

function dropService(store: ConsoleStore, actor: Actor, bundleId: string, serviceId: string): void {
  store.sql.run('DELETE FROM bundled_service WHERE bundle_id = ? AND service_id = ?', bundleId, serviceId);
  store.sql.run('UPDATE bundle SET updated_at = ? WHERE id = ?', nowMs(store), bundleId);
  writeEffect(store, actor, 'bundled_service_removed', bundleId, { service: serviceId });
}

function refuseTakenName(store: ConsoleStore, name: string, exceptId: string | undefined): void {
  const taken = listBundles(store, { name })[0];
  if (taken && taken.id !== exceptId) throw new AppError('usage', `a bundle of the name \`${name}\` exists`);
}

function audit(store: ConsoleStore, actor: Actor, action: string, name: string): void {
  writeAudit(store, actor, action, `Bundle ${name}: ${action.slice('Bundle'.length).toLowerCase()}`);
}

function nowMs(store: ConsoleStore): number {
  return Math.floor(store.clock.nowMs());
}
