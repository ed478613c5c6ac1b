// domain: what a rule judges, and what a snapshot is read from.
export const SUBJECT_KINDS = ['device', 'user', 'service'] as const;
export type SubjectKind = (typeof SUBJECT_KINDS)[number];

export const SOURCES = ['devices', 'users', 'services', 'events'] as const;
export type Source = (typeof SOURCES)[number];

export function isSource(text: string): text is Source {
  return (SOURCES as readonly string[]).includes(text);
}

/** A device's id is its DeviceID, a user's its Email, a service's its ServiceID. */
export interface SubjectRef {
  kind: SubjectKind;
  id: string;
}

/** The field of a record that has its id. */
export const ID_FIELD = { device: 'DeviceID', user: 'Email', service: 'ServiceID' } as const satisfies Record<
  SubjectKind,
  string
>;

export const SOURCE_OF: Record<SubjectKind, Exclude<Source, 'events'>> = {
  device: 'devices',
  user: 'users',
  service: 'services',
};

export const KIND_OF: Record<Exclude<Source, 'events'>, SubjectKind> = {
  devices: 'device',
  users: 'user',
  services: 'service',
};

export const SEVERITIES = ['info', 'low', 'medium', 'high', 'critical'] as const;
export type RuleSeverity = (typeof SEVERITIES)[number];
