// domain: one event of the log, with the fields that windows count by. `body` is the event as it came.
import type { ActionName } from './action.ts';
import type { Facts } from './facts.ts';
import type { SubjectRef } from './subjects.ts';

export interface TrustEvent {
  /** Unique among all events of all logs. */
  id: string;
  /** Who sent it as a signal, by the name in `signals.yaml`; absent: it is of the platform's own log. */
  transmitter?: string | undefined;
  createdAtMs: number;
  /** Keys of the subjects it belongs to; undefined when the event has no such field. */
  deviceId: string | undefined;
  serialNumber: string | undefined;
  /** Lower case: servers differ in the case of e-mail addresses. */
  email: string | undefined;
  serviceId: string | undefined;
  serviceName: string | undefined;
  type: string;
  subType: string;
  action: string;
  severity: string;
  result: string;
  body: Facts;
}

/** What ids of signals begin with. INVARIANT: no id of the platform's log does, which whoever may submit events can choose. */
export const SIGNAL_ID = 'set:';

export function platformEventId(id: string): string {
  return id.startsWith(SIGNAL_ID) ? `platform:${id}` : id;
}

/**
 * What the event log names somebody else than Trustward did to a target: evidence, not a state. Anybody who may submit events can forge
 * it, so it only ever ends what Trustward claims.
 */
export interface NamedAct {
  /** The id of the event. */
  event: string;
  /** By our clock, epoch ms. */
  atMs: number;
  subject: SubjectRef;
  action: ActionName;
  /** The caller, as the event has it; absent in records of the history. */
  by?: string | undefined;
}

/** The type of the events that the platform writes of what its administrators do. */
export const AUDIT_EVENT = 'Audit';
