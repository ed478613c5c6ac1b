// domain: closed sets of values of the platform's records, in order, as the specification and public clients name them.
// A record may hold others: these are for checking rules, filtering and seeding, not for refusing input.

/** Ordered: a severity filter gives its own level and all above it. */
export const EVENT_SEVERITIES = ['DEBUG', 'INFO', 'WARN', 'ERROR'] as const;
export type EventSeverity = (typeof EVENT_SEVERITIES)[number];

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

/** Of devices; a list that shows others calls them so. Their order is stored (listed-facts.ts). */
export const PLATFORMS = ['Android', 'ChromeOS', 'iOS', 'Linux', 'macOS', 'Windows'] as const;

/** How records spell booleans. */
export const FLAGS = ['TRUE', 'FALSE'] as const;
export type Flag = (typeof FLAGS)[number];

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

export const EVENT_SUB_TYPES = ['Device', 'UserPrincipal', 'Connection', 'Resource', 'Kubernetes', 'Local'] as const;

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
] as const satisfies readonly {
  type: (typeof EVENT_TYPES)[number];
  subType: (typeof EVENT_SUB_TYPES)[number];
  action: string;
  severity: EventSeverity;
}[];

/** Each action's name once: several belong to more than one type. */
export const EVENT_ACTION_NAMES: readonly string[] = [...new Set(EVENT_ACTIONS.map(({ action }) => action))];
