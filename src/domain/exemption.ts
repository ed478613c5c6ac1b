// domain: an operator's request to leave something alone for a time: who is responsible, why, and until when.
// decide/exemptions.ts alone decides what it covers; every path (deciding, preflight, explaining) asks there.
import { shownName } from './clip.ts';
import type { SubjectKind, SubjectRef } from './subjects.ts';
import { timeText } from './time-text.ts';

/** One value of one field of all records of a kind: a serial number, a platform, a group. */
export interface Selector {
  kind: SubjectKind;
  field: string;
  value: string;
}

export interface Exemption {
  id: string;
  /** One subject by its id; undefined when `selector` names the subjects. */
  subject: SubjectRef | undefined;
  selector: Selector | undefined;
  /** Who is responsible for it. */
  owner: string;
  reason: string;
  /** It holds until this time, epoch ms; never without an end. */
  expiresAt: number;
  createdAt: number;
  createdBy: string;
  /** When it was ended early. */
  endedAt: number | undefined;
  endedBy: string | undefined;
  endedReason: string | undefined;
  /** When it last held back a match; undefined: never. */
  usedAt: number | undefined;
  /** When its coming end was announced. */
  warnedAt: number | undefined;
  /** A person accepted that devices report the selector's field themselves. */
  acceptForgeable?: boolean;
  /**
   * Whom it covers (`ExemptionMembers`). Undefined: no trusted reading has shown that since it was made, so it covers all that it is about;
   * or whoever read it did not ask.
   */
  members?: string;
}

/** The fields that a selector may name. Each belongs to one kind, so the field alone decides the kind. */
export const SELECTOR_FIELDS: Readonly<Record<string, SubjectKind>> = {
  DeviceID: 'device',
  SerialNumber: 'device',
  DeviceFriendlyName: 'device',
  Platform: 'device',
  Model: 'device',
  Email: 'user',
  Name: 'user',
  Groups: 'user',
  ServiceID: 'service',
  ServiceName: 'service',
};

/**
 * Those that a device reports about itself, so that whoever controls it chooses the value: its user names it, and its app reports platform and
 * model. The app reports the serial number too, but an exemption of one names a device: it covers the DeviceIDs that had it.
 * DeviceIDs, addresses, names of users and groups are kept by the platform and its identity provider, and services by administrators.
 */
export const FORGEABLE_FIELDS: readonly string[] = ['DeviceFriendlyName', 'Platform', 'Model'];

export function isInForce({ endedAt, expiresAt }: Exemption, nowMs: number): boolean {
  return endedAt === undefined && nowMs < expiresAt;
}

/** When reports and alerts remind of an exemption. */
export interface ExemptionSettings {
  /** Its end is announced this long before it. */
  warnMs: number;
  /** One that matched nothing for this long is announced. */
  unusedMs: number;
}

export function isEnding({ expiresAt }: Exemption, { warnMs }: ExemptionSettings, nowMs: number): boolean {
  return expiresAt - nowMs <= warnMs;
}

export function isUnused({ usedAt, createdAt }: Exemption, { unusedMs }: ExemptionSettings, nowMs: number): boolean {
  return usedAt === undefined && nowMs - createdAt >= unusedMs;
}

/** `device 4f1c…` or `Platform = macOS`: what an exemption covers, for people. */
export function aboutText({ subject, selector }: Pick<Exemption, 'subject' | 'selector'>): string {
  if (subject) return `${subject.kind} ${subject.id}`;
  return selector ? `${selector.field} = ${shownName(selector.value)}` : 'nothing';
}

/** Why something is left alone, for people. */
export function exemptionText(exemption: Exemption): string {
  const { id, owner, reason, expiresAt } = exemption;
  return `exemption ${id} (${aboutText(exemption)}) until ${timeText(expiresAt)}, ${owner} is responsible for it: ${reason}`;
}
