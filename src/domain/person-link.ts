// domain: the link to a person's own page: whose it is, and for which match it is in force. In: a secret of the organization's database. Out: a
// text for a path, which says nothing to whoever finds it, and back. INVARIANT: it opens the page of this person and nothing else.

import { openSealed, sealingKey, sealText } from '../base/sealed-text.ts';
import type { ActionName } from './action.ts';
import type { AuditNote } from './audit-entry.ts';
import type { AskedExemption, ExemptionRequest } from './exemption-request.ts';
import type { Fact } from './facts.ts';
import type { RuleFix } from './rule.ts';
import type { CheckedRule } from './run.ts';

/** What the paths of these pages begin with. */
export const PEOPLE_PATH = '/mine';

export interface PersonLink {
  /** The e-mail address. */
  person: string;
  /** The link is in force until this episode is over, with all that it led to. */
  episodeId: string;
  /** Epoch ms. */
  madeAt: number;
}

const PURPOSE = 'trustward link of a person, 1';
/** An address has 254 characters at most, of up to three bytes each. */
const TOKEN = /^[\w-]{40,1400}$/;

/** `organization`: the database of another one, even a copy, makes and opens other links. */
function keyOf(secret: string, organization: string): Uint8Array {
  return sealingKey(Buffer.from(secret, 'base64url'), organization, PURPOSE);
}

/** `nonce`: 12 random bytes. */
export function sealLink(secret: string, organization: string, link: PersonLink, nonce: Uint8Array): string {
  const { person, episodeId, madeAt } = link;
  return sealText(keyOf(secret, organization), JSON.stringify([person, episodeId, madeAt]), nonce);
}

/** Undefined for whatever this secret did not seal. */
export function openLink(secret: string, organization: string, token: string): PersonLink | undefined {
  // One link is one text: no other spelling of its bytes opens it.
  if (!TOKEN.test(token) || Buffer.from(token, 'base64url').toString('base64url') !== token) return undefined;
  const opened = openSealed(keyOf(secret, organization), token);
  if (opened === undefined) return undefined;
  const [person, episodeId, madeAt] = JSON.parse(opened) as [string, string, number];
  return { person, episodeId, madeAt };
}

/** Whose links are revoked together: no address. */
export const EVERYBODY = 'everybody';

/** From now on links of this person that were made before `before` open nothing. */
export interface LinkRefusal {
  person: string;
  before: number;
}

export interface PersonLinkStore {
  /** 256 random bits as text; undefined: no link was made yet. */
  secret(): Promise<string | undefined>;
  /** The one that is kept; `fresh`, if there is none yet. In one transaction with the notes. */
  keepSecret(fresh: string, notes: AuditNote[]): Promise<string>;
  /** From now on this one: what the former one sealed opens nothing. In one transaction with the notes. */
  renewSecret(fresh: string, notes: AuditNote[]): Promise<void>;
  /** Undefined: none of this person is. `person`: in any case. */
  refusedBefore(person: string): Promise<number | undefined>;
  refuse(refusal: LinkRefusal, notes: AuditNote[]): Promise<void>;
}

// What a person sees. Names and texts in it are hostile. INVARIANT: nothing of it is about anybody else.

export interface PersonProblem {
  rule: string;
  title: string;
  /** Epoch ms. */
  since: number;
  /** It is no longer so; what was done about it is still in force. */
  isOver: boolean;
  /** Those of the device itself, while it is so. */
  facts: { readonly [path: string]: Fact };
  fix: RuleFix | undefined;
  /** When what the person was warned of becomes due, and what that is; undefined: there is no deadline. */
  deadline: { dueAt: number; warnText: string | undefined } | undefined;
  /** It has not matched since then, and what was done is undone after `until` if that stays so. */
  clearing: { since: number; until: number } | undefined;
}

/** How it is mended. */
export interface Advice {
  text: string;
  url: string | undefined;
}

export interface PersonDevice {
  id: string;
  name: string;
  serial: string;
  platform: string;
  model: string;
  /** When its state was read, epoch ms. */
  readAt: number | undefined;
  /** Undefined: it works. `isOurs`: Trustward did it, and undoes it. */
  blocked: { since: number | undefined; isOurs: boolean } | undefined;
  problems: readonly PersonProblem[];
  /** A reason that is about somebody or something else holds it, too. */
  hasOther: boolean;
  /** Advice of the platform. */
  factors: readonly Advice[];
  /** What Trustward did to it, the newest first. */
  done: readonly { at: number; action: ActionName }[];
  /** What this person asked about it, the newest first. */
  requests: readonly ExemptionRequest[];
}

export interface PersonPage {
  person: string;
  /** The one that the link is about comes first. */
  devices: readonly PersonDevice[];
  /** There are so many more. */
  more: number;
}

/** What a check again found, of what is this person's to know. */
export interface PersonCheck {
  /** Epoch ms. */
  readAt: number;
  /** It was read less than a minute before: that was found then. */
  isRepeat: boolean;
  /** The platform has it no more. */
  isGone: boolean;
  rules: readonly (Pick<CheckedRule, 'title' | 'verdict' | 'reportedAt' | 'endsAt' | 'hasEnded'> & {
    isUndone: boolean;
  })[];
}

/** What a person may do on their page. Errors of all: AppError. */
export interface PeoplePort {
  /** Of the times that people read, such as `Europe/Berlin`. */
  timeZone: string;
  /** Undefined: the link opens nothing. */
  open(token: string): Promise<PersonPage | undefined>;
  /** Asks an operator to leave a device of theirs alone for a time. */
  ask(asked: AskedExemption): Promise<unknown>;
  /**
   * Has a device of theirs read now, and what it mended undone. The audit has the person as who asked. Errors: `not_found` for one that is no longer
   * theirs, of which nothing is told.
   */
  check(person: string, device: string): Promise<PersonCheck>;
}
