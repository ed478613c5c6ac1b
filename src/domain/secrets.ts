// domain: the one list of secret names, and values without secrets. In: a name, or a value as it came, hostile. Out:
// the value without its secrets, and where they were. A value without secrets comes back as the same object; no
// reported name holds a secret. What rules judge and later steps compare (facts, events) is not hidden for its name
// alone, and its hidden parts still compare.
import { parse, stringify } from 'lossless-json';
import { comparable, cutOut, DROPPED, isNoValue, secretsIn, withoutUser } from '../base/secret-texts.ts';
import { placeOf } from '../base/text.ts';
import { namesOf } from './fact-prints.ts';
import { exactNumber, type Fact, type Facts, isFacts, ownText, unescapeHtml } from './facts.ts';

/** Where a secret lies: a file of a folder that the process is set to, or a variable of its environment. */
export type SecretPlace = { file: string } | { env: string };

/** By which others sign tokens that we read: never by a secret that we share. */
export const TOKEN_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

/** A blank stands for what may separate two words of a name: nothing, or one of `-_ .`. */
const words = (list: readonly string[]): string => list.map((word) => word.replaceAll(' ', '[-_ .]?')).join('|');
const ANYWHERE = words([
  'secret',
  'passw',
  'pass word',
  'pass phrase',
  'pass code',
  'pwd',
  'credential',
  'connection string',
]);
/** A key's id, name or place is not the key; a `key`, `KeyID` or `key_file` alone is not one either. */
const KEYS = words([
  '(?:private|secret|api|access|encryption|signing|shared|account|auth|master|session) key(?! (?:id|name|type|file|path)s?$)',
]);
/** Only at the end: `token_type` and `authorization_endpoint` are harmless. */
const AT_END = words(['token', 'authorization', 'cookie', 'jwt', 'bearer', '(?<![a-z])(?:pass|psk|cred)']);
const NAME = new RegExp(`${ANYWHERE}|${KEYS}|(?:${AT_END})(?:[-_ .]?value)?s?$`, 'i');

