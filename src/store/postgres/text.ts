// store: texts as PostgreSQL can store them. In: any text of JavaScript. Out: one without the character 0 and without half a surrogate pair,
// and back, exactly. The function `trustward.storable` does the same within a JSON document.

/** It sorts where the character 0 does, before all others. A text that has it comes back too. */
const MARK = '\u0001';
const NUL = '\0';
const UNSTORABLE = new RegExp(
  `${MARK}|[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]`,
  'g',
);
const STORED = new RegExp(`${MARK}(0|1|d[89a-f][0-9a-f]{2})`, 'g');

export function toStored(text: string): string {
  const marked = text.replace(UNSTORABLE, (one) => `${MARK}${one === MARK ? '1' : one.charCodeAt(0).toString(16)}`);
  return marked.includes(NUL) ? marked.replaceAll(NUL, `${MARK}0`) : marked;
}

export function fromStored(text: string): string {
  return text.includes(MARK) ? text.replace(STORED, (_, name: string) => charOf(name)) : text;
}

function charOf(name: string): string {
  if (name === '0') return NUL;
  return name === '1' ? MARK : String.fromCharCode(Number.parseInt(name, 16));
}
