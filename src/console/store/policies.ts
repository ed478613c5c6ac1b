// console store: policies, the services that they are attached to, and the shields that enforce them.
// In: a checked spec and its text, or ids. Out: records as JSON text: times have 19 digits. Changed rows have their events and effects.
import { AppError } from '../../domain/errors.ts';
import type { Flag, PolicySpec } from '../../platform/contract.ts';
import { writeAudit, writeEffect } from './device-changes.ts';
import { policyId } from './events.ts';
import { serviceOf } from './services.ts';
import { type Actor, type ConsoleStore, newUuid, nowNs } from './store.ts';

const RECORD = `json_object('PolicyID', policy_id, 'PolicyName', name, 'PolicySpec', spec, 'PolicyVersion', version,
  'Description', description, 'CreatedAt', created_at, 'CreatedBy', created_by, 'LastUpdatedAt', updated_at,
  'LastUpdatedBy', updated_by, 'DeletedAt', deleted_at, 'DeletedBy', deleted_by)`;

interface PolicyRow {
  pk: number;
  policy_id: string;
  name: string;
}

/** All living policies, in the order of their creation, or the one of this id. */
export function listPolicies(store: ConsoleStore, id: string | undefined): string[] {
  const where = 'deleted_at = 0 AND policy_id = coalesce(?, policy_id)';
  return store.sql.values<string>(`SELECT ${RECORD} FROM policy WHERE ${where} ORDER BY pk`, id ?? null);
}

/** Creates the policy, or updates the one of this id or name. Returns the record as JSON text. */
export function insertPolicy(store: ConsoleStore, actor: Actor, spec: PolicySpec, specText: string): string {
  return store.sql.atomically(() => {
    const { id, name, description } = spec.metadata;
    const named = policyOf(store, 'name', name);
    const existing = id ? demandPolicy(store, id) : named;
    if (named && existing && named.pk !== existing.pk)
      throw new AppError('usage', `a policy of the name \`${name}\` exists`);
    const now = nowNs(store);
    const pk =
      existing?.pk ??
      store.sql.insert('policy', {
        ...{ policy_id: freshId(store, name), name, description: '', spec: '', version: 0 },
        ...{ created_at: now, created_by: actor.name, updated_at: 0, updated_by: '', deleted_at: 0, deleted_by: '' },
      });
    store.sql.run('UPDATE policy SET version = version + 1 WHERE pk = ?', pk);
    const written = { name, description: description ?? '', spec: specText };
    store.sql.update('policy', pk, { ...written, updated_at: now, updated_by: actor.name });
    const row = store.sql.get<PolicyRow>('SELECT pk, policy_id, name FROM policy WHERE pk = ?', pk) as PolicyRow;
    changed(store, actor, row, existing ? 'updated' : 'created');
    return store.sql.value<string>(`SELECT ${RECORD} FROM policy WHERE pk = ?`, pk) as string;
  });
}

/** Events show policies by the id that their name makes (see events.ts); after a deletion the name gets another one. */
function freshId(store: ConsoleStore, name: string): string {
  const id = policyId(name, store.org.id);
  return store.sql.value('SELECT 1 FROM policy WHERE policy_id = ?', id) === undefined ? id : newUuid(store, 'policy');
}

/** Refused while it is attached: its services would lose it unseen. */
export function deletePolicy(store: ConsoleStore, actor: Actor, id: string): void {
  store.sql.atomically(() => {
    const policy = demandPolicy(store, id);
    const services = store.sql.values<string>('SELECT service_id FROM policy_attachment WHERE policy_id = ?', id);
    if (services.length > 0) {
      const more = services.length > 1 ? ` and ${services.length - 1} more` : '';
      throw new AppError(
        'usage',
        `the policy \`${policy.name}\` is attached to \`${services[0]}\`${more}: detach it first`,
      );
    }
    store.sql.run('UPDATE policy SET deleted_at = ?, deleted_by = ? WHERE pk = ?', nowNs(store), actor.name, policy.pk);
    changed(store, actor, policy, 'deleted');
  });
}