/** Cheap tests before anything is parsed: most texts hold no secret. A name can be spelled with escapes. */
const MAY_NAME = new RegExp(`${ANYWHERE}|${KEYS}|${AT_END}|\\\\u00`, 'i');
const MAY_HOLD = new RegExp(
  `${MAY_NAME.source}|@|basic|-----begin|eyJ|AKIA|ASIA|gh[a-z]_|github_pat_|glpat-|xox|k_live_|k_test_|AIza`,
  'i',
);
const LOOKS_LIKE_JSON = /^\s*(?:[[{"]|&#34;|&quot;)/;
/** `[error] …` does not match. */
const BEGINS_AS_JSON = /^\s*(?:\{|\[\s*(?:[[{"]|&#34;|&quot;))/;

/** An e-mail address: one `@`, and nothing that begins JSON, assigns a value or names a scheme. */
const ADDRESS = /^[\w.+-]+@[\w.-]+$/;

/** `{"name": "Authorization", "value": …}`, as in lists of headers and variables. */
const PAIR_NAMES: readonly string[] = ['name', 'key', 'header', 'variable', 'field'];
const PAIR_VALUE = /^(?:values?|val|default|content)$/i;

/** A name beside a secret: `token.id`. */
const CALLS = /(?:ids?|names?|e-?mail|types?)$/i;
const TIME = /^\d{4}-\d{2}-\d{2}(?:T[\d:.,+Z-]*)?$/;
const STATE_CODE = /^(?:[A-Z]+\d{1,3}|v\d+)$/;

/** Specs are a handful of levels deep; anything deeper is hostile and dropped. */
const DEPTH_MAX = 100;

/** Whether a value of this name is a secret, such as `client_secret`, `X-Api-Key` or `db.pwd`. */
export function isSecretName(name: string): boolean {
  return NAME.test(name);
}

/** The same for a member, which may be the value of a pair: `value` beside `"name": "Authorization"`. */
export function isSecretMember(owner: Fact | undefined, key: string): boolean {
  return isSecretName(key) || (isFacts(owner) && PAIR_VALUE.test(key) && hasSecretName(owner));
}

function hasSecretName(pair: Facts): boolean {
  return Object.keys(pair).some(
    (key) => PAIR_NAMES.includes(key.toLowerCase()) && isSecretName((ownText(pair, key) ?? '').trim()),
  );
}

/** Fields of records whose text is JSON, and is dropped when it is not. `OIDCClientSpec` always holds a client_secret. */
export const JSON_FIELDS: ReadonlySet<string> = new Set(['OIDCClientSpec', 'ServiceSpec']);

interface RedactOptions {
  /** Replaces a secret. Without it members are left out, and items of lists are null: an unknown fact. */
  instead?: (secret: string) => string;
  /** Only the secret part of a text is removed; otherwise all of it. */
  isCut?: boolean;
  /** A name is not enough: agents have a `PasscodeStatus`. The value of such a name must look like a secret as well. */
  needsForm?: boolean;
  /** Members whose text is JSON, and is dropped when it is not. */
  jsonFields?: ReadonlySet<string>;
}

interface Kept {
  /** Undefined: all of it was secret. */
  value: Fact | undefined;
  /** Paths of what was dropped, such as `spec.backend.password`. */
  dropped: string[];
}

export function withoutSecrets(value: Fact, options: RedactOptions = {}): Kept {
  const search = new Search(options);
  const kept = search.look(value, '', 0);
  return { value: search.dropped.length > 0 ? kept : value, dropped: search.dropped };
}

/** An event, before rules count it and it is stored: with its texts; the parts cut out of them still compare. */
export function eventWithoutSecrets(event: Facts): Kept {
  if (isPlainlyClean(event, 0)) return { value: event, dropped: [] };
  return withoutSecrets(event, { instead: comparable, isCut: true, needsForm: true });
}

/** A text from a server or a person, for people. Nothing compares it. */
export function textWithoutSecrets(text: string): string {
  return String(withoutSecrets(text, { instead: () => DROPPED, isCut: true }).value);
}

/**
 * A fact that is shown or kept by itself, outside its record. `name`: the path that it was read by. Its secret parts
 * are hidden so that equal values stay equal and different ones stay different; a value redacted once may be redacted
 * again.
 */
export function redacted(value: Fact, name = ''): Fact {
  const isNamed = name !== '' && isSecretName(name);
  if (!isNamed && isPlainlyClean(value, 0)) return value;
  const kept = new Search({ instead: comparable, needsForm: true }).look(value, '', 0, isNamed);
  return kept === undefined ? DROPPED : kept;
}

/**
 * Whether a cheap look proves that nothing is secret; most events have nothing of the kind. It may miss a clean value, never a secret:
 * no name is one of secrets or pairs, and no text has what `Search` looks for, except for the `@` of an address.
 */
function isPlainlyClean(value: Fact, depth: number): boolean {
  if (typeof value === 'string') return CLEAN_TEXTS.isAmong(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth > DEPTH_MAX) return false;
  if (Array.isArray(value)) {
    for (const item of value) if (!isPlainlyClean(item, depth + 1)) return false;
    return true;
  }
  for (const key of Object.keys(value)) {
    const isPlain = CLEAN_NAMES.isAmong(key) || (PLAIN_NAMES.isAmong(key) && !mayBePair(value));
    if (!isPlain || !isPlainlyClean(value[key] as Fact, depth + 1)) return false;
  }
  return true;
}

function mayBePair(owner: Facts): boolean {
  return Object.keys(owner).some(
    (key) => PAIR_NAMES.includes(key.toLowerCase()) && !PLAIN_NAMES.isAmong(String(owner[key])),
  );
}

/** Whether a cheap look proves that one fact of a record is no secret, and that its path does not make it one. It may miss a clean fact. */
export function isPlainlyCleanFact(path: string, value: Fact): boolean {
  return CLEAN_PATHS.isAmong(path) && isPlainlyClean(value, 0);
}

/** Texts that passed a test, so that most are tested once: records and events repeat them. */
class Passed {
  private readonly recent: (string | undefined)[] = new Array(RECENT);
  constructor(private readonly test: (text: string) => boolean) {}

  isAmong(text: string): boolean {
    if (text.length > REMEMBERED_LENGTH_MAX) return this.test(text);
    const place = placeOf(text, RECENT);
    if (this.recent[place] === text) return true;
    if (!this.test(text)) return false;
    this.recent[place] = text;
    return true;
  }
}

/** A power of two. */
const RECENT = 2_048;
const REMEMBERED_LENGTH_MAX = 64;
const PLAIN_NAMES = new Passed((name) => !MAY_HOLD.test(name));
const CLEAN_NAMES = new Passed((name) => !MAY_HOLD.test(name) && !PAIR_VALUE.test(name));
const CLEAN_PATHS = new Passed((path) => namesOf(path).every((name) => CLEAN_NAMES.isAmong(name)));
const CLEAN_TEXTS = new Passed(
  (text) => !MAY_HOLD.test(text) || (ADDRESS.test(text) && !MAY_HOLD.test(text.replace('@', ' '))),
);

class Search {
  readonly dropped: string[] = [];
  constructor(private readonly options: RedactOptions) {}

  /** `isNamed`: it has the name of a secret, which is not enough. */
  look(value: Fact, path: string, depth: number, isNamed = false): Fact | undefined {
    if (typeof value === 'string') return this.lookIntoText(value, path, depth, isNamed);
    if (typeof value !== 'object' || value === null) return value;
    if (depth > DEPTH_MAX) return this.drop(path, '', 'whole: nested too deep to be looked through');
    if (Array.isArray(value)) return value.map((item) => this.look(item, path, depth + 1, isNamed) ?? null);
    return this.lookIntoMembers(value, path, depth, isNamed);
  }

  private lookIntoMembers(owner: Facts, path: string, depth: number, isNamed: boolean): Facts {
    const members: [string, Fact][] = [];
    for (const [key, member] of Object.entries(owner)) {
      // The note on a drop is kept: a name that holds a secret is not named.
      if (MAY_HOLD.test(key) && (holdsSecret(key) || withoutUser(key) !== key)) {
        this.drop(path, '', 'a name that holds a secret');
        continue;
      }
      const name = path === '' ? key : `${path}.${key}`;
      const isSecret = isSecretMember(owner, key) && isWorthHiding(key, member);
      const kept =
        isSecret && !this.options.needsForm
          ? this.drop(name, typeof member === 'string' ? member : '')
          : this.look(member, name, depth + 1, isSecret || (isNamed && !CALLS.test(key)));
      if (kept !== undefined) members.push([key, kept]);
    }
    return Object.fromEntries(members);
  }

  private lookIntoText(text: string, path: string, depth: number, isNamed: boolean): Fact | undefined {
    if (isNamed && looksMade(text)) return this.drop(path, text);
    if (!MAY_HOLD.test(text)) return text;
    const isJsonField = this.options.jsonFields?.has(path) ?? false;
    if (isJsonField || LOOKS_LIKE_JSON.test(text)) {
      const value = parsed(text);
      if (value !== undefined) return this.lookIntoJson(text, value, path, depth);
      if ((isJsonField || BEGINS_AS_JSON.test(text)) && MAY_NAME.test(text))
        return this.drop(path, text, 'whole: it is not JSON and may hold a secret');
    }
    const found = secretsIn(text, isSecretName);
    if (found.length > 0 && !(this.options.isCut && this.options.instead)) return this.drop(path, text);
    const cut = this.options.instead ? cutOut(text, found, this.options.instead) : text;
    if (cut !== text) this.drop(path, text);
    const kept = withoutUser(cut, this.options.instead);
    if (kept !== cut) this.drop(path, text, 'user information of an address');
    return kept;
  }

  private lookIntoJson(text: string, value: Fact, path: string, depth: number): Fact | undefined {
    const before = this.dropped.length;
    const kept = this.look(value, path, depth + 1);
    if (this.dropped.length === before) return text;
    return kept === undefined ? undefined : stringify(kept);
  }

  private drop(path: string, secret: string, note?: string): string | undefined {
    this.dropped.push([path, note && `(${note})`].filter((part) => part).join(' '));
    return this.options.instead?.(secret);
  }
}

/** A switch, an empty value and a number of tokens are no secrets, whatever they are called. */
function isWorthHiding(name: string, value: Fact): boolean {
  if (value === null || typeof value === 'boolean') return false;
  if (typeof value === 'number') return !/tokens$/i.test(name);
  return typeof value !== 'string' || !isNoValue(value);
}

/**
 * Whether a text looks made by a machine or chosen as a password; states, versions and times are words:
 * `NON_COMPLIANT`, `AES256_GCM`.
 */
function looksMade(text: string): boolean {
  const word = text.trim();
  if (word.length < 8 || /\s/.test(word) || TIME.test(word)) return false;
  return word.split(/[^\p{L}\d]+/u).some((part) => /\p{L}/u.test(part) && /\d/.test(part) && !STATE_CODE.test(part));
}

function holdsSecret(text: string): boolean {
  return secretsIn(text, isSecretName).length > 0;
}

/** Some servers HTML-escape JSON texts. Undefined: it is not JSON. */
function parsed(text: string): Fact | undefined {
  for (const candidate of [text, unescapeHtml(text)]) {
    try {
      return parse(candidate, undefined, exactNumber) as Fact;
    } catch {
      // try the next form
    }
  }
  return undefined;
}

export function shownAddress(text: string): string {
  const query = text.search(/[?#]/);
  const user = text.lastIndexOf('@');
  // A password may hold a `?` and a query an `@`: which of them it is cannot be known.
  if (query >= 0 && user >= 0) return '…';
  if (query >= 0) return `${textWithoutSecrets(text.slice(0, query + 1))}…`;
  return user < 0 ? textWithoutSecrets(text) : `…${textWithoutSecrets(text.slice(user))}`;
}
