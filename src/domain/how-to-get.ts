// domain: what a person can do about a fact that was missing, so that a rule could judge. In: the fact, as a tally names it, and why it
// was missing. Out: one sentence without names from records. It reads nothing; docs/facts.md lists the facts.
import { SOURCES, type Source } from './subjects.ts';
import type { DoubtWhy } from './verdict.ts';

export interface MissingFact {
  /** A path (`MdmData.CompromisedStatus`), the text of an operator, or that of an error. */
  fact: string;
  /** For some of the subjects. */
  whys: readonly DoubtWhy[];
  /** Sources that the server refused (403). */
  unavailable: readonly Source[];
}

const BY_PATH: readonly (readonly [path: RegExp, text: string])[] = [
  [/^MdmData\b/, 'let the device report to the MDM, and the MDM to the platform; the next run reads it'],
  [/^TrustData\b/, 'let the device sign in once, so that the platform scores it; the next run reads it'],
  [/^(Roles|Groups)\b/, 'assign it in the platform or the identity provider; it is known after the next sign-in'],
  [
    /^(OS|AppVersion|Platform|Model|Architecture)\b/,
    'let the app on the device connect once; it then reports its version and platform',
  ],
  [/^(SerialNumber|Ownership|DeviceFriendlyName)\b/, 'let the MDM or the person who registers the device set it'],
  [
    /^(Emails|LastLogin|LoginCount)\b/,
    'let somebody sign in on the device; if all devices lack it, the unpaged device list does not show it',
  ],
  [/^SerialNumbers\b/, 'let the person register a device; if all users lack it, the user list does not show it'],
  [/^(\$spec|ServiceSpec)\b/, 'open the service in the console and save it, so that its definition is valid JSON'],
  [/^\$owners\b/, 'let the owner sign in on the device, and check that the user list has the owner'],
  [/^\$devices\b/, 'let the person register a device, and check that the device list has it'],
];

const EVENT_FACT = /^(event_count|event_distinct|since_last_event)\(|^the event log$/;

const PAST_FACT = /^(previous|changed_within|unchanged_for)\(/;

/** Errors: none; a fact that is not listed gets the way to find out more. */
export function howToGet({ fact, whys, unavailable }: MissingFact): string {
  const refused = sourcesOf(fact).filter((source) => unavailable.includes(source));
  if (refused.length > 0)
    return `the server does not offer ${refused.join(' and ')} (403): use an edition and a credential that do, or rules that do not need it`;
  if (EVENT_FACT.test(fact))
    return 'let Trustward run without a gap for as long as the window of the rule: the event log is then known throughout';
  if (PAST_FACT.test(fact))
    return 'keep a history (TRUSTWARD_HISTORY) and let runs see the field, without a day between them, for as long as the rule looks back';
  if (whys.includes('stale'))
    return 'it is too old: let the device report again (its MDM or its app); the next run reads it';
  if (whys.includes('not_in_lists'))
    return 'set TRUSTWARD_API_LISTS=v1 if the server has the lists of version 1, or use a rule that does not need it';
  const known = BY_PATH.find(([path]) => path.test(fact));
  if (known) return known[1];
  if (whys.includes('unavailable'))
    return 'the server does not offer its source (403): use an edition and a credential that do, or a rule that does not need it';
  return 'ask `trustward explain RULE SUBJECT`: it shows what the record has, and what the rule needs';
}

/** The sources beside the subject's own that a fact is read from. */
function sourcesOf(fact: string): Source[] {
  if (EVENT_FACT.test(fact)) return ['events'];
  if (fact.startsWith('$owners')) return ['users'];
  return SOURCES.filter((source) => fact.startsWith(`$${source}`));
}
