// domain: one event of the log, with the fields that windows count by. `body` is the event as it came.
import type { Facts } from './facts.ts';

export interface TrustEvent {
  id: string;
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
