// domain: a person asks that a device of theirs is left alone for a time; an operator answers. In: what the person wrote, which is hostile: escape it
// where it is shown. Out: the request, and what the person reads of it. It protects nothing: only the exemption that an operator makes of it does.

import { DAY_MS, HOUR_MS, spanText, timeText } from '../base/time.ts';
import { AppError } from './errors.ts';
import type { Exemption } from './exemption.ts';
import { type Identity, nameKey } from './identity.ts';

/** `withdrawn` by the person. `expired` follows from the time alone: the row still waits. */
export const REQUEST_STATUSES = ['waiting', 'granted', 'refused', 'withdrawn', 'expired'] as const;
export type RequestStatus = (typeof REQUEST_STATUSES)[number];

export interface ExemptionRequest {
  id: string;
  /** The e-mail address of the owner who asks, in lower case. */
  person: string;
  /** A DeviceID, and the serial number and the name that the device had then; empty: none. */
  device: string;
  serial: string;
  name: string;
  /** The newest match of the device when it was asked; undefined: no rule matched it. */
  rule: string | undefined;
  episodeId: string | undefined;
  reason: string;
  /** How long it is asked for, from the yes on. */
  forMs: number;
  askedAt: number;
  status: RequestStatus;
  answeredAt: number | undefined;
  answeredBy: string | undefined;
  /** The operator's, to the person. */
  sentence: string | undefined;
  /** The id of the exemption that was made of it, and until when that holds, or held: it may be ended early. */
  exemption: string | undefined;
  exemptUntil: number | undefined;
}

/** What a person asks, from the page that shows their devices. */
export interface AskedExemption {
  person: string;
  /** Its DeviceID. */
  device: string;
  reason: string;
  forMs: number;
}

/** What a store demands of a new one, in the transaction that adds it. */
export const REQUESTS_A_DAY = 3;
/** Nobody answered: it is over. */
export const REQUEST_WAITS_MS = 7 * DAY_MS;
export const REQUEST_REASON_MAX = 500;
export const REQUEST_FOR_MS = { min: HOUR_MS, max: 30 * DAY_MS } as const;

export function expiresAtOf({ askedAt }: Pick<ExemptionRequest, 'askedAt'>): number {
  return askedAt + REQUEST_WAITS_MS;
}

export function requestStatusAt(request: Pick<ExemptionRequest, 'status' | 'askedAt'>, nowMs: number): RequestStatus {
  return request.status === 'waiting' && nowMs >= expiresAtOf(request) ? 'expired' : request.status;
}

/** Of what is known, the device if the last trusted reading has it and names this person as an owner. */
export function ownDevice(identities: readonly Identity[], device: string, person: string): Identity | undefined {
  const key = nameKey(person);
  return identities.find(
    ({ kind, id, goneAt, owners = [] }) =>
      kind === 'device' && id === device && goneAt === undefined && owners.some((owner) => nameKey(owner) === key),
  );
}

/** Errors: AppError `conflict` that names who answered it, and when. */
export function demandWaiting(request: ExemptionRequest, nowMs: number): void {
  const status = requestStatusAt(request, nowMs);
  if (status === 'waiting') return;
  const { id, answeredBy, answeredAt = nowMs } = request;
  const how =
    status === 'expired'
      ? `expired at ${timeText(expiresAtOf(request))}: nobody answered it`
      : `was ${status} by ${answeredBy ?? 'somebody'} at ${timeText(answeredAt)}`;
  throw new AppError('conflict', `request ${id} ${how}`);
}

/** What is in force stays: an exemption holds back new actions only. For the operator and the person. */
export const GRANT_UNDOES_NOTHING =
  'what was done before stays in force until its rule no longer matches or an operator releases it';

/** For the person who asked, in plain words; the operator's sentence follows it. */
export function requestWords(
  request: ExemptionRequest,
  nowMs: number,
  times: (atMs: number) => string = timeText,
): string {
  const { forMs, exemptUntil } = request;
  switch (requestStatusAt(request, nowMs)) {
    case 'waiting':
      return `You asked for an exemption of ${spanText(forMs)}. Nobody has answered yet; the request expires at ${times(expiresAtOf(request))}.`;
    case 'granted':
      return exemptUntil !== undefined && exemptUntil <= nowMs
        ? `Granted. The exemption ended at ${times(exemptUntil)}.`
        : `Granted until ${times(exemptUntil ?? nowMs)}: nothing new is done to this device until then. What was done before stays until the problem is mended or an operator undoes it.`;
    case 'refused':
      return 'Refused.';
    case 'withdrawn':
      return 'You withdrew this request.';
    case 'expired':
      return `Nobody answered in time: the request expired at ${times(expiresAtOf(request))}. You can ask again.`;
  }
}

/** An answer, and the exemption that it makes. */
export interface AnsweredRequest {
  request: ExemptionRequest;
  exemption?: Exemption;
}
