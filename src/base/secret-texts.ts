// base: secrets inside a text that is not JSON. In: a text, hostile. Out: where secrets are in it, or the text with
// something else in their place. The caller decides which names are secret: `secrets.ts` has the one list.
import { hash } from 'node:crypto';

export const DROPPED = '[dropped]';
/** Stands in the place of a secret and is not one, so it may be scanned again. */
const MARK = /\[dropped(?: [0-9a-f]{8})?\](?!\w)/y;

/**
 * A secret in a form that still compares: facts are counted, sealed and checked for drift by equality. SHA-256 reveals
 * nothing of a key or a token of random text, and 32 bits of it fit more of them than anybody could try; two of them
 * collide once in four thousand million. A reader of the database can guess a short password: it takes trying, and
 * gives a hint.
 */
export function comparable(secret: string): string {
  return secret === '' ? DROPPED : `[dropped ${hash('sha256', secret).slice(0, 8)}]`;
}

const PRIVATE_KEY =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?:[\s\S]*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|[\s\S]*)/gi;
/** Forms that issuers chose so that scanners find them; each begins where a word does. */
const ISSUED =
  /(?<![\w-])(?:eyJ[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]*){0,3}|(?:AKIA|ASIA)[A-Z0-9]{16}(?!\w)|gh[pousr]_\w{36,}|github_pat_\w{22,}|glpat-[\w-]{20,}|xox[abeoprs]-[\w-]{10,}|[rs]k_(?:live|test)_\w{16,}|AIza[\w-]{35})/g;
/**
 * What stands between `://` and the last `@` before a path, a query or the end; a password may hold characters that
 * should be escaped.
 */
