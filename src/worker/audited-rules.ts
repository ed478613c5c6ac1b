// worker: what the audit has of an organization's folder of rules: that it was refused, and that it is in order again. In: rules as a job found
// them. Out: one entry for each change, whichever worker notices it first.

import type { Composition } from '../compose/compose.ts';
import { type AuditEntry, entryBody } from '../domain/audit-entry.ts';
import type { AuditReader } from '../domain/audit-store.ts';
import { ownText } from '../domain/facts.ts';
import type { KeptRules } from '../rule-set/last-good-rules.ts';
import { withoutPaths } from '../rule-set/rule-folders.ts';

/** INVARIANT: under the lease, so that no other worker does the same meanwhile. Errors: those of the store. */
export async function auditRules({ config, engine, rules }: Composition, kept: KeptRules): Promise<void> {
  const { rulesDir } = config;
  const named = (text: string) => withoutPaths(text, rulesDir);
  const refused = rules.refusal && named(rules.refusal.join('\n'));
  // A set that was in order, and is: another worker that found it refused says itself when it is in order again.
  if (refused === undefined && kept.audited && kept.audited.refused === undefined) return;
  const { store } = engine;
  if (refused !== (await lastRefusal(store))) {
    const kind = refused === undefined ? 'rules.loaded' : 'rules.rejected';
    const hash = rules.all().length > 0 ? rules.active().hash : undefined;
    await store.appendAudit([{ kind, body: { rulesDir: named(rulesDir), hash, refused } }]);
  }
  kept.audited = { refused };
}

/** Of the last entry about a folder of rules; undefined when it was in order. */
async function lastRefusal(store: Pick<AuditReader, 'audit'>): Promise<string | undefined> {
  const last = async (kind: AuditEntry['kind']) => (await store.audit({ kind, limit: 1 }))[0];
  const [rejected, loaded] = [await last('rules.rejected'), await last('rules.loaded')];
  if (!rejected || (loaded && loaded.seq > rejected.seq)) return undefined;
  return ownText(entryBody(rejected), 'refused');
}
