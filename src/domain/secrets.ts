// domain: the one list of what is a secret, and values without any. In: a name, or a value as it came, hostile. Out: the value
// without its secrets, and where they were. What holds none comes back as the very same value; no name that is told holds one.
import { parse, stringify } from 'lossless-json';
import { type Fact, type Facts, isFacts, ownText } from './facts.ts';
import { exactNumber, unescapeHtml } from './json-in-text.ts';

/** A blank stands for what may be between two words of a name: nothing, or one of `-_ .`. */
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
/** A key's id, name or place is not the key; a `key`, `KeyID` or `key_file` alone is none of these. */
const KEYS = words([
  '(?:private|secret|api|access|encryption|signing|shared|account|auth|master|session) key(?! (?:id|name|type|file|path)s?$)',
]);
/** Only at the end: `token_type` and `authorization_endpoint` are harmless. */
const AT_END = words(['token', 'authorization', 'cookie', 'jwt', 'bearer', '(?<![a-z])(?:pass|psk|cred)']);
const NAME = new RegExp(`${ANYWHERE}|${KEYS}|(?:${AT_END})(?:[-_ .]?value)?s?$`, 'i');

/** Cheap looks before anything is parsed: most texts hold none. A name can be spelled with escapes. */
const MAY_NAME = new RegExp(`${ANYWHERE}|${KEYS}|${AT_END}|\\\\u00`, 'i');
const MAY_HOLD = new RegExp(`${MAY_NAME.source}|@|basic|-----begin`, 'i');
const LOOKS_LIKE_JSON = /^\s*(?:[[{"]|&#34;|&quot;)/;
const BEGINS_AS_JSON = /^\s*[[{]/;

/** `{"name": "Authorization", "value": …}`, as lists of headers and variables have it. */
const PAIR_NAMES: readonly string[] = ['name', 'key', 'header', 'variable', 'field'];
const PAIR_VALUE = /^(?:values?|val|default|content)$/i;

const PRIVATE_KEY = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/i;
/** What stands between `://` and the last `@` before a path, a query or the end; a password may hold what belongs escaped. */
const USER_INFORMATION =
  /(:(?:\\{0,4}\/){2})(?:[^\s/?#"<>]*@|[^\s/?#"<>[:@]{0,200}:(?!\d{1,5}(?:[/?#]|$))[^\s"<>]{0,200}@)/g;
const QUOTE = `(?:["'\\\\]|&#34;|&#39;|&quot;){0,8}`;
/** `name: value`, `name=value`, quoted or not; `host:443` is neither. */
const ASSIGNED = new RegExp(
  `(?<=^|[\\s"'{}[(,;&?|\\\\>])([\\w.$-]{1,80}(?: [\\w.$-]{1,80})?)${QUOTE}\\s{0,5}(?:=|:(?!\\d{1,5}(?:\\W|$)))\\s{0,5}${QUOTE}(?=([^\\s"'\\\\,;&})\\]=:]+))`,
  'g',
);
const SCHEME = /\b(bearer|basic)\s{1,8}([^\s"'\\,;<>]+)/gi;
const PROSE = /^(?:[A-Z]?[a-z]+(?:-[a-z]+)*|.{0,5})[.:!?)]*$/;
const AFTER_BEARER = /^(?:auth|authentication|authorization|tokens?|scheme|type)[.:!?)]*$/i;
const NO_VALUE = /^(?:|true|false|null|none)$/i;

/** Specs lie a handful of levels deep; what lies beyond is hostile, and not kept. */
const DEPTH_MAX = 100;

/** Whether what bears this name is a secret, such as `client_secret`, `X-Api-Key` or `db.pwd`. */
export function isSecretName(name: string): boolean {
  return NAME.test(name);
}

/** The same of a member, which may be the value of a pair: `value` beside `"name": "Authorization"`. */
export function isSecretMember(owner: Fact | undefined, key: string): boolean {
  return isSecretName(key) || (isFacts(owner) && PAIR_VALUE.test(key) && hasSecretName(owner));
}

function hasSecretName(pair: Facts): boolean {
  return Object.keys(pair).some(
    (key) => PAIR_NAMES.includes(key.toLowerCase()) && isSecretName((ownText(pair, key) ?? '').trim()),
  );
}

export interface SecretsWish {
  /** Stands where a secret stood. Without it members are left away, and items of lists are null: a fact that nobody knows. */
  instead?: string;
  /** Members whose text is JSON, or is not kept. */
  jsonFields?: ReadonlySet<string>;
}

export interface Kept {
  /** Undefined: all of it was secret. */
  value: Fact | undefined;
  /** Paths of what was dropped, such as `spec.backend.password`. */
  dropped: string[];
}

export function withoutSecrets(value: Fact, wish: SecretsWish = {}): Kept {
  const search = new Search(wish);
  const kept = search.look(value, '', 0);
  return { value: search.dropped.length > 0 ? kept : value, dropped: search.dropped };
}

const DROPPED = '[dropped]';

/** A value that is told or kept by itself, outside its record: what of it was secret is called so. `name`: by which it was read. */
export function tellable(value: Fact, name = ''): Fact {
  if (isSecretName(name) && isWorthHiding(name, value)) return DROPPED;
  return withoutSecrets(value, { instead: DROPPED }).value ?? DROPPED;
}

class Search {
  readonly dropped: string[] = [];
  constructor(private readonly wish: SecretsWish) {}

  look(value: Fact, path: string, depth: number): Fact | undefined {
    if (typeof value === 'string') return this.lookIntoText(value, path, depth);
    if (typeof value !== 'object' || value === null) return value;
    if (depth > DEPTH_MAX) return this.drop(path, 'whole: nested too deep to be looked through');
    if (Array.isArray(value)) return value.map((item) => this.look(item, path, depth + 1) ?? null);
    return this.lookIntoMembers(value, path, depth);
  }

  private lookIntoMembers(owner: Facts, path: string, depth: number): Facts {
    const members: [string, Fact][] = [];
    for (const [key, member] of Object.entries(owner)) {
      // What is told of a drop is kept: a name that holds a secret is not told.
      if (MAY_HOLD.test(key) && (holdsSecret(key) || withoutUser(key) !== key)) {
        this.drop(path, 'a name that holds a secret');
        continue;
      }
      const name = path === '' ? key : `${path}.${key}`;
      const isSecret = isSecretMember(owner, key) && isWorthHiding(key, member);
      const kept = isSecret ? this.drop(name) : this.look(member, name, depth + 1);
      if (kept !== undefined) members.push([key, kept]);
    }
    return Object.fromEntries(members);
  }

  private lookIntoText(text: string, path: string, depth: number): Fact | undefined {
    if (!MAY_HOLD.test(text)) return text;
    const isJsonField = this.wish.jsonFields?.has(path) ?? false;
    if (isJsonField || LOOKS_LIKE_JSON.test(text)) {
      const value = parsed(text);
      if (value !== undefined) return this.lookIntoJson(text, value, path, depth);
      if ((isJsonField || BEGINS_AS_JSON.test(text)) && MAY_NAME.test(text))
        return this.drop(path, 'whole: it is not JSON and may hold a secret');
    }
    if (holdsSecret(text)) return this.drop(path);
    const kept = withoutUser(text);
    if (kept !== text) this.drop(path, 'user information of an address');
    return kept;
  }

  private lookIntoJson(text: string, value: Fact, path: string, depth: number): Fact | undefined {
    const before = this.dropped.length;
    const kept = this.look(value, path, depth + 1);
    if (this.dropped.length === before) return text;
    return kept === undefined ? undefined : stringify(kept);
  }

  private drop(path: string, note?: string): string | undefined {
    this.dropped.push([path, note && `(${note})`].filter((part) => part).join(' '));
    return this.wish.instead;
  }
}

/** A switch, an empty value and a number of tokens are no secrets, whatever they are called. */
function isWorthHiding(name: string, value: Fact): boolean {
  if (value === null || typeof value === 'boolean') return false;
  if (typeof value === 'number') return !/tokens$/i.test(name);
  return typeof value !== 'string' || !NO_VALUE.test(value);
}

/** Whether a text that is no JSON holds one that cannot be cut out of it for certain. */
function holdsSecret(text: string): boolean {
  if (PRIVATE_KEY.test(text)) return true;
  for (const [all, scheme, token] of text.matchAll(SCHEME)) {
    if (isCredential(scheme as string, token as string, all.length === text.trim().length)) return true;
  }
  for (const [, name, value] of text.matchAll(ASSIGNED)) {
    if (isSecretName(name as string) && !NO_VALUE.test(value as string)) return true;
  }
  return false;
}

/** "Basic plan" and "Bearer authentication" are words of people. */
function isCredential(scheme: string, token: string, isAll: boolean): boolean {
  return isAll && /^bearer$/i.test(scheme) ? !AFTER_BEARER.test(token) : !PROSE.test(token);
}

function withoutUser(text: string): string {
  return text.replace(USER_INFORMATION, '$1');
}

/** Some servers HTML-escape JSON texts. Undefined: it is no JSON. */
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
