// pull: an event as it came → the fields that windows count by. Field notes: any part may be absent, lists may be null,
// numbers may come as text. The service of an event is in `service`, otherwise in the destination of the link.
import { clip, NAME_MAX } from '../domain/clip.ts';
import type { TrustEvent } from '../domain/event.ts';
import { type Fact, type Facts, isFacts, own, ownText } from '../domain/facts.ts';
import { isOverlong, KEPT_NAME_BYTES_MAX } from '../domain/kept-name.ts';
import { eventWithoutSecrets } from '../domain/secrets.ts';

export type ReadEvent = { ok: true; event: TrustEvent } | { ok: false; reason: string };

/** `dropped` receives the names of the secrets in its body, such as `message`: bodies are stored. */
export function readEvent(value: unknown, dropped: Set<string>): ReadEvent {
  if (!isFacts(value)) return { ok: false, reason: 'not an object' };
  const id = ownText(value, 'id');
  if (id === undefined || id === '') return { ok: false, reason: 'id is missing or not text' };
  if (isOverlong(id))
    return { ok: false, reason: `id is longer than ${KEPT_NAME_BYTES_MAX} bytes (event ${clip(id, NAME_MAX)})` };
  const createdAtMs = own(value, 'created_at');
  if (typeof createdAtMs !== 'number' || !Number.isSafeInteger(createdAtMs)) {
    return { ok: false, reason: `created_at is not a number of milliseconds (event ${id})` };
  }
  return {
    ok: true,
    event: { id, createdAtMs, ...subjectsOf(value), ...kindsOf(value), body: bodyOf(value, dropped) },
  };
}

function subjectsOf(event: Facts) {
  const principal = own(event, 'user_principal');
  const device = own(principal, 'device');
  const destination = own(own(event, 'link'), 'destination');
  const service = own(event, 'service');
  return {
    deviceId: filled(ownText(device, 'id')),
    serialNumber: filled(ownText(device, 'serial_number')),
    email: filled(ownText(own(principal, 'user'), 'email'))?.toLowerCase(),
    serviceId:
      filled(ownText(service, 'id')) ??
      filled(ownText(destination, 'service_id')) ??
      filled(ownText(destination, 'container_id')),
    serviceName: filled(ownText(service, 'name')) ?? filled(ownText(destination, 'service_name')),
  };
}

function kindsOf(event: Facts) {
  const text = (field: string) => ownText(event, field) ?? '';
  return {
    type: text('type'),
    subType: text('sub_type'),
    action: text('action'),
    severity: text('severity').toUpperCase(),
    result: text('result'),
  };
}

function filled(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

function bodyOf(event: Facts, dropped: Set<string>): Facts {
  const kept = eventWithoutSecrets(event);
  for (const name of kept.dropped) dropped.add(name);
  const body = isFacts(kept.value) ? kept.value : {};
  writeIntegersAsText(body);
  return body;
}

/**
 * Stored events have big integers as text; fresh ones get the same form, so that a count is the same before and after. In place: nobody
 * else has the event.
 */
function writeIntegersAsText(holder: Facts | Fact[]): void {
  if (Array.isArray(holder)) {
    for (let at = 0; at < holder.length; at++) {
      const value = holder[at] as Fact;
      if (typeof value === 'bigint') holder[at] = String(value);
      else if (typeof value === 'object' && value !== null) writeIntegersAsText(value);
    }
    return;
  }
  for (const key of Object.keys(holder)) {
    const value = holder[key] as Fact;
    if (typeof value === 'bigint') holder[key] = String(value);
    else if (typeof value === 'object' && value !== null) writeIntegersAsText(value);
  }
}
