// http: whether a body says something twice. `JSON.parse` would take the last, and whoever reads the request might take the
// first. In: text that is JSON, nested as deep as it likes. Out: the place of the first key that its object has already.

/** Strings, with the colon that makes one a key, and brackets: of valid JSON the rest tells nothing about keys. */
const TOKEN = /("(?:[^"\\]|\\.)*")[ \t\r\n]*(:)?|[{}[\],]/g;

interface Level {
  /** Of an object; a list has none. */
  keys: Set<string> | undefined;
  /** Where in it the reader is. */
  step: string | number;
}

export function repeatedKey(json: string): (string | number)[] | undefined {
  const levels: Level[] = [];
  for (const [token, text, colon] of json.matchAll(TOKEN)) {
    const level = levels.at(-1);
    if (colon !== undefined && level?.keys) {
      const key = JSON.parse(text as string) as string;
      level.step = key;
      if (level.keys.has(key)) return levels.map(({ step }) => step);
      level.keys.add(key);
    } else if (token === '{') levels.push({ keys: new Set(), step: '' });
    else if (token === '[') levels.push({ keys: undefined, step: 0 });
    else if (token === '}' || token === ']') levels.pop();
    else if (token === ',' && typeof level?.step === 'number') level.step += 1;
  }
  return undefined;
}
