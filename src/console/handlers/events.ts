// console handlers: the event log: list, count, feed, types, and submitting.
// In: checked filters, or events as clients send them. Out: events, newest first unless asked otherwise.
import { AppError } from '../../domain/errors.ts';
import { EVENT_TYPES, type EventBatch, type EventInput, stringifyExact } from '../../platform/contract.ts';
import { type Answer, jsonAnswer, textAnswer } from '../answer.ts';
import { envelope, Refusal } from '../refusal.ts';
import { writeEffect } from '../store/device-changes.ts';
import {
  beginningOfLog,
  countEvents,
  type EventMembers,
  filledBlocks,
  listEvents,
  pruneEvents,
  writeEvent,
} from '../store/events.ts';
import type { ConsoleStore } from '../store/store.ts';
import type { Call } from './call.ts';

const LIMIT_DEFAULT = 10;

export function listEventsHandler({ store, query }: Call<'list_events'>): Answer {
  const { order, skip, limit, ...filter } = query;
  const events = listEvents(store, filter, order !== 'asc', skip ?? 0, limit ?? LIMIT_DEFAULT, 'list');
  return textAnswer(`{"data":[${events.join(',')}]}`);
}

export function feedEventsHandler({ store, query }: Call<'feed_events'>): Answer {
  const { order, skip, limit, ...filter } = query;
  const events = listEvents(store, filter, order !== 'asc', skip ?? 0, limit ?? LIMIT_DEFAULT, 'feed');
  return textAnswer(`{"data":[${events.join(',')}]}`);
}

export function countEventsHandler({ store, query }: Call<'count_events'>): Answer {
  return jsonAnswer({ data: countEvents(store, query) });
}

export function listEventTypes({ requestId }: Call<'list_event_types'>): Answer {
  return textAnswer(envelope(requestId, JSON.stringify(EVENT_TYPES)));
}

/**
 * All events of the body are written, or none. An id that is already in the log is not written again. One that the log would drop at once
 * is a reason to refuse: its sender would believe that it is kept.
 */
export function submitEvents({ store, actor, body }: Call<'submit_events'>): Answer {
  const inputs = eventsIn(body);
  refuseOld(store, inputs);
  const latestMs = store.clock.nowMs() + AHEAD_MAX_MS;
  const ids = store.sql.atomically(() => {
    const written = inputs.map((input, index) => writeEvent(store, draftOf(filledBlocks(input), index, latestMs)));
    writeEffect(store, actor, 'events_submitted', '', { count: written.length });
    return written;
  });
  pruneEvents(store);
  return jsonAnswer({
    Message: 'Success',
    data: ids.length === 1 ? '1 event was stored' : `${ids.length} events were stored`,
    ids,
  });
}

function eventsIn(body: Call<'submit_events'>['body']): readonly EventInput[] {
  if (Array.isArray(body)) return body;
  return 'type' in body ? [body as EventInput] : (body as EventBatch).data;
}

// biome-ignore format: a list of names
const OWN_MEMBERS = new Set([
  'id', 'created_at', 'external_id', 'severity', 'type', 'sub_type', 'action', 'result', 'message', 'messages',
  'org_id', 'org_name', 'group_id', 'created_at_ns',
]);

/**
 * Clocks differ; an event from further ahead would hide all later ones from clients that read from the newest time on.
 */
const AHEAD_MAX_MS = 86_400_000;

/** Named in a refusal; it says how many more there are. */
const NAMED_MAX = 10;

function refuseOld(store: ConsoleStore, inputs: readonly EventInput[]): void {
  const { fromMs, why } = beginningOfLog(store);
  const old = inputs.flatMap((input, index) =>
    input.created_at !== undefined && Number(input.created_at) < fromMs ? [index] : [],
  );
  if (old.length === 0) return;
  const more = old.length > NAMED_MAX ? ` and ${old.length - NAMED_MAX} more` : '';
  const named = `${old.length === 1 ? 'event' : 'events'} ${old.slice(0, NAMED_MAX).join(', ')}${more}`;
  throw new Refusal(400, `\`created_at\` of ${named} is before ${fromMs}: ${why}; no event of the request was stored`);
}

function draftOf(input: EventInput, index: number, latestMs: number) {
  const createdAtMs = input.created_at === undefined ? undefined : Number(input.created_at);
  if (createdAtMs !== undefined && (createdAtMs < 0 || createdAtMs > latestMs)) {
    const what = 'must be a time in milliseconds since 1970, at most a day ahead';
    throw new Refusal(400, `\`created_at\` of event ${index} ${what}`);
  }
  const { device, user } = input.user_principal ?? {};
  const end = input.link?.destination ?? input.link?.source;
  const workload = input.workload_principal?.workload_set;
  return {
    type: input.type,
    subType: input.sub_type ?? '',
    action: input.action ?? '',
    severity: input.severity ?? 'INFO',
    message: input.message ?? '',
    ...(input.result === undefined ? {} : { result: input.result }),
    ...(input.id === undefined ? {} : { id: input.id }),
    ...(input.external_id === undefined ? {} : { externalId: input.external_id }),
    ...(createdAtMs === undefined ? {} : { createdAtMs }),
    keys: {
      deviceId: device?.id ?? '',
      serial: device?.serial_number ?? '',
      email: user?.email ?? '',
      serviceName: input.service?.name || end?.service_name || workload?.app_name || '',
      containerId: workload?.container_id || end?.container_id || input.service?.id || '',
    },
    members: otherMembers(input),
  } as const;
}

/** Everything else the client sent stays as it is, digits included. */
function otherMembers(input: EventInput): EventMembers {
  try {
    return Object.fromEntries(
      Object.entries(input)
        .filter(([name, value]) => !OWN_MEMBERS.has(name) && value !== undefined)
        .map(([name, value]) => [name, stringifyExact(value)]),
    );
  } catch (error) {
    throw new AppError('usage', 'an event is nested too deeply', { cause: error });
  }
}
