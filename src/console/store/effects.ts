// console store: the true list of effects: one row for each change of state that really happened, in order.
// In: a change, inside its transaction. Out: a row. It must never hold a change that was not made.
import type { Actor, ConsoleStore } from './store.ts';

export type EffectKind =
  | 'device_added'
  | 'device_banned'
  | 'device_unbanned'
  | 'device_updated'
  | 'device_deleted'
  | 'device_compromised'
  | 'device_recovered'
  | 'mapping_deleted'
  | 'user_added'
  | 'user_deleted'
  | 'certificate_issued'
  | 'certificate_revoked'
  | 'service_created'
  | 'service_updated'
  | 'service_deleted'
  | 'service_enabled'
  | 'service_disabled'
  | 'bundle_created'
  | 'bundle_updated'
  | 'bundle_deleted'
  | 'bundled_service_added'
  | 'bundled_service_removed'
  | 'policy_created'
  | 'policy_updated'
  | 'policy_deleted'
  | 'policy_attached'
  | 'policy_detached'
  | 'api_key_created'
  | 'api_key_updated'
  | 'api_key_deleted'
  | 'events_submitted';

export interface Effect {
  seq: number;
  /** Epoch ms. */
  atMs: number;
  kind: EffectKind;
  /** A DeviceID, Email, ServiceID, bundle id or certificate. */
  target: string;
  actor: string;
  via: Actor['via'];
  detail: { [key: string]: string | number | boolean | string[] };
}

const KEPT_MAX = 200_000;

export function writeEffect(
  store: ConsoleStore,
  actor: Actor,
  kind: EffectKind,
  target: string,
  detail: Effect['detail'] = {},
): void {
  store.sql.run(
    'INSERT INTO effect (created_at, kind, target, actor, via, detail) VALUES (?, ?, ?, ?, ?, ?)',
    Math.floor(store.clock.nowMs()),
    kind,
    target,
    actor.name,
    actor.via,
    JSON.stringify(detail),
  );
}

/** The effects after `afterSeq`, in the order in which they happened. */
export function readEffects(store: ConsoleStore, afterSeq = 0, limit = -1): Effect[] {
  const rows = store.sql.all<{
    seq: number;
    created_at: number;
    kind: EffectKind;
    target: string;
    actor: string;
    via: Actor['via'];
    detail: string;
  }>('SELECT * FROM effect WHERE seq > ? ORDER BY seq LIMIT ?', afterSeq, limit);
  return rows.map(({ created_at, detail, ...row }) => ({ ...row, atMs: created_at, detail: JSON.parse(detail) }));
}

/** Deletes the oldest effects of a console that has run for long. */
export function pruneEffects(store: ConsoleStore): void {
  store.sql.run('DELETE FROM effect WHERE seq <= (SELECT max(seq) FROM effect) - ?', KEPT_MAX);
}
