// conformance: all rules, in the order of the specification's sections.
// In: the tables of each part. Out: one list. Two rules never share section and line: the docs name them by it.
import { ACCESS_RULES } from './access.ts';
import { BUNDLE_RULES } from './bundles.ts';
import { DEVICE_RULES } from './devices.ts';
import { EVENT_RULES } from './events.ts';
import { FIELD_RULES } from './fields.ts';
import { LIST_RULES } from './lists.ts';
import { POLICY_RULES } from './policies.ts';
import { RECORDED_EVENT_RULES } from './recorded-events.ts';
import { SERVICE_RULES } from './services.ts';
import { SPEC_RULES } from './spec-fields.ts';
import type { Rule } from './target.ts';
import { V2_RULES } from './v2.ts';

/** The specification's sections, in its order. */
export const SECTIONS = [
  'Enduser',
  'Device',
  'MdmData',
  'TrustData',
  'Factor',
  'Event',
  'Event: user_principal.device',
  'Event: user_principal.user',
  'Registered service',
  'Service spec (request body of create/update)',
  'Service bundle',
  'Bundled service (association of a service with a bundle)',
  'Bundle envelope',
  'States and transitions',
  '1. List end users',
  '2. List devices',
  '3. Delete an end-user device',
  '4. Ban or unban devices',
  '5. List events',
  '6. Count events',
  '7. Events feed',
  '8. List services',
  '9. Create or update a service',
  '10. Delete a service',
  '11. Enable a service',
  '12. Disable a service',
  'Bundle endpoints',
  'Authentication',
  'Errors',
  'Limits',
  'Versioning',
] as const;

const ALL: Rule[] = [
  ...FIELD_RULES,
  ...SPEC_RULES,
  ...LIST_RULES,
  ...EVENT_RULES,
  ...RECORDED_EVENT_RULES,
  ...V2_RULES,
  ...POLICY_RULES,
  ...SERVICE_RULES,
  ...BUNDLE_RULES,
  ...ACCESS_RULES,
  // Last, since they delete what others read.
  ...DEVICE_RULES,
];

/** By section; within one, as they are checked. */
export const RULES: readonly Rule[] = SECTIONS.flatMap((section) => ALL.filter((rule) => rule.section === section));

/** Rules of a section that the specification does not have: there must be none. */
export const STRAY_RULES: readonly Rule[] = ALL.filter((rule) => !SECTIONS.some((section) => section === rule.section));
