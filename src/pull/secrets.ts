// pull: services' records without secrets (as `domain/secrets.ts` defines them), before anything is stored, logged or
// evaluated; dropped ones are named. A record without secrets passes unchanged to the byte.
import { type Facts, isFacts, own } from '../domain/facts.ts';
import { withoutSecrets } from '../domain/secrets.ts';

/** Their text is JSON, and is dropped when it is not. `OIDCClientSpec` always holds a client_secret. */
const JSON_FIELDS: ReadonlySet<string> = new Set(['OIDCClientSpec', 'ServiceSpec']);

/** The record without secrets; `dropped` receives their names, such as `OIDCClientSpec.client_secret`. */
export function dropSecrets(record: Facts, dropped: Set<string>): Facts {
  const id = own(record, 'ServiceID');
  // The pull keeps no devices and users, and leaves them unchanged: reading one again must give the same facts.
  if (id === undefined && (Object.hasOwn(record, 'DeviceID') || Object.hasOwn(record, 'Email'))) return record;
  const kept = withoutSecrets(record, { jsonFields: JSON_FIELDS });
  if (kept.dropped.length === 0 || !isFacts(kept.value)) return record;
  for (const name of kept.dropped) dropped.add(name);
  // A service's name is not a secret, and must stay exact.
  return id === undefined ? kept.value : { ...kept.value, ServiceID: id };
}
