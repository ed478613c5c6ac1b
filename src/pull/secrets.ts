// pull: services' records without secrets (`domain/secrets.ts` says what one is), before anything is stored, logged or evaluated;
// what was dropped is named. What holds none must come through to the byte.
import { type Facts, isFacts, own } from '../domain/facts.ts';
import { withoutSecrets } from '../domain/secrets.ts';

/** Their text is JSON, or it is not kept. `OIDCClientSpec` always holds a client_secret. */
const JSON_FIELDS: ReadonlySet<string> = new Set(['OIDCClientSpec', 'ServiceSpec']);

/** The record without secrets; `dropped` gets their names, such as `OIDCClientSpec.client_secret`. */
export function dropSecrets(record: Facts, dropped: Set<string>): Facts {
  const id = own(record, 'ServiceID');
  // The pull leaves devices and users as they are, since it keeps none: who reads one of them again must find the same facts.
  if (id === undefined && (Object.hasOwn(record, 'DeviceID') || Object.hasOwn(record, 'Email'))) return record;
  const kept = withoutSecrets(record, { jsonFields: JSON_FIELDS });
  if (kept.dropped.length === 0 || !isFacts(kept.value)) return record;
  for (const name of kept.dropped) dropped.add(name);
  // What a service is called by is no secret, and must stay exact.
  return id === undefined ? kept.value : { ...kept.value, ServiceID: id };
}
