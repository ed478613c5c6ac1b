// domain: the forms in which a known secret comes back from others. In: the secret. Out: a pattern that finds each form: as it is, escaped
// for an address, JSON or HTML, in hexadecimal, and in base64 at any place of a longer text. It never reads anything.

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
