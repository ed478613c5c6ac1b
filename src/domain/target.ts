// domain: what deciding and acting need of a matched record: small, so that the whole fleet is never kept.
import { type Fact, type Facts, own, ownText, ownTexts } from './facts.ts';
import type { SubjectKind } from './subjects.ts';

/** The fields of a record that actions write, as read. */
export interface StateRead {
  [field: string]: string | undefined;
}

export interface SubjectSummary {
  kind: SubjectKind;
  id: string;
  /** A name for people: friendly name, user name or service name. */
  name: string;
  /** A device's SerialNumber; empty for other kinds. */
  serial: string;
  /** A user's SerialNumbers, known from the unpaged list only. */
  serials: string[] | undefined;
  /** A user's groups. */
  groups?: string[];
  /** A device's Emails, known from the unpaged list only. */
  owners: string[] | undefined;
  state: StateRead;
  model: string;
  platform: string;
  /** A service's `ServiceSpec` as read, without secrets: it shows what an action would change. */
  spec?: Fact | undefined;
}

/** A user without devices, or one whose devices the server does not report. */
export function hasNoKnownDevice({ serials }: SubjectSummary): boolean {
  return serials === undefined || serials.length === 0;
}

/** A user's groups: one text with commas, or a list of texts. */
export function groupsOf(record: Facts): string[] {
  const text = own(record, 'Groups');
  return ownTexts(record, 'Groups') ?? (typeof text === 'string' ? text.split(',').map((group) => group.trim()) : []);
}

/** `fieldsWritten`: what `state` keeps; a summary that only names its subject needs none. */
export function summaryOf(kind: SubjectKind, record: Facts, fieldsWritten: readonly string[] = []): SubjectSummary {
  const state = stateRead(record, fieldsWritten);
  switch (kind) {
    case 'device':
      return {
        kind,
        id: ownText(record, 'DeviceID') ?? '',
        name: ownText(record, 'DeviceFriendlyName') ?? '',
        serial: ownText(record, 'SerialNumber') ?? '',
        serials: undefined,
        owners: ownTexts(record, 'Emails'),
        state,
        model: ownText(record, 'Model') ?? '',
        platform: ownText(record, 'Platform') ?? '',
      };
    case 'user':
      return {
        ...EMPTY,
        kind,
        id: ownText(record, 'Email') ?? '',
        name: ownText(record, 'Name') ?? '',
        state,
        serials: ownTexts(record, 'SerialNumbers'),
        groups: groupsOf(record),
      };
    case 'service':
      return {
        ...EMPTY,
        kind,
        id: ownText(record, 'ServiceID') ?? '',
        name: ownText(record, 'ServiceName') ?? '',
        state,
        spec: own(record, 'ServiceSpec'),
      };
  }
}

const EMPTY = { serial: '', serials: undefined, owners: undefined, model: '', platform: '' };

export function stateRead(record: Facts, fieldsWritten: readonly string[]): StateRead {
  const state: StateRead = {};
  for (const field of fieldsWritten) state[field] = flagText(record, field);
  return state;
}

/** A flag as `"TRUE"` or `"FALSE"`; some servers send booleans. */
export function flagText(record: Facts, field: string): string | undefined {
  const value = own(record, field);
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE';
  return typeof value === 'string' ? value.toUpperCase() : undefined;
}
