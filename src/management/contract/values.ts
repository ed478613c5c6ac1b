// management contract: the closed sets of values of the Management API, in their order.
// In: the specification and what public clients send. Out: constants and unions. It must never hold a guess of ours
// as if it were a rule: sets that the specification leaves open are used for seeding and filtering, not for refusing.

/** Ordered: a severity filter gives its own level and all above it. */
export const SEVERITIES = ['DEBUG', 'INFO', 'WARN', 'ERROR'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** The severities that a minimum admits: `INFO` → INFO, WARN and ERROR. */
export function severitiesFrom(minimum: Severity): readonly Severity[] {
  return SEVERITIES.slice(SEVERITIES.indexOf(minimum));
}

/** Ordered from least to most trusted. */
export const TRUST_LEVELS = ['AlwaysDeny', 'Low', 'Medium', 'High', 'AlwaysAllow'] as const;
export type TrustLevel = (typeof TRUST_LEVELS)[number];

/** Empty is also seen. */
export const OWNERSHIPS = [
  'Corporate Dedicated',
  'Corporate Shared',
  'Employee Owned',
  'Other',
  'UNKNOWN',
  'Undefined',
] as const;
export type Ownership = (typeof OWNERSHIPS)[number];

/** How records spell booleans. */
export const FLAGS = ['TRUE', 'FALSE'] as const;
export type Flag = (typeof FLAGS)[number];

export function flagOf(value: boolean): Flag {
  return value ? 'TRUE' : 'FALSE';
}

export const SERVICE_TYPES = ['user-defined', 'unknown', 'origin'] as const;
export type ServiceType = (typeof SERVICE_TYPES)[number];

export const EVENT_TYPES = [
  'Registration',
  'Identity',
  'Access',
  'TrustScoring',
  'Audit',
  'AdminLogin',
  'Threat',
  'Compliance',
  'NetagentRestart',
  'ITPStatus',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

export const EVENT_SUB_TYPES = ['Device', 'UserPrincipal', 'Connection', 'Resource', 'Kubernetes', 'Local'] as const;
export type EventSubType = (typeof EVENT_SUB_TYPES)[number];

/** Actions by type and sub-type, with the severity of each. */
export const EVENT_ACTIONS = [
  { type: 'Registration', subType: 'Device', action: 'Register', severity: 'INFO' },
  { type: 'Registration', subType: 'Device', action: 'Register Failed', severity: 'ERROR' },
  { type: 'Registration', subType: 'Device', action: 'Unregister', severity: 'WARN' },
  { type: 'Registration', subType: 'Device', action: 'Unregister Failed', severity: 'ERROR' },
  { type: 'Identity', subType: 'UserPrincipal', action: 'Grant', severity: 'INFO' },
  { type: 'Identity', subType: 'UserPrincipal', action: 'Deny', severity: 'ERROR' },
  { type: 'Identity', subType: 'UserPrincipal', action: 'OCSP', severity: 'DEBUG' },
  { type: 'Identity', subType: 'UserPrincipal', action: 'MDM', severity: 'DEBUG' },
  { type: 'Identity', subType: 'UserPrincipal', action: 'IDP', severity: 'DEBUG' },
  { type: 'Access', subType: 'Connection', action: 'Authorized', severity: 'INFO' },
  { type: 'Access', subType: 'Connection', action: 'Unauthorized', severity: 'ERROR' },
  { type: 'Access', subType: 'Resource', action: 'Authorized', severity: 'INFO' },
  { type: 'Access', subType: 'Resource', action: 'Unauthorized', severity: 'ERROR' },
  { type: 'TrustScoring', subType: 'Device', action: 'TrustScoreCalculate', severity: 'INFO' },
] as const satisfies readonly { type: EventType; subType: EventSubType; action: string; severity: Severity }[];
export type EventAction = (typeof EVENT_ACTIONS)[number]['action'];

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

/** The log keeps two weeks or the last 10,000 events; a count of one more means "more than can be told". */
export const EVENTS_RETAINED_MAX = 10_000;
export const EVENTS_RETAINED_MS = 14 * 86_400_000;
export const EVENT_COUNT_MORE_THAN_CAN_BE_TOLD = EVENTS_RETAINED_MAX + 1;

/** What `mdm/update_device` says of a success; any other text is a failure. */
export const MESSAGE_SUCCESS = 'Success';
