// console store: API keys as the API shows and changes them. In: checked bodies and ids. Out: records without secrets; a new key's secret once.
// The credentials themselves are in device-changes.ts.
import { AppError } from '../../domain/errors.ts';
import type { ApiKeyInput, ApiKeyPatch, KeyScope } from '../../platform/contract.ts';
import {
  credentialId,
  hashOf,
  issueCredential,
  revokeCredential,
  scopeOf,
  writeAudit,
  writeEffect,
} from './device-changes.ts';
import type { Actor, ConsoleStore } from './store.ts';

interface ApiKeyRecord {
  id: string;
  org_id: string;
  name: string;
  description: string;
  scope: KeyScope;
  /** Epoch ms. */
  created_at: number;
  created_by: string;
  updated_at: number;
  updated_by: string;
}

const COLUMNS = `c.hash, c.name, coalesce(k.description, '') AS description, c.scope, c.created_at,
  coalesce(k.created_by, '') AS created_by, coalesce(k.updated_at, c.created_at) AS updated_at,
  coalesce(k.updated_by, '') AS updated_by`;

/** All valid keys, also those that a start of the console made. */
export function listApiKeys(store: ConsoleStore): ApiKeyRecord[] {
  return rowsOf(store).map(({ hash: _, ...record }) => record);
}

function rowsOf(store: ConsoleStore): (ApiKeyRecord & { hash: string })[] {
  const rows = store.sql.all<Omit<ApiKeyRecord, 'id' | 'org_id'> & { hash: string }>(
    `SELECT ${COLUMNS} FROM credential c LEFT JOIN api_key k ON k.hash = c.hash
      WHERE c.kind = 'api_key' AND c.revoked_at = 0 ORDER BY c.created_at, c.name`,
  );
  return rows.map((row) => ({ id: credentialId(store, row.hash), org_id: store.org.id, ...row }));
}

export function createApiKey(store: ConsoleStore, actor: Actor, input: ApiKeyInput): ApiKeyRecord & { secret: string } {
  return store.sql.atomically(() => {
    refuseTakenName(store, input.name);
    const secret = issueCredential(store, 'api_key', input.name, input.scope);
    const hash = hashOf(secret);
    const now = Math.floor(store.clock.nowMs());
    const values = [hash, input.description ?? '', actor.name, now, actor.name];
    store.sql.run('INSERT INTO api_key VALUES (?, ?, ?, ?, ?)', ...values);
    changed(store, actor, 'created', input.name);
    const { hash: _, ...record } = demandKey(store, (row) => row.hash === hash, input.name);
    return { ...record, secret };
  });
}

export function updateApiKey(store: ConsoleStore, actor: Actor, id: string, patch: ApiKeyPatch): ApiKeyRecord {
  return store.sql.atomically(() => {
    const key = demandKey(store, (row) => row.id === id, id);
    const { name = key.name, scope = key.scope } = patch;
    const description = patch.description ?? key.description;
    if (name !== key.name) refuseTakenName(store, name);
    store.sql.run('UPDATE credential SET name = ?, scope = ? WHERE hash = ?', name, scope, key.hash);
    const now = Math.floor(store.clock.nowMs());
    store.sql.run(
      `INSERT INTO api_key VALUES (?, ?, '', ?, ?) ON CONFLICT (hash) DO UPDATE SET description = excluded.description,
        updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
      key.hash,
      description,
      now,
      actor.name,
    );
    changed(store, actor, 'updated', name);
    return { ...listApiKeys(store).find((each) => each.id === id) } as ApiKeyRecord;
  });
}

export function deleteApiKey(store: ConsoleStore, actor: Actor, id: string): void {
  store.sql.atomically(() => {
    const { name } = demandKey(store, (row) => row.id === id, id);
    revokeCredential(store, 'api_key', name);
    changed(store, actor, 'deleted', name);
  });
}

function demandKey(
  store: ConsoleStore,
  isIt: (row: ApiKeyRecord & { hash: string }) => boolean,
  called: string,
): ApiKeyRecord & { hash: string } {
  const key = rowsOf(store).find(isIt);
  if (!key) throw new AppError('usage', `no API key has the id \`${called}\``);
  return key;
}

function refuseTakenName(store: ConsoleStore, name: string): void {
  if (scopeOf(store, 'api_key', name) !== undefined)
    throw new AppError('usage', `an API key of the name \`${name}\` exists`);
}

function changed(store: ConsoleStore, actor: Actor, what: 'created' | 'updated' | 'deleted', name: string): void {
  const action = { created: 'Create', updated: 'Update', deleted: 'Delete' }[what];
  writeAudit(store, actor, `ApiKey${action}`, `API key ${name}: ${what}`);
  writeEffect(store, actor, `api_key_${what}`, name);
}
