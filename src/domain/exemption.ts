// domain: a person's word that something is left alone for a time: who answers for it, why, and until when.
// What it covers is told by decide/exemptions.ts alone; every path (deciding, the last look, explaining) asks there.
import type { SubjectKind, SubjectRef } from './subjects.ts';
import { isoTime } from './time-text.ts';

/** One value of one field of all records of a kind: a serial number, a platform, a group. */
export interface Selector {
  kind: SubjectKind;
  field: string;
  value: string;
}

export interface Exemption {
  id: string;
  /** One subject by its id; undefined when `selector` says what is meant. */
  subject: SubjectRef | undefined;
  selector: Selector | undefined;
  /** Who answers for it. */
  owner: string;
  reason: string;
  /** It holds until this time, epoch ms; never without an end. */
  expiresAt: number;
  createdAt: number;
  createdBy: string;
  /** When a person ended it before its time. */
  endedAt: number | undefined;
  endedBy: string | undefined;
  endedReason: string | undefined;
  /** When it last stood in the way of a match; undefined: it never did. */
  usedAt: number | undefined;
  /** When its coming end was told. */
  warnedAt: number | undefined;
}

/** The fields that a selector may name. Each belongs to one kind, so that the field alone tells it. */
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

export function isInForce({ endedAt, expiresAt }: Exemption, nowMs: number): boolean {
  return endedAt === undefined && nowMs < expiresAt;
}

/** When people are reminded of one: in reports, and outside. */
export interface ExemptionSettings {
  /** So long before its end it is told. */
  warnMs: number;
  /** One that never matched anything for so long is told. */
  unusedMs: number;
}

export function isEnding({ expiresAt }: Exemption, { warnMs }: ExemptionSettings, nowMs: number): boolean {
  return expiresAt - nowMs <= warnMs;
}

export function isUnused({ usedAt, createdAt }: Exemption, { unusedMs }: ExemptionSettings, nowMs: number): boolean {
  return usedAt === undefined && nowMs - createdAt >= unusedMs;
}

/** `device 4f1c…` or `Platform = macOS`: what an exemption is about, for people. */
export function aboutText({ subject, selector }: Pick<Exemption, 'subject' | 'selector'>): string {
  if (subject) return `${subject.kind} ${subject.id}`;
  return selector ? `${selector.field} = ${selector.value}` : 'nothing';
}

/** Why something is left alone, for people. */
export function exemptionText(exemption: Exemption): string {
  const { id, owner, reason, expiresAt } = exemption;
  return `exemption ${id} (${aboutText(exemption)}) until ${isoTime(expiresAt)}, ${owner} answers for it: ${reason}`;
}
