// management contract: the closed sets of values of the Management API: those of its records, which domain knows too, and its own.
// In: the specification and what public clients send. Out: constants and unions. It must never hold a guess of ours
// as if it were a rule: sets that the specification leaves open are used for seeding and filtering, not for refusing.
import type { Flag } from '../../domain/platform-values.ts';

export {
  EVENT_ACTIONS,
  EVENT_SEVERITIES,
  EVENT_SUB_TYPES,
  EVENT_TYPES,
  type EventSeverity,
  FLAGS,
  type Flag,
  type TrustLevel,
} from '../../domain/platform-values.ts';

export function flagOf(value: boolean): Flag {
  return value ? 'TRUE' : 'FALSE';
}

/** Scopes of API keys. ServiceAuthor manages services, ReadOnly reads everything, EventWriter submits events. */
export const KEY_SCOPES = [
  'Admin',
  'ReadOnly',
  'ServiceAuthor',
  'PolicyAuthor',
  'EventWriter',
  'read_logs',
  'access_tier',
  'connector',
  'satellite',
] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

/** The log keeps two weeks or the last 10,000 events; a count of one more means "more than it counts". */
export const EVENTS_RETAINED_MAX = 10_000;
export const EVENTS_RETAINED_MS = 14 * 86_400_000;
export const EVENT_COUNT_ABOVE_MAX = EVENTS_RETAINED_MAX + 1;

/** The text of a success from `mdm/update_device`; any other text is a failure. */
export const MESSAGE_SUCCESS = 'Success';