const ATTACHED = `json_object('PolicyID', policy_id, 'ServiceID', service_id, 'Enabled', enabled,
  'AttachedBy', attached_by, 'AttachedAt', attached_at)`;

/** Attaches it, or changes whether it is enforced. Returns the attachment as JSON text. */
export function attachPolicy(
  store: ConsoleStore,
  actor: Actor,
  ids: { policy: string; service: string },
  enabled: Flag,
): string {
  return store.sql.atomically(() => {
    const policy = demandPolicy(store, ids.policy);
    demandService(store, ids.service);
    const attachment = store.sql.value<string>(
      `INSERT INTO policy_attachment (policy_id, service_id, enabled, attached_at, attached_by) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (service_id, policy_id) DO UPDATE SET enabled = excluded.enabled, attached_at = excluded.attached_at,
        attached_by = excluded.attached_by RETURNING ${ATTACHED}`,
      policy.policy_id,
      ids.service,
      enabled,
      nowNs(store),
      actor.name,
    ) as string;
    changed(store, actor, policy, 'attached', { service: ids.service, enabled });
    return attachment;
  });
}

export function detachPolicy(store: ConsoleStore, actor: Actor, ids: { policy: string; service: string }): void {
  store.sql.atomically(() => {
    const policy = demandPolicy(store, ids.policy);
    const sql = 'DELETE FROM policy_attachment WHERE policy_id = ? AND service_id = ?';
    if (store.sql.run(sql, ids.policy, ids.service) === 0) {
      throw new AppError('usage', `the policy \`${policy.name}\` is not attached to \`${ids.service}\``);
    }
    changed(store, actor, policy, 'detached', { service: ids.service });
  });
}

/** Empty for an unknown service too: tools ask before they create one. */
export function policiesOfService(store: ConsoleStore, serviceId: string): string[] {
  return store.sql.values<string>(
    `SELECT json_object('PolicyID', p.policy_id, 'PolicyName', p.name, 'AttachedToID', s.service_id,
      'AttachedToName', s.name, 'AttachedToType', 'service', 'Enabled', a.enabled, 'AttachedAt', a.attached_at,
      'AttachedBy', a.attached_by) FROM policy_attachment a JOIN policy p ON p.policy_id = a.policy_id
      JOIN service s ON s.service_id = a.service_id AND s.deleted_at = 0 WHERE a.service_id = ? ORDER BY p.pk`,
    serviceId,
  );
}

/** One for each cluster that enforcement agents stand in. */
export function listShields(store: ConsoleStore): string[] {
  return store.sql.values<string>('SELECT DISTINCT cluster FROM agent ORDER BY cluster');
}

function policyOf(store: ConsoleStore, column: 'policy_id' | 'name', value: string): PolicyRow | undefined {
  return store.sql.get(`SELECT pk, policy_id, name FROM policy WHERE ${column} = ? AND deleted_at = 0`, value);
}

function demandPolicy(store: ConsoleStore, id: string): PolicyRow {
  const policy = policyOf(store, 'policy_id', id);
  if (!policy) throw new AppError('usage', `\`PolicyID\` matches no policy: \`${id}\``);
  return policy;
}

function demandService(store: ConsoleStore, id: string): void {
  if (!serviceOf(store, id)) throw new AppError('usage', `\`ServiceID\` matches no service: \`${id}\``);
}

function changed(
  store: ConsoleStore,
  actor: Actor,
  policy: PolicyRow,
  what: 'created' | 'updated' | 'deleted' | 'attached' | 'detached',
  detail: { service?: string; enabled?: Flag } = {},
): void {
  const action = { created: 'Create', updated: 'Update', deleted: 'Delete', attached: 'Attach', detached: 'Detach' }[
    what
  ];
  const where = detail.service === undefined ? '' : ` (${detail.service})`;
  writeAudit(store, actor, `Policy${action}`, `Policy ${policy.name}: ${what}${where}`);
  writeEffect(store, actor, `policy_${what}`, policy.policy_id, { name: policy.name, ...detail });
}