const USER_INFORMATION =
  /(:(?:\\{0,4}\/){2})((?:[^\s/?#"<>]*|[^\s/?#"<>[:@]{0,200}:(?!\d{1,5}(?:[/?#]|$))[^\s"<>]{0,200})@)/g;
const QUOTE = `(?:["'\\\\]|&#34;|&#39;|&quot;){0,64}`;
/** `name: value`, `name=value`, quoted or not; `host:443` is neither. */
const ASSIGNED = new RegExp(
  `(?<=^|[\\s"'{}[(,;&?|\\\\>])([\\w.$-]{1,80}(?: [\\w.$-]{1,80})?)${QUOTE}\\s{0,5}(?:=|:(?!\\d{1,5}(?:\\W|$)))\\s{0,5}(${QUOTE})(?=([^\\s"'\\\\,;&})\\]=:]+))`,
  'g',
);
const SCHEME = /\b(bearer|basic)\s{1,8}([^\s"'\\,;<>]+)/gi;
const PROSE = /^(?:[A-Z]?[a-z]+(?:-[a-z]+)*|.{0,5})[.:!?)]*$/;
const AFTER_BEARER = /^(?:auth|authentication|authorization|tokens?|scheme|type)[.:!?)]*$/i;
const NO_VALUE = /^(?:|true|false|null|none)$/i;
/** The state of a secret, as errors name it: `invalid token: expired`. */
const STATE =
  /^(?:absent|bad|cannot|denied|disabled|empty|expired|failed|forbidden|has|incorrect|invalid|is|jwt|malformed|mismatch|missing|must|no|not|refused|rejected|required|revoked|signature|unauthorized|unknown|unsupported|was|wrong)[.,:!?)\]}"'\\]*$/i;

/** A value that continues after blanks, to the end of its line. */
const OF_A_LINE = /authorization|cookie|pass[-_. ]?phrase|connection[-_. ]?string/i;
const ONE_WORD_MORE = /(?:bearer|basic|token|apikey)\s{1,8}[^\s;&]*/iy;
const LINE = /[^\r\n]*/y;
/** Too much rather than too little: a password may hold quotes and commas. */
const WORD = /[^\s;&]*/y;

interface Stretch {
  from: number;
  to: number;
}

/** Nothing, or a switch. */
export function isNoValue(text: string): boolean {
  return NO_VALUE.test(text);
}

/** The places of secrets, in order and apart. `isSecretName`: called with what stands before `=` or `:`. */
export function secretsIn(text: string, isSecretName: (name: string) => boolean): Stretch[] {
  const found = [...wholeForms(text), ...afterSchemes(text), ...assigned(text, isSecretName)];
  found.sort((a, b) => a.from - b.from || a.to - b.to);
  const apart: Stretch[] = [];
  for (const stretch of found) {
    const last = apart.at(-1);
    if (last && stretch.from < last.to) last.to = Math.max(last.to, stretch.to);
    else apart.push({ ...stretch });
  }
  return apart;
}

/** The text with each secret replaced; the text around them stays. */
export function cutOut(text: string, stretches: readonly Stretch[], instead: (secret: string) => string): string {
  let rest = '';
  let at = 0;
  for (const { from, to } of stretches) {
    rest += text.slice(at, from) + instead(text.slice(from, to));
    at = to;
  }
  return rest + text.slice(at);
}

/** Addresses without user information. */
export function withoutUser(text: string, instead?: (secret: string) => string): string {
  return text.replace(USER_INFORMATION, (_, begin: string, user: string) =>
    instead && user !== '@' ? `${begin}${instead(user.slice(0, -1))}@` : begin,
  );
}

function wholeForms(text: string): Stretch[] {
  return [PRIVATE_KEY, ISSUED].flatMap((form) =>
    [...text.matchAll(form)].map(({ 0: all, index }) => ({ from: index, to: index + all.length })),
  );
}

function afterSchemes(text: string): Stretch[] {
  const found: Stretch[] = [];
  for (const match of text.matchAll(SCHEME)) {
    const [all, scheme, token] = match as unknown as [string, string, string];
    const from = match.index + all.length - token.length;
    if (!isCredential(scheme, token, all.length === text.trim().length) || isMark(text, from)) continue;
    if (from >= (found.at(-1)?.to ?? 0)) found.push({ from, to: endOf(WORD, text, from) });
  }
  return found;
}

/** "Basic plan" and "Bearer authentication" are ordinary words. */
function isCredential(scheme: string, token: string, isAll: boolean): boolean {
  return isAll && /^bearer$/i.test(scheme) ? !AFTER_BEARER.test(token) : !PROSE.test(token);
}

function assigned(text: string, isSecretName: (name: string) => boolean): Stretch[] {
  const found: Stretch[] = [];
  for (const match of text.matchAll(ASSIGNED)) {
    const [all, name, quote, value] = match as unknown as [string, string, string, string];
    const from = match.index + all.length;
    // The inside of a found secret is not scanned again: hostile text would make that slow.
    if (from < (found.at(-1)?.to ?? 0) || !isSecretName(name)) continue;
    if (isNoValue(value) || isMark(text, from) || STATE.test(text.slice(from, endOf(WORD, text, from)))) continue;
    found.push({ from, to: endOfValue(text, from, name, quote) });
  }
  return found;
}

function endOfValue(text: string, from: number, name: string, quote: string): number {
  // A nested value has no certain end.
  if (text[from] === '{' || text[from] === '[') return text.length;
  if (quote !== '') return closing(text, from, quote);
  if (!OF_A_LINE.test(name)) return endOf(WORD, text, from);
  return endOf(ONE_WORD_MORE, text, from) || endOf(LINE, text, from);
}

/** The same quote once more, not escaped, and not in the middle of a word. */
function closing(text: string, from: number, quote: string): number {
  for (let at = text.indexOf(quote, from); at >= 0; at = text.indexOf(quote, at + 1)) {
    if (text[at - 1] !== '\\' && !/\w/.test(text[at + quote.length] ?? '')) return at;
  }
  return text.length;
}

/** Where a form that begins here ends; 0 when none does. */
function endOf(form: RegExp, text: string, from: number): number {
  form.lastIndex = from;
  return form.test(text) ? form.lastIndex : 0;
}

function isMark(text: string, at: number): boolean {
  return endOf(MARK, text, at) > 0;
}

// The forms in which a known secret comes back from others.

/** A shorter piece of an encoding would be found in ordinary text. */
const ENCODED_MIN = 8;

/** Capital letters and small ones are the same: servers and proxies change them. */
export function patternOf(secrets: readonly string[]): RegExp | undefined {
  const forms = [...new Set(secrets.filter((secret) => secret !== '').flatMap(formsOf))];
  if (forms.length === 0) return undefined;
  // INVARIANT: the longest first: a form that contains another one is found whole.
  forms.sort((a, b) => b.length - a.length);
  return new RegExp(forms.map((form) => form.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|'), 'gi');
}

/** The secret itself is the first. */
export function formsOf(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const bytes = Buffer.from(secret);
  const base64 = [0, 1, 2].map((before) => base64Within(bytes, before));
  const encoded = [
    encodeURIComponent(secret),
    encodeURI(secret),
    json,
    JSON.stringify(json).slice(1, -1),
    inHtml(secret, '&quot;', '&#x27;'),
    inHtml(secret, '&#34;', '&#39;'),
    bytes.toString('hex'),
    ...base64,
    ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
    ...base64.map((text) => encodeURIComponent(text)),
  ];
  return [secret, ...new Set(encoded.filter((form) => form !== secret && form.length >= ENCODED_MIN))];
}

/** Its characters that do not depend on what is around it, when so many bytes stand before it. */
function base64Within(bytes: Buffer, before: number): string {
  const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
  return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
}

function inHtml(text: string, quote: string, apostrophe: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', quote)
    .replaceAll("'", apostrophe);
}
