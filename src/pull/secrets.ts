// pull: secrets are dropped before anything is stored, logged or evaluated, and what was dropped is named.
// `OIDCClientSpec` holds a client_secret inside a JSON string, and spec strings can hold others, JSON within JSON too;
// some servers HTML-escape those strings. What holds no secret must come through to the byte.
import { parse, stringify } from 'lossless-json';
import { type Fact, type Facts, isFacts } from '../domain/facts.ts';

/** Their text is JSON, or it is not kept. */
const JSON_FIELDS: ReadonlySet<string> = new Set(['OIDCClientSpec', 'ServiceSpec']);
const SECRET_KEY =
  /secret|password|passwd|passphrase|private_?key|api_?key|access_?key|credential|^authorization$|^token$|_token$/i;
/** Cheap look before parsing: most specs hold none. A key can be spelled with escapes. */
const SUSPECT = /secret|passw|passphrase|private|api_?key|access_?key|credential|authorization|token|\\u00/i;
/** Specs lie a handful of levels deep; what lies beyond is hostile, and not kept. */
const DEPTH_MAX = 100;

/** The record without secrets; `dropped` gets their names, such as `OIDCClientSpec.client_secret`. */
export function dropSecrets(record: Facts, dropped: Set<string>): Facts {
  const names: string[] = [];
  const kept = withoutSecrets(record, '', names, 0) as Facts;
  for (const name of names) dropped.add(name);
  return names.length > 0 ? kept : record;
}

function withoutSecrets(value: Fact, path: string, names: string[], depth: number): Fact {
  if (depth > DEPTH_MAX) {
    names.push(`${path} (whole: nested too deep to be looked through)`);
    return null;
  }
  if (typeof value === 'string') return textWithoutSecrets(value, path, names, depth);
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, path, names, depth + 1));
  return isFacts(value) ? membersWithoutSecrets(value, path, names, depth) : value;
}

function membersWithoutSecrets(value: Facts, path: string, names: string[], depth: number): Facts {
  const kept: Facts = {};
  for (const [key, member] of Object.entries(value)) {
    const name = path === '' ? key : `${path}.${key}`;
    if (SECRET_KEY.test(key) && member !== '' && typeof member !== 'boolean') names.push(name);
    else
      Object.defineProperty(kept, key, {
        value: withoutSecrets(member, name, names, depth + 1),
        enumerable: true,
        writable: true,
        configurable: true,
      });
  }
  return kept;
}

/** Text that is JSON is looked into; one that cannot be, and may hold a secret, is not kept. */
function textWithoutSecrets(text: string, path: string, names: string[], depth: number): string {
  if (!SUSPECT.test(text)) return text;
  if (!JSON_FIELDS.has(path) && !/^\s*[[{]/.test(text)) return text;
  const spec = parseSpec(text);
  if (spec === undefined) {
    names.push(`${path} (whole: it is not JSON and may hold a secret)`);
    return '';
  }
  const found: string[] = [];
  const kept = withoutSecrets(spec, path, found, depth + 1);
  names.push(...found);
  return found.length > 0 ? (stringify(kept) ?? '') : text;
}

function parseSpec(text: string): Fact | undefined {
  for (const candidate of [text, unescapeHtml(text)]) {
    try {
      return parse(candidate, undefined, exactNumber) as Fact;
    } catch {
      // try the next form
    }
  }
  return undefined;
}

/** Integers of 19 digits stay exact: what rules read of the rest must not change. */
function exactNumber(digits: string): number | bigint {
  const value = Number(digits);
  return /^-?\d+$/.test(digits) && !Number.isSafeInteger(value) ? BigInt(digits) : value;
}

function unescapeHtml(text: string): string {
  return text
    .replaceAll('&#34;', '"')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
